package registry_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// spent reads a receipt and fails the test unless it is B's for the triple.
func (w *world) spent(what, receipt string, err error, triple mandate.Triple, state mandate.SpendState) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	s, err := mandate.ParseSpendReceipt(receipt, w.keys)
	if err != nil || s.Triple != triple || s.Effector != w.b.id || s.State != state {
		w.t.Errorf("%s: receipt %+v, %v", what, s, err)
	}
}

// final fails the test unless err is a refusal that is signed as final.
func (w *world) final(what string, err error, name crossing.Name, triple mandate.Triple, initiator, responder bool) {
	w.t.Helper()
	e := refused(w.t, what, err, name)
	f, err := mandate.ParseFinalRefusal(e.Receipt, w.keys)
	if err != nil || f.Triple != triple || f.Name != string(name) || f.InitiatorSpent != initiator || f.ResponderSpent != responder {
		w.t.Errorf("%s: final refusal %+v, %v", what, f, err)
	}
}

// undecided fails the test if the refusal is signed as final.
func (w *world) undecided(what string, err error, name crossing.Name) {
	w.t.Helper()
	if e := refused(w.t, what, err, name); e.Receipt != "" {
		w.t.Errorf("%s: signed as final", what)
	}
}

// covers GC-194, GC-195
func TestHoldAndConfirm(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(1))
	tr := d.hold.Triple()

	_, err := w.ra.Confirm(ctx, w.b.effects, tr)
	w.undecided("confirm before hold", err, crossing.MagnitudeExhausted)
	_, err = w.ra.Hold(ctx, w.a.effects, d.hold)
	w.undecided("initiator's effector", err, crossing.MandatePartyMismatch)
	held, err := w.ra.Hold(ctx, w.b.effects, d.hold)
	w.spent("hold", held, err, tr, mandate.Held)
	if again, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil || again != held {
		t.Errorf("the same hold got another receipt (%v)", err)
	}
	_, err = w.ra.Hold(ctx, w.a.effects, d.hold)
	w.undecided("hold by another effector", err, crossing.MagnitudeExhausted)
	_, err = w.ra.Confirm(ctx, w.a.effects, tr)
	w.undecided("confirm by another effector", err, crossing.MagnitudeExhausted)

	signed, err := w.ra.Confirmation(ctx, w.b.effects, tr)
	w.spent("confirmation", signed, err, tr, mandate.Spent)
	spent, err := w.ra.Confirm(ctx, w.b.effects, tr)
	w.spent("confirm", spent, err, tr, mandate.Spent)
	if spent == signed {
		t.Error("Confirmation stored its receipt")
	}
	if again, err := w.ra.Confirm(ctx, w.b.effects, tr); err != nil || again != spent {
		t.Errorf("the same confirm got another receipt (%v)", err)
	}
	if again, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil || again != held {
		t.Errorf("a late repeat of hold got another receipt (%v)", err)
	}
	w.sleep(48 * time.Hour)
	if again, err := w.ra.Confirm(ctx, w.b.effects, tr); err != nil || again != spent {
		t.Errorf("the same confirm, after exp, got another receipt (%v)", err)
	}
}

// covers GC-195
func TestOtherTriple(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	openA, openB := w.opened(w.a, w.a.openDraft(irreversible(5))), w.opened(w.b, w.b.openDraft(irreversible(5)))
	hold := api.Hold{CrossingID: crossing1}
	var fresh string // B's second Closed for the crossing
	for _, token := range []*string{&hold.ResponderClosed, &fresh} {
		*token = w.closed(w.b.agent, w.b.closedDraft(openB, w.a, irreversible(1)))
		if _, err := w.register(w.b, *token, w.a); err != nil {
			t.Fatal(err)
		}
	}
	hold.InitiatorClosed = w.closed(w.a.agent, w.a.closedDraft(openA, w.b, irreversible(1)))
	if _, err := w.register(w.a, hold.InitiatorClosed, w.b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ra.Hold(ctx, w.b.effects, hold); err != nil {
		t.Fatal(err)
	}
	other := hold
	other.ResponderClosed = fresh
	_, err := w.ra.Hold(ctx, w.b.effects, other)
	w.final("hold of another triple", err, crossing.MagnitudeExhausted, other.Triple(), true, false)
	_, err = w.ra.Confirm(ctx, w.b.effects, other.Triple())
	w.final("confirm of another triple", err, crossing.MagnitudeExhausted, other.Triple(), true, false)
	elsewhere := hold
	elsewhere.CrossingID = crossing2
	_, err = w.ra.Hold(ctx, w.b.effects, elsewhere)
	w.final("the same tokens in another crossing", err, crossing.MagnitudeExhausted, elsewhere.Triple(), false, false)
	swapped := api.Hold{CrossingID: crossing1, InitiatorClosed: hold.ResponderClosed, ResponderClosed: hold.InitiatorClosed}
	_, err = w.ra.Hold(ctx, w.a.effects, swapped)
	w.final("swapped", err, crossing.MagnitudeExhausted, swapped.Triple(), true, true)
}

// covers GC-073, GC-074, GC-075
func TestTamperedIsUnknown(t *testing.T) {
	w := newWorld(t)
	d := w.deal(irreversible(1))
	never := w.closed(w.a.agent, w.a.closedDraft(d.openA, w.b, irreversible(1)))
	token := d.hold.InitiatorClosed
	flipped := []byte(token)
	flipped[len(flipped)/2] ^= 1
	var answers []string
	for what, presented := range map[string]string{
		"never registered": never,
		"one bit":          string(flipped),
		"high s":           highS(t, token),
		"extra tilde":      token + "~",
		"no tilde":         strings.TrimSuffix(token, "~"),
		"token_sha256":     string(jcs.HexOf([]byte(token))),
		"open":             d.openA.Full(),
		"nothing":          "",
	} {
		for _, h := range []api.Hold{
			{CrossingID: crossing1, InitiatorClosed: presented, ResponderClosed: d.hold.ResponderClosed},
			{CrossingID: crossing1, InitiatorClosed: d.hold.InitiatorClosed, ResponderClosed: presented},
		} {
			_, err := w.ra.Hold(t.Context(), w.b.effects, h)
			w.undecided(what, err, crossing.MandateInvalid)
			if e, ok := errors.AsType[*api.Error](err); ok {
				answers = append(answers, string(e.Bytes()))
			}
		}
	}
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("answers differ: %s, %s", a, answers[0])
		}
	}
	if _, err := w.ra.Hold(t.Context(), w.b.effects, d.hold); err != nil {
		t.Errorf("a refused hold consumed something: %v", err)
	}
}

