package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
)

// A P-256 key and its thumbprint, which Python's hashlib computed over
// {"crv":"P-256","kty":"EC","x":…,"y":…}. The point is the curve's generator.
const (
	generatorX = "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY"
	generatorY = "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"
	generator  = `{"kty":"EC","crv":"P-256","x":"` + generatorX + `","y":"` + generatorY + `","kid":"2026","alg":"ES256","use":"sig"}`
	thumbprint = "xx0BcA-wMohw8atYDJOe6peGModklG2wRHBlXHMvl0M"
)

// internet is one TLS server that stands for every host, with a certificate for all of them.
func internet(t *testing.T, serve http.HandlerFunc) *http.Transport {
	t.Helper()
	server := httptest.NewTLSServer(serve)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}, // whom httptest's certificate is for
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
}

// covers GC-209, GC-369
func TestIssuerDocument(t *testing.T) {
	document := func(members string) string { return `{"issuer":"https://acme.example",` + members + `}` }
	set := `{"keys":[` + generator + `]}`
	for name, c := range map[string]struct {
		body   string
		header map[string]string
		status int
		code   string // "" if the key is found
	}{
		"jwks":                {body: document(`"jwks":` + set)},
		"members beside":      {body: document(`"x":1.5,"jwks":` + set + `,"display":[{"name":"Acme"}]`)},
		"with a charset":      {body: document(`"jwks":` + set), header: map[string]string{"Content-Type": "application/json; charset=utf-8"}},
		"jwks_uri":            {body: document(`"jwks_uri":"https://acme.example/keys?v=1"`)},
		"keys of other kinds": {body: document(`"jwks":{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},` + generator + `]}`)},

		"another issuer":      {body: strings.Replace(document(`"jwks":`+set), "acme", "bolt", 1), code: api.CodeDomainMismatch},
		"issuer with a slash": {body: strings.Replace(document(`"jwks":`+set), `example"`, `example/"`, 1), code: api.CodeDomainMismatch},
		"issuer over http":    {body: strings.Replace(document(`"jwks":`+set), "https", "http", 1), code: api.CodeDomainMismatch},
		"no issuer":           {body: `{"jwks":` + set + `}`, code: api.CodeDomainMalformed},
		"issuer twice":        {body: `{"issuer":"https://acme.example",` + document(`"jwks":` + set)[1:], code: api.CodeDomainMalformed},
		"neither":             {body: `{"issuer":"https://acme.example"}`, code: api.CodeDomainMalformed},
		"both":                {body: document(`"jwks":` + set + `,"jwks_uri":"https://acme.example/keys"`), code: api.CodeDomainMalformed},
		"jwks no object":      {body: document(`"jwks":[]`), code: api.CodeDomainMalformed},
		"65 keys": {
			body: document(`"jwks":{"keys":[` + strings.Repeat(generator+",", 64) + generator + `]}`), code: api.CodeDomainMalformed,
		},
		"jwks_uri elsewhere":     {body: document(`"jwks_uri":"https://keys.example/keys"`), code: api.CodeDomainMismatch},
		"jwks_uri longer host":   {body: document(`"jwks_uri":"https://acme.example.evil.example/keys"`), code: api.CodeDomainMismatch},
		"jwks_uri with user":     {body: document(`"jwks_uri":"https://acme.example@evil.example/keys"`), code: api.CodeDomainMismatch},
		"jwks_uri with port":     {body: document(`"jwks_uri":"https://acme.example:8443/keys"`), code: api.CodeDomainMismatch},
		"jwks_uri over http":     {body: document(`"jwks_uri":"http://acme.example/keys"`), code: api.CodeDomainMismatch},
		"jwks_uri redirects":     {body: document(`"jwks_uri":"https://acme.example/moved"`), code: api.CodeDomainUnreachable},
		"jwks_uri no string":     {body: document(`"jwks_uri":1`), code: api.CodeDomainMalformed},
		"not JSON":               {body: "<html>", code: api.CodeDomainMalformed},
		"nothing":                {body: "", code: api.CodeDomainMalformed},
		"an array":               {body: "[]", code: api.CodeDomainMalformed},
		"cut short":              {body: document(`"jwks":` + set)[:90], code: api.CodeDomainMalformed},
		"another media type":     {body: document(`"jwks":` + set), header: map[string]string{"Content-Type": "text/html"}, code: api.CodeDomainMalformed},
		"over 64 KiB":            {body: document(`"x":"` + strings.Repeat("x", 64<<10) + `","jwks":` + set), code: api.CodeDomainMalformed},
		"not found":              {body: document(`"jwks":` + set), status: 404, code: api.CodeDomainUnreachable},
		"a fault":                {body: document(`"jwks":` + set), status: 503, code: api.CodeDomainUnreachable},
		"another success":        {body: document(`"jwks":` + set), status: 203, code: api.CodeDomainUnreachable},
		"redirect to itself":     {status: 302, header: map[string]string{"Location": "/keys"}, code: api.CodeDomainUnreachable},
		"redirect to another":    {status: 301, header: map[string]string{"Location": "https://evil.example/"}, code: api.CodeDomainUnreachable},
		"redirect to the inside": {status: 307, header: map[string]string{"Location": "http://169.254.169.254/"}, code: api.CodeDomainUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			transport := internet(t, func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.Host+r.URL.String())
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case "/keys":
					fmt.Fprint(w, set)
					return
				case "/moved":
					http.Redirect(w, r, "/keys", http.StatusFound)
					return
				}
				for name, value := range c.header {
					w.Header().Set(name, value)
				}
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				fmt.Fprint(w, c.body)
			})
			keys, err := client.NewIssuers(client.IssuerConfig{Transport: transport}).Patient().Keys(t.Context(), "acme.example")
			if len(asked) == 0 || asked[0] != "acme.example/.well-known/jwt-vc-issuer" {
				t.Errorf("asked %q", asked)
			}
			if c.code == "" {
				if found := keys.Keys(); err != nil || len(found) != 1 || found[0].ID != thumbprint {
					t.Errorf("keys %+v, %v", found, err)
				}
				return
			}
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != c.code || len(keys.Keys()) != 0 {
				t.Errorf("%v, %d keys; want %s", err, len(keys.Keys()), c.code)
			}
		})
	}
}

