package mcpenvelope

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
)

const (
	pathDecide = "/decide/"
	pathStyle  = "/decide.css"
	fieldToken = "token"
	maxForm    = 160 << 10 // an answer of the greatest length in characters of three bytes, percent-encoded
	maxSettle  = time.Minute
)

// A page is one envelope on a page of its own, under a path that nobody can guess.
type page struct {
	path  string // "/decide/" and 256 random bits
	token string // in its forms, against forged requests
	tool  string // whose call it belongs to
	em    envelope.Emission
	done  chan struct{} // closed when it is decided, or its envelope is resolved elsewhere

	// settling is held from the asking of the ledger to the keeping of its answer: of two forms at once
	// the second must not find the envelope taken before the page is known to be decided.
	settling sync.Mutex

	// guarded by Bridge.mu
	expires   time.Time
	decided   bool
	decision  envelope.Decision // if decided; zero again once it is handed over
	handed    bool
	elsewhere bool // its envelope is resolved by an argument or a form
}

// open makes a page for an emission, or returns nil where there are too many.
func (b *Bridge) open(c *call, em envelope.Emission) *page {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for path, p := range b.byPath {
		if !now.Before(p.expires) {
			delete(b.byPath, path)
			delete(b.byDigest, p.em.Envelope.Digest().String())
		}
	}
	digest := em.Envelope.Digest().String()
	if p := b.byDigest[digest]; p != nil {
		return p
	}
	if len(b.byPath) >= maxHeld {
		return nil
	}
	p := &page{
		path: pathDecide + secret(), token: secret(), tool: c.req.Params.Name, em: em,
		expires: now.Add(b.cfg.Lifetime), done: make(chan struct{}),
	}
	b.byPath[p.path], b.byDigest[digest] = p, p
	return p
}

func secret() string {
	bits := make([]byte, 32)
	_, _ = rand.Read(bits) // it never fails
	return base64.RawURLEncoding.EncodeToString(bits)
}

// drop closes a page that nobody will answer; the envelope stays outstanding. It reports whether the
// page is decided, or its envelope is: such a one stays for whoever asks what was decided.
func (b *Bridge) drop(p *page) (decided bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p == nil:
		return false
	case p.decided || p.elsewhere:
		return true
	}
	delete(b.byPath, p.path)
	delete(b.byDigest, p.em.Envelope.Digest().String())
	return false
}

// pageAt returns the page under a path, nil if there is none or its time is over.
func (b *Bridge) pageAt(path string) *page {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.byPath[path]
	if p == nil || !b.now().Before(p.expires) {
		return nil
	}
	return p
}

// pageOf returns the page of a digest, nil if there is none or its time is over.
func (b *Bridge) pageOf(digest string) *page {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.byDigest[digest]
	if p == nil || !b.now().Before(p.expires) {
		return nil
	}
	return p
}

// collect hands over what was decided on a page, once.
func (b *Bridge) collect(p *page) (envelope.Decision, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !p.decided || p.handed {
		return envelope.Decision{}, false
	}
	d := p.decision
	p.handed, p.decision = true, envelope.Decision{} // an answer's text is kept no longer (ENV-113)
	p.expires = b.now().Add(b.cfg.Lifetime)          // nobody else waits for it, and there is not room for many
	return d, true
}

// decide records what was decided, for the call that waits or the next that asks: also if the page was
// dropped while the ledger took it.
func (b *Bridge) decide(p *page, d envelope.Decision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.decided, p.decision = true, d
	p.expires = b.now().Add(keepDecided)
	b.byPath[p.path], b.byDigest[p.em.Envelope.Digest().String()] = p, p
	close(p.done)
}

// resolvedElsewhere tells whoever waits on the page of an envelope that it was resolved by another way.
// The ledger takes an envelope once, so such a page is never decided.
func (b *Bridge) resolvedElsewhere(digest envelope.Digest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.byDigest[digest.String()]; p != nil && !p.decided && !p.elsewhere {
		p.elsewhere = true
		close(p.done)
	}
}

// PageOf returns the address of the page on which an envelope can be decided now, "" if there is none.
// It is a secret: whoever has it can decide. Hand it out in the session alone in which the envelope was
// emitted.
func (b *Bridge) PageOf(digest envelope.Digest) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.byDigest[digest.String()]
	if p == nil || p.decided || p.elsewhere || !b.now().Before(p.expires) {
		return ""
	}
	return b.cfg.Pages + p.path
}

// Decided reports whether the page of an envelope was decided and nobody has acted on it yet: a call of
// the tool that asks for the outcome will.
func (b *Bridge) Decided(digest envelope.Digest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.byDigest[digest.String()]
	return p != nil && p.decided && !p.handed && b.now().Before(p.expires)
}

func (b *Bridge) expiry(p *page) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.expires
}

