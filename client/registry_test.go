package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

var (
	raNow  = time.Unix(1_786_000_000, 0).UTC()
	raHalf = api.Hold{
		CrossingID: "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001", InitiatorClosed: "i~",
		ResponderToken: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", CounterpartyAgent: "urn:anax:agent:b",
	}
	raHold = api.Hold{CrossingID: "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001", InitiatorClosed: "i~", ResponderClosed: "r~"}
)

// patient is an HTTP client that no stall of the machine outlasts.
func patient() *http.Client { return &http.Client{Timeout: time.Minute} }

// saying returns a registry client whose server answers every request with what answer
// makes of its body.
func saying(t *testing.T, keys jose.KeySet, answer func(body []byte) (status int, say []byte)) *client.Registry {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status, say := answer(body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		w.Write(say)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{
		BaseURL: server.URL + "/", HTTP: patient(), Keys: keys, Now: func() time.Time { return raNow },
		Credentials: client.Credentials{Principal: "p", Agent: "a", Effector: "e"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.Registry()
}

type signable interface {
	Sign(*jose.Signer) (string, error)
}

func signed(t *testing.T, s *jose.Signer, statement signable) string {
	t.Helper()
	token, err := statement.Sign(s)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// undecided fails the test unless err says that nothing is known to have been decided.
func undecided(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, &api.Error{Code: api.CodeUnavailable}) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestLyingRegistry: whatever is not the pinned RA's word about what was asked proves
// nothing, and is no refusal either.
//
// covers GC-195
func TestLyingRegistry(t *testing.T) {
	ra, other := vaSigner(t), vaSigner(t)
	keys := jose.NewKeySet(ra.Key())
	triple := raHold.Triple()
	elsewhere := triple
	elsewhere.CrossingID = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be002"
	receipt := func(tr mandate.Triple, state mandate.SpendState) mandate.SpendReceipt {
		return mandate.SpendReceipt{Triple: tr, Effector: "urn:anax:principal:b", State: state, At: raNow}
	}
	half := func(tr mandate.Triple, half mandate.Half, state mandate.SpendState) mandate.SpendReceipt {
		r := receipt(tr, state)
		r.Half = half
		return r
	}
	registered := func(token string, variant mandate.Variant) mandate.Registration {
		g := mandate.Registration{
			TokenHash: jcs.HexOf([]byte(token)), SignedHash: jcs.HexOf(nil), OpenMandateHash: jcs.HexOf(nil), Variant: variant,
			PrincipalID: "urn:anax:principal:a", AgentID: "urn:anax:agent:a", At: raNow,
		}
		if variant == mandate.VariantClosed {
			g.CounterpartyAgent, g.ChainID, g.CrossingID = "urn:anax:agent:b", jcs.HexOf(nil), triple.CrossingID
		}
		return g
	}
	record := func(id string, lifetime time.Duration) mandate.Principal {
		return mandate.Principal{ID: id, Name: "n", Active: true, At: raNow.Add(-time.Hour), Expires: raNow.Add(lifetime)}
	}
	calls := map[string]func(context.Context, *client.Registry) error{
		"hold":    func(ctx context.Context, r *client.Registry) error { _, err := r.Hold(ctx, raHold); return err },
		"confirm": func(ctx context.Context, r *client.Registry) error { _, err := r.Confirm(ctx, triple); return err },
		"half":    func(ctx context.Context, r *client.Registry) error { _, err := r.Hold(ctx, raHalf); return err },
		"release": func(ctx context.Context, r *client.Registry) error {
			_, err := r.Release(ctx, api.Release{Triple: triple})
			return err
		},
		"open": func(ctx context.Context, r *client.Registry) error {
			_, err := r.RegisterOpen(ctx, api.RegisterOpen{Token: "t~"})
			return err
		},
		"closed": func(ctx context.Context, r *client.Registry) error {
			_, err := r.RegisterClosed(ctx, api.RegisterClosed{Token: "t~", CounterpartyAgent: "urn:anax:agent:b"})
			return err
		},
		"principal": func(ctx context.Context, r *client.Registry) error {
			_, err := r.Principal(ctx, "urn:anax:principal:a")
			return err
		},
	}
	for _, c := range []struct {
		call, what string
		by         *jose.Signer
		statement  signable
		good       bool
	}{
		{"hold", "held", ra, receipt(triple, mandate.Held), true},
		{"hold", "released", ra, receipt(triple, mandate.Released), true},
		{"hold", "spent", ra, receipt(triple, mandate.Spent), false},
		{"hold", "another crossing", ra, receipt(elsewhere, mandate.Held), false},
		{"hold", "another key", other, receipt(triple, mandate.Held), false},
		{"hold", "one of the two", ra, half(triple, mandate.ResponderHalf, mandate.Held), false},
		{"half", "held", ra, half(raHalf.Triple(), mandate.InitiatorHalf, mandate.Held), true},
		{"half", "both", ra, receipt(raHalf.Triple(), mandate.Held), false},
		{"half", "the other", ra, half(raHalf.Triple(), mandate.ResponderHalf, mandate.Held), false},
		{"release", "released", ra, receipt(triple, mandate.Released), true},
		{"release", "held", ra, receipt(triple, mandate.Held), true},
		{"release", "spent", ra, receipt(triple, mandate.Spent), true},
		{"release", "another crossing", ra, receipt(elsewhere, mandate.Released), false},
		{"release", "another key", other, receipt(triple, mandate.Released), false},
		{"confirm", "one of the two", ra, half(triple, mandate.ResponderHalf, mandate.Spent), true},
		{"confirm", "spent", ra, receipt(triple, mandate.Spent), true},
		{"confirm", "only held", ra, receipt(triple, mandate.Held), false},
		{"confirm", "another key", other, receipt(triple, mandate.Spent), false},
		{"confirm", "another statement", ra, registered("t~", mandate.VariantOpen), false},
		{"open", "registered", ra, registered("t~", mandate.VariantOpen), true},
		{"open", "another token", ra, registered("u~", mandate.VariantOpen), false},
		{"open", "a closed", ra, registered("t~", mandate.VariantClosed), false},
		{"closed", "registered", ra, registered("t~", mandate.VariantClosed), true},
		{"closed", "another key", other, registered("t~", mandate.VariantClosed), false},
		{"principal", "record", ra, record("urn:anax:principal:a", time.Second), true},
		{"principal", "lapsed", ra, record("urn:anax:principal:a", 0), false},
		{"principal", "another's", ra, record("urn:anax:principal:b", time.Second), false},
		{"principal", "another key", other, record("urn:anax:principal:a", time.Second), false},
	} {
		answer := api.Statement{Token: signed(t, c.by, c.statement)}.Bytes()
		r := saying(t, keys, func([]byte) (int, []byte) { return 200, answer })
		err := calls[c.call](t.Context(), r)
		if c.good {
			if err != nil {
				t.Errorf("%s, %s: %v", c.call, c.what, err)
			}
			continue
		}
		undecided(t, c.call+", "+c.what, err)
		if !errors.Is(err, client.ErrUnverified) {
			t.Errorf("%s, %s: %v", c.call, c.what, err)
		}
	}
}

func TestStatusIsFresh(t *testing.T) {
	ra := vaSigner(t)
	hash := jcs.HexOf([]byte("x"))
	for what, c := range map[string]struct {
		change func(*mandate.Status)
		good   bool
	}{
		"fresh":       {func(*mandate.Status) {}, true},
		"other nonce": {func(s *mandate.Status) { s.Nonce = "n" }, false},
		"other hash":  {func(s *mandate.Status) { s.Hash = jcs.HexOf([]byte("y")) }, false},
		"lapsed":      {func(s *mandate.Status) { s.Expires = raNow }, false},
	} {
		r := saying(t, jose.NewKeySet(ra.Key()), func(body []byte) (int, []byte) {
			req, err := api.ParseStatusRequest(body)
			if err != nil {
				t.Error(err)
			}
			s := mandate.Status{Hash: req.Hash, Active: true, PrincipalID: "urn:anax:principal:a", Nonce: req.Nonce, At: raNow.Add(-time.Minute), Expires: raNow.Add(time.Minute)}
			c.change(&s)
			token, err := s.Sign(ra)
			if err != nil {
				t.Error(err)
			}
			return 200, api.Statement{Token: token}.Bytes()
		})
		got, err := r.Status(t.Context(), hash)
		if c.good != (err == nil) || c.good != got.Active {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// TestRefusalReceipt: a refusal is final only by the pinned RA's word about this triple.
func TestRefusalReceipt(t *testing.T) {
	ra, other := vaSigner(t), vaSigner(t)
	f := mandate.FinalRefusal{Triple: raHold.Triple(), Name: "MANDATE_REVOKED", InitiatorSpent: true, ResponderSpent: true, At: raNow}
	elsewhere := f
	elsewhere.CrossingID = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be002"
	otherName := f
	otherName.Name = "MANDATE_EXPIRED"
	for what, c := range map[string]struct {
		receipt string
		final   bool
	}{
		"final":            {signed(t, ra, f), true},
		"another key":      {signed(t, other, f), false},
		"another crossing": {signed(t, ra, elsewhere), false},
		"another name":     {signed(t, ra, otherName), false},
		"no statement":     {"x", false},
	} {
		refusal := &api.Error{Code: "MANDATE_REVOKED", Receipt: c.receipt}
		r := saying(t, jose.NewKeySet(ra.Key()), func([]byte) (int, []byte) { return 401, refusal.Bytes() })
		for _, call := range []func() (string, error){
			func() (string, error) { return r.Hold(t.Context(), raHold) },
			func() (string, error) { return r.Confirm(t.Context(), raHold.Triple()) },
			func() (string, error) { return r.Release(t.Context(), api.Release{Triple: raHold.Triple()}) },
		} {
			got, err := call()
			e, ok := errors.AsType[*api.Error](err)
			if got != "" || !ok || e.Code != "MANDATE_REVOKED" || (e.Receipt == c.receipt) != c.final || (e.Receipt == "") == c.final {
				t.Errorf("%s: %q, %v", what, got, err)
			}
		}
	}
}

func TestRevocationReceipt(t *testing.T) {
	ra, other := vaSigner(t), vaSigner(t)
	hash := jcs.HexOf([]byte("x"))
	answer := func(s *jose.Signer, h jcs.Hex256, before string) api.Revoked {
		a, err := api.Revoked{Hash: h, Before: before, At: raNow}.Sign(s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	altered := answer(ra, hash, api.BeforeSpent)
	altered.Before = api.BeforeActive
	// The pinned key's header over another key's signature.
	forged := answer(other, hash, api.BeforeHeld)
	header, _, _ := strings.Cut(altered.Receipt, ".")
	_, rest, _ := strings.Cut(forged.Receipt, ".")
	forged.Receipt = header + "." + rest
	otherType := api.Revoked{Hash: hash, Before: api.BeforeHeld, At: raNow}
	var err error
	if otherType.Receipt, err = jose.SignCompact(ra, "bindery-status+jwt", otherType.Bytes()); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		answer api.Revoked
		good   bool
	}{
		"signed":       {answer(ra, hash, api.BeforeHeld), true},
		"another key":  {answer(other, hash, api.BeforeHeld), false},
		"another hash": {answer(ra, jcs.HexOf([]byte("y")), api.BeforeHeld), false},
		"altered":      {altered, false},
		"another type": {otherType, false},
		"forged":       {forged, false},
		"unsigned":     {api.Revoked{Hash: hash, Before: api.BeforeActive, At: raNow}, false},
	} {
		r := saying(t, jose.NewKeySet(ra.Key()), func([]byte) (int, []byte) { return 200, c.answer.Bytes() })
		got, err := r.Revoke(t.Context(), api.Revoke{Hash: hash})
		if c.good != (err == nil) || (got != api.Revoked{}) != c.good {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// TestNoAnswer: what leaves open whether something was decided is never a refusal.
func TestNoAnswer(t *testing.T) {
	hung := make(chan struct{})
	defer close(hung)
	for what, handler := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"not JSON": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"half an answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"statement":`)
		},
		"over 1 MiB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"statement":"x"}`+strings.Repeat(" ", 1<<20))
		},
		"created": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, `{"statement":"x"}`)
		},
		"503 of a proxy": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"error without code": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"error":"MANDATE_REVOKED"}`)
		},
		"none in time": func(http.ResponseWriter, *http.Request) { <-hung },
	} {
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			handler(w, r)
		}))
		t.Cleanup(server.Close) // after hung is closed
		least, one := int32(1), patient()
		if what == "none in time" {
			least, one.Timeout = 0, 200*time.Millisecond // which may pass before the server is asked
		}
		c, err := client.New(client.Config{BaseURL: server.URL, Credentials: client.Credentials{Effector: "e"}, HTTP: one})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Registry().Hold(t.Context(), raHold)
		undecided(t, what, err)
		// What is no answer is not looked at as one, and a credential goes nowhere else.
		if n := requests.Load(); errors.Is(err, client.ErrUnverified) || n < least || n > 1 {
			t.Errorf("%s: %v after %d requests", what, err, n)
		}
	}
	c, err := client.New(client.Config{BaseURL: "http://127.0.0.1:1", Credentials: client.Credentials{Effector: "e"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Registry().Hold(t.Context(), raHold)
	undecided(t, "nobody listens", err)
}

func TestCredentialsStayInTheirRole(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.EscapedPath()+" "+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	all := client.Credentials{Principal: "p", Agent: "a", Issuer: "i", Effector: "e", Operator: "o", Publisher: "v"}
	c, err := client.New(client.Config{BaseURL: server.URL, HTTP: patient(), Credentials: all})
	if err != nil {
		t.Fatal(err)
	}
	ra, ctx := c.Registry(), t.Context()
	_, _ = ra.RegisterOpen(ctx, api.RegisterOpen{})
	_, _ = ra.RegisterClosed(ctx, api.RegisterClosed{})
	_, _ = ra.Hold(ctx, raHold)
	_, _ = ra.Confirm(ctx, raHold.Triple())
	_, _ = ra.Release(ctx, api.Release{})
	_, _ = ra.Revoke(ctx, api.Revoke{})
	_, _ = ra.Status(ctx, "")
	_, _ = ra.Principal(ctx, "https://x.example/a?b")
	_, _ = ra.Consume(ctx, raConsume)
	_ = ra.Burned(ctx, api.Burn{})
	_ = ra.RegisterIssuer(ctx, raIssuer)
	_ = ra.Add(ctx, raAddition)
	_ = ra.SetSuspended(ctx, api.Suspension{})
	_ = ra.Withdraw(ctx, api.Withdrawal{})
	_, _ = ra.AuditRows(ctx, 7, 10)
	want := []string{
		"/v1/ra/opens Bearer p", "/v1/ra/closeds Bearer a", "/v1/ra/holds Bearer e", "/v1/ra/confirms Bearer e", "/v1/ra/releases Bearer e",
		"/v1/ra/revocations Bearer p", "/v1/ra/status Bearer a", "/v1/ra/principals/https:%2F%2Fx.example%2Fa%3Fb Bearer a",
		"/v1/ra/units Bearer e", "/v1/ra/units/burned Bearer e", "/v1/ra/issuers Bearer o", "/v1/ra/additions Bearer p",
		"/v1/ra/suspensions Bearer o", "/v1/ra/withdrawals Bearer p", "/v1/ra/audit Bearer o",
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent %q", seen)
	}
	// Where there is no principal, who may stand in for it does.
	seen = nil
	all.Principal = ""
	if c, err = client.New(client.Config{BaseURL: server.URL, HTTP: patient(), Credentials: all}); err != nil {
		t.Fatal(err)
	}
	ra = c.Registry()
	_, _ = ra.RegisterOpen(ctx, api.RegisterOpen{})
	_, _ = ra.Revoke(ctx, api.Revoke{})
	_ = ra.Add(ctx, raAddition)
	_ = ra.Withdraw(ctx, api.Withdrawal{})
	want = []string{"/v1/ra/opens Bearer i", "/v1/ra/revocations Bearer o", "/v1/ra/additions Bearer o", "/v1/ra/withdrawals Bearer o"}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("without a principal: sent %q", seen)
	}
	seen = nil
	if c, err = client.New(client.Config{BaseURL: server.URL, HTTP: patient()}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Registry().Hold(ctx, raHold); !errors.Is(err, &api.Error{Code: api.CodeUnauthenticated}) || len(seen) != 0 {
		t.Errorf("without a credential: %v, sent %q", err, seen)
	}
}

func TestBaseURL(t *testing.T) {
	for base, good := range map[string]bool{
		"https://ra.example":               true,
		"https://ra.example:8443/bindery/": true,
		"http://127.0.0.1:8080":            true,
		"http://[::1]:8080":                true,
		"http://localhost:8080":            true,
		"http://ra.example":                false,
		"http://127.0.0.1.ra.example":      false,
		"http://10.0.0.1":                  false,
		"ftp://127.0.0.1":                  false,
		"https://":                         false,
		"https://user:pw@ra.example":       false,
		"https://ra.example/?a=b":          false,
		"https://ra.example/#a":            false,
		"ra.example":                       false,
		"":                                 false,
	} {
		if _, err := client.New(client.Config{BaseURL: base}); (err == nil) != good {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestPinnedKeys(t *testing.T) {
	pinned, other := vaSigner(t).Key(), vaSigner(t).Key()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/jwks.json" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(jose.NewKeySet(pinned, other).JWKS())
	}))
	defer server.Close()
	keys, err := client.PinnedKeys(t.Context(), server.URL, pinned.ID)
	if err != nil || len(keys.Keys()) != 1 || !keys.Keys()[0].Same(pinned) {
		t.Errorf("keys %+v, %v", keys, err)
	}
	for _, thumbprint := range []string{"", "x", vaSigner(t).Key().ID} {
		if keys, err := client.PinnedKeys(t.Context(), server.URL, thumbprint); !errors.Is(err, client.ErrUnverified) || len(keys.Keys()) != 0 {
			t.Errorf("thumbprint %q: %+v, %v", thumbprint, keys, err)
		}
	}
}