// TestIssuerUnreachable: no name that is none is looked up, no certificate of another is
// taken, and nobody is waited for.
func TestIssuerUnreachable(t *testing.T) {
	var asked atomic.Int32
	transport := internet(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // to return would be an answer, which may come before the client has left
	})
	issuers := client.NewIssuers(client.IssuerConfig{Transport: transport})
	for _, domain := range []string{"", "localhost", "127.0.0.1", "acme.example:443", "acme.example.", "Acme.example", "acme.example/x", "user@acme.example", "[::1]", "x.1", "-a.example", "a..example"} {
		if _, err := issuers.Keys(t.Context(), domain); !errors.Is(err, &api.Error{Code: api.CodeMalformed}) {
			t.Errorf("%q: %v", domain, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("a name that is no domain was asked")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	unreachable := &api.Error{Code: api.CodeDomainUnreachable}
	if _, err := issuers.Keys(ctx, "acme.example"); !errors.Is(err, unreachable) {
		t.Errorf("a silent server: %v", err)
	}
	other := transport.Clone()
	other.TLSClientConfig.ServerName = "acme.test"
	if _, err := client.NewIssuers(client.IssuerConfig{Transport: other}).Keys(t.Context(), "acme.example"); !errors.Is(err, unreachable) {
		t.Errorf("another's certificate: %v", err)
	}
}

// covers GC-369
func TestPublicAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "fe80::1": false, "fd00::1": false, "0.0.0.0": false, "::": false, "100.64.0.1": false,
		"192.0.0.1": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false, "203.0.113.1": false,
		"224.0.0.1": false, "ff02::1": false, "240.0.0.1": false, "255.255.255.255": false, "0.1.2.3": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:db8::1": false, "2001::1": false, "fec0::1": false, "100::1": false,
	} {
		if got := client.PublicAddress(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public %v", address, got)
		}
	}
}

// TestNothingInsideIsReached: a name that resolves to what is not public is not connected to.
//
// covers GC-369
func TestNothingInsideIsReached(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reached := make(chan struct{}, 1)
	go func() {
		if c, err := listener.Accept(); err == nil {
			c.Close()
			reached <- struct{}{}
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	transport := client.PublicTransport(func(_ context.Context, _, host string) ([]netip.Addr, error) {
		if host != "acme.example" {
			t.Errorf("looked up %q", host)
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::ffff:127.0.0.1")}, nil
	})
	if transport.Proxy != nil {
		t.Error("a proxy could be asked instead")
	}
	if _, err := transport.DialContext(t.Context(), "tcp", "acme.example:"+port); !errors.Is(err, client.ErrAddress) {
		t.Errorf("dial: %v", err)
	}
	select {
	case <-reached:
		t.Error("the inside was reached")
	default:
	}
}