// isOver reports whether there is nothing to decide any more.
func (b *Bridge) isOver(p *page) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return p.decided || p.elsewhere
}

// ServeHTTP serves the pages and their style sheet. Host and Origin are checked here, so it may share
// a listener with nothing else. It needs no cookie and no script.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", render.Policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the path is a secret
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	post := r.Method == http.MethodPost
	switch {
	case !b.pages() || r.Host != b.host:
		http.Error(w, "this is not the host of these pages", http.StatusForbidden)
	case !post && r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD, POST")
		http.Error(w, "a page is read, and answered by POST", http.StatusMethodNotAllowed)
	case r.URL.Path == pathStyle && !post:
		h.Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write([]byte(render.Stylesheet()))
	default:
		b.servePage(w, r, post)
	}
}

func (b *Bridge) servePage(w http.ResponseWriter, r *http.Request, post bool) {
	p := b.pageAt(r.URL.Path)
	switch {
	case p == nil || r.URL.RawQuery != "":
		b.say(w, http.StatusNotFound, render.Refused(envelope.ErrUnknown))
	case post && !b.sameOrigin(r):
		http.Error(w, "this does not come from the page", http.StatusForbidden)
	case post:
		b.submit(w, r, p)
	case b.isOver(p):
		b.say(w, http.StatusGone, render.Refused(envelope.ErrTaken))
	default:
		b.show(w, p)
	}
}

// sameOrigin reports whether a request comes from a page of ours. Under the policy no-referrer a
// browser may name no origin; then it has to say in its own words that the sites are the same.
func (b *Bridge) sameOrigin(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	switch r.Header.Get("Origin") {
	case b.cfg.Pages:
		return site == "" || site == "same-origin"
	case "", "null":
		return site == "same-origin"
	}
	return false
}

func (b *Bridge) view(p *page) (render.View, error) {
	return render.New(p.em.Envelope, render.Reader{Agent: b.agent, Principal: p.em.Principal, Assurance: envelope.Client})
}

func (b *Bridge) show(w http.ResponseWriter, p *page) {
	v, err := b.view(p)
	if err != nil {
		b.say(w, http.StatusInternalServerError, render.Refused(err))
		return
	}
	text, err := v.Page(render.Page{Action: p.path, Stylesheet: pathStyle, Hidden: []render.Field{{Name: fieldToken, Text: p.token}}})
	if err != nil {
		b.say(w, http.StatusInternalServerError, render.Refused(err))
		return
	}
	html(w, http.StatusOK, text)
}

// submit takes what a form of the page sends.
func (b *Bridge) submit(w http.ResponseWriter, r *http.Request, p *page) {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/x-www-form-urlencoded" {
		http.Error(w, "a form of the page is application/x-www-form-urlencoded", http.StatusUnsupportedMediaType)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		b.say(w, status, render.Refused(render.ErrUnclear))
		return
	}
	if tokens := r.PostForm[fieldToken]; len(tokens) != 1 || subtle.ConstantTimeCompare([]byte(tokens[0]), []byte(p.token)) != 1 {
		http.Error(w, "this does not come from the page", http.StatusForbidden)
		return
	}
	v, err := b.view(p)
	if err != nil {
		b.say(w, http.StatusInternalServerError, render.Refused(err))
		return
	}
	resolution, err := v.Submit(r.PostForm)
	if err != nil {
		b.say(w, http.StatusBadRequest, render.Refused(err))
		return
	}
	p.settling.Lock()
	defer p.settling.Unlock()
	// Who sends the form has decided, whether they wait for the answer or not. A ledger that is silent
	// is given up: the forms that come after wait here meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), maxSettle)
	defer cancel()
	d, err := envelope.Settle(ctx, b.ledger, resolution.JSON(), envelope.Arrival{
		Agent: b.agent, Session: p.em.Session, By: "page", Assurance: envelope.Client, At: b.now(),
	})
	var refusal *envelope.Refusal
	switch {
	case err == nil:
		b.decide(p, d)
		b.say(w, http.StatusOK, v.Taken(d.Resolution))
	case errors.Is(err, envelope.ErrTaken):
		b.resolvedElsewhere(resolution.EnvelopeDigest()) // if it was not here
		b.say(w, http.StatusGone, render.Refused(err))
	case errors.As(err, &refusal):
		b.say(w, http.StatusConflict, render.Refused(err))
	default:
		b.say(w, http.StatusServiceUnavailable, render.Refused(err))
	}
}

// say answers with an outcome, as a page without a form.
func (b *Bridge) say(w http.ResponseWriter, status int, o render.Outcome) {
	text, err := o.Page(render.Page{Action: pathDecide, Stylesheet: pathStyle})
	if err != nil {
		http.Error(w, o.Title, status)
		return
	}
	html(w, status, text)
}

func html(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
