package authority_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
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

const (
	malformed       = api.CodeMalformed
	roleMismatch    = string(crossing.RoleMismatch)
	verifyParams    = string(crossing.VerifyParams)
	recordMalformed = string(crossing.RecordMalformed)
	rateLimited     = string(crossing.RateLimited)
)

// covers GC-071, GC-231, GC-233, GC-256, GC-329
func TestPublicationRules(t *testing.T) {
	w := newWorld(t)
	stranger := newSigner(t)
	for _, c := range []struct {
		name    string
		change  func(*api.Publication) // before it is signed
		after   func(*api.Publication) // after
		code    string
		pointer string
	}{
		{"seal_id pattern", func(p *api.Publication) { p.Projection.Block.SealID = "canal-x-00112233AABB" }, nil, malformed, "/projection/seal_id"},
		{"crossing_id form", nil, func(p *api.Publication) { p.Projection.CrossingID = strings.ToUpper(crossingOne) }, malformed, "/projection/crossing_id"},
		{"seal form", func(p *api.Publication) { p.Projection.Block.Seal = "00" }, nil, malformed, "/projection/seal"},
		{"null with a number", func(p *api.Publication) {
			p.Projection.Block.Position = chain.Position{Prev: recordAnchor, Seq: 0}
		}, nil, malformed, "/projection/chain_seq"},
		{"empty pack_id", func(p *api.Publication) { p.Projection.Block.Basis.PackID = "" }, nil, malformed, "/projection/pack_id"},
		{"empty pack_version", func(p *api.Publication) { p.Projection.Block.Basis.PackVersion = "" }, nil, malformed, "/projection/pack_version"},
		{"role", func(p *api.Publication) { p.Role = "witness" }, nil, malformed, "/role"},
		{"agent form", func(p *api.Publication) { p.InitiatorAgent = "urn:anax:principal:x" }, nil, malformed, "/initiator_agent"},
		{"one agent twice", func(p *api.Publication) { p.ResponderAgent = initiatorAgent }, nil, malformed, "/responder_agent"},
		{"chain_id of another pair", func(p *api.Publication) { p.ResponderAgent = "urn:anax:agent:other" }, nil, malformed, "/projection/chain_id"},
		{"verify_url leads elsewhere", func(p *api.Publication) {
			p.Projection.Block.VerifyURL = "https://evil.example/?id=" + sealOne
		}, nil, malformed, "/projection/verify_url"},
		{"verify_url of another seal", func(p *api.Publication) {
			p.Projection.Block.VerifyURL = baseURL + "?id=canal-mf0z8k00-000000000000"
		}, nil, malformed, "/projection/verify_url"},
		{"signature by another key", nil, func(p *api.Publication) {
			p.Signature, _ = jose.SignCompact(stranger, api.PublicationType, p.Statement())
		}, malformed, "/signature"},
		{"signature of another type", nil, func(p *api.Publication) {
			p.Signature, _ = jose.SignCompact(w.responder.signer, api.ProjectionType, p.Statement())
		}, malformed, "/signature"},
		{"signature over another projection", nil, func(p *api.Publication) { p.Projection.Block.Basis.PackVersion = "1.2.1" }, malformed, "/signature"},
		{"signature in another role", nil, func(p *api.Publication) { p.Role = crossing.Initiator }, malformed, "/signature"},
		{"signature of another token", nil, func(p *api.Publication) {
			other := w.sign(w.next(crossing.Responder, 2, chain.Genesis()), w.responder).Signature
			p.Signature = p.Signature[:strings.LastIndex(p.Signature, ".")] + other[strings.LastIndex(other, "."):]
		}, malformed, "/signature"},
		{"no signature", nil, func(p *api.Publication) { p.Signature = "" }, malformed, "/signature"},
		{"no receipt", nil, func(p *api.Publication) { p.Receipts = nil }, malformed, "/receipts"},
		{"three receipts", nil, func(p *api.Publication) {
			p.Receipts = []string{p.Receipts[0], p.Receipts[0], p.Receipts[0]}
		}, malformed, "/receipts"},
		{"receipt under an unknown key", nil, func(p *api.Publication) { p.Receipts[0] = w.receipt(stranger, unchanged) }, malformed, "/receipts/0"},
		{"second receipt under an unknown key", nil, func(p *api.Publication) {
			p.Receipts = append(p.Receipts, w.receipt(stranger, unchanged))
		}, malformed, "/receipts/1"},
		{"receipt with one character changed", nil, func(p *api.Publication) { p.Receipts[0] = flip(p.Receipts[0]) }, malformed, "/receipts/0"},
		{"receipt held", nil, func(p *api.Publication) {
			p.Receipts[0] = w.receipt(w.ra, func(r *mandate.SpendReceipt) { r.State = mandate.Held })
		}, malformed, "/receipts/0"},
		{"receipt released", nil, func(p *api.Publication) {
			p.Receipts[0] = w.receipt(w.ra, func(r *mandate.SpendReceipt) { r.State = mandate.Released })
		}, malformed, "/receipts/0"},
		{"receipt of another crossing", nil, func(p *api.Publication) {
			p.Receipts[0] = w.receipt(w.ra, func(r *mandate.SpendReceipt) { r.CrossingID = "00000000-0000-4000-8000-000000000000" })
		}, malformed, "/receipts/0"},
		{"receipts for different mandates", nil, func(p *api.Publication) {
			p.Receipts = append(p.Receipts, w.receipt(w.ra, func(r *mandate.SpendReceipt) { r.InitiatorToken = jcs.HexOf(nil) }))
		}, malformed, "/receipts"},
		{"grant in a receipt's place", nil, func(p *api.Publication) { p.Receipts[0] = w.grant(w.responder, w.ra) }, malformed, "/receipts/0"},
		{"effector is the initiator", nil, func(p *api.Publication) {
			p.Receipts[0] = w.receipt(w.ra, func(r *mandate.SpendReceipt) { r.Effector = w.initiator.principal })
		}, roleMismatch, ""},
	} {
		p := w.publication(crossing.Responder)
		if c.change != nil {
			c.change(&p)
		}
		p = w.sign(p, w.responder)
		if c.after != nil {
			c.after(&p)
		}
		_, err := w.va.Publish(t.Context(), w.responder.credential, p.Bytes())
		refused(t, c.name, err, c.code, c.pointer)
	}
	if got := w.checks(crossingOne).Resolves; got != api.False {
		t.Fatal("a refused publication resolves")
	}
	w.publish(w.responder, w.publication(crossing.Responder))
}