func TestHoldPair(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(5))
	c := w.party("c")
	stranger := w.opened(c, c.openDraft(irreversible(5)))
	token := w.closed(c.agent, c.closedDraft(stranger, w.b, irreversible(1)))
	if _, err := w.register(c, token, w.b); err != nil {
		t.Fatal(err)
	}
	h := d.hold
	h.InitiatorClosed = token
	_, err := w.ra.Hold(ctx, w.b.effects, h)
	w.final("B's Closed names A", err, crossing.MandatePartyMismatch, h.Triple(), false, false)
	h = d.hold
	h.CrossingID = crossing2
	_, err = w.ra.Hold(ctx, w.b.effects, h)
	w.final("another crossing", err, crossing.MandatePartyMismatch, h.Triple(), false, false)
	h = d.hold
	h.ResponderClosed = h.InitiatorClosed
	_, err = w.ra.Hold(ctx, w.b.effects, h)
	w.undecided("one token twice", err, crossing.MandatePartyMismatch)
	h = d.hold
	h.CrossingID = strings.ToUpper("abcdefab-0000-4000-8000-000000000001")
	_, err = w.ra.Hold(ctx, w.b.effects, h)
	refused(t, "crossing id", err, api.CodeMalformed)
}

// TestRevokedBetweenHoldAndConfirm is the RA's half of WC-10.
//
// covers GC-139, GC-198
func TestRevokedBetweenHoldAndConfirm(t *testing.T) {
	for what, choose := range map[string]func(deal, *world) (*party, jcs.Hex256){
		"initiator's closed": func(d deal, w *world) (*party, jcs.Hex256) { return w.a, jcs.HexOf([]byte(d.hold.InitiatorClosed)) },
		"responder's closed": func(d deal, w *world) (*party, jcs.Hex256) { return w.b, jcs.HexOf([]byte(d.hold.ResponderClosed)) },
		"initiator's open":   func(d deal, w *world) (*party, jcs.Hex256) { return w.a, jcs.HexOf([]byte(d.openA.Token)) },
		"responder's open":   func(d deal, w *world) (*party, jcs.Hex256) { return w.b, jcs.HexOf([]byte(d.openB.Full())) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			ctx, d := t.Context(), w.deal(irreversible(1))
			if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
				t.Fatal(err)
			}
			who, hash := choose(d, w)
			if _, err := w.ra.Revoke(ctx, who.principal, api.Revoke{Hash: hash}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple())
				w.final("confirm", err, crossing.MandateRevoked, d.hold.Triple(), true, true)
			}
			if w.status(jcs.HexOf([]byte(d.hold.InitiatorClosed))) || w.status(jcs.HexOf([]byte(d.hold.ResponderClosed))) {
				t.Error("a Closed came back")
			}
		})
	}
}

func TestRevokedAndExpiredBeforeHold(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(1))
	if _, err := w.ra.Revoke(ctx, w.b.principal, api.Revoke{Hash: jcs.HexOf([]byte(d.openB.Token))}); err != nil {
		t.Fatal(err)
	}
	_, err := w.ra.Hold(ctx, w.b.effects, d.hold)
	w.final("revoked", err, crossing.MandateRevoked, d.hold.Triple(), false, false)

	w = newWorld(t)
	d = w.deal(irreversible(1))
	w.sleep(10 * time.Minute)
	_, err = w.ra.Hold(ctx, w.b.effects, d.hold)
	w.final("expired", err, crossing.MandateExpired, d.hold.Triple(), false, false)
}

