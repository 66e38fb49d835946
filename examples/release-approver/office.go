package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
	"github.com/bindery/bindery/jcs"
)

// An office proposes, and does what is decided.
type office struct {
	set    settings
	ledger *fileLedger
	now    func() time.Time
	locked *os.File
	pages  pages

	patience time.Duration // with another's proposal of the same matter

	mu    sync.Mutex                    // one proposal or decision at a time: guards what is below the data folder
	puts  map[string]*underway          // by matter; guarded by mu
	taken map[envelope.Digest]time.Time // when, in this process, and not acted on yet; guarded by mu
}

// pages are the decision pages of a server; nil is none.
type pages interface {
	PageOf(envelope.Digest) string // where an envelope can be decided now; "" is nowhere
	Decided(envelope.Digest) bool  // whether it was decided there, and no call has come for it
}

func openOffice(s settings) (*office, error) {
	if _, err := datasets(s.catalogue); err != nil {
		return nil, fmt.Errorf("--catalogue %s: %w", s.catalogue, err)
	}
	if err := os.MkdirAll(s.data, 0o700); err != nil {
		return nil, fmt.Errorf("the --data folder cannot be made: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(s.data, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the --data folder cannot be used: %w", err)
	}
	o := &office{set: s, now: time.Now, locked: f, patience: maxUnderway, puts: map[string]*underway{}, taken: map[envelope.Digest]time.Time{}}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	if o.ledger, err = openLedger(filepath.Join(s.data, "ledger.jsonl")); err != nil {
		_ = f.Close()
		return nil, err
	}
	return o, nil
}

func (o *office) close() {
	_ = o.ledger.close()
	_ = o.locked.Close()
}

func (o *office) path(elem ...string) string {
	return filepath.Join(append([]string{o.set.data}, elem...)...)
}

// number counts proposals. It never gives one twice, so that no two envelopes are equal (ENV-115).
func (o *office) number() (int64, error) {
	text, err := read(o.path("proposals", "last"))
	if err != nil {
		return 0, err
	}
	n := int64(0)
	if text != nil {
		if n, err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return 0, errors.New("the number of the last proposal is damaged")
		}
	}
	n++
	return n, write(o.path("proposals", "last"), []byte(strconv.FormatInt(n, 10)), false)
}

// A matter is kept in two files: the state in which a question may be put, and the one that waits for
// its answer. The second counts only once its envelope was emitted.
func (o *office) matterFile(r request, suffix string) string {
	return o.path("matters", string(jcs.HexOf([]byte(r.subject())))+suffix)
}

// state is where a matter stands.
func (o *office) state(ctx context.Context, r request) (envelope.State, error) {
	asked, err := read(o.matterFile(r, ".asked.json"))
	if err != nil {
		return nil, err
	}
	if asked != nil {
		s, err := envelope.ParseState(asked)
		if err != nil {
			return nil, err
		}
		waiting, ok := s.(envelope.Awaiting)
		if !ok {
			return nil, errors.New("what is kept of this matter is damaged")
		}
		em, err := o.ledger.Envelope(ctx, waiting.Envelope())
		if err == nil {
			return o.caughtUp(waiting, em)
		}
		if !errors.Is(err, envelope.ErrUnknown) {
			return nil, err
		}
	}
	text, err := read(o.matterFile(r, ".json"))
	if err != nil {
		return nil, err
	}
	if text == nil {
		return envelope.NewMatter(envelope.Matter{Agent: o.set.agent, Principal: o.set.principal, Subject: r.subject()})
	}
	return envelope.ParseState(text)
}

// caughtUp moves a matter on whose resolution was taken, and then the process ended before it was
// acted on. Nothing was released; what was decided counts for the matter all the same. What this process
// has just taken is on its way, and what was decided on a page of it waits for the call that comes for it.
func (o *office) caughtUp(waiting envelope.Awaiting, em envelope.Emission) (envelope.State, error) {
	t, taken := o.ledger.Taking(waiting.Envelope())
	if !taken || o.decided(waiting.Envelope()) || o.onItsWay(waiting.Envelope()) {
		return waiting, nil
	}
	var r envelope.Resolution
	var err error
	switch t.Kind {
	case envelope.KindOption:
		r, err = envelope.Choose(em.Envelope, t.OptionIdx)
	case envelope.KindQuestion:
		r, err = envelope.Reopen(em.Envelope)
	default: // the words of the answer are not kept (ENV-113)
		r, err = envelope.Answer(em.Envelope, "(not kept)")
	}
	if err != nil {
		return nil, err
	}
	return waiting.Resolve(r, t.At)
}