// flip changes one character in the middle of a token's payload.
func flip(token string) string {
	i := strings.Index(token, ".") + 20
	c := byte('A')
	if token[i] == c {
		c = 'B'
	}
	return token[:i] + string(c) + token[i+1:]
}

// TestPublicationText breaks what the type cannot be made to say.
//
// covers GC-091, GC-231
func TestPublicationText(t *testing.T) {
	w := newWorld(t)
	good := string(w.sign(w.publication(crossing.Responder), w.responder).Bytes())
	for _, c := range []struct{ name, old, new, pointer string }{
		{"unknown member", `"role":`, `"rule":1,"role":`, "/rule"},
		{"clearance_id in the projection", `"chain_id":`, `"clearance_id":"x","chain_id":`, "/projection/clearance_id"},
		{"repeated member", `"role":`, `"role":"initiator","role":`, "/role"},
		{"state", `"committed"`, `"sealing"`, "/projection/crossing_state"},
		{"outcome", `"CLEARED"`, `"cleared"`, "/projection/outcome"},
		{"version", `"seal_version":3`, `"seal_version":2`, "/projection/seal_version"},
		{"genesis", `"is_genesis":true`, `"is_genesis":false`, "/projection/is_genesis"},
		{"time with a fraction", `12:00:00Z`, `12:00:00.0Z`, "/projection/sealed_at"},
		{"time with an offset", `12:00:00Z`, `12:00:00+00:00`, "/projection/sealed_at"},
		{"impossible time", `09-01T12`, `02-30T12`, "/projection/sealed_at"},
		{"missing member", `"outcome":"CLEARED",`, ``, "/projection/outcome"},
		{"number as text", `"chain_seq":0`, `"chain_seq":"0"`, "/projection/chain_seq"},
		{"null beyond the genesis", `"chain_seq":0`, `"chain_seq":1`, "/projection/chain_seq"},
		{"receipt as number", `"receipts":[`, `"receipts":[1,`, "/receipts"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: nothing to change", c.name)
		}
		_, err := w.va.Publish(t.Context(), w.responder.credential, []byte(strings.Replace(good, c.old, c.new, 1)))
		refused(t, c.name, err, malformed, c.pointer)
	}
	_, err := w.va.Publish(t.Context(), w.responder.credential, []byte("no json"))
	refused(t, "no json", err, malformed, "")
	// Spelling is not content: the body is read by value.
	if _, err := w.va.Publish(t.Context(), w.responder.credential, []byte(" "+good+"\n")); err != nil {
		t.Errorf("with white space: %v", err)
	}
}

