package authority

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// standingNonce is the nonce of questions whose answer serves more than one asker.
const standingNonce = "va"

// keptStandings bounds the answers in memory, of about 600 bytes each.
const keptStandings = 4096

// maxRegistrars bounds the RAs that one question is put to.
const maxRegistrars = 32

// A Registrar is a Registration Authority that can be asked. What it says counts only if
// it is signed by a pinned key.
type Registrar interface {
	// Status returns the RA's signed mandate.Status. Any error means that it has said nothing.
	Status(ctx context.Context, req api.StatusRequest) (statement string, err error)
}

// standings are the RAs' answers that hold still.
type standings struct {
	mu   sync.Mutex // guards kept
	kept map[jcs.Hex256]standing
}

// standing is one answer; the zero one is none.
type standing struct {
	token  string
	key    string // thumbprint of the RA's
	active bool
	// whose mandate it is, of an active one
	principalID string
	expires     time.Time
}

// Status asks the pinned Registration Authorities whether a mandate is active and passes
// on the signed answer of one, to this very nonce (design R5, GC-355). It is never this
// authority's own word. An RA is asked, and believed, about those whom it speaks for: the one
// that was pinned for req.PrincipalID, or else those that were pinned for nobody in
// particular. That the mandate is active is believed of one of them, since the others do not
// know it; that it is not, only if all of them say so.
//
// Without req.PrincipalID all are asked, and an RA that calls a mandate active has to name a
// principal that it speaks for. It may lie about that: so who knows the mandate compares the
// name in the answer, or gives it in the question.
//
// Refusals: api.CodeMalformed; api.CodeRegistryUnreachable when none says "active" and not
// every one of them could be asked, or there is none; api.CodeConflict when the RAs of two
// principals call it active.
func (a *Authority) Status(ctx context.Context, req api.StatusRequest) (statement string, err error) {
	if _, err := jcs.ParseHex256(string(req.Hash)); err != nil {
		return "", &api.Error{Code: api.CodeMalformed, Pointer: "/hash"}
	}
	if !api.ValidNonce(req.Nonce) {
		return "", &api.Error{Code: api.CodeMalformed, Pointer: "/nonce"}
	}
	s, err := a.ask(ctx, req)
	return s.token, err
}

// Standing is Status without a nonce: the answer may have been given to somebody else
// before, and holds for the time that is left. The verifier judges its age by its own at
// and exp. Refusals as of Status.
func (a *Authority) Standing(ctx context.Context, openHash jcs.Hex256) (statement string, left time.Duration, err error) {
	if _, err := jcs.ParseHex256(string(openHash)); err != nil {
		return "", 0, &api.Error{Code: api.CodeMalformed, Pointer: "/open_mandate_hash"}
	}
	now := a.now()
	s, ok := a.standings.get(openHash, now)
	if ok {
		if ok, err = a.pinned(ctx, s.key); err != nil {
			return "", 0, err
		}
	}
	if !ok {
		if s, err = a.ask(ctx, api.StatusRequest{Hash: openHash, Nonce: standingNonce}); err != nil {
			return "", 0, err
		}
		a.standings.put(openHash, s, now)
	}
	return s.token, s.expires.Sub(now), nil
}

// pinned reports whether a key is pinned still.
func (a *Authority) pinned(ctx context.Context, key string) (bool, error) {
	keys, err := a.store.Registries(ctx)
	return slices.ContainsFunc(keys, func(k jose.Key) bool { return k.ID == key }), undecidedOr("reading the registries", err)
}

func (a *Authority) ask(ctx context.Context, req api.StatusRequest) (standing, error) {
	unreachable := &api.Error{Code: api.CodeRegistryUnreachable}
	if a.registrars == nil {
		return standing{}, unreachable
	}
	pinned, err := a.store.Registries(ctx)
	if err != nil {
		return standing{}, undecided("reading the registries", err)
	}
	speakers, err := a.speakers(ctx, pinned, req.PrincipalID)
	if err != nil {
		return standing{}, err
	}
	list, err := a.registrars(ctx)
	if err != nil {
		return standing{}, undecided("reading the registries", err)
	}
	spoken := map[string]bool{} // keys
	var found, negative standing
	for _, s := range a.askAll(ctx, list, req, jose.NewKeySet(speakers...)) {
		entitled, err := a.entitled(ctx, s)
		switch {
		case err != nil:
			return standing{}, err
		case !entitled:
			continue
		case s.active && found.active && found.principalID != s.principalID:
			a.log.WarnContext(ctx, "registries of two principals claim one mandate", "hash", req.Hash)
			return standing{}, &api.Error{Code: api.CodeConflict}
		case s.active:
			found = s
		default:
			negative = s
		}
		spoken[s.key] = true
	}
	switch {
	case found.active:
		return found, nil
	case len(speakers) == 0 || len(spoken) < len(speakers):
		return standing{}, unreachable
	}
	return negative, nil
}

