package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/crossingtest"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// Centre checks an implementation of [centre.Store]. open returns two views of one new,
// empty database, the centre's and that of the Registration Authority whose hold rows its
// commit spends, and closes it when its test ends.
func Centre(t *testing.T, open func(t *testing.T) (centre.Store, registry.Store)) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *party)
	}{
		{"crossings", centreCrossings},
		{"crossing_id", centreCrossingID},
		{"put race", centrePutRace},
		{"refusals", centreRefusals},
		{"grants", centreGrants},
		{"attempts", centreAttempts},
		{"attempt race", centreAttemptRace},
		{"nonces", centreNonces},
		{"refused record", centreRefusedRecord},
		{"commit", centreCommit},
		{"commit refused", centreCommitRefused},
		{"commit of what was released", centreCommitReleased},
		{"commit undone", centreCommitUndone},
		{"commit race", centreCommitRace},
		{"apart", centreApart},
		{"chain", centreChain},
		{"chain race", centreChainRace},
		{"anchor race", centreAnchorRace},
		{"outbox", centreOutbox},
		{"sent", centreSent},
		{"depth", centreDepth},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, ra := open(t)
			c.test(t, &party{Store: s, t: t, ra: ra, deal: crossingtest.New(t)})
		})
	}
}

// A party is a responder's store with the RA of both parties and deals of one pair.
type party struct {
	centre.Store
	t    *testing.T
	ra   registry.Store
	deal *crossingtest.Deal

	enrolled bool
	built    int
}

// attempt is a cleared record whose Closeds are registered.
type attempt struct {
	*crossing.Cleared
	built *crossingtest.Built
}

// cleared builds the n-th crossing of the pair and clears it. change may alter the deal
// before anything is signed.
func (p *party) cleared(change func(*crossingtest.Deal)) attempt {
	p.t.Helper()
	d := p.deal.Clone()
	p.built++
	d.CrossingID = fmt.Sprintf("00000000-0000-4000-8000-%012d", p.built)
	d.Limit = 1000
	if change != nil {
		change(d)
	}
	b := d.Build(p.t)
	c, refusal := crossing.Clear(b.Evidence(b.Params(p.t)))
	if refusal != nil {
		p.t.Fatalf("the fixture is refused: %v", refusal)
	}
	p.seat(b)
	return attempt{c, b}
}

// seat stores the responder's row of a crossing, with the Closed that its record names.
func (p *party) seat(b *crossingtest.Built) {
	p.t.Helper()
	x := session("seat-"+b.Deal.CrossingID, b.Deal.CrossingID)
	x.OwnClosed = b.Responder.Closed
	if err := p.Put(p.t.Context(), x); err != nil && !errors.Is(err, centre.ErrConflict) {
		p.t.Fatal(err)
	}
}

// again is another record of the same crossing and Closeds.
func (p *party) again(a attempt) attempt {
	p.t.Helper()
	b := *a.built
	record := *b.Record
	record.Context.ArtifactID += "-again"
	b.Record = &record
	c, refusal := crossing.Clear(b.Evidence(b.Params(p.t)))
	if refusal != nil {
		p.t.Fatalf("the fixture is refused: %v", refusal)
	}
	return attempt{c, &b}
}