func TestPublisherIsKnown(t *testing.T) {
	w := newWorld(t)
	p := w.sign(w.publication(crossing.Responder), w.responder)
	for _, credential := range []string{"", "another", w.responder.principal} {
		_, err := w.va.Publish(t.Context(), credential, p.Bytes())
		refused(t, "credential "+credential, err, api.CodeUnauthenticated, "")
	}
	// Another party's credential does not carry the responder's signature.
	_, err := w.va.Publish(t.Context(), w.initiator.credential, p.Bytes())
	refused(t, "another party", err, malformed, "/signature")
	// Nor does it receive the stored answer afterwards.
	if _, err := w.va.Publish(t.Context(), w.responder.credential, p.Bytes()); err != nil {
		t.Fatal(err)
	}
	_, err = w.va.Publish(t.Context(), w.initiator.credential, p.Bytes())
	refused(t, "another party, later", err, malformed, "/signature")
}

func TestTwoReceipts(t *testing.T) {
	w := newWorld(t)
	other := newSigner(t)
	if err := w.va.PinRegistry(t.Context(), other.Key()); err != nil {
		t.Fatal(err)
	}
	p := w.publication(crossing.Responder)
	p.Receipts = []string{w.receipt(other, unchanged), w.receipt(w.ra, unchanged)}
	w.publish(w.responder, p)
}