func TestExpiredBetweenHoldAndConfirm(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(1))
	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Fatal(err)
	}
	w.sleep(10 * time.Minute)
	_, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple())
	w.final("confirm", err, crossing.MandateExpired, d.hold.Triple(), true, true)
}

// covers GC-195, GC-208
func TestConcurrentHolds(t *testing.T) {
	w := newWorld(t)
	openA, openB := w.opened(w.a, w.a.openDraft(irreversible(5))), w.opened(w.b, w.b.openDraft(irreversible(50)))
	hold := api.Hold{CrossingID: crossing1, InitiatorClosed: w.closed(w.a.agent, w.a.closedDraft(openA, w.b, irreversible(1)))}
	if _, err := w.register(w.a, hold.InitiatorClosed, w.b); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var won atomic.Int32
	for range 50 {
		h := hold
		h.ResponderClosed = w.closed(w.b.agent, w.b.closedDraft(openB, w.a, irreversible(1)))
		if _, err := w.register(w.b, h.ResponderClosed, w.a); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			_, err := w.ra.Hold(t.Context(), w.b.effects, h)
			if err == nil {
				won.Add(1)
				return
			}
			w.final("loser", err, crossing.MagnitudeExhausted, h.Triple(), true, false)
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d holds of one Closed won", won.Load())
	}
}

func TestRevoke(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(1))
	hash := jcs.HexOf([]byte(d.hold.InitiatorClosed))
	_, err := w.ra.Revoke(ctx, w.b.principal, api.Revoke{Hash: hash})
	refused(t, "another's", err, api.CodeNotFound)
	_, err = w.ra.Revoke(ctx, w.b.principal, api.Revoke{Hash: jcs.HexOf([]byte("x"))})
	refused(t, "unknown", err, api.CodeNotFound)
	_, err = w.ra.Revoke(ctx, w.b.principal, api.Revoke{Hash: "x"})
	refused(t, "no hash", err, api.CodeMalformed)

	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Fatal(err)
	}
	operator := registry.Actor{Role: api.RoleOperator, PrincipalID: w.b.id}
	for what, c := range map[string]struct {
		hash jcs.Hex256
		want string
	}{
		"initiator's": {hash, api.BeforeHeld},
		"open":        {jcs.HexOf([]byte(d.openA.Token)), api.BeforeActive},
	} {
		got, err := w.ra.Revoke(ctx, operator, api.Revoke{Hash: c.hash})
		if err != nil || got.Before != c.want || got.Hash != c.hash || !got.At.Equal(start) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
		if err := got.Verify(w.keys); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		got.Before = api.BeforeSpent
		if got.Verify(w.keys) == nil {
			t.Errorf("%s: the receipt vouches for another state", what)
		}
	}
	w.sleep(time.Minute)
	again, err := w.ra.Revoke(ctx, w.a.principal, api.Revoke{Hash: hash})
	if err != nil || again.Before != api.BeforeHeld || !again.At.Equal(start) {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestStatusLooksAlike(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(1))
	initiator, openA := jcs.HexOf([]byte(d.hold.InitiatorClosed)), jcs.HexOf([]byte(d.openA.Token))
	for _, hash := range []jcs.Hex256{initiator, openA, jcs.HexOf([]byte(d.openA.Full()))} {
		if !w.status(hash) {
			t.Error("a good mandate is not active")
		}
	}
	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ra.Revoke(ctx, w.a.principal, api.Revoke{Hash: openA}); err != nil {
		t.Fatal(err)
	}
	for what, hash := range map[string]jcs.Hex256{"unknown": jcs.HexOf([]byte("x")), "held": initiator, "revoked": openA} {
		if w.status(hash) {
			t.Errorf("%s: active", what)
		}
	}
	w.sleep(24 * time.Hour)
	if w.status(jcs.HexOf([]byte(d.openB.Token))) {
		t.Error("expired: active")
	}
	for _, req := range []api.StatusRequest{{Hash: "x", Nonce: "n"}, {Hash: openA}, {Hash: openA, Nonce: "a b"}} {
		_, err := w.ra.Status(ctx, req)
		refused(t, "request", err, api.CodeMalformed)
	}
}

// TestNothingSecretIsLogged scans the log and the audit rows of a whole life.
func TestNothingSecretIsLogged(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(424242))
	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ra.Revoke(ctx, w.a.principal, api.Revoke{Hash: jcs.HexOf([]byte(d.openA.Token))}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", w.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT role || principal_id || operation || subject || outcome FROM registry_audit")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	audit := 0
	text := w.log.String()
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			t.Fatal(err)
		}
		text += row
		audit++
	}
	// Two enrolments, two Opens, two Closeds, hold, confirm, revocation.
	if audit != 9 || rows.Err() != nil {
		t.Errorf("%d audit rows, %v", audit, rows.Err())
	}
	for _, secret := range []string{"eyJ", "424242", string(jcs.HexOf([]byte("clearance " + w.a.id)))} {
		if strings.Contains(text, secret) {
			t.Errorf("log or audit holds %q", secret)
		}
	}
	if w.log.String() == "" {
		t.Error("nothing was logged at all")
	}
}
