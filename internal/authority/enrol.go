package authority

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// codeLifetime is how long an enrolment code may wait for its use (design R1).
const codeLifetime = 24 * time.Hour

// NewCode makes a one-time code with which a Registration Authority may be pinned here
// on these terms, and returns its secret. It is for the operator's own terminal and is nowhere kept.
func (a *Authority) NewCode(ctx context.Context, terms CodeTerms) (secret string, err error) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	secret = jose.EncodeBase64(b[:])
	now := a.now()
	code := Code{SecretHash: secretHash(secret), CodeTerms: terms, Created: now, Expires: now.Add(codeLifetime)}
	if err := a.store.AddCode(ctx, code); err != nil {
		return "", undecided("storing a code", err)
	}
	return secret, nil
}

// secretHash is what is kept of a secret. It is hashed with its purpose, so that a code
// made by an RA over the same store, which admits a principal, cannot pin a key here.
func secretHash(secret string) jcs.Hex256 {
	return jcs.HexOf([]byte("bindery-va-code-v1\n" + secret))
}

// PinRegistry pins the key of the RA that this authority's operator runs itself. Pinning
// a key again changes nothing.
func (a *Authority) PinRegistry(ctx context.Context, key jose.Key) error {
	if key.ID == "" || key.Public == nil {
		return errors.New("authority: no key to pin")
	}
	key.Kid = ""
	if err := a.store.PinRegistry(ctx, key, a.now()); err != nil {
		return undecided("pinning a registry", err)
	}
	return nil
}

// EnrolRegistry pins the key of another organisation's RA by a one-time code. It speaks for
// the principal of the request and for no other, unless the code is shared (design R6). The same request again gets the
// same answer.
//
// Refusals: CodeMalformed; CodeEnrolment for a code that is unknown, expired or used for
// another request; CodeEnrolmentMismatch for one of another principal; CodeConflict where the
// key is pinned already, or somebody speaks for the principal.
func (a *Authority) EnrolRegistry(ctx context.Context, req api.EnrolRegistry) (api.RegistryEnrolled, error) {
	if err := req.Validate(); err != nil {
		return api.RegistryEnrolled{}, err
	}
	req.Key.Kid = ""
	enrolled := api.RegistryEnrolled{VerifiedBy: a.name, BaseURL: a.baseURL, RegistryKey: req.Key.ID}
	answer, err := a.store.Redeem(ctx, Redemption{
		SecretHash:  secretHash(req.Secret),
		RequestHash: jcs.HexOf(req.Bytes()),
		Key:         req.Key,
		PrincipalID: req.PrincipalID,
		URL:         req.URL,
		Answer:      enrolled.Bytes(),
		At:          a.now(),
	})
	switch {
	case errors.Is(err, ErrCode):
		return api.RegistryEnrolled{}, &api.Error{Code: api.CodeEnrolment}
	case errors.Is(err, ErrCodeTerms):
		return api.RegistryEnrolled{}, &api.Error{Code: api.CodeEnrolmentMismatch}
	case errors.Is(err, ErrTaken):
		return api.RegistryEnrolled{}, &api.Error{Code: api.CodeConflict}
	case err != nil:
		return api.RegistryEnrolled{}, undecided("enrolling a registry", err)
	}
	return api.ParseRegistryEnrolled(answer)
}

// Unpin ends the pin of an RA for good: what it says, and whom it has granted to publish,
// counts for nothing from then on. What is stored stays. It is for the operator's own
// terminal. CodeNotFound: the key is not pinned.
func (a *Authority) Unpin(ctx context.Context, registryKey string) error {
	err := a.store.Unpin(ctx, registryKey, a.now())
	switch {
	case errors.Is(err, ErrNotFound):
		return &api.Error{Code: api.CodeNotFound}
	case err != nil:
		return undecided("ending a pin", err)
	}
	return nil
}

// AddPublisher admits the bearer of credential as publisher of the principal that a
// pinned RA's grant names. A grant that does not verify, or is for another credential,
// is CodeUnauthenticated: the two look alike, and so does one of a counterparty's RA for
// another principal than its own. A credential or a principal that stands
// for something else already is CodeConflict. The same grant again changes nothing.
func (a *Authority) AddPublisher(ctx context.Context, credential, grant string) error {
	registries, err := a.store.Registries(ctx)
	if err != nil {
		return undecided("reading the registries", err)
	}
	g, registry, ok := openGrant(grant, registries)
	if !ok || api.CredentialHash(credential) != g.CredentialHash {
		return &api.Error{Code: api.CodeUnauthenticated}
	}
	bound, err := a.store.SpeaksFor(ctx, registry.ID)
	switch {
	case err != nil:
		return undecided("reading the registries", err)
	case len(bound) > 0 && !slices.Contains(bound, g.PrincipalID):
		return &api.Error{Code: api.CodeUnauthenticated}
	}
	speaker, err := a.store.SpokenFor(ctx, g.PrincipalID)
	switch {
	case err != nil:
		return undecided("reading the registries", err)
	case speaker != "" && speaker != registry.ID:
		return &api.Error{Code: api.CodeConflict}
	}
	g.Key.Kid = ""
	err = a.store.AddPublisher(ctx, Publisher{
		CredentialHash: g.CredentialHash,
		PrincipalID:    g.PrincipalID,
		Key:            g.Key,
		RegistryKey:    registry.ID,
		At:             a.now(),
	})
	switch {
	case errors.Is(err, ErrTaken):
		return &api.Error{Code: api.CodeConflict}
	case err != nil:
		return undecided("adding a publisher", err)
	}
	return nil
}

// openGrant verifies a grant and says which pinned key signed it.
func openGrant(grant string, registries []jose.Key) (mandate.PublisherGrant, jose.Key, bool) {
	for _, key := range registries {
		if g, err := mandate.ParsePublisherGrant(grant, jose.NewKeySet(key)); err == nil {
			return g, key, true
		}
	}
	return mandate.PublisherGrant{}, jose.Key{}, false
}

// publisher finds who a credential is.
func (a *Authority) publisher(ctx context.Context, credential string) (Publisher, error) {
	p, err := a.store.Publisher(ctx, api.CredentialHash(credential))
	switch {
	case errors.Is(err, ErrNotFound):
		return Publisher{}, &api.Error{Code: api.CodeUnauthenticated}
	case err != nil:
		return Publisher{}, undecided("finding a publisher", err)
	}
	return p, nil
}