// speakers are the pinned keys whose word about a principal's mandates counts: the one that
// was pinned for it, or else each that was pinned for nobody in particular; of a mandate of
// nobody knows whom, all.
func (a *Authority) speakers(ctx context.Context, pinned []jose.Key, principalID string) (keys []jose.Key, err error) {
	if principalID == "" {
		return pinned, nil
	}
	for _, key := range pinned {
		speaks, err := a.speaks(ctx, key.ID, principalID)
		switch {
		case err != nil:
			return nil, err
		case speaks:
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// speaks reports whether the word of a pinned key counts for a principal.
func (a *Authority) speaks(ctx context.Context, key, principalID string) (bool, error) {
	speaker, err := a.store.SpokenFor(ctx, principalID)
	if err != nil || speaker != "" {
		return speaker == key && err == nil, undecidedOr("reading the registries", err)
	}
	bound, err := a.store.SpeaksFor(ctx, key)
	return err == nil && len(bound) == 0, undecidedOr("reading the registries", err)
}

// entitled reports whether an answer counts: it is one, and that a mandate is active is said
// by an RA that speaks for the principal whose mandate it says it is. An RA that says of
// another's mandate that it is its own principal's is seen through by who holds the mandate.
func (a *Authority) entitled(ctx context.Context, s standing) (bool, error) {
	if s.token == "" || !s.active {
		return s.token != "", nil
	}
	return a.speaks(ctx, s.key, s.principalID)
}

func undecidedOr(doing string, err error) error {
	if err == nil {
		return nil
	}
	return undecided(doing, err)
}

// askAll asks all at once, so that one that is silent costs its own time alone.
func (a *Authority) askAll(ctx context.Context, list []Registrar, req api.StatusRequest, pinned jose.KeySet) []standing {
	answers := make([]standing, min(len(list), maxRegistrars))
	var wg sync.WaitGroup
	for i, r := range list[:len(answers)] {
		wg.Go(func() { answers[i] = a.askOne(ctx, r, req, pinned) })
	}
	wg.Wait()
	return answers
}

// askOne returns the zero standing but for an answer that the asker could take as well.
func (a *Authority) askOne(ctx context.Context, r Registrar, req api.StatusRequest, pinned jose.KeySet) standing {
	token, err := r.Status(ctx, req)
	if err != nil {
		a.log.WarnContext(ctx, "registry not asked", "error", err)
		return standing{}
	}
	status, err := mandate.ParseStatus(token, pinned)
	if err != nil || status.Hash != req.Hash || status.Active && req.PrincipalID != "" && status.PrincipalID != req.PrincipalID ||
		status.Nonce != req.Nonce || !a.now().Before(status.Expires) {
		a.log.WarnContext(ctx, "registry's answer proves nothing")
		return standing{}
	}
	return standing{token: token, key: signerOf(token, pinned), active: status.Active, principalID: status.PrincipalID, expires: status.Expires}
}

// signerOf is the thumbprint of the pinned key under which a verified statement stands.
func signerOf(token string, pinned jose.KeySet) string {
	c, err := jose.ParseCompact(token, len(token))
	if err != nil {
		return ""
	}
	key, _ := pinned.Find(c.Header.Kid)
	return key.ID
}

func (s *standings) get(hash jcs.Hex256, now time.Time) (standing, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.kept[hash]
	return found, ok && now.Before(found.expires)
}

// put keeps an answer; where there is no room it begins anew, which costs questions only.
func (s *standings) put(hash jcs.Hex256, found standing, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= keptStandings {
		for h, old := range s.kept {
			if !now.Before(old.expires) {
				delete(s.kept, h)
			}
		}
	}
	if s.kept == nil || len(s.kept) >= keptStandings {
		s.kept = map[jcs.Hex256]standing{}
	}
	s.kept[hash] = found
}