// open opens an attempt for a cleared record.
func (p *party) open(a attempt) *centre.Attempt {
	p.t.Helper()
	out, err := p.OpenAttempt(p.t.Context(), a.Cleared, registryStart)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// register enters the mandates of a deal at the RA.
func (p *party) register(a attempt) {
	p.t.Helper()
	ctx, b := p.t.Context(), a.built
	d := b.Deal
	if !p.enrolled {
		p.enrolled = true
		for _, side := range []crossingtest.Party{d.Initiator, d.Responder} {
			_, err := p.ra.Enrol(ctx, enrolment(p.t, side.PrincipalID, side.AgentID))
			want(p.t, "enrol", err, nil)
		}
	}
	for _, side := range []struct {
		own, other crossingtest.Party
		tokens     crossingtest.Tokens
	}{{d.Initiator, d.Responder, b.Initiator}, {d.Responder, d.Initiator, b.Responder}} {
		openHash := crossingtest.OpenHash(side.tokens.Open)
		_, err := p.ra.AddOpen(ctx, registry.Open{
			OpenHash: openHash, TokenHash: openHash, SignedHash: hash("signed", openHash),
			PrincipalID: side.own.PrincipalID, AgentID: side.own.AgentID,
			Limit:     commitment.Amount{Class: commitment.Irreversible, Magnitude: 1000},
			ExpiresAt: registryStart.Add(24 * time.Hour), Token: side.tokens.Open, Receipt: "open", At: registryStart,
		})
		want(p.t, "open", err, nil)
		token := jcs.HexOf([]byte(side.tokens.Closed))
		_, err = p.ra.AddClosed(ctx, registry.Closed{
			TokenHash: token, SignedHash: hash("signed", token), OpenHash: openHash,
			PrincipalID: side.own.PrincipalID, AgentID: side.own.AgentID, CounterpartyAgent: side.other.AgentID,
			ChainID: b.Record.ChainID(), CrossingID: d.CrossingID, Limit: 1, Draw: 1,
			ExpiresAt: registryStart.Add(10 * time.Minute), Receipt: "closed", At: registryStart,
		})
		want(p.t, "closed", err, nil)
	}
}

// held is a registered crossing whose attempt is open and whose Closeds are held.
func (p *party) held(change func(*crossingtest.Deal)) (attempt, centre.Commit) {
	p.t.Helper()
	a := p.cleared(change)
	p.register(a)
	out := p.open(a)
	p.hold(a)
	return a, p.commit(a, out)
}

func (p *party) hold(a attempt) {
	p.t.Helper()
	_, err := p.ra.Hold(p.t.Context(), registry.Hold{
		Triple: a.Record().Triple(), Effector: a.Record().Responder.PrincipalID, Receipt: "held", At: registryStart,
	})
	want(p.t, "hold", err, nil)
}

// session is a responder's row of a crossing, before or in sealing.
func session(id, crossingID string) *centre.Crossing {
	at := registryStart.Add(time.Millisecond)
	return &centre.Crossing{
		SessionID: id, Role: crossing.Responder, TaskID: id, ContextID: "c-" + id, CrossingID: crossingID,
		State: crossing.Sealing, Class: "irreversible", Act: "act", CreatedAt: at, UpdatedAt: at,
	}
}

// whole is a row in which every field is set.
func whole(id, crossingID string) *centre.Crossing {
	x := session(id, crossingID)
	profile := crossing.Profile{
		PrincipalID: partyA, AgentID: agentA, ClearanceIDHash: hash("clearance"), TrustBasis: "self_declared", AGCLevel: 7,
	}
	x.PeerURL, x.Own, x.Peer = "https://x.example/ä", profile, profile
	x.Peer.PrincipalID = partyB
	x.OwnOpen, x.PeerOpen, x.OwnDisclosure = "own~", "peer~", "disclosure"
	x.Terms, x.Agreement = []byte("{\"terms_version\" : \"1\"}\n"), hash("terms")
	x.Amount = &commitment.Amount{Class: commitment.Financial, Magnitude: 1<<53 - 1, Currency: "EUR"}
	x.OwnClosed, x.OwnReceipt, x.PeerClosed, x.PeerReceipt = "closed~", "receipt", "peer closed~", "peer receipt"
	x.PeerDisclosures = []string{"one", "two"}
	x.VerifiedAt, x.AgreedAt = x.CreatedAt.Add(time.Second), x.CreatedAt.Add(2*time.Second)
	x.ArtifactID, x.Report = "artifact", []byte(`{"a":1}`)
	x.Refusal = &crossing.Refusal{Name: crossing.SealMismatch, Path: "§4.4-6", Member: "/x", Peer: true}
	return x
}

func centreCrossings(t *testing.T, p *party) {
	ctx := t.Context()
	_, err := p.Crossing(ctx, "none")
	want(t, "no row", err, centre.ErrNone)
	_, err = p.CrossingByID(ctx, "none")
	want(t, "no crossing", err, centre.ErrNone)
	for name, x := range map[string]*centre.Crossing{
		"bare":      session("bare", ""),
		"whole":     whole("whole", "00000000-0000-4000-8000-000000000001"),
		"initiator": {SessionID: "initiator", Role: crossing.Initiator, CrossingID: "initiator", State: crossing.TermsProposed, CreatedAt: registryStart, UpdatedAt: registryStart},
	} {
		want(t, name, p.Put(ctx, x), nil)
		if x.Version != 1 {
			t.Errorf("%s: version %d after the first Put", name, x.Version)
		}
		got, err := p.Crossing(ctx, x.SessionID)
		if diff := cmp.Diff(x, got); err != nil || diff != "" {
			t.Errorf("%s (-put +got) %v\n%s", name, err, diff)
		}
		if x.CrossingID != "" {
			got, err := p.CrossingByID(ctx, x.CrossingID)
			if diff := cmp.Diff(x, got); err != nil || diff != "" {
				t.Errorf("%s by crossing_id (-put +got) %v\n%s", name, err, diff)
			}
		}
	}
	x := whole("changed", "00000000-0000-4000-8000-000000000002")
	want(t, "insert", p.Put(ctx, x), nil)
	stale := *x
	x.State, x.Report, x.Refusal, x.Amount = crossing.Refused, nil, nil, nil
	want(t, "change", p.Put(ctx, x), nil)
	if x.Version != 2 {
		t.Errorf("version %d after the second Put", x.Version)
	}
	got, err := p.Crossing(ctx, x.SessionID)
	if diff := cmp.Diff(x, got); err != nil || diff != "" {
		t.Errorf("changed (-put +got) %v\n%s", err, diff)
	}
	for what, other := range map[string]*centre.Crossing{"a stale version": &stale, "a second insert": session("changed", ""), "a version of no row": {SessionID: "none", Role: crossing.Responder, Version: 3, CreatedAt: registryStart, UpdatedAt: registryStart}} {
		version := other.Version
		want(t, what, p.Put(ctx, other), centre.ErrConflict)
		if other.Version != version {
			t.Errorf("%s: version %d, was %d", what, other.Version, version)
		}
	}
	if got, err := p.Crossing(ctx, x.SessionID); err != nil || !cmp.Equal(x, got) {
		t.Errorf("a refused Put has changed the row: %v", err)
	}
}

func centreCrossingID(t *testing.T, p *party) {
	ctx := t.Context()
	first, second, free := session("first", "one"), session("second", "one"), session("free", "")
	want(t, "first", p.Put(ctx, first), nil)
	want(t, "second with its crossing_id", p.Put(ctx, second), centre.ErrConflict)
	want(t, "without", p.Put(ctx, free), nil)
	want(t, "another without", p.Put(ctx, session("free too", "")), nil)
	free.CrossingID = "one"
	want(t, "taken later", p.Put(ctx, free), centre.ErrConflict)
	if got, err := p.CrossingByID(ctx, "one"); err != nil || got.SessionID != "first" {
		t.Errorf("the crossing_id belongs to %+v, %v", got, err)
	}
	if got, err := p.Crossing(ctx, "free"); err != nil || got.CrossingID != "" || got.Version != 1 {
		t.Errorf("the row that wanted it is %+v, %v", got, err)
	}
	free.CrossingID = "two"
	want(t, "another", p.Put(ctx, free), nil)
	want(t, "its own again", p.Put(ctx, free), nil)
}

// each runs f n times at once and returns how often it succeeded. Errors other than
// target fail the test.
func each(t *testing.T, n int, target error, f func(i int) error) (succeeded int) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
			succeeded++
		case target == nil || !errors.Is(err, target):
			t.Errorf("call %d: %v", i, err)
		}
	}
	return succeeded
}

