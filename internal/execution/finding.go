package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

const (
	// typFinding is the typ of a signed finding: no other statement of a gateway passes for one.
	typFinding = "bindery-finding+jwt"
	maxFinding = 16 << 10 // bytes of its compact form
	maxSource  = 256      // bytes

	// SettleTime is how long after an upstream's timeout it may still act on a call (design X4).
	SettleTime = 60 * time.Second
)

// Allows reports whether a finding may be recorded on the row (EXA-072, design X4): on an
// outcome_unknown alone. That it did not happen, Failed, may be said when the upstream's
// timeout and SettleTime have passed since it was dispatched, and when nothing can be sent
// any more: the attempt itself has ended, or its owner is not alive. ErrNotUnknown,
// ErrUnderWay, ErrTooSoon.
func (r Row) Allows(outcome State, ownerAlive bool, at time.Time) error {
	switch {
	case r.State != OutcomeUnknown:
		return ErrNotUnknown
	case outcome != Failed:
		return nil
	case ownerAlive && !r.Ended:
		return ErrUnderWay
	case at.Before(r.DispatchedAt.Add(r.Timeout + SettleTime)):
		return ErrTooSoon
	}
	return nil
}

// A Reconciliation is what somebody has found out about an outcome_unknown.
type Reconciliation struct {
	Key      Key
	Outcome  State  // Succeeded, or Failed: it did not happen
	Evidence []byte // of the upstream; required. Its digest is kept, not the bytes
	Source   string // "operator NAME" or "status_query UPSTREAM/TOOL": whose evidence it is
}

// Reconcile records a finding, signed by the gateway and with its audit entry. It never
// reopens the execution, and changes nothing of its row: a finding is its source's word,
// with the digest of the evidence for it (EXA-025, EXA-027). The same finding again is
// answered with the one that stands.
//
// Errors: ErrNotFound, ErrNotUnknown, ErrUnderWay, ErrTooSoon, ErrFull, or about a
// Reconciliation that is none.
func (r *Registry) Reconcile(ctx context.Context, c Reconciliation) (Finding, error) {
	switch {
	case c.Outcome != Succeeded && c.Outcome != Failed:
		return Finding{}, errors.New("execution: a finding says succeeded or failed")
	case len(c.Evidence) == 0:
		return Finding{}, errors.New("execution: a finding needs evidence from the upstream")
	case c.Source == "" || len(c.Source) > maxSource:
		return Finding{}, errors.New("execution: a finding names its source")
	}
	row, _, err := r.cfg.Store.Find(ctx, c.Key)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Outcome: c.Outcome, Source: c.Source, Evidence: jcs.HexOf(c.Evidence), At: time.UnixMilli(r.now().UnixMilli()).UTC()}
	if f.Signed, err = jose.SignCompact(r.cfg.Signer, typFinding, f.findingPayload(row)); err != nil {
		return Finding{}, fmt.Errorf("execution: finding: %w", err)
	}
	kept, _, err := r.cfg.Store.AddFinding(ctx, c.Key, f)
	return kept, err
}

// findingPayload is what is signed: which attempt of which execution the finding is about.
func (f Finding) findingPayload(row Row) []byte {
	return jcs.Object(
		jcs.Member{Name: "agent_id", Value: jcs.String(row.Agent)},
		jcs.Member{Name: "execution_id", Value: jcs.String(row.ID.String())},
		jcs.Member{Name: "binding", Value: jcs.String(row.Binding)},
		jcs.Member{Name: "call_id", Value: jcs.String(row.CallID)},
		jcs.Member{Name: "outcome", Value: jcs.String(string(f.Outcome))},
		jcs.Member{Name: "source", Value: jcs.String(f.Source)},
		jcs.Member{Name: "evidence_sha256", Value: jcs.String(string(f.Evidence))},
		jcs.Member{Name: "at", Value: jcs.Int(f.At.UnixMilli())},
	)
}

var errFinding = errors.New("execution: not a finding that this key has signed about this execution")

// ParseFinding verifies a signed finding under a gateway's key and only then reads it. It is
// about the execution of this key and binding, or refused.
func ParseFinding(token string, signer jose.Key, key Key, binding string) (Finding, error) {
	c, err := jose.ParseCompact(token, maxFinding)
	if err != nil || c.Header.Typ != typFinding || c.Verify(signer) != nil {
		return Finding{}, errFinding
	}
	v, err := jcs.Profile{MaxDepth: 1, MaxSize: maxFinding}.Parse(c.Payload)
	if err != nil {
		return Finding{}, errFinding
	}
	r := jcs.NewReader(v)
	f := Finding{Outcome: State(r.Text("outcome")), Source: r.Text("source"), At: time.UnixMilli(r.Int("at")).UTC(), Signed: token}
	evidence, hexErr := jcs.ParseHex256(r.Text("evidence_sha256"))
	f.Evidence = evidence
	same := r.Text("agent_id") == key.Agent && r.Text("execution_id") == key.ID.String() && r.Text("binding") == binding
	if r.Text("call_id"); r.Close() != nil || hexErr != nil || !same || f.Outcome != Succeeded && f.Outcome != Failed {
		return Finding{}, errFinding
	}
	return f, nil
}

// A History is all that is stored of one execution.
type History struct {
	Row        Row
	OwnerAlive bool // the replica that has dispatched or reserved it is not declared dead
	Findings   []Finding
	Doubtful   int // findings that are stored, and that this gateway's key has not signed as they stand
}

// Record is the row as a caller may see it.
func (h History) Record() *Record { return h.Row.record() }

// Show returns what is stored of an execution. ErrNotFound.
func (r *Registry) Show(ctx context.Context, key Key) (History, error) {
	row, alive, err := r.cfg.Store.Find(ctx, key)
	if err != nil {
		return History{}, err
	}
	found, err := r.cfg.Store.FindingsOf(ctx, key)
	if err != nil {
		return History{}, err
	}
	h := History{Row: row, OwnerAlive: alive}
	for _, f := range found {
		if signed, err := ParseFinding(f.Signed, r.cfg.Signer.Key(), key, row.Binding); err != nil || signed != f {
			h.Doubtful++
			continue
		}
		h.Findings = append(h.Findings, f)
	}
	return h, nil
}

// List returns at most limit rows in the order of their keys, without answers.
func (r *Registry) List(ctx context.Context, f Filter, limit int) ([]Row, error) {
	return r.cfg.Store.List(ctx, f, limit)
}

// Entry is what the log says of a finding on a row: that somebody has found something, on
// which evidence. It says nothing of what is so.
func (f Finding) Entry(row Row) audit.Entry {
	outcome := string(f.Outcome)
	if f.Outcome == Failed {
		outcome = "did not happen"
	}
	return Decision{
		Event: audit.EventReconciled, CallID: row.CallID, Binding: row.Binding,
		Reason: outcome + ", says " + f.Source, Digest: "sha256:" + string(f.Evidence),
	}.entry(row.Key, row.Descriptor, f.At)
}
