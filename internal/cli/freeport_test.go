package cli

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
)

// found are the ports that a test of this package has: nobody listens there while its owner is down.
var found sync.Map

// FreePort finds a loopback address that no other test of this package gets, nor one of another
// package, which seek elsewhere. Its port is below those that the system gives to clients, so that no
// connection takes it while its owner is down.
func FreePort() (string, error) {
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(6000))
		if _, taken := found.LoadOrStore(addr, true); taken {
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
