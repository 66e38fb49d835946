package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

func peerSigner(t *testing.T) *jose.Signer {
	t.Helper()
	k, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func enrolPeer(t *testing.T) api.EnrolPeer {
	t.Helper()
	return api.EnrolPeer{
		Secret: "AAAAAAAAAAAAAAAAAAAAAA", Key: peerSigner(t).Key(), URL: "https://ra.acme.example/ra",
		Counterpart: api.Counterpart{
			PrincipalID: "urn:anax:principal:acme", Effector: jcs.HexOf([]byte("credential")),
			Agents: []mandate.Agent{{ID: "urn:anax:agent:acme-1", Key: peerSigner(t).Key()}},
		},
	}
}

func TestEnrolPeerRoundTrip(t *testing.T) {
	req := enrolPeer(t)
	got, err := api.ParseEnrolPeer(req.Bytes())
	if err != nil || string(got.Bytes()) != string(req.Bytes()) {
		t.Errorf("%s became %s, %v", req.Bytes(), got.Bytes(), err)
	}
}

// covers GC-209
func TestEnrolPeerRefused(t *testing.T) {
	for what, c := range map[string]struct {
		pointer string
		change  func(*api.EnrolPeer)
	}{
		"no principal":            {"/principal_id", func(e *api.EnrolPeer) { e.PrincipalID = "acme" }},
		"no agent":                {"/agents", func(e *api.EnrolPeer) { e.Agents = nil }},
		"too many agents":         {"/agents", func(e *api.EnrolPeer) { e.Agents = make([]mandate.Agent, api.MaxAgents+1) }},
		"an agent twice":          {"/agents/1", func(e *api.EnrolPeer) { e.Agents = append(e.Agents, e.Agents[0]) }},
		"no effector":             {"/effector_sha256", func(e *api.EnrolPeer) { e.Effector = "x" }},
		"the RA's key an agent's": {"/ra/jwk", func(e *api.EnrolPeer) { e.Key = e.Agents[0].Key }},
		"no secret":               {"/secret", func(e *api.EnrolPeer) { e.Secret = "secret" }},
		"http beyond loopback":    {"/ra/url", func(e *api.EnrolPeer) { e.URL = "http://ra.acme.example" }},
		"no host":                 {"/ra/url", func(e *api.EnrolPeer) { e.URL = "https://" }},
		"no host but a port":      {"/ra/url", func(e *api.EnrolPeer) { e.URL = "https://:443" }},
		"loopback as a user":      {"/ra/url", func(e *api.EnrolPeer) { e.URL = "http://127.0.0.1@ra.acme.example" }},
		"loopback as a label":     {"/ra/url", func(e *api.EnrolPeer) { e.URL = "http://localhost.acme.example" }},
		"a query":                 {"/ra/url", func(e *api.EnrolPeer) { e.URL = "https://ra.acme.example/?x" }},
		"a fragment":              {"/ra/url", func(e *api.EnrolPeer) { e.URL = "https://ra.acme.example/#x" }},
		"another scheme":          {"/ra/url", func(e *api.EnrolPeer) { e.URL = "file://localhost/x" }},
		"a space":                 {"/ra/url", func(e *api.EnrolPeer) { e.URL = "https://ra.acme.example/ x" }},
		"too long":                {"/ra/url", func(e *api.EnrolPeer) { e.URL = "https://ra.acme.example/" + strings.Repeat("x", 512) }},
	} {
		req := enrolPeer(t)
		c.change(&req)
		_, err := api.ParseEnrolPeer(req.Bytes())
		if e, ok := err.(*api.Error); !ok || e.Code != api.CodeMalformed || e.Pointer != c.pointer {
			t.Errorf("%s: %v, want malformed at %s", what, err, c.pointer)
		}
	}
	for _, url := range []string{"http://127.0.0.1:7420", "http://localhost:7420/", "http://[::1]:7420", "https://ra.acme.example:8443"} {
		req := enrolPeer(t)
		req.URL = url
		if _, err := api.ParseEnrolPeer(req.Bytes()); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	body := strings.Replace(string(enrolPeer(t).Bytes()), `{"agents"`, `{"admin":true,"agents"`, 1)
	if _, err := api.ParseEnrolPeer([]byte(body)); err == nil {
		t.Error("an unknown member was taken")
	}
}

func TestPeerEnrolled(t *testing.T) {
	s, other := peerSigner(t), peerSigner(t)
	answer, err := api.PeerEnrolled{
		Counterpart: enrolPeer(t).Counterpart, Peer: other.Key().ID, VAURL: "https://va.example/", VAPinned: true, At: time.Unix(1_786_000_000, 0).UTC(),
	}.Sign(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.ParsePeerEnrolled(answer.Bytes())
	if err != nil || string(got.Bytes()) != string(answer.Bytes()) {
		t.Fatalf("%s became %s, %v", answer.Bytes(), got.Bytes(), err)
	}
	if err := got.Verify(jose.NewKeySet(s.Key())); err != nil {
		t.Error(err)
	}
	if got.Verify(jose.NewKeySet(other.Key())) == nil {
		t.Error("another key's answer was taken")
	}
	for what, change := range map[string]func(*api.PeerEnrolled){
		"principal": func(p *api.PeerEnrolled) { p.PrincipalID += "x" },
		"effector":  func(p *api.PeerEnrolled) { p.Effector = jcs.HexOf([]byte("mine")) },
		"agents":    func(p *api.PeerEnrolled) { p.Agents = []mandate.Agent{{ID: "urn:anax:agent:x", Key: other.Key()}} },
		"peer":      func(p *api.PeerEnrolled) { p.Peer = s.Key().ID },
		"VA":        func(p *api.PeerEnrolled) { p.VAURL = "https://elsewhere.example/" },
		"pinned":    func(p *api.PeerEnrolled) { p.VAPinned = false },
	} {
		p := got
		change(&p)
		if p.Verify(jose.NewKeySet(s.Key())) == nil {
			t.Errorf("%s: a changed answer was taken", what)
		}
	}
}
