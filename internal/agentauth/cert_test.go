package agentauth_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
)

func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Error("it did not come to that")
}

// A ca signs certificates for tests.
type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) *ca {
	c := &ca{}
	c.cert, c.key = c.issue(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return c
}

// issue signs the template, by itself if there is no ca yet.
func (c *ca) issue(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if end := start.Add(time.Hour); template.NotAfter.Before(end) { // it is good by the machine's clock and by the tests'
		template.NotAfter = end
	}
	template.Subject = pkix.Name{CommonName: "test"}
	parent, signer := c.cert, c.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// client issues a client's certificate with these URIs.
func (c *ca) client(t *testing.T, uris ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, s := range uris {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	cert, key := c.issue(t, template)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

func (c *ca) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})
}

// server is the listener's configuration, by a certificate of this ca for 127.0.0.1.
func (c *ca) server(t *testing.T, clients *ca) agentauth.TLSConfig {
	t.Helper()
	cert, key := c.issue(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := agentauth.TLSConfig{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
	if clients != nil {
		cfg.ClientCA = clients.pem()
	}
	return cfg
}

// serve answers each request with its agent, or with the name of the refusal.
func serve(t *testing.T, live *agentauth.Live) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := live.Request(r)
		io.WriteString(w, id.ID+name(err))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = live.TLS()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ask sends one request on a connection of its own.
func (c *ca) ask(t *testing.T, s *httptest.Server, authorization string, certs ...tls.Certificate) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(c.cert)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certs}}
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return "no answer"
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return "no answer"
	}
	return string(b)
}

func mustTLS(t *testing.T, cfg agentauth.TLSConfig) *tls.Config {
	t.Helper()
	c, err := agentauth.ServerTLS(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCertificates: on a real listener, with real handshakes.
//
// covers EXA-012
func TestCertificates(t *testing.T) {
	own, clients, strangers := newCA(t), newCA(t), newCA(t)
	cfg := tokens()
	cfg.Cert = &agentauth.Cert{TrustDomain: "example.org"}
	cfg.Keys = &agentauth.Keys{List: []agentauth.Key{{Agent: "billing", Sum: fixedSum}}}
	s := serve(t, agentauth.NewLive(newAuth(t, cfg), mustTLS(t, own.server(t, clients))))
	billing := clients.client(t, "spiffe://example.org/billing")
	sum := sha256.Sum256(billing.Leaf.Raw)
	token := func(change object) string { return "Bearer " + theIDP().sign(good(), claims(change)) }
	authority, key := clients.issue(t, &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, URIs: billing.Leaf.URIs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	for label, c := range map[string]struct {
		authorization string
		certs         []tls.Certificate
		want          string
	}{
		"a workload":              {"", []tls.Certificate{billing}, "spiffe://example.org/billing"},
		"nothing":                 {"", nil, agentauth.Unauthenticated},
		"a key alone":             {"Bearer " + fixedKey, nil, "key:billing"},
		"a token alone":           {token(nil), nil, "jwt:https://login.example#client_id=billing"},
		"of nobody's authority":   {"", []tls.Certificate{strangers.client(t, "spiffe://example.org/billing")}, "no answer"},
		"of another domain":       {"", []tls.Certificate{clients.client(t, "spiffe://elsewhere.org/billing")}, agentauth.CredentialInvalid},
		"two URIs":                {"", []tls.Certificate{clients.client(t, "spiffe://example.org/a", "spiffe://example.org/b")}, agentauth.CredentialInvalid},
		"no URI":                  {"", []tls.Certificate{clients.client(t)}, agentauth.CredentialInvalid},
		"another URI":             {"", []tls.Certificate{clients.client(t, "https://example.org/billing")}, agentauth.CredentialInvalid},
		"a domain alone":          {"", []tls.Certificate{clients.client(t, "spiffe://example.org")}, agentauth.CredentialInvalid},
		"an authority's own":      {"", []tls.Certificate{{Certificate: [][]byte{authority.Raw}, PrivateKey: key}}, agentauth.CredentialInvalid},
		"and a key":               {"Bearer " + fixedKey, []tls.Certificate{billing}, agentauth.CredentialConflict},
		"and a token of others":   {token(nil), []tls.Certificate{billing}, agentauth.CredentialConflict},
		"and a bad token":         {token(object{"aud": "x"}), []tls.Certificate{billing}, agentauth.CredentialInvalid},
		"and a bad scheme":        {"Basic eDp5", []tls.Certificate{billing}, agentauth.CredentialInvalid},
		"and a token with its ID": {token(object{"client_id": "spiffe://example.org/billing"}), []tls.Certificate{billing}, "jwt:https://login.example#client_id=spiffe://example.org/billing"},
		"and its bound token":     {token(object{"cnf": object{"x5t#S256": b64(sum[:])}}), []tls.Certificate{billing}, "jwt:https://login.example#client_id=billing"},
		"and another's token":     {token(object{"cnf": object{"x5t#S256": b64(sum[:])}}), []tls.Certificate{clients.client(t, "spiffe://example.org/x")}, agentauth.CredentialInvalid},
		"a bound token alone":     {token(object{"cnf": object{"x5t#S256": b64(sum[:])}}), nil, agentauth.CredentialInvalid},
	} {
		if got := own.ask(t, s, c.authorization, c.certs...); got != c.want {
			t.Errorf("%s: %s", label, got)
		}
	}
}

// TestCertificateNotAsked: without mTLS in the configuration a certificate is nobody; and one
// whose chain nobody has verified never is.
//
// covers EXA-012
func TestCertificateNotAsked(t *testing.T) {
	leaf := newCA(t).client(t, "spiffe://example.org/billing").Leaf
	r := request()
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}}}
	if _, err := newAuth(t, tokens()).Request(r); name(err) != agentauth.Unauthenticated {
		t.Error(err)
	}
	a := newAuth(t, agentauth.Config{Cert: &agentauth.Cert{}})
	if id, err := a.Request(r); err != nil || id.ID != "spiffe://example.org/billing" || id.How != agentauth.ByCert {
		t.Error(id, err)
	}
	r.TLS.VerifiedChains = nil
	if _, err := a.Request(r); name(err) != agentauth.CredentialInvalid {
		t.Error(err)
	}
}

