package envelope

import (
	"errors"

	"github.com/bindery/bindery/jcs"
)

// ErrAction refuses an action that is not the one that was decided (ENV-120).
var ErrAction = errors.New("envelope: the action is not the one that this resolution stands for (ENV-120)")

// Actions say what each option of one envelope does: the digest of the action that is admitted when
// it is chosen, such as an execution action binding, or "" for an option that does nothing. They
// are fixed when the envelope is made and kept by its emitter, outside of the envelope, and never
// inferred from a label (E5, ENV-120). The zero Actions are none.
type Actions struct {
	envelope Digest
	count    int
	digests  [MaxOptions]jcs.Digest
}

// NewActions fixes the actions of e: one for each option, in order.
func NewActions(e Envelope, digests ...jcs.Digest) (Actions, error) {
	if e.IsZero() || len(digests) != e.c.count {
		return Actions{}, errors.New("envelope: there is one action for each option (ENV-120)")
	}
	a := Actions{envelope: e.Digest(), count: len(digests)}
	for i, d := range digests {
		if d != "" {
			if _, err := jcs.ParseDigest(string(d)); err != nil {
				return Actions{}, errors.New("envelope: an action is sha256: and 64 or sha384: and 96 hexadecimal digits (ENV-120)")
			}
		}
		a.digests[i] = d
	}
	return a, nil
}

// IsZero reports whether a is none.
func (a Actions) IsZero() bool { return a.count == 0 }

// Envelope returns the digest of the envelope whose options these are.
func (a Actions) Envelope() Digest { return a.envelope }

// Of returns the action of the option that r chose; ok is false if r chose none of this envelope, or
// one that does nothing. Answers and questions have no action: they commit to none.
func (a Actions) Of(r Resolution) (d jcs.Digest, ok bool) {
	idx, chose := r.OptionIdx()
	if !chose || a.IsZero() || r.EnvelopeDigest() != a.envelope || idx >= a.count || a.digests[idx] == "" {
		return "", false
	}
	return a.digests[idx], true
}

// Check is asked right before an action is begun: it returns [ErrAction] unless performed is the
// action of the option that r chose.
func (a Actions) Check(r Resolution, performed jcs.Digest) error {
	if d, ok := a.Of(r); !ok || d != performed {
		return ErrAction
	}
	return nil
}
