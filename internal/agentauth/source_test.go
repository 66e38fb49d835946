package agentauth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
)

// A published is a place where an issuer publishes its keys.
type published struct {
	asked atomic.Int64
	body  atomic.Pointer[http.HandlerFunc]
	*httptest.Server
}

func publish(t *testing.T, keys ...object) *published {
	p := &published{}
	p.say(func(w http.ResponseWriter, _ *http.Request) { w.Write(set(keys...)) })
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		(*p.body.Load())(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *published) say(h http.HandlerFunc) { p.body.Store(&h) }

func (p *published) config(c *clock) agentauth.Config {
	return agentauth.Config{Now: c.now, Token: &agentauth.Token{Issuer: issuer, Audience: audience, URL: p.URL + "/jwks"}}
}

// lasting is a token that outlives the test's clock.
func lasting(header object) string {
	return "Bearer " + theIDP().sign(header, claims(object{"exp": start.Unix() + 1e6}))
}

// TestKeysAreKept: asked for once, however many come, and again when a new kid comes; but not
// for each that somebody makes up.
func TestKeysAreKept(t *testing.T) {
	c, idp := newClock(), theIDP()
	p := publish(t, ecJWK(&idp.p256.PublicKey, "p256"))
	a := newAuth(t, p.config(c))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, err := a.Request(request(lasting(good()))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := p.asked.Load(); n != 1 {
		t.Fatalf("asked %d times", n)
	}
	rsa := lasting(object{"alg": "RS256", "kid": "new"})
	for range 20 {
		if _, err := a.Request(request(rsa)); name(err) != agentauth.CredentialInvalid {
			t.Fatal(err)
		}
	}
	if n := p.asked.Load(); n != 1 {
		t.Errorf("asked %d times within the interval", n)
	}
	p.say(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(set(ecJWK(&idp.p256.PublicKey, "p256"), rsaJWK(&idp.rsa.PublicKey, "new")))
	})
	c.pass(31 * time.Second)
	if _, err := a.Request(request(rsa)); err != nil {
		t.Error("a new key:", err)
	}
	for range 20 {
		_, _ = a.Request(request(lasting(object{"alg": "ES256", "kid": "made up"})))
	}
	if n := p.asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// TestKeysAreTakenBack: a key that the issuer withdraws is gone at the next asking, for which
// nobody has to come with a new one.
func TestKeysAreTakenBack(t *testing.T) {
	c, idp := newClock(), theIDP()
	p := publish(t, ecJWK(&idp.p256.PublicKey, "p256"), rsaJWK(&idp.rsa.PublicKey, "rsa"))
	a := newAuth(t, p.config(c))
	if _, err := a.Request(request(lasting(good()))); err != nil {
		t.Fatal(err)
	}
	p.say(func(w http.ResponseWriter, _ *http.Request) { w.Write(set(rsaJWK(&idp.rsa.PublicKey, "rsa"))) })
	c.pass(10 * time.Minute)
	eventually(t, func() bool {
		_, err := a.Request(request(lasting(good())))
		return name(err) == agentauth.CredentialInvalid
	})
}

// TestStaleKeys: while the issuer is away its last keys do, for an hour; after it nobody can
// be told from anybody.
func TestStaleKeys(t *testing.T) {
	c := newClock()
	p := publish(t, ecJWK(&theIDP().p256.PublicKey, "p256"))
	a := newAuth(t, p.config(c))
	if _, err := a.Request(request(lasting(good()))); err != nil {
		t.Fatal(err)
	}
	p.say(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	c.pass(59 * time.Minute)
	if _, err := a.Request(request(lasting(good()))); err != nil {
		t.Error(err)
	}
	eventually(t, func() bool { return p.asked.Load() == 2 })
	c.pass(time.Minute)
	if _, err := a.Request(request(lasting(good()))); name(err) != agentauth.KeysUnavailable {
		t.Error(err)
	}
	p.say(func(w http.ResponseWriter, _ *http.Request) { w.Write(set(ecJWK(&theIDP().p256.PublicKey, "p256"))) })
	c.pass(time.Minute)
	if _, err := a.Request(request(lasting(good()))); err != nil {
		t.Error("back again:", err)
	}
}

// TestBadKeySets: what an issuer, or who stands in its place, may answer.
func TestBadKeySets(t *testing.T) {
	elsewhere := publish(t, ecJWK(&theIDP().p256.PublicKey, "p256"))
	fine := string(set(ecJWK(&theIDP().p256.PublicKey, "p256")))
	for label, h := range map[string]http.HandlerFunc{
		"another status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.Write([]byte(fine)) },
		"another host":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"for ever":       func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/jwks", http.StatusFound) },
		"too large":      func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(fine + strings.Repeat(" ", 256<<10))) },
		"no JSON":        func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
		"keys twice":     func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(fine[:len(fine)-1] + `,"keys":[]}`)) },
		"an empty set":   func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"keys":[]}`)) },
		"too many": func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte(`{"keys":[0` + strings.Repeat(",0", 128) + `]}`))
		},
		"a broken answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			w.Write([]byte(fine))
		},
	} {
		p := publish(t)
		p.say(h)
		if _, err := newAuth(t, p.config(newClock())).Request(request(lasting(good()))); name(err) != agentauth.KeysUnavailable {
			t.Error(label, err)
		}
	}
	if n := elsewhere.asked.Load(); n != 0 {
		t.Error("another host was asked")
	}
	p := publish(t)
	p.say(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/jwks" {
			http.Redirect(w, r, "/moved", http.StatusFound)
			return
		}
		w.Write([]byte(fine))
	})
	if _, err := newAuth(t, p.config(newClock())).Request(request(lasting(good()))); err != nil {
		t.Error("moved within its origin:", err)
	}
}

// TestWhoGoesAway: a request that ends does not end the asking, which others wait for.
func TestWhoGoesAway(t *testing.T) {
	p, let := publish(t), make(chan struct{})
	p.say(func(w http.ResponseWriter, _ *http.Request) {
		<-let
		w.Write(set(ecJWK(&theIDP().p256.PublicKey, "p256")))
	})
	a := newAuth(t, p.config(newClock()))
	r := request(lasting(good()))
	ctx, cancel := contextWithCancel(t)
	gone := make(chan error)
	go func() { _, err := a.Request(r.WithContext(ctx)); gone <- err }()
	eventually(t, func() bool { return p.asked.Load() == 1 })
	cancel()
	if err := <-gone; name(err) != agentauth.KeysUnavailable {
		t.Error(err)
	}
	stays := make(chan error)
	go func() { _, err := a.Request(request(lasting(good()))); stays <- err }()
	close(let)
	if err := <-stays; err != nil || p.asked.Load() != 1 {
		t.Error(err, p.asked.Load())
	}
}
