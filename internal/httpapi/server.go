package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a public connection. Reading a request is bounded tightly, since anyone
// may open one; writing leaves room for a seal that waits on another organisation's RA.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 32 << 10
	drainTimeout      = 5 * time.Second
)

// Serve answers on l with handler until ctx ends, then lets running requests finish
// for at most five seconds. It owns l. It returns nil after a shutdown that ctx asked for.
func Serve(ctx context.Context, l net.Listener, handler http.Handler, log *slog.Logger) error {
	var fresh freshConns
	server := &http.Server{
		ConnState:         fresh.watch,
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger(log).Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// ctx has ended already: the drain needs a context of its own.
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	fresh.close() // a connection that has said nothing has nothing to finish
	err := server.Shutdown(drain)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	if serveErr := <-ended; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

// freshConns are the connections that have not sent a request yet. Shutdown would wait
// five seconds for each.
type freshConns struct {
	mu    sync.Mutex // guards conns
	conns map[net.Conn]bool
}

func (f *freshConns) watch(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state != http.StateNew {
		delete(f.conns, c)
		return
	}
	if f.conns == nil {
		f.conns = map[net.Conn]bool{}
	}
	f.conns[c] = true
}

func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.Close()
	}
}
