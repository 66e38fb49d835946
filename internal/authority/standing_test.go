package authority_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
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
	active := func(s *mandate.Status) { s.Active = true }
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
		"another hash":              {[]authority.Registrar{says(w.ra, func(s *mandate.Status) { s.Active, s.Hash = true, jcs.HexOf([]byte("x")) })}, false, false},
		"another nonce":             {[]authority.Registrar{says(w.ra, func(s *mandate.Status) { s.Active, s.Nonce = true, "old" })}, false, false},
		"lapsed":                    {[]authority.Registrar{says(w.ra, func(s *mandate.Status) { s.Active, s.At, s.Expires = true, start.Add(-time.Hour), start })}, false, false},
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