// TestSPIFFE is SPIFFE-ID §2.
func TestSPIFFE(t *testing.T) {
	a := newAuth(t, agentauth.Config{Cert: &agentauth.Cert{}})
	for uri, want := range map[string]bool{
		"spiffe://example.org/a": true, "spiffe://example.org/A/b_c-d.e": true, "spiffe://e_x-1/..a": true,
		"spiffe://Example.org/a": false, "SPIFFE://example.org/a": true /* the URI's scheme is put in lower case */, "spiffe:///a": false,
		"spiffe://example.org/": false, "spiffe://example.org/a/": false, "spiffe://example.org//a": false, "spiffe://example.org/./a": false,
		"spiffe://example.org/../a": false, "spiffe://u@example.org/a": false, "spiffe://example.org:1/a": false, "spiffe://example.org/a?b": false,
		"spiffe://example.org/a#b": false, "spiffe://example.org/%61": false, "spiffe://example.org/é": false,
		"spiffe://example.org/" + strings.Repeat("a", agentauth.MaxID): false, "spiffe://" + strings.Repeat("a", 256) + "/a": false,
	} {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		leaf := &x509.Certificate{URIs: []*url.URL{u}, NotAfter: start.Add(time.Hour)}
		r := request()
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}}}
		if _, err := a.Request(r); (err == nil) != want {
			t.Error(uri, err)
		}
	}
}

// TestLive: a certificate, an authority and a key are replaced while it runs.
func TestLive(t *testing.T) {
	own, clients, others := newCA(t), newCA(t), newCA(t)
	cfg := agentauth.Config{Cert: &agentauth.Cert{}, Keys: &agentauth.Keys{}}
	live := agentauth.NewLive(newAuth(t, cfg), mustTLS(t, own.server(t, clients)))
	s := serve(t, live)
	old, young := clients.client(t, "spiffe://example.org/old"), others.client(t, "spiffe://example.org/young")
	if got := own.ask(t, s, "", old); got != "spiffe://example.org/old" {
		t.Fatal(got)
	}
	if got := own.ask(t, s, "Bearer "+fixedKey); got != agentauth.CredentialInvalid {
		t.Error(got)
	}
	cfg.Keys = &agentauth.Keys{List: []agentauth.Key{{Agent: "billing", Sum: fixedSum}}}
	live.Set(newAuth(t, cfg), mustTLS(t, own.server(t, others)))
	for want, got := range map[string]string{
		"key:billing": own.ask(t, s, "Bearer "+fixedKey), "no answer": own.ask(t, s, "", old), "spiffe://example.org/young": own.ask(t, s, "", young),
	} {
		if got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}

// TestLiveKeepsKeys: the issuer's keys are not lost when something else is replaced.
func TestLiveKeepsKeys(t *testing.T) {
	c := newClock()
	p := publish(t, ecJWK(&theIDP().p256.PublicKey, "p256"))
	live := agentauth.NewLive(newAuth(t, p.config(c)), nil)
	for range 2 {
		if _, err := live.Request(request(lasting(good()))); err != nil {
			t.Fatal(err)
		}
		p.say(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
		live.Set(newAuth(t, p.config(c)), nil)
	}
	if live.TLS() != nil {
		t.Error("TLS from nowhere")
	}
}

// TestServerTLS: files that are no certificates.
func TestServerTLS(t *testing.T) {
	fine := newCA(t).server(t, newCA(t))
	for label, change := range map[string]func(*agentauth.TLSConfig){
		"no key": func(c *agentauth.TLSConfig) { c.Key = nil }, "another's key": func(c *agentauth.TLSConfig) { c.Key = newCA(t).server(t, nil).Key },
		"no certificate": func(c *agentauth.TLSConfig) { c.Cert = c.Key }, "no authority": func(c *agentauth.TLSConfig) { c.ClientCA = []byte{} },
	} {
		c := fine
		change(&c)
		if _, err := agentauth.ServerTLS(c); err == nil {
			t.Error(label, "is taken")
		} else if len(c.Key) > 0 && bytes.Contains([]byte(err.Error()), c.Key) {
			t.Error("a key in an error")
		}
	}
	if c := mustTLS(t, fine); c.MinVersion < tls.VersionTLS12 || c.ClientAuth != tls.VerifyClientCertIfGiven {
		t.Error("the configuration is weak")
	}
}

// A connection may last longer than the certificate that it began with.
func TestExpiredOnConnection(t *testing.T) {
	leaf := newCA(t).client(t, "spiffe://example.org/billing").Leaf
	r := request()
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}}}
	for late, want := range map[time.Duration]string{-time.Second: "", time.Second: agentauth.CredentialInvalid} {
		a := newAuth(t, agentauth.Config{Cert: &agentauth.Cert{}, Now: func() time.Time { return leaf.NotAfter.Add(late) }})
		if id, err := a.Request(r); name(err) != want || (want == "") == id.Anonymous() {
			t.Errorf("after %s: %+v, %v", late, id, err)
		}
	}
}