// covers GC-372
func TestPublished(t *testing.T) {
	w := newWorld(t)
	p := w.sign(w.publication(crossing.Responder), w.responder)
	answer, err := w.va.Publish(t.Context(), w.responder.credential, p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, err := api.ParsePublished(answer)
	if err != nil || got.CrossingID != crossingOne || got.Role != crossing.Responder {
		t.Fatalf("answer %+v, %v", got, err)
	}
	c, err := jose.ParseCompact(got.ProjectionJWS, 8<<10)
	if err != nil || c.Header.Typ != "bindery-projection+jwt" || c.Verify(w.vaSigner.Key()) != nil {
		t.Fatalf("signed projection %+v, %v", c, err)
	}
	if !bytes.Equal(c.Payload, p.Projection.Bytes()) {
		t.Fatalf("signed %s\nwant %s", c.Payload, p.Projection.Bytes())
	}

	w.pass(time.Hour)
	again, err := w.va.Publish(t.Context(), w.responder.credential, p.Bytes())
	if err != nil || !bytes.Equal(again, answer) {
		t.Fatalf("equal bytes again: %s, %v; want %s", again, err, answer)
	}
}

func TestFirstWriterWins(t *testing.T) {
	w := newWorld(t)
	p := w.sign(w.publication(crossing.Responder), w.responder)
	answer, err := w.va.Publish(t.Context(), w.responder.credential, p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	before := w.verify(api.VerifyRequest{SealID: sealOne})
	third := w.newParty("third")
	for _, c := range []struct {
		name   string
		by     party
		change func(*api.Publication)
	}{
		{"other content", w.responder, func(p *api.Publication) { p.Projection.Block.Basis.PackVersion = "9" }},
		{"other seal", w.responder, func(p *api.Publication) { p.Projection.Block.Seal = jcs.HexOf([]byte("x")) }},
		{"a position that may come later", w.responder, func(p *api.Publication) {
			p.Projection.Block.Position = chain.Position{Prev: recordAnchor, Seq: 7}
		}},
		{"another signature over the same", w.responder, func(*api.Publication) {}},
		{"another principal", third, func(*api.Publication) {}},
	} {
		q := w.publication(crossing.Responder)
		c.change(&q)
		_, err := w.va.Publish(t.Context(), c.by.credential, w.sign(q, c.by).Bytes())
		refused(t, c.name, err, api.CodeConflict, "")
	}
	if after := w.verify(api.VerifyRequest{SealID: sealOne}); !bytes.Equal(before, after) {
		t.Fatalf("the first projection changed:\n%s\n%s", before, after)
	}
	if again, err := w.va.Publish(t.Context(), w.responder.credential, p.Bytes()); err != nil || !bytes.Equal(again, answer) {
		t.Fatalf("the first writer is not told the same: %s, %v", again, err)
	}
	if n := w.count("SELECT count(*) FROM publication_refusals"); n != 5 {
		t.Fatalf("%d conflicts recorded, want 5", n)
	}
}

func TestConcurrentPublications(t *testing.T) {
	w := newWorld(t)
	bodies := make([][]byte, 8)
	for i := range bodies {
		p := w.publication(crossing.Responder)
		if i%2 == 1 {
			p.Projection.Block.Basis.PackVersion = "9"
		}
		bodies[i] = w.sign(p, w.responder).Bytes()
	}
	copy(bodies[4:], bodies[:4]) // each body twice
	var wg sync.WaitGroup
	answers := make([]string, len(bodies))
	for i, body := range bodies {
		wg.Go(func() {
			answer, err := w.va.Publish(t.Context(), w.responder.credential, body)
			if err == nil {
				answers[i] = string(answer)
			} else if !errors.Is(err, &api.Error{Code: api.CodeConflict}) {
				t.Errorf("publication %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	won := map[string]int{}
	for i, a := range answers {
		if a != answers[(i+4)%8] {
			t.Errorf("equal bytes %d: %q and %q", i, a, answers[(i+4)%8])
		}
		if a != "" {
			won[a]++
		}
	}
	if len(won) != 1 {
		t.Fatalf("%d answers, want one", len(won))
	}
}

func TestInitiator(t *testing.T) {
	w := newWorld(t)
	ours := w.publication(crossing.Initiator)
	ours.Projection.Block.Basis.PackID = "pack-trust"
	body := w.sign(ours, w.initiator).Bytes()
	_, err := w.va.Publish(t.Context(), w.initiator.credential, body)
	refused(t, "before the responder", err, api.CodePredecessorMissing, "")
	if got := w.checks(crossingOne).Resolves; got != api.False {
		t.Fatal("an initiator alone makes the crossing resolve")
	}
	w.publish(w.responder, w.publication(crossing.Responder))

	for _, c := range []struct {
		name   string
		by     party
		change func(*api.Publication)
		code   string
	}{
		{"both roles", w.responder, func(*api.Publication) {}, roleMismatch},
		{"receipt names the publisher", w.initiator, func(p *api.Publication) {
			p.Receipts = []string{w.receipt(w.ra, func(r *mandate.SpendReceipt) { r.Effector = w.initiator.principal })}
		}, roleMismatch},
		{"other seal", w.initiator, func(p *api.Publication) { p.Projection.Block.Seal = jcs.HexOf(nil) }, api.CodeConflict},
		{"other time", w.initiator, func(p *api.Publication) {
			p.Projection.Block.SealedAt = p.Projection.Block.SealedAt.Add(time.Second)
		}, api.CodeConflict},
		{"other seal_id", w.initiator, func(p *api.Publication) {
			p.Projection.Block.SealID = "canal-mf0z8k00-000000000000"
			p.Projection.Block.VerifyURL = w.va.VerifyURL(p.Projection.Block.SealID)
		}, api.CodeConflict},
		{"agents the other way round", w.initiator, func(p *api.Publication) {
			p.InitiatorAgent, p.ResponderAgent = p.ResponderAgent, p.InitiatorAgent
		}, api.CodeConflict},
	} {
		p := w.publication(crossing.Initiator)
		c.change(&p)
		_, err := w.va.Publish(t.Context(), c.by.credential, w.sign(p, c.by).Bytes())
		refused(t, c.name, err, c.code, "")
	}
	if _, err := w.va.Publish(t.Context(), w.initiator.credential, body); err != nil {
		t.Fatalf("after the responder: %v", err)
	}
	// What is served stays the responder's, with the responder's basis.
	r, err := api.ParseVerifyResult(w.verify(api.VerifyRequest{CrossingID: crossingOne}))
	if err != nil || r.Projection.Block.Basis.PackID != "pack-anax" {
		t.Fatalf("served %+v, %v", r, err)
	}
}

func TestInitiatorWithReceipt(t *testing.T) {
	w := newWorld(t)
	w.publish(w.responder, w.publication(crossing.Responder))
	p := w.publication(crossing.Initiator)
	p.Receipts = []string{w.receipt(w.ra, unchanged)}
	w.publish(w.initiator, p)
}

// covers GC-257
func TestChainOrder(t *testing.T) {
	w := newWorld(t)
	second := w.next(crossing.Responder, 2, chain.Position{Prev: recordAnchor, Seq: 1})
	body := w.sign(second, w.responder).Bytes()
	_, err := w.va.Publish(t.Context(), w.responder.credential, body)
	refused(t, "before the first", err, api.CodePredecessorMissing, "")

	w.publish(w.responder, w.publication(crossing.Responder))
	if _, err := w.va.Publish(t.Context(), w.responder.credential, body); err != nil {
		t.Fatalf("after the first: %v", err)
	}
	if n := w.count("SELECT count(*) FROM publication_refusals"); n != 0 {
		t.Fatalf("a missing predecessor left %d refusals", n)
	}
	taken := w.next(crossing.Responder, 3, chain.Genesis())
	_, err = w.va.Publish(t.Context(), w.responder.credential, w.sign(taken, w.responder).Bytes())
	refused(t, "a position that is held", err, api.CodeConflict, "")
	reused := w.next(crossing.Responder, 3, chain.Position{Prev: recordAnchor, Seq: 2})
	reused.Projection.Block.SealID, reused.Projection.Block.VerifyURL = sealOne, w.va.VerifyURL(sealOne)
	_, err = w.va.Publish(t.Context(), w.responder.credential, w.sign(reused, w.responder).Bytes())
	refused(t, "a seal_id that is held", err, api.CodeConflict, "")
}

func TestEnrolment(t *testing.T) {
	w := newWorld(t)
	secret, err := w.va.NewCode(t.Context(), authority.CodeTerms{})
	if err != nil {
		t.Fatal(err)
	}
	ra := newSigner(t)
	req := api.EnrolRegistry{Secret: secret, Key: ra.Key(), PrincipalID: "urn:anax:principal:third", URL: "https://ra.example"}
	for name, bad := range map[string]api.EnrolRegistry{
		"another secret": {Secret: jose.EncodeBase64(make([]byte, 16)), Key: ra.Key(), PrincipalID: "urn:anax:principal:third", URL: "https://ra.example"},
		"no secret":      {Key: ra.Key(), PrincipalID: "urn:anax:principal:third", URL: "https://ra.example"},
	} {
		_, err := w.va.EnrolRegistry(t.Context(), bad)
		refused(t, name, err, api.CodeEnrolment, "")
	}
	_, err = w.va.EnrolRegistry(t.Context(), api.EnrolRegistry{Secret: secret})
	refused(t, "no key", err, malformed, "/jwk")
	nameless := req
	nameless.PrincipalID = ""
	_, err = w.va.EnrolRegistry(t.Context(), nameless)
	refused(t, "no principal", err, malformed, "/principal_id")
	others, err := w.va.NewCode(t.Context(), authority.CodeTerms{PrincipalID: "urn:anax:principal:other"})
	if err != nil {
		t.Fatal(err)
	}
	stranger := req
	stranger.Secret = others
	_, err = w.va.EnrolRegistry(t.Context(), stranger)
	refused(t, "another principal's code", err, api.CodeEnrolmentMismatch, "")
	known := req
	known.PrincipalID = w.responder.principal
	_, err = w.va.EnrolRegistry(t.Context(), known)
	refused(t, "the principal of a pinned RA", err, api.CodeConflict, "")

	third := party{principal: "urn:anax:principal:third", credential: "third", signer: newSigner(t)}
	grant := w.grant(third, ra)
	refused(t, "grant of an unknown RA", w.va.AddPublisher(t.Context(), third.credential, grant), api.CodeUnauthenticated, "")

	want := api.RegistryEnrolled{VerifiedBy: "VA-001", BaseURL: baseURL, RegistryKey: ra.Key().ID}
	for range 2 { // a lost reply is asked for again
		got, err := w.va.EnrolRegistry(t.Context(), req)
		if err != nil || got != want {
			t.Fatalf("enrolled %+v, %v", got, err)
		}
	}
	_, err = w.va.EnrolRegistry(t.Context(), api.EnrolRegistry{Secret: secret, Key: newSigner(t).Key(), PrincipalID: "urn:anax:principal:third", URL: "https://ra.example"})
	refused(t, "used by another request", err, api.CodeEnrolment, "")

	for range 2 {
		if err := w.va.AddPublisher(t.Context(), third.credential, grant); err != nil {
			t.Fatalf("grant of the enrolled RA: %v", err)
		}
	}
	refused(t, "grant for another credential", w.va.AddPublisher(t.Context(), "stolen", grant), api.CodeUnauthenticated, "")
	refused(t, "changed grant", w.va.AddPublisher(t.Context(), third.credential, flip(grant)), api.CodeUnauthenticated, "")
	refused(t, "another principal than the RA's", w.va.AddPublisher(t.Context(), "fourth",
		w.grant(party{principal: "urn:anax:principal:fourth", credential: "fourth", signer: newSigner(t)}, ra)), api.CodeUnauthenticated, "")
	ours := party{principal: third.principal, credential: "ours", signer: newSigner(t)}
	refused(t, "the RA's principal by another RA", w.va.AddPublisher(t.Context(), ours.credential, w.grant(ours, w.ra)), api.CodeConflict, "")
	usurper := party{principal: w.responder.principal, credential: "usurper", signer: newSigner(t)}
	refused(t, "another RA's principal", w.va.AddPublisher(t.Context(), usurper.credential, w.grant(usurper, ra)), api.CodeUnauthenticated, "")
	free := newSigner(t)
	if err := w.va.PinRegistry(t.Context(), free.Key()); err != nil {
		t.Fatal(err)
	}
	refused(t, "the principal of a pinned RA", w.va.AddPublisher(t.Context(), usurper.credential, w.grant(usurper, free)), api.CodeConflict, "")
	blended := party{principal: "urn:anax:principal:fourth", credential: third.credential, signer: third.signer}
	refused(t, "one credential for two", w.va.AddPublisher(t.Context(), third.credential, w.grant(blended, free)), api.CodeConflict, "")
}

func TestEnrolmentExpires(t *testing.T) {
	w := newWorld(t)
	secret, err := w.va.NewCode(t.Context(), authority.CodeTerms{})
	if err != nil {
		t.Fatal(err)
	}
	w.pass(24 * time.Hour)
	_, err = w.va.EnrolRegistry(t.Context(), api.EnrolRegistry{Secret: secret, Key: newSigner(t).Key(), PrincipalID: "urn:anax:principal:third", URL: "https://ra.example"})
	refused(t, "after a day", err, api.CodeEnrolment, "")
}

func TestNewRefuses(t *testing.T) {
	w := newWorld(t)
	for name, change := range map[string]func(*authority.Config){
		"store":         func(c *authority.Config) { c.Store = nil },
		"signer":        func(c *authority.Config) { c.Signer = nil },
		"name":          func(c *authority.Config) { c.Name = "" },
		"name in words": func(c *authority.Config) { c.Name = "VA 001" },
		"rate":          func(c *authority.Config) { c.RateLimit.Burst = -1 },
		"no URL":        func(c *authority.Config) { c.BaseURL = "" },
		"no slash":      func(c *authority.Config) { c.BaseURL = "https://verify.example" },
		"query":         func(c *authority.Config) { c.BaseURL = "https://verify.example/?a=b" },
		"scheme":        func(c *authority.Config) { c.BaseURL = "ftp://verify.example/" },
		"user":          func(c *authority.Config) { c.BaseURL = "https://u@verify.example/" },
	} {
		cfg := w.cfg
		change(&cfg)
		if _, err := authority.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := authority.New(authority.Config{Store: w.store, Signer: w.vaSigner, Name: "VA-001", BaseURL: baseURL}); err != nil {
		t.Errorf("the least configuration: %v", err)
	}
	if err := w.va.PinRegistry(t.Context(), jose.Key{}); err == nil {
		t.Error("pinned no key")
	}
}

// count asks the database itself.
func (w *world) count(query string) (n int) {
	w.t.Helper()
	if err := w.raw().QueryRow(query).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
