package storetest

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Authority checks an implementation of [authority.Store]. open returns a new, empty
// store and closes it when its test ends.
func Authority(t *testing.T, open func(t *testing.T) authority.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, authority.Store)
	}{
		{"codes", authorityCodes},
		{"codes race", authorityCodeRace},
		{"bindings", authorityBindings},
		{"unpin", authorityUnpin},
		{"registries", authorityRegistries},
		{"publishers", authorityPublishers},
		{"projections", authorityProjections},
		{"first writer", authorityFirstWriter},
		{"taken", authorityTaken},
		{"refusals", authorityRefusals},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

var authorityStart = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func authorityKey(t *testing.T) jose.Key {
	t.Helper()
	private, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := jose.NewKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// want fails the test unless err is target, or nil for a nil target.
func want(t *testing.T, what string, err, target error) {
	t.Helper()
	if (target == nil && err != nil) || !errors.Is(err, target) {
		t.Fatalf("%s: got error %v, want %v", what, err, target)
	}
}

func authorityCodes(t *testing.T, s authority.Store) {
	ctx := t.Context()
	code := authority.Code{SecretHash: jcs.HexOf([]byte("one")), Created: authorityStart, Expires: authorityStart.Add(time.Hour)}
	want(t, "add", s.AddCode(ctx, code), nil)
	want(t, "add again", s.AddCode(ctx, code), authority.ErrTaken)

	use := authority.Redemption{
		SecretHash: code.SecretHash, RequestHash: jcs.HexOf([]byte("request")), Key: authorityKey(t), PrincipalID: partyA, URL: "https://ra.example",
		Answer: []byte("answer"), At: code.Expires.Add(-time.Millisecond),
	}
	redeem := func(what string, change func(*authority.Redemption), target error) {
		t.Helper()
		r := use
		change(&r)
		got, err := s.Redeem(ctx, r)
		want(t, what, err, target)
		if target == nil && string(got) != "answer" {
			t.Fatalf("%s: answer %q", what, got)
		}
	}
	redeem("unknown", func(r *authority.Redemption) { r.SecretHash = jcs.HexOf([]byte("other")) }, authority.ErrCode)
	redeem("at its expiry", func(r *authority.Redemption) { r.At = code.Expires }, authority.ErrCode)
	if keys, err := s.Registries(ctx); err != nil || len(keys) != 0 {
		t.Fatalf("a refused code pinned a key: %v, %v", keys, err)
	}
	redeem("first use", func(*authority.Redemption) {}, nil)
	redeem("same request, after expiry", func(r *authority.Redemption) {
		r.At, r.Answer = code.Expires.Add(time.Hour), []byte("another answer")
	}, nil)
	redeem("other request", func(r *authority.Redemption) { r.RequestHash = jcs.HexOf([]byte("other")) }, authority.ErrCode)
	keys, err := s.Registries(ctx)
	if err != nil || len(keys) != 1 || !keys[0].Same(use.Key) {
		t.Fatalf("pinned keys %v, %v", keys, err)
	}
}

// authorityCodeRace lets many requests use one code at once.
func authorityCodeRace(t *testing.T, s authority.Store) {
	ctx := t.Context()
	code := authority.Code{SecretHash: jcs.HexOf([]byte("one")), Created: authorityStart, Expires: authorityStart.Add(time.Hour)}
	want(t, "add", s.AddCode(ctx, code), nil)
	key := authorityKey(t)
	var wg sync.WaitGroup
	var won atomic.Int32
	for i := range 20 {
		wg.Go(func() {
			_, err := s.Redeem(ctx, authority.Redemption{
				SecretHash: code.SecretHash, RequestHash: jcs.HexOf([]byte(strconv.Itoa(i))), Key: key, PrincipalID: partyA, Answer: []byte("a"), At: authorityStart,
			})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, authority.ErrCode) {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d requests used one code", won.Load())
	}
}

func authorityRegistries(t *testing.T, s authority.Store) {
	ctx := t.Context()
	a, b := authorityKey(t), authorityKey(t)
	for _, k := range []jose.Key{a, b, a} {
		want(t, "pin", s.PinRegistry(ctx, k, authorityStart), nil)
	}
	keys, err := s.Registries(ctx)
	if err != nil || len(keys) != 2 {
		t.Fatalf("registries %v, %v", keys, err)
	}
	set := jose.NewKeySet(keys...)
	for _, k := range []jose.Key{a, b} {
		if got, ok := set.Find(k.ID); !ok || !got.Same(k) {
			t.Fatalf("key %s is not pinned", k.ID)
		}
	}
}

func authorityPublishers(t *testing.T, s authority.Store) {
	ctx := t.Context()
	registry, other := authorityKey(t), authorityKey(t)
	want(t, "pin", s.PinRegistry(ctx, registry, authorityStart), nil)
	want(t, "pin", s.PinRegistry(ctx, other, authorityStart), nil)
	p := authority.Publisher{
		CredentialHash: api.CredentialHash("one"), PrincipalID: "urn:anax:principal:a", Key: authorityKey(t),
		RegistryKey: registry.ID, At: authorityStart,
	}
	_, err := s.Publisher(ctx, p.CredentialHash)
	want(t, "unknown", err, authority.ErrNotFound)
	want(t, "add", s.AddPublisher(ctx, p), nil)
	later := p
	later.At = p.At.Add(time.Hour)
	want(t, "the same again", s.AddPublisher(ctx, later), nil)
	for _, c := range []struct {
		name   string
		change func(*authority.Publisher)
		err    error
	}{
		{"another principal", func(p *authority.Publisher) { p.PrincipalID = "urn:anax:principal:b" }, authority.ErrTaken},
		{"another key", func(p *authority.Publisher) { p.Key = other }, authority.ErrTaken},
		{"another registry for the principal", func(p *authority.Publisher) {
			p.CredentialHash, p.RegistryKey = api.CredentialHash("two"), other.ID
		}, authority.ErrTaken},
		{"a second credential", func(p *authority.Publisher) { p.CredentialHash = api.CredentialHash("three") }, nil},
		{"another principal by the other registry", func(p *authority.Publisher) {
			p.CredentialHash, p.RegistryKey, p.PrincipalID = api.CredentialHash("four"), other.ID, "urn:anax:principal:b"
		}, nil},
	} {
		q := p
		c.change(&q)
		want(t, c.name, s.AddPublisher(ctx, q), c.err)
	}
	got, err := s.Publisher(ctx, p.CredentialHash)
	want(t, "find", err, nil)
	if got.PrincipalID != p.PrincipalID || !got.Key.Same(p.Key) || got.RegistryKey != p.RegistryKey || !got.At.Equal(p.At) {
		t.Fatalf("publisher %+v, want %+v", got, p)
	}
}

// authorityRow is a stored publication of crossing n; the signatures in it are not real.
func authorityRow(n int, role crossing.Role, principal string, at chain.Position) authority.Row {
	hex12 := strings.Repeat(strconv.Itoa(n%10), 12)
	seal := jcs.HexOf([]byte("seal " + strconv.Itoa(n)))
	const agentA, agentB = "urn:anax:agent:a", "urn:anax:agent:b"
	return authority.Row{
		PrincipalID: principal, ProjectionJWS: "va.signed." + hex12, Answer: []byte(`{"answer":` + strconv.Itoa(n) + `}`),
		At: authorityStart, Position: at, Seal: seal,
		Publication: api.Publication{
			Role: role, InitiatorAgent: agentA, ResponderAgent: agentB, Signature: "publisher.signed." + hex12,
			Receipts: []string{"ra.signed." + hex12},
			Projection: api.Projection{
				CrossingID: "00000000-0000-4000-8000-" + hex12, ChainID: chain.ID(agentA, agentB),
				Block: crossing.Block{
					SealID: "canal-m-" + hex12, Seal: seal, Position: at,
					Basis:    mandate.GovernanceBasis{PackID: "pack", PackVersion: "1.2.0"},
					SealedAt: authorityStart, VerifyURL: "https://verify.example/?id=canal-m-" + hex12,
				},
			},
		},
	}
}

func sameRow(t *testing.T, what string, got, wantRow authority.Row) {
	t.Helper()
	if !reflect.DeepEqual(got, wantRow) {
		t.Fatalf("%s: got\n%+v\nwant\n%+v", what, got, wantRow)
	}
}

func authorityProjections(t *testing.T, s authority.Store) {
	ctx := t.Context()
	const them, us = "urn:anax:principal:them", "urn:anax:principal:us"
	first := authorityRow(1, crossing.Responder, them, chain.Genesis())
	second := authorityRow(2, crossing.Responder, them, first.Position.Next(first.Seal))
	second.Publication.Receipts = []string{"a.b.c", "d.e.f"}
	ours := authorityRow(1, crossing.Initiator, us, chain.Genesis())
	ours.Publication.Receipts = nil
	// The store does not mind an initiator that comes first; the seal is still the responder's.
	early := authorityRow(3, crossing.Initiator, us, ours.Position.Next(ours.Seal))
	late := authorityRow(3, crossing.Responder, them, second.Position.Next(second.Seal))
	all := []authority.Row{first, second, ours, early, late}
	for _, row := range all {
		standing, err := s.Put(ctx, row)
		want(t, "put", err, nil)
		sameRow(t, "put", standing, row)
	}
	for _, row := range all {
		p := row.Publication
		got, err := s.Find(ctx, p.Projection.CrossingID, p.Role)
		want(t, "find", err, nil)
		sameRow(t, "find", got, row)
		got, err = s.At(ctx, row.PrincipalID, p.Projection.ChainID, row.Position.Seq)
		want(t, "at", err, nil)
		sameRow(t, "at", got, row)
	}
	for _, row := range []authority.Row{first, late} {
		got, err := s.BySeal(ctx, row.Publication.Projection.Block.SealID)
		want(t, "by seal", err, nil)
		sameRow(t, "by seal", got, row)
	}

	chainID := first.Publication.Projection.ChainID
	for what, find := range map[string]func() (authority.Row, error){
		"crossing": func() (authority.Row, error) { return s.Find(ctx, "x", crossing.Responder) },
		"role": func() (authority.Row, error) {
			return s.Find(ctx, second.Publication.Projection.CrossingID, crossing.Initiator)
		},
		"seal":      func() (authority.Row, error) { return s.BySeal(ctx, "canal-m-000000000000") },
		"position":  func() (authority.Row, error) { return s.At(ctx, us, chainID, 2) },
		"principal": func() (authority.Row, error) { return s.At(ctx, "urn:anax:principal:none", chainID, 0) },
		"chain":     func() (authority.Row, error) { return s.At(ctx, them, jcs.HexOf(nil), 0) },
	} {
		if _, err := find(); !errors.Is(err, authority.ErrNotFound) {
			t.Errorf("unknown %s: error %v", what, err)
		}
	}
}

// authorityFirstWriter lets many publications of one crossing and role race.
func authorityFirstWriter(t *testing.T, s authority.Store) {
	ctx := t.Context()
	const n = 20
	var wg sync.WaitGroup
	answers := make([]string, n)
	for i := range n {
		wg.Go(func() {
			row := authorityRow(1, crossing.Responder, "urn:anax:principal:them", chain.Genesis())
			row.Answer = []byte(strconv.Itoa(i))
			standing, err := s.Put(ctx, row)
			if err != nil {
				t.Errorf("put %d: %v", i, err)
			}
			answers[i] = string(standing.Answer)
		})
	}
	wg.Wait()
	row, err := s.Find(ctx, authorityRow(1, crossing.Responder, "", chain.Genesis()).Publication.Projection.CrossingID, crossing.Responder)
	want(t, "find", err, nil)
	for i, a := range answers {
		if a != string(row.Answer) {
			t.Fatalf("put %d was told %q, stored is %q", i, a, row.Answer)
		}
	}
}

func authorityTaken(t *testing.T, s authority.Store) {
	ctx := t.Context()
	const them, us = "urn:anax:principal:them", "urn:anax:principal:us"
	first := authorityRow(1, crossing.Responder, them, chain.Genesis())
	_, err := s.Put(ctx, first)
	want(t, "put", err, nil)

	position := authorityRow(2, crossing.Initiator, them, chain.Genesis())
	_, err = s.Put(ctx, position)
	want(t, "a position that is held, in the other role", err, authority.ErrTaken)

	seal := authorityRow(2, crossing.Responder, us, chain.Genesis())
	seal.Publication.Projection.Block.SealID = first.Publication.Projection.Block.SealID
	_, err = s.Put(ctx, seal)
	want(t, "a seal_id that is held", err, authority.ErrTaken)
	if _, err := s.Find(ctx, seal.Publication.Projection.CrossingID, crossing.Responder); !errors.Is(err, authority.ErrNotFound) {
		t.Fatalf("a refused row is there: %v", err)
	}
	_, err = s.Put(ctx, authorityRow(2, crossing.Responder, us, chain.Genesis()))
	want(t, "the same position of another principal", err, nil)
}

func authorityRefusals(t *testing.T, s authority.Store) {
	r := authority.Refusal{
		PrincipalID: "urn:anax:principal:them", CrossingID: "00000000-0000-4000-8000-000000000001",
		Role: crossing.Responder, Code: api.CodeConflict, BodyHash: jcs.HexOf([]byte("body")), At: authorityStart,
	}
	want(t, "refuse", s.Refuse(t.Context(), r), nil)
	want(t, "refuse again", s.Refuse(t.Context(), r), nil)
}
