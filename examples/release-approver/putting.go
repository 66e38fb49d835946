package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
	"github.com/bindery/bindery/mcpenvelope"
)

// An underway is a proposal that was made, and whose envelope is on its way to the ledger: between
// the tool's answer and its recording another call must not take the matter for one without a question.
type underway struct {
	envelope envelope.Digest
	done     chan struct{} // closed when the ledger has it, or has refused it
}

// maxUnderway bounds how long one call waits for the proposal of another, and for what another has taken.
const maxUnderway = 10 * time.Second

// enter locks the office once no proposal of the matter is under way. One that does not arrive is given
// up: [emissions] refuses it then.
func (o *office) enter(ctx context.Context, matter string) error {
	timer := time.NewTimer(o.patience)
	defer timer.Stop()
	for {
		o.mu.Lock()
		p := o.puts[matter]
		if p == nil {
			return nil
		}
		o.mu.Unlock()
		select {
		case <-p.done:
		case <-ctx.Done():
			return errors.New("the call ended while another proposal of this matter was put")
		case <-timer.C:
			o.mu.Lock()
			if o.puts[matter] == p {
				delete(o.puts, matter)
				return nil
			}
			o.mu.Unlock()
			return errors.New("other proposals of this matter are being put: call again")
		}
	}
}

// emissions is the ledger as the emitter has it: one proposal of a matter is emitted, the last that the
// office has made of it.
type emissions struct {
	*fileLedger
	office *office
}

var errOvertaken = errors.New("another proposal of this matter has been made since")

// Emit implements [envelope.Ledger].
func (l emissions) Emit(ctx context.Context, e envelope.Emission) error {
	l.office.mu.Lock()
	defer l.office.mu.Unlock()
	p := l.office.puts[e.Matter]
	if p == nil || p.envelope != e.Envelope.Digest() {
		return errOvertaken
	}
	delete(l.office.puts, e.Matter)
	defer close(p.done)
	return l.fileLedger.Emit(ctx, e)
}

// Take implements [envelope.Ledger]. Until the tool is called with it another call must not take the
// matter for one on whose decision the process has ended.
func (l emissions) Take(ctx context.Context, t envelope.Taking) (envelope.Emission, error) {
	l.office.mu.Lock()
	defer l.office.mu.Unlock()
	e, err := l.fileLedger.Take(ctx, t)
	if err == nil {
		l.office.taken[t.Envelope] = l.office.now()
	}
	return e, err
}

// outstanding shows a question that is put already, in words, and says how it is resolved: its envelope
// was emitted once, and is resolved once.
func (o *office) outstanding(ctx context.Context, s envelope.Awaiting) saying {
	em, err := o.ledger.Envelope(ctx, s.Envelope())
	if err != nil {
		return no("%v", err)
	}
	if o.decided(s.Envelope()) {
		return saying{text: fmt.Sprintf("%s has decided this matter on its page. %s", o.set.principal, howToAwait(s.Envelope()))}
	}
	if o.onItsWay(s.Envelope()) {
		return saying{text: o.set.principal + " has decided this matter, and another call is doing what was decided. Call again to propose anew."}
	}
	page := ""
	if o.pages != nil {
		page = o.pages.PageOf(s.Envelope())
	}
	v, err := render.New(em.Envelope, render.Reader{Agent: em.Agent, Principal: em.Principal, Invoke: func(w render.Way) string {
		switch {
		case page != "":
			return ""
		case w.Kind == envelope.KindOption:
			return fmt.Sprintf("resolution option, option_idx %d", w.Index)
		}
		return "resolution " + string(w.Kind)
	}})
	if err != nil {
		return no("%v", err)
	}
	return saying{text: "This matter waits for a decision already. Its envelope is " + s.Envelope().String() + ":\n\n" + v.Text(72) + "\n" + howToResolve(s.Envelope(), page)}
}

// decided reports whether an envelope was decided on its page, and no call has come for it.
func (o *office) decided(d envelope.Digest) bool { return o.pages != nil && o.pages.Decided(d) }

// onItsWay reports whether the resolution of an envelope was taken just now, and is not acted on yet.
func (o *office) onItsWay(d envelope.Digest) bool { return o.now().Sub(o.taken[d]) < maxUnderway }

func howToAwait(d envelope.Digest) string {
	return fmt.Sprintf("To have done what was decided, call %s with {%q: %q}.", toolPropose, mcpenvelope.DefaultNames().Await, d)
}

// howToResolve says how a question that is put already is decided.
func howToResolve(d envelope.Digest, page string) string {
	if page != "" {
		return fmt.Sprintf("The principal decides it on its page: %s\n%s\n", page, howToAwait(d))
	}
	return fmt.Sprintf("Show this to the principal. What they answer goes into the argument %s of your next call of %s:\n"+
		`{"envelope_digest": %q, "resolution": "option", "option_idx": N}, or "answer" with "answer", or "question" alone.`+"\n", mcpenvelope.DefaultNames().Argument, toolPropose, d)
}
