package storetest

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// registryCodeTerms uses codes for what they are for, and for what they are not; a refused one
// is as good as before.
//
// covers GC-209
func registryCodeTerms(t *testing.T, s registry.Store) {
	ctx := t.Context()
	for i, c := range []struct {
		terms       registry.CodeTerms
		party, peer error
	}{
		{registry.CodeTerms{Kind: registry.CodeAny}, nil, nil},
		{registry.CodeTerms{Kind: registry.CodeParty}, nil, registry.ErrCodeTerms},
		{registry.CodeTerms{Kind: registry.CodeRegistry}, registry.ErrCodeTerms, nil},
		{registry.CodeTerms{Kind: registry.CodeAny, PrincipalID: partyB}, registry.ErrCodeTerms, registry.ErrCodeTerms},
	} {
		for _, peer := range []bool{false, true} {
			code := codeOf(hash("terms", i, peer))
			code.CodeTerms = c.terms
			want(t, "code", s.AddCode(ctx, code), nil)
			name := string(code.Secret[:8])
			e, target := enrolment(t, partyA+name, agentA+name), c.party
			if peer {
				e, target = counterpart(t, partyA+name, agentA+name), c.peer
			}
			e.Code, e.Request = code.Secret, hash("request", i, peer)
			_, err := s.Enrol(ctx, e)
			want(t, "a code for "+string(c.terms.Kind)+c.terms.PrincipalID, err, target)
			if target == nil {
				continue
			}
			_, err = s.Peer(ctx, e.Principal.ID)
			want(t, "what was refused", err, registry.ErrNotFound)
			late := e
			late.At = code.Expires
			_, err = s.Enrol(ctx, late)
			want(t, "the wrong use of an expired code", err, registry.ErrCode)
			right := counterpart(t, partyA+name, agentA+name)
			if peer {
				right = enrolment(t, partyA+name, agentA+name)
			}
			right.Code, right.Request = code.Secret, hash("right", i, peer)
			if c.terms.PrincipalID != "" {
				continue
			}
			_, err = s.Enrol(ctx, right)
			want(t, "the right use of a code that was refused", err, nil)
		}
	}
	code := codeOf(hash("for B"))
	code.PrincipalID = partyB
	want(t, "code", s.AddCode(ctx, code), nil)
	e := enrolment(t, partyB, agentB)
	e.Code, e.Request = code.Secret, hash("B's")
	_, err := s.Enrol(ctx, e)
	want(t, "its own principal", err, nil)
}

