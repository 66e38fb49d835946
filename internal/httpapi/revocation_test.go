package httpapi_test

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
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/httpapi"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A bureau is a listener with an RA that serves status lists, and a VA that asks it.
type bureau struct {
	office
	late   atomic.Int64 // seconds after start
	cut    atomic.Bool  // the VA does not reach the RA
	forged atomic.Pointer[jose.Signer]
	asked  atomic.Int64
}

func (b *bureau) now() time.Time { return start.Add(time.Duration(b.late.Load()) * time.Second) }

// Status implements authority.Registrar.
func (b *bureau) Status(ctx context.Context, req api.StatusRequest) (string, error) {
	b.asked.Add(1)
	switch s := b.forged.Load(); {
	case b.cut.Load():
		return "", errors.New("cut off")
	case s != nil:
		return mandate.Status{Hash: req.Hash, Active: true, PrincipalID: "urn:anax:principal:a", Nonce: req.Nonce, At: b.now(), Expires: b.now().Add(time.Minute)}.Sign(s)
	}
	return b.ra.Status(ctx, req)
}

func newBureau(t *testing.T) *bureau {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	server := httptest.NewUnstartedServer(nil)
	b := &bureau{office: office{url: "http://" + server.Listener.Addr().String()}}
	signer := newSigner(t)
	b.key = signer.Key()
	b.ra, err = registry.New(registry.Config{
		Store: db.Registry(), Signer: signer, Now: b.now, VAURL: "https://va.example/", URL: b.url,
		RateLimit: registry.Rate{PerSecond: 1 << 20, Burst: 1 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	va, err := authority.New(authority.Config{
		Store: db.Authority(), Signer: newSigner(t), Name: "VA-001", BaseURL: b.url + "/", Now: b.now,
		RateLimit:  authority.Rate{PerSecond: 1 << 20, Burst: 1 << 20},
		Registries: func(context.Context) ([]authority.Registrar, error) { return []authority.Registrar{b}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := va.PinRegistry(t.Context(), b.key); err != nil {
		t.Fatal(err)
	}
	server.Config.Handler, err = httpapi.NewPublic(httpapi.PublicConfig{
		Hosts: []string{server.Listener.Addr().String()}, Registry: b.ra, Authority: va,
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	b.http = patient(server)
	return b
}

func keySigner(f *firm, k jose.Key) api.RevokeSigner {
	return api.RevokeSigner{Kind: api.KindKey, PrincipalID: f.id, Subject: k.ID}
}

// TestWC10Confirm is the re-read of §5.4 over the network: what is revoked between hold and
// confirm, and how, and what was revoked after the confirm.
//
// covers GC-101, GC-139, GC-301, GC-302
func TestWC10Confirm(t *testing.T) {
	signer := func(req func(a, b *firm) api.RevokeSigner) func(*testing.T, *firm, *firm, jcs.Hex256, string) error {
		return func(t *testing.T, a, b *firm, _ jcs.Hex256, _ string) error {
			r := req(a, b)
			by := a
			if r.PrincipalID == b.id {
				by = b
			}
			_, err := by.ra.RevokeSigner(t.Context(), r)
			return err
		}
	}
	for what, revoke := range map[string]func(t *testing.T, a, b *firm, openA jcs.Hex256, closedA string) error{
		"closed": func(t *testing.T, a, _ *firm, _ jcs.Hex256, closedA string) error {
			_, err := a.ra.Revoke(t.Context(), api.Revoke{Hash: jcs.HexOf([]byte(closedA))})
			return err
		},
		"open": func(t *testing.T, a, _ *firm, openA jcs.Hex256, _ string) error {
			_, err := a.ra.Revoke(t.Context(), api.Revoke{Hash: openA})
			return err
		},
		"the initiator's issuer key": signer(func(a, _ *firm) api.RevokeSigner { return keySigner(a, a.issuer.Key()) }),
		"the responder's issuer key": signer(func(_, b *firm) api.RevokeSigner { return keySigner(b, b.issuer.Key()) }),
		"the initiator's cnf key":    signer(func(a, _ *firm) api.RevokeSigner { return keySigner(a, a.agent.Key()) }),
		"the responder's cnf key":    signer(func(_, b *firm) api.RevokeSigner { return keySigner(b, b.agent.Key()) }),
		"the initiator": signer(func(a, _ *firm) api.RevokeSigner {
			return api.RevokeSigner{Kind: api.KindPrincipal, PrincipalID: a.id}
		}),
	} {
		for _, before := range []bool{true, false} {
			t.Run(what+map[bool]string{true: ", before the confirm", false: ", after it"}[before], func(t *testing.T) {
				o := newBureau(t)
				ctx, a, b := t.Context(), o.join(t, "a"), o.join(t, "b")
				openA, closedA := a.closed(t, b)
				_, closedB := b.closed(t, a)
				hold := api.Hold{CrossingID: crossingOne, InitiatorClosed: closedA, ResponderClosed: closedB}
				if _, err := b.ra.Hold(ctx, hold); err != nil {
					t.Fatal(err)
				}
				var spent string
				var err error
				if !before {
					if spent, err = b.ra.Confirm(ctx, hold.Triple()); err != nil {
						t.Fatal(err)
					}
				}
				if err := revoke(t, a, b, openA, closedA); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					got, err := b.ra.Confirm(ctx, hold.Triple())
					if !before {
						if err != nil || got != spent {
							t.Errorf("what was confirmed does not stand: %v", err)
						}
						continue
					}
					e, ok := errors.AsType[*api.Error](err)
					if !ok || e.Code != "MANDATE_REVOKED" {
						t.Fatalf("confirm: %v", err)
					}
					f, err := mandate.ParseFinalRefusal(e.Receipt, jose.NewKeySet(o.key))
					if err != nil || f.Triple != hold.Triple() || f.Name != "MANDATE_REVOKED" || !f.InitiatorSpent || !f.ResponderSpent {
						t.Errorf("final refusal %+v, %v", f, err)
					}
				}
			})
		}
	}
}

// TestRevokeSignerRoute: credentials, shapes, and the repeat.
//
// covers GC-080, GC-081
func TestRevokeSignerRoute(t *testing.T) {
	o := newBureau(t)
	a, b := o.join(t, "a"), o.join(t, "b")
	body := string(keySigner(a, a.agent.Key()).Bytes())
	for what, c := range map[string]struct {
		credential, body string
		status           int
		contains         string
	}{
		"nobody":            {"", body, 401, "unauthenticated"},
		"an agent":          {"agent a", body, 403, "ROLE_MISMATCH"},
		"another principal": {"principal b", body, 404, "not_found"},
		"no subject":        {"principal a", `{"kind":"key","principal_id":"` + a.id + `"}`, 400, `"pointer":"/subject"`},
		"no kind":           {"principal a", `{"kind":"agent","principal_id":"` + a.id + `"}`, 400, `"pointer":"/kind"`},
		"more":              {"principal a", strings.Replace(body, "{", `{"x":1,`, 1), 400, `"pointer":"/x"`},
		"a word for a text": {"principal a", strings.Replace(body, `"key"`, `true`, 1), 400, `"pointer":"/kind"`},
	} {
		status, answer := o.post(t, "signer-revocations", c.credential, c.body)
		if status != c.status || !strings.Contains(answer, c.contains) {
			t.Errorf("%s: %d %s", what, status, answer)
		}
	}
	first, err := a.ra.RevokeSigner(t.Context(), keySigner(a, a.agent.Key()))
	if err != nil {
		t.Fatal(err)
	}
	o.late.Store(60)
	if again, err := a.ra.RevokeSigner(t.Context(), keySigner(a, a.agent.Key())); err != nil || again != first || !again.At.Equal(start.Truncate(time.Second)) {
		t.Errorf("again: %+v, %v", again, err)
	}
	record, err := b.ra.Principal(t.Context(), a.id)
	if err != nil || record.HasAgent(a.agentID, a.agent.Key(), start) || len(record.Keys) != 1 {
		t.Errorf("record %+v, %v", record, err)
	}
}

// listed registers an Open and returns its hash and its place in the list.
func (f *firm) listed(t *testing.T, keys jose.KeySet) (jcs.Hex256, mandate.StatusReference) {
	t.Helper()
	open, err := mandate.OpenDraft{
		Issuer: f.id, Subject: f.agentID, IssuedAt: start, ExpiresAt: start.Add(time.Hour), ConfirmationKey: f.agent.Key(),
		Counterparties: mandate.AnyCounterparty(), Amount: commitment.Amount{Class: commitment.Irreversible, Magnitude: 1},
	}.Sign(f.issuer)
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := f.ra.RegisterOpen(t.Context(), api.RegisterOpen{Token: open.Full()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := mandate.ParseRegistration(receipt, keys)
	if err != nil {
		t.Fatal(err)
	}
	return g.OpenMandateHash, g.StatusList
}

// get asks the bureau for a path.
func (b *bureau) get(t *testing.T, path, etag string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	resp, err := b.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// stranger is a client without credentials or, with keys, one that has pinned them.
func (b *bureau) stranger(t *testing.T, keys ...jose.Key) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: b.url, Keys: jose.NewKeySet(keys...), HTTP: b.http, Now: b.now})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// covers GC-355
func TestStatusListRoute(t *testing.T) {
	o := newBureau(t)
	ctx, a := t.Context(), o.join(t, "a")
	hash, f := a.listed(t, jose.NewKeySet(o.key))
	resp, token := o.get(t, strings.TrimPrefix(f.URI, o.url), "")
	h := resp.Header
	if resp.StatusCode != 200 || h.Get("Content-Type") != "application/statuslist+jwt" || h.Get("Cache-Control") != "public, max-age=45" || h.Get("ETag") == "" {
		t.Errorf("%d %v", resp.StatusCode, h)
	}
	c, err := jose.ParseCompact(token, 1<<20)
	if err != nil || c.Header.Typ != "statuslist+jwt" || c.Header.Alg != "ES256" || c.Header.Kid != o.key.ID || c.Verify(o.key) != nil {
		t.Errorf("header %+v, %v", c.Header, err)
	}
	if resp, body := o.get(t, strings.TrimPrefix(f.URI, o.url), h.Get("ETag")); resp.StatusCode != 304 || body != "" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	if resp, body := o.get(t, "/v1/ra/status-lists/0123", ""); resp.StatusCode != 404 || resp.Header.Get("Cache-Control") != "no-store" || !strings.Contains(body, "not_found") {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
	}

	ra := o.stranger(t, o.key).Registry()
	look := func(what string, wanted bool) {
		t.Helper()
		l, err := ra.StatusList(ctx, f)
		if err != nil || l.Confirms(f, o.now()) != wanted {
			t.Errorf("%s: %v", what, err)
		}
		if s, err := ra.Status(ctx, hash); err != nil || s.Active != wanted {
			t.Errorf("%s: the status says %v, %v", what, s.Active, err)
		}
	}
	look("active", true)
	if _, err := a.ra.Revoke(ctx, api.Revoke{Hash: hash}); err != nil {
		t.Fatal(err)
	}
	o.late.Add(1)
	look("revoked", false)

	if _, err := o.stranger(t, newSigner(t).Key()).Registry().StatusList(ctx, f); !errors.Is(err, client.ErrUnverified) {
		t.Errorf("under another key: %v", err)
	}
	if _, err := ra.StatusList(ctx, mandate.StatusReference{URI: "https://elsewhere.example/v1/ra/status-lists/1"}); err == nil {
		t.Error("a list of elsewhere was fetched")
	}
	if _, err := ra.StatusList(ctx, mandate.StatusReference{URI: o.url + "/v1/ra/status-lists/00000000000000000000000000000000"}); !errors.Is(err, &api.Error{Code: api.CodeNotFound}) {
		t.Errorf("an unknown list: %v", err)
	}
}

// TestStatusAtVA: the RA's word by way of the VA, and the VA's own name where there is none.
//
// covers GC-304, GC-355
func TestStatusAtVA(t *testing.T) {
	o := newBureau(t)
	ctx, a := t.Context(), o.join(t, "a")
	hash, _ := a.listed(t, jose.NewKeySet(o.key))
	va := o.stranger(t).Authority()
	ra := jose.NewKeySet(o.key)
	look := func(what string, wanted bool) {
		t.Helper()
		if s, err := va.Status(ctx, a.id, hash, ra); err != nil || s.Active != wanted || s.Hash != hash {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
	look("active", true)
	if s, err := va.Status(ctx, "", jcs.HexOf([]byte("unknown")), ra); err != nil || s.Active {
		t.Errorf("unknown: %+v, %v", s, err)
	}
	if _, err := va.Status(ctx, a.id, hash, jose.NewKeySet(newSigner(t).Key())); !errors.Is(err, client.ErrUnverified) {
		t.Errorf("under another key: %v", err)
	}

	path := "/v1/va/status/" + string(hash)
	resp, first := o.get(t, path, "")
	asked := o.asked.Load()
	o.late.Store(20)
	later, second := o.get(t, path, "")
	if resp.StatusCode != 200 || first != second || o.asked.Load() != asked ||
		resp.Header.Get("Cache-Control") != "public, max-age=60" || later.Header.Get("Cache-Control") != "public, max-age=40" {
		t.Errorf("%d %v, then %v", resp.StatusCode, resp.Header, later.Header)
	}
	if _, err := a.ra.Revoke(ctx, api.Revoke{Hash: hash}); err != nil {
		t.Fatal(err)
	}
	look("revoked, by nonce", false)
	o.late.Store(59)
	if _, kept := o.get(t, path, ""); kept != first {
		t.Error("the answer was not kept for its lifetime")
	}
	o.late.Store(60)
	if _, fresh := o.get(t, path, ""); fresh == first {
		t.Error("the answer was kept for longer than its lifetime")
	} else if s, err := api.ParseStatement([]byte(fresh)); err != nil {
		t.Error(err)
	} else if s, err := mandate.ParseStatus(s.Token, ra); err != nil || s.Active {
		t.Errorf("revoked: %+v, %v", s, err)
	}

	unreachable := func(what string) {
		t.Helper()
		if _, err := va.Status(ctx, a.id, hash, ra); !errors.Is(err, &api.Error{Code: api.CodeRegistryUnreachable}) {
			t.Errorf("%s: %v", what, err)
		}
		resp, body := o.get(t, "/v1/va/status/"+string(jcs.HexOf([]byte(what))), "")
		if resp.StatusCode != 503 || !strings.Contains(body, `"registry_unreachable"`) || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", what, resp.StatusCode, body)
		}
	}
	o.cut.Store(true)
	unreachable("cut off")
	o.cut.Store(false)
	o.forged.Store(newSigner(t))
	unreachable("an RA that is not pinned")
	if resp, body := o.get(t, "/v1/va/status/x", ""); resp.StatusCode != 400 || !strings.Contains(body, `"/open_mandate_hash"`) {
		t.Errorf("no hash: %d %s", resp.StatusCode, body)
	}
}
