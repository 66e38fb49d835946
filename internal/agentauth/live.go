package agentauth

import (
	"crypto/tls"
	"net/http"
	"sync/atomic"
)

// A Live is the Authenticator, and the listener's TLS, of a gateway that runs: both can be
// replaced while it does, as when a key is registered or a certificate renewed. Its methods
// may be called concurrently.
type Live struct {
	now atomic.Pointer[state]
}

type state struct {
	auth *Authenticator
	tls  *tls.Config
}

// NewLive begins with the given ones; t is nil for a listener without TLS.
func NewLive(a *Authenticator, t *tls.Config) *Live {
	l := &Live{}
	l.Set(a, t)
	return l
}

// Set replaces both, for all requests and connections from now on. Keys of an issuer that
// were got from a URL are kept if the URL is the same.
func (l *Live) Set(a *Authenticator, t *tls.Config) {
	if old := l.now.Load(); old != nil {
		a.inherit(old.auth)
	}
	l.now.Store(&state{a, t})
}

// Current returns the Authenticator of this moment.
func (l *Live) Current() *Authenticator { return l.now.Load().auth }

// Request is [Authenticator.Request] of the current one.
func (l *Live) Request(r *http.Request) (Identity, error) { return l.Current().Request(r) }

// Key is [Authenticator.Key] of the current one.
func (l *Live) Key(secret string) (Identity, error) { return l.Current().Key(secret) }

// TLS returns a configuration that is the current one for each new connection, nil if
// there was none at first.
func (l *Live) TLS() *tls.Config {
	first := l.now.Load().tls
	if first == nil {
		return nil
	}
	t := first.Clone()
	t.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return l.now.Load().tls, nil }
	return t
}

// inherit takes over what the issuer has answered before.
func (a *Authenticator) inherit(old *Authenticator) {
	if old == nil || a.tokens == nil || old.tokens == nil || a.tokens.URL == "" || a.tokens.URL != old.tokens.URL {
		return
	}
	from := old.tokens.keys
	from.mu.Lock()
	set, got, asked := from.set, from.got, from.asked
	from.mu.Unlock()
	if set == nil {
		return
	}
	a.tokens.keys.mu.Lock()
	defer a.tokens.keys.mu.Unlock()
	a.tokens.keys.set, a.tokens.keys.got, a.tokens.keys.asked = set, got, asked
}