// keep stores where a matter stands after a question is closed.
func (o *office) keep(r request, s envelope.State) error {
	if err := write(o.matterFile(r, ".json"), s.JSON(), false); err != nil {
		return err
	}
	if err := os.Remove(o.matterFile(r, ".asked.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.New("a file cannot be removed")
	}
	return nil
}

// A saying is what a tool answers.
type saying struct {
	text     string
	failed   bool
	emission *envelope.Emission     // to be decided
	withheld *envelope.Deliberation // the agent's own veto
}

func no(format string, args ...any) saying {
	return saying{text: fmt.Sprintf(format, args...), failed: true}
}

// propose takes a position on a request.
func (o *office) propose(ctx context.Context, r request) saying {
	if err := checkRequest(r); err != nil {
		return no("%v", err)
	}
	if err := o.enter(ctx, r.subject()); err != nil {
		return no("%v", err)
	}
	defer o.mu.Unlock()
	d, err := load(o.set.catalogue, r.dataset)
	if err != nil {
		return no("%v", err)
	}
	views, err := r.chosen(d)
	if err != nil {
		return no("%v", err)
	}
	readiness, why := ready(d, views)
	if readiness != envelope.Ready() {
		w, err := envelope.Withhold(why, "")
		if err != nil {
			return no("%v", err)
		}
		return saying{withheld: &w}
	}
	state, err := o.state(ctx, r)
	if err != nil {
		return no("%v", err)
	}
	switch s := state.(type) {
	case envelope.Awaiting:
		return o.outstanding(ctx, s)
	case envelope.Decided:
		state = s.Continue()
	case envelope.Answered:
		state = s.Continue()
	}
	deliberating, ok := state.(envelope.Deliberating)
	if !ok {
		return no("%s declined the last question of this matter. Tell this server the objection with hear_objection, in the principal's words, before anything else is proposed.", o.set.principal)
	}
	if !o.set.emit {
		return saying{text: fmt.Sprintf("%s could go to %s, but this server asks nobody: it was started with --emit=false.", d.title, r.recipient)}
	}
	return o.ask(deliberating, r, d, views)
}

// ask builds the envelope and keeps what it stands for.
func (o *office) ask(from envelope.Deliberating, r request, d dataset, views []view) saying {
	n, err := o.number()
	if err != nil {
		return no("%v", err)
	}
	p := proposal{number: n, request: r}
	text, choices := draft(p, d, views, o.set.smallest, o.released(r))
	p.choices = choices
	env, err := text.Build(envelope.Ready())
	if err != nil {
		return no("The proposal cannot be put: %v", err)
	}
	waiting, err := from.Ask(env)
	var again *envelope.MatterError
	if errors.As(err, &again) && again.Name == envelope.SameQuestion {
		return no("%s declined this question before. Put another one: other views, and a question of your own. (%s)", o.set.principal, again.Name)
	}
	if err != nil {
		return no("%v", err)
	}
	em := text.Emission(env)
	em.Principal, em.Matter = o.set.principal, r.subject()
	if em.Actions, err = actions(env, p, views); err != nil {
		return no("%v", err)
	}
	if em.Evidence, err = evidence(env, views); err != nil {
		return no("%v", err)
	}
	err = errors.Join(
		write(o.path("proposals", string(env.Digest().String()[7:])+".json"), p.json(), true),
		write(o.matterFile(r, ".json"), from.JSON(), false),
		write(o.matterFile(r, ".asked.json"), waiting.JSON(), false),
	)
	if err != nil {
		return no("%v", err)
	}
	o.puts[em.Matter] = &underway{env.Digest(), make(chan struct{})}
	return saying{text: fmt.Sprintf("Proposal %d on %s for %s is made. %s decides it.", n, d.title, r.recipient, o.set.principal), emission: &em}
}

// decide does what was decided.
func (o *office) decide(d envelope.Decision) saying {
	o.mu.Lock()
	defer o.mu.Unlock()
	digest := d.Resolution.EnvelopeDigest()
	delete(o.taken, digest)
	text, err := read(o.path("proposals", digest.String()[7:]+".json"))
	if err != nil || text == nil {
		return no("Nothing is done: the proposal of this envelope is not known.")
	}
	p, err := parseProposal(text)
	if err != nil {
		return no("Nothing is done: what is kept of the proposal is damaged.")
	}
	asked, err := read(o.matterFile(p.request, ".asked.json"))
	if err != nil || asked == nil {
		return no("Nothing is done: this matter waits for no decision.")
	}
	state, err := envelope.ParseState(asked)
	waiting, ok := state.(envelope.Awaiting)
	if err != nil || !ok {
		return no("Nothing is done: what is kept of this matter is damaged.")
	}
	outcome, err := waiting.Resolve(d.Resolution, o.now())
	if err != nil {
		return no("Nothing is done: %v", err)
	}
	if err := o.keep(p.request, outcome); err != nil {
		return no("Nothing is done: %v", err)
	}
	switch s := outcome.(type) {
	case envelope.Answered:
		answer, _ := d.Resolution.AnswerText()
		return saying{text: fmt.Sprintf("%s answered proposal %d in their own words, and the question stands. Nothing is released by it. Go on with the answer, and propose anew where it asks for that. It reads:\n%s",
			o.set.principal, p.number, render.Show(answer))}
	case envelope.Reopened:
		return saying{text: fmt.Sprintf("%s declined the question of proposal %d. Nothing is released, and nothing is proposed in this matter before their objection is heard: ask for it, and give it to hear_objection.",
			o.set.principal, p.number)}
	case envelope.Decided:
		return o.act(p, d, s.Option())
	}
	return no("Nothing is done.")
}

// act releases the view that was chosen, if it still is what was proposed.
func (o *office) act(p proposal, d envelope.Decision, option int) saying {
	if option >= len(p.choices) {
		return no("Nothing is done: the proposal has no such option.")
	}
	name := p.choices[option]
	if name == "" {
		return saying{text: fmt.Sprintf("Proposal %d is decided: nothing is released.", p.number)}
	}
	data, err := load(o.set.catalogue, p.request.dataset)
	if err != nil {
		return no("Nothing is released: %v", err)
	}
	for _, v := range data.views {
		if v.name != name {
			continue
		}
		if err := d.Emission.Actions.Check(d.Resolution, v.action(p.request.dataset, p.request.recipient)); err != nil {
			return no("Nothing is released: %s has changed since proposal %d was made, and what was decided was the file as it stood then. Propose it again.", v.file, p.number)
		}
		return o.release(p, v, d)
	}
	return no("Nothing is released: %s has no view %s any more.", p.request.dataset, name)
}

// folder is where the releases of a dataset to a recipient go.
func (o *office) folder(r request) string {
	return o.path("outbox", r.dataset, string(jcs.HexOf([]byte(r.recipient)))[:16])
}

func (o *office) release(p proposal, v view, d envelope.Decision) saying {
	base := filepath.Join(o.folder(p.request), fmt.Sprintf("%06d-%s", p.number, v.name))
	note := jcs.Object(
		jcs.Member{Name: "dataset", Value: jcs.String(p.request.dataset)},
		jcs.Member{Name: "envelope_digest", Value: jcs.String(d.Resolution.EnvelopeDigest().String())},
		jcs.Member{Name: "file_sha256", Value: jcs.String(string(v.digest))},
		jcs.Member{Name: "recipient", Value: jcs.String(p.request.recipient)},
		jcs.Member{Name: "resolution_digest", Value: jcs.String(d.Resolution.Digest().String())},
		jcs.Member{Name: "view", Value: jcs.String(v.name)},
	)
	if err := write(base+".csv", v.content, true); err != nil {
		return no("Nothing is released: %v", err)
	}
	if err := write(base+".json", note, true); err != nil {
		return no("%s.csv is released, but its note is missing: %v", base, err)
	}
	return saying{text: fmt.Sprintf("Released by proposal %d: the %s view of %s to %s, as %s.csv (%s).",
		p.number, v.name, p.request.dataset, p.request.recipient, base, v.digest)}
}

// released counts earlier releases.
func (o *office) released(r request) int {
	files, _ := filepath.Glob(filepath.Join(o.folder(r), "*.csv"))
	return len(files)
}

// hear takes in what the principal says against a question that they declined.
func (o *office) hear(ctx context.Context, r request, objection string) saying {
	if err := checkRequest(r); err != nil {
		return no("%v", err)
	}
	if len(objection) > envelope.MaxAnswer {
		return no("objection: at most %d bytes", envelope.MaxAnswer)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	state, err := o.state(ctx, r)
	if err != nil {
		return no("%v", err)
	}
	reopened, ok := state.(envelope.Reopened)
	if !ok {
		return no("No question of this matter is declined; there is nothing to object to.")
	}
	message, err := envelope.NewMessage(o.set.principal, objection, o.now())
	if err != nil {
		return no("%v", err)
	}
	deliberating, err := reopened.Hear(message)
	if err != nil {
		return no("%v", err)
	}
	if err := o.keep(r, deliberating); err != nil {
		return no("%v", err)
	}
	return saying{text: "The objection is heard (" + string(message.Text) + "). Propose again with it in mind, in other words: the question that was declined, and its options, are not put a second time."}
}