func centrePutRace(t *testing.T, p *party) {
	ctx := t.Context()
	x := session("x", "")
	want(t, "insert", p.Put(ctx, x), nil)
	won := each(t, 50, centre.ErrConflict, func(i int) error {
		mine := *x
		mine.ArtifactID = fmt.Sprint(i)
		return p.Put(ctx, &mine)
	})
	if got, err := p.Crossing(ctx, "x"); won != 1 || err != nil || got.Version != 2 {
		t.Errorf("%d of 50 changes over one version succeeded; the row is %+v, %v", won, got, err)
	}
	if won := each(t, 50, centre.ErrConflict, func(i int) error { return p.Put(ctx, session(fmt.Sprint(i), "one")) }); won != 1 {
		t.Errorf("%d of 50 rows have one crossing_id", won)
	}
}

func centreRefusals(t *testing.T, p *party) {
	ctx := t.Context()
	row := centre.RefusalRow{
		Refusal:    crossing.Refusal{Name: crossing.MandateExpired, Path: "§5.7 F1", Member: "/a/0"},
		CrossingID: "one", At: registryStart.Add(time.Millisecond), Counterparty: partyA,
	}
	stranger := centre.RefusalRow{Refusal: *crossing.Refuse(crossing.ExtNotActivated), At: registryStart}
	want(t, "a refusal", p.Refuse(ctx, row, nil), nil)
	want(t, "a stranger's", p.Refuse(ctx, stranger, nil), nil)
	x := session("x", "one")
	want(t, "with a new row", p.Refuse(ctx, row, x), nil)
	stale := *x
	want(t, "with its next version", p.Refuse(ctx, row, x), nil)
	if x.Version != 2 {
		t.Errorf("version %d after two refusals with the row", x.Version)
	}
	want(t, "with a stale one", p.Refuse(ctx, row, &stale), centre.ErrConflict)
	got, err := p.Refusals(ctx, 10)
	if diff := cmp.Diff([]centre.RefusalRow{row, row, stranger, row}, got); err != nil || diff != "" {
		t.Errorf("refusals (-want +got) %v\n%s", err, diff)
	}
	if got, err := p.Refusals(ctx, 2); err != nil || len(got) != 2 {
		t.Errorf("%d of at most 2 refusals, %v", len(got), err)
	}
}

