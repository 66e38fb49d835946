package gatewaytest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
)

// Ports are the ports of loopback in which the tests of one package seek: below those that the
// system gives to clients, so that no connection takes one while its owner is down, and apart
// from those of other packages, whose tests run at the same time.
type Ports struct {
	From, Many int

	found sync.Map
}

// Free finds an address where nobody listens, and that is found once.
func (p *Ports) Free() (addr string, err error) {
	for range 1000 {
		addr = fmt.Sprintf("127.0.0.1:%d", p.From+rand.IntN(p.Many))
		if _, taken := p.found.LoadOrStore(addr, true); taken {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err == nil {
			err = l.Close()
		}
		return addr, err
	}
	return "", errors.New("no port is free")
}
