package envelope

import (
	"context"
	"errors"
	"time"
)

// An Arrival is how a resolution came in.
type Arrival struct {
	Agent     string    // to whom
	Session   string    // in which session; "" is none
	By        string    // who gave it, as far as the receiver knows
	Assurance Assurance // how surely; zero is Client
	At        time.Time
}

// A Decision is a resolution that was taken, and what was emitted. Nothing else is one.
type Decision struct {
	Emission   Emission
	Resolution Resolution
}

// Settle is the one way in for a resolution: it reads the text, finds the envelope, holds one
// against the other, and takes it. Of all calls for one envelope, ever, one alone returns a
// Decision.
//
// The error is a *[Refusal] if the resolution is discarded; the ledger then has a record of it, or
// the error of recording is joined to it. Any other error is the ledger's: what became of the
// resolution is then unknown, and nothing may be done because of it.
//
// An envelope of another agent or of another session is unknown here, as it would be if it did not
// exist (ENV-078, ENV-104).
func Settle(ctx context.Context, l Ledger, text []byte, a Arrival) (Decision, error) {
	d, err := settle(ctx, l, text, a)
	if err == nil {
		return d, nil
	}
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return Decision{}, err
	}
	return Decision{}, errors.Join(err, l.Discard(ctx, Discarded{
		Name: refusal.Name, Envelope: d.Resolution.EnvelopeDigest(), Text: textDigest(text), Agent: a.Agent, By: a.By, At: a.At,
	}))
}

func settle(ctx context.Context, l Ledger, text []byte, a Arrival) (d Decision, err error) {
	if d.Resolution, err = ParseResolution(text); err != nil {
		return d, err
	}
	d.Emission, err = l.Envelope(ctx, d.Resolution.EnvelopeDigest())
	gone := errors.Is(err, ErrTaken) // resolved, and its words are not kept any more
	switch {
	case errors.Is(err, ErrUnknown):
		return d, unknown()
	case err != nil && !gone:
		return d, err
	case d.Emission.Agent != a.Agent || d.Emission.Session != "" && d.Emission.Session != a.Session:
		return d, unknown()
	case gone:
		return d, taken()
	}
	if err := d.Resolution.Against(d.Emission.Envelope); err != nil {
		return d, err
	}
	if !a.Assurance.AtLeast(d.Emission.Needs) {
		return d, &Refusal{Unproven, "ENV-109", "", "comes with less assurance than this decision needs"}
	}
	_, err = l.Take(ctx, NewTaking(d.Resolution, a.By, a.Assurance, a.At))
	switch {
	case errors.Is(err, ErrTaken):
		return d, taken()
	case errors.Is(err, ErrUnknown):
		return d, unknown()
	}
	return d, err
}

func unknown() *Refusal {
	return &Refusal{Unknown, "ENV-078", "/envelope_digest", "is not the digest of an envelope that this agent emitted"}
}

func taken() *Refusal {
	return &Refusal{Taken, "ENV-079", "/envelope_digest", "is the digest of an envelope that is resolved"}
}