func centreGrants(t *testing.T, p *party) {
	ctx := t.Context()
	grant := func(n int) centre.Grant {
		return centre.Grant{
			OpenHash: hash(n), Presented: fmt.Sprint(n, "~"), Disclosure: "d", Receipt: "r",
			ExpiresAt: registryStart.Add(-time.Hour), CreatedAt: registryStart.Add(time.Duration(n/2) * time.Second),
		}
	}
	for n := range 4 {
		want(t, "grant", p.PutGrant(ctx, grant(n)), nil)
	}
	again := grant(1)
	again.Presented, again.Drawn = "other~", 9
	want(t, "the same hash", p.PutGrant(ctx, again), nil)
	want(t, "drawn", p.Drawn(ctx, hash(1), 2), nil)
	want(t, "drawn again", p.Drawn(ctx, hash(1), 3), nil)
	wanted := []centre.Grant{grant(3), grant(2), grant(1), grant(0)}
	wanted[2].Drawn = 5
	got, err := p.Grants(ctx)
	if diff := cmp.Diff(wanted, got); err != nil || diff != "" {
		t.Errorf("grants (-want +got) %v\n%s", err, diff)
	}
	each(t, 50, nil, func(int) error { return p.Drawn(ctx, hash(0), 1) })
	if got, err := p.Grants(ctx); err != nil || got[3].Drawn != 50 {
		t.Errorf("%d drawn by 50 draws, %v", got[3].Drawn, err)
	}
}

func centreSent(t *testing.T, p *party) {
	ctx := t.Context()
	for i, n := range []int{2, 1, 3, 1} { // the last is a repeat
		err := p.PutSent(ctx, "one", hash(n), fmt.Appendf(nil, "record %d", i), fmt.Appendf(nil, "params %d.%d", n, i), registryStart, i)
		want(t, "sent", err, nil)
	}
	want(t, "of another crossing", p.PutSent(ctx, "two", hash(1), []byte("r"), []byte("p"), registryStart, 0), nil)
	want(t, "one more than known", p.PutSent(ctx, "two", hash(2), []byte("r"), []byte("p"), registryStart, 0), centre.ErrConflict)
	got, err := p.Sent(ctx, "one")
	if diff := cmp.Diff([][]byte{[]byte("params 2.0"), []byte("params 1.1"), []byte("params 3.2")}, got); err != nil || diff != "" {
		t.Errorf("sent (-want +got) %v\n%s", err, diff)
	}
	if got, err := p.Sent(ctx, "none"); err != nil || len(got) != 0 {
		t.Errorf("%d sent of an unknown crossing, %v", len(got), err)
	}
}
