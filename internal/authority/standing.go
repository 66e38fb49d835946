package authority

import (
	"context"
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
	token   string
	key     string // thumbprint of the RA's
	active  bool
	expires time.Time
}

// Status asks the pinned Registration Authorities whether a mandate is active and passes
// on the signed answer of one, to this very nonce (design R5, GC-355). It is never this
// authority's own word. One that knows the mandate as active is believed, since the others
// do not know it; that it is not active, only if all of them say so.
//
// Refusals: api.CodeMalformed; api.CodeRegistryUnreachable when none says "active" and not
// every pinned one could be asked, or none is pinned.
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
	if !ok {
		if s, err = a.ask(ctx, api.StatusRequest{Hash: openHash, Nonce: standingNonce}); err != nil {
			return "", 0, err
		}
		a.standings.put(openHash, s, now)
	}
	return s.token, s.expires.Sub(now), nil
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
	list, err := a.registrars(ctx)
	if err != nil {
		return standing{}, undecided("reading the registries", err)
	}
	answers := a.askAll(ctx, list, req, jose.NewKeySet(pinned...))
	spoken := map[string]bool{} // keys
	var negative standing
	for _, s := range answers {
		if s.active {
			return s, nil
		}
		if s.token != "" {
			negative = s
			spoken[s.key] = true
		}
	}
	if len(pinned) == 0 || len(spoken) < len(pinned) {
		return standing{}, unreachable
	}
	return negative, nil
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
	if err != nil || status.Hash != req.Hash || status.Nonce != req.Nonce || !a.now().Before(status.Expires) {
		a.log.WarnContext(ctx, "registry's answer proves nothing")
		return standing{}
	}
	return standing{token: token, key: signerOf(token, pinned), active: status.Active, expires: status.Expires}
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