// registryUnpin ends a pin: nobody speaks for the principal from then on, its effector is
// unknown, and its record is still not served.
//
// covers GC-209
func registryUnpin(t *testing.T, s registry.Store) {
	ctx := t.Context()
	e, other := counterpart(t, partyB, agentB), counterpart(t, partyB+"-2", agentB+"-2")
	for _, e := range []registry.Enrolment{e, other} {
		if _, err := s.Enrol(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	operator := registry.Actor{Role: api.RoleOperator, PrincipalID: partyA}
	u := registry.Unpinning{Key: authorityKey(t).ID, By: operator, At: registryStart.Add(time.Minute)}
	want(t, "an unknown key", s.Unpin(ctx, u), registry.ErrNotFound)
	u.Key = e.Peer.Key.ID
	for range 2 {
		want(t, "unpin", s.Unpin(ctx, u), nil)
		u.At = u.At.Add(time.Minute)
	}
	rows, err := s.AuditRows(ctx, math.MaxInt64, 9)
	if err != nil || len(rows) != 3 || rows[0].Operation != "unpin" || rows[0].Subject != u.Key || rows[0].Role != api.RoleOperator {
		t.Errorf("audit rows %+v, %v", rows, err)
	}
	_, err = s.Peer(ctx, partyB)
	want(t, "its peer", err, registry.ErrUnpinned)
	_, err = s.Actor(ctx, e.Credentials[0].Hash)
	want(t, "its effector", err, registry.ErrNotFound)
	_, err = s.Principal(ctx, partyB)
	want(t, "its record", err, registry.ErrNotFound)
	if _, err := s.Actor(ctx, other.Credentials[0].Hash); err != nil {
		t.Errorf("the effector of another: %v", err)
	}
	if all, err := s.AllPeers(ctx); err != nil || len(all) != 1 || all[0].PrincipalID != partyB+"-2" {
		t.Errorf("peers %+v, %v", all, err)
	}
	pins, err := s.Pins(ctx)
	if err != nil || len(pins) != 2 || pins[0].PrincipalID != partyB || !pins[0].Unpinned.Equal(registryStart.Add(time.Minute)) ||
		pins[0].Key.ID != u.Key || pins[0].URL != e.Peer.URL || !pins[0].At.Equal(registryStart) || !pins[1].Unpinned.IsZero() {
		t.Errorf("pins %+v, %v", pins, err)
	}
	for what, again := range map[string]registry.Enrolment{
		"as a counterpart": counterpart(t, partyB, agentB), "as a principal": enrolment(t, partyB, agentB),
	} {
		_, err := s.Enrol(ctx, again)
		want(t, what, err, registry.ErrExists)
	}
}

// authorityBindings redeems codes for principals: a key speaks for the one that it was pinned
// for, and one key for it.
//
// covers GC-209
func authorityBindings(t *testing.T, s authority.Store) {
	ctx := t.Context()
	redeem := func(what, principalID, bound string, change func(*authority.Redemption), target error) authority.Redemption {
		t.Helper()
		code := authority.Code{SecretHash: hash(what), CodeTerms: authority.CodeTerms{PrincipalID: bound, Shared: what == "shared"}, Created: authorityStart, Expires: authorityStart.Add(time.Hour)}
		want(t, "code", s.AddCode(ctx, code), nil)
		r := authority.Redemption{
			SecretHash: code.SecretHash, RequestHash: jcs.HexOf([]byte(what)), PrincipalID: principalID, URL: "https://ra.example",
			Key: authorityKey(t), Answer: []byte("a"), At: authorityStart,
		}
		change(&r)
		_, err := s.Redeem(ctx, r)
		want(t, what, err, target)
		return r
	}
	as := func(*authority.Redemption) {}
	first := redeem("first", partyA, "", as, nil)
	redeem("another principal's code", partyB, partyA, as, authority.ErrCodeTerms)
	redeem("a principal of another registry", partyA, "", as, authority.ErrTaken)
	redeem("a key that is pinned", partyB, "", func(r *authority.Redemption) { r.Key = first.Key }, authority.ErrTaken)
	own := authorityKey(t)
	want(t, "pin", s.PinRegistry(ctx, own, authorityStart), nil)
	want(t, "publisher", s.AddPublisher(ctx, authority.Publisher{
		CredentialHash: hash("p"), PrincipalID: partyB, Key: authorityKey(t), RegistryKey: own.ID, At: authorityStart,
	}), nil)
	redeem("a principal that another has granted", partyB, "", as, authority.ErrTaken)
	redeem("its own code", partyA+"-2", partyA+"-2", as, nil)

	shared := redeem("shared", partyB+"-3", "", as, nil)
	for key, principals := range map[string][]string{first.Key.ID: {partyA}, own.ID: nil, shared.Key.ID: nil} {
		if got, err := s.SpeaksFor(ctx, key); err != nil || !slices.Equal(got, principals) {
			t.Errorf("speaks for %v, %v; want %v", got, err, principals)
		}
	}
	for principal, key := range map[string]string{partyA: first.Key.ID, partyB: "", partyB + "-3": shared.Key.ID} {
		if got, err := s.SpokenFor(ctx, principal); err != nil || got != key {
			t.Errorf("%s is spoken for by %q, %v; want %q", principal, got, err, key)
		}
	}
}

// authorityUnpin ends a pin: its key is none of the registries', and whom it has granted is no
// publisher any more.
//
// covers GC-209
func authorityUnpin(t *testing.T, s authority.Store) {
	ctx := t.Context()
	gone, stays := authorityKey(t), authorityKey(t)
	for i, key := range []string{gone.ID, stays.ID} {
		want(t, "pin", s.PinRegistry(ctx, []jose.Key{gone, stays}[i], authorityStart), nil)
		want(t, "publisher", s.AddPublisher(ctx, authority.Publisher{
			CredentialHash: hash(key), PrincipalID: partyA + key, Key: authorityKey(t), RegistryKey: key, At: authorityStart,
		}), nil)
	}
	want(t, "an unknown key", s.Unpin(ctx, authorityKey(t).ID, authorityStart), authority.ErrNotFound)
	for range 2 {
		want(t, "unpin", s.Unpin(ctx, gone.ID, authorityStart), nil)
	}
	want(t, "pin again", s.PinRegistry(ctx, gone, authorityStart), nil)
	if keys, err := s.Registries(ctx); err != nil || len(keys) != 1 || keys[0].ID != stays.ID {
		t.Errorf("registries %v, %v", keys, err)
	}
	_, err := s.Publisher(ctx, hash(gone.ID))
	want(t, "its publisher", err, authority.ErrNotFound)
	if _, err := s.Publisher(ctx, hash(stays.ID)); err != nil {
		t.Errorf("another's publisher: %v", err)
	}
}
