package authority_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A registrar is an RA that says what it is told to.
type registrar struct {
	signer *jose.Signer
	change func(*mandate.Status)
	down   bool
}

// whose is the principal whose mandate is asked for.
const whose = "urn:anax:principal:whose"

func (r registrar) Status(_ context.Context, req api.StatusRequest) (string, error) {
	if r.down {
		return "", errors.New("down")
	}
	s := mandate.Status{Hash: req.Hash, Nonce: req.Nonce, At: start, Expires: start.Add(time.Minute)}
	r.change(&s)
	return s.Sign(r.signer)
}

// TestStatusOfSeveral: which of the registries' answers is passed on, and when there is none.
//
// covers GC-304, GC-355
func TestStatusOfSeveral(t *testing.T) {
	w := newWorld(t)
	other, stranger := newSigner(t), newSigner(t)
	for _, key := range []jose.Key{w.ra.Key(), other.Key()} {
		if err := w.va.PinRegistry(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	says := func(s *jose.Signer, change func(*mandate.Status)) authority.Registrar {
		return registrar{signer: s, change: change}
	}
	active := func(s *mandate.Status) { s.Active, s.PrincipalID = true, whose }
	unknown := func(*mandate.Status) {}
	down := authority.Registrar(registrar{down: true})
	hash := jcs.HexOf([]byte("open"))
	for what, c := range map[string]struct {
		registries []authority.Registrar
		answers    bool
		active     bool
	}{
		"none":                      {nil, false, false},
		"active":                    {[]authority.Registrar{says(w.ra, active)}, true, true},
		"one of two, not active":    {[]authority.Registrar{says(w.ra, unknown)}, false, false},
		"one of two, twice":         {[]authority.Registrar{says(w.ra, unknown), says(w.ra, unknown)}, false, false},
		"the second knows it":       {[]authority.Registrar{says(w.ra, unknown), says(other, active)}, true, true},
		"neither knows it":          {[]authority.Registrar{says(w.ra, unknown), says(other, unknown)}, true, false},
		"one is down, one knows it": {[]authority.Registrar{down, says(other, active)}, true, true},
		"one is down":               {[]authority.Registrar{down, says(other, unknown)}, false, false},
		"not pinned":                {[]authority.Registrar{says(stranger, active)}, false, false},
		"another hash":              {[]authority.Registrar{says(w.ra, func(s *mandate.Status) { s.Active, s.PrincipalID, s.Hash = true, whose, jcs.HexOf([]byte("x")) })}, false, false},
		"another nonce":             {[]authority.Registrar{says(w.ra, func(s *mandate.Status) { s.Active, s.PrincipalID, s.Nonce = true, whose, "old" })}, false, false},
		"lapsed": {[]authority.Registrar{says(w.ra, func(s *mandate.Status) {
			s.Active, s.PrincipalID, s.At, s.Expires = true, whose, start.Add(-time.Hour), start
		})}, false, false},
	} {
		cfg := w.cfg
		cfg.Registries = func(context.Context) ([]authority.Registrar, error) { return c.registries, nil }
		va, err := authority.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		token, err := va.Status(t.Context(), api.StatusRequest{Hash: hash, Nonce: "fresh"})
		if !c.answers {
			if !errors.Is(err, &api.Error{Code: api.CodeRegistryUnreachable}) || token != "" {
				t.Errorf("%s: %q, %v", what, token, err)
			}
			continue
		}
		s, fault := mandate.ParseStatus(token, jose.NewKeySet(w.ra.Key(), other.Key()))
		if err != nil || fault != nil || s.Active != c.active || s.Nonce != "fresh" {
			t.Errorf("%s: %+v, %v, %v", what, s, err, fault)
		}
	}
	if _, err := w.va.Status(t.Context(), api.StatusRequest{Hash: hash, Nonce: "n"}); !errors.Is(err, &api.Error{Code: api.CodeRegistryUnreachable}) {
		t.Errorf("without registries: %v", err)
	}
	for what, req := range map[string]api.StatusRequest{"no hash": {Hash: "x", Nonce: "n"}, "no nonce": {Hash: hash}} {
		if _, err := w.va.Status(t.Context(), req); !errors.Is(err, &api.Error{Code: api.CodeMalformed}) {
			t.Errorf("%s: %v", what, err)
		}
	}
	cfg := w.cfg
	cfg.Registries = func(context.Context) ([]authority.Registrar, error) { return nil, errors.New("the disk") }
	va, err := authority.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := va.Standing(t.Context(), hash); err == nil || errors.Is(err, &api.Error{Code: api.CodeRegistryUnreachable}) {
		t.Errorf("our own fault: %v", err)
	}
}

// TestStatusByWhom: of RAs that speak for one principal each, the one that speaks for the
// mandate's is believed about it. Another one cannot hide a revocation.
//
// covers GC-304, GC-355
func TestStatusByWhom(t *testing.T) {
	w, liar, theirs := newWorld(t), newSigner(t), newSigner(t)
	const liars = "urn:anax:principal:liar"
	for _, ra := range []struct {
		key       jose.Key
		principal string
	}{{liar.Key(), liars}, {theirs.Key(), whose}} {
		secret, err := w.va.NewCode(t.Context(), authority.CodeTerms{PrincipalID: ra.principal})
		if err != nil {
			t.Fatal(err)
		}
		req := api.EnrolRegistry{Secret: secret, Key: ra.key, PrincipalID: ra.principal, URL: "https://ra.example"}
		if _, err := w.va.EnrolRegistry(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	says := func(s *jose.Signer, principal string) authority.Registrar {
		return registrar{signer: s, change: func(s *mandate.Status) { s.Active, s.PrincipalID = principal != "", principal }}
	}
	const unreachable, conflict = api.CodeRegistryUnreachable, api.CodeConflict
	for what, c := range map[string]struct {
		principal        string
		ra, liar, theirs string // whose each says that the mandate is; "" that it is not active
		refused, active  string // the answer
	}{
		"active":                                 {whose, "", "", whose, "", whose},
		"revoked, and the liar names its own":    {whose, "", liars, "", "", ""},
		"revoked, and the liar names the victim": {whose, "", whose, "", "", ""},
		"revoked, and our RA says otherwise":     {whose, whose, "", "", "", ""},
		"unnamed":                                {"", "", "", whose, "", whose},
		"unnamed, the liar names the victim":     {"", "", whose, "", unreachable, ""},
		"unnamed, the liar names its own":        {"", "", liars, "", "", liars},
		"unnamed, two claims":                    {"", "", liars, whose, conflict, ""},
		"of nobody's RA, the liar names it":      {"urn:anax:principal:x", "", "urn:anax:principal:x", "", "", ""},
		"of our RA":                              {"urn:anax:principal:x", "urn:anax:principal:x", "", "", "", "urn:anax:principal:x"},
	} {
		cfg := w.cfg
		cfg.Registries = func(context.Context) ([]authority.Registrar, error) {
			return []authority.Registrar{says(liar, c.liar), says(w.ra, c.ra), says(theirs, c.theirs)}, nil
		}
		va, err := authority.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		token, err := va.Status(t.Context(), api.StatusRequest{Hash: jcs.HexOf([]byte("open")), Nonce: "n", PrincipalID: c.principal})
		if c.refused != "" {
			if !errors.Is(err, &api.Error{Code: c.refused}) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		s, fault := mandate.ParseStatus(token, jose.NewKeySet(w.ra.Key(), liar.Key(), theirs.Key()))
		if err != nil || fault != nil || s.Active != (c.active != "") || s.PrincipalID != c.active {
			t.Errorf("%s: %+v, %v, %v", what, s, err, fault)
		}
	}
}

// TestUnpinned: what an RA has signed counts for nothing once its pin has ended, also an
// answer that is kept, a publication of whom it has granted, and a grant.
//
// covers GC-209, GC-355
func TestUnpinned(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	cfg := w.cfg
	cfg.Registries = func(context.Context) ([]authority.Registrar, error) {
		return []authority.Registrar{registrar{signer: w.ra, change: func(s *mandate.Status) { s.Active, s.PrincipalID = true, whose }}}, nil
	}
	va, err := authority.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	hash := jcs.HexOf([]byte("open"))
	if _, _, err := va.Standing(ctx, hash); err != nil {
		t.Fatal(err)
	}
	refused(t, "an unknown key", va.Unpin(ctx, newSigner(t).Key().ID), api.CodeNotFound, "")
	if err := va.Unpin(ctx, w.ra.Key().ID); err != nil {
		t.Fatal(err)
	}
	_, _, err = va.Standing(ctx, hash)
	refused(t, "the answer that was kept", err, api.CodeRegistryUnreachable, "")
	p := w.publication(crossing.Responder)
	_, err = va.Publish(ctx, w.responder.credential, w.sign(p, w.responder).Bytes())
	refused(t, "a publication", err, api.CodeUnauthenticated, "")
	third := party{principal: "urn:anax:principal:third", credential: "third", signer: newSigner(t)}
	refused(t, "a grant", va.AddPublisher(ctx, third.credential, w.grant(third, w.ra)), api.CodeUnauthenticated, "")
}
