package wiretest

import (
	"net"
	"sync"
)

// Pipes is a listener whose connections are pipes, so that a test can turn their clock: in a
// bubble of testing/synctest no time passes but what everybody waits for.
type Pipes struct {
	conns chan net.Conn
	done  chan struct{}
	close func()
}

// NewPipes is one that nobody has dialled.
func NewPipes() *Pipes {
	p := &Pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.done) })
	return p
}

// Accept implements [net.Listener].
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *Pipes) Close() error { p.close(); return nil }

// Addr implements [net.Listener].
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// Dial is the near end of a connection that has been accepted. The error is net.ErrClosed once
// the listener is closed.
func (p *Pipes) Dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
