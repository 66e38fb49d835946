package client

import (
	"bytes"
	"context"
	"errors"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// Paths of the Verification Authority.
const (
	pathVAEnrol     = "/v1/va/enrol"
	pathPublishers  = "/v1/va/publishers"
	pathProjections = "/v1/projections"
	pathVerify      = "/v1/crossing:verify"
)

// An Authority speaks to a Verification Authority. Refusals are those that the method of
// the same name in the authority documents.
type Authority struct{ c *Client }

// Authority returns the Verification Authority behind c.
func (c *Client) Authority() *Authority { return &Authority{c} }

// JWKS returns the keys that the authority publishes. They are not pinned by that: see
// [PinnedKeys].
func (a *Authority) JWKS(ctx context.Context) (jose.KeySet, error) { return a.c.jwks(ctx) }

// EnrolRegistry pins an RA's key at the authority by the secret of an enrolment code.
// After an error with api.CodeUnavailable the very same request may be sent again: it
// gets the same answer.
func (a *Authority) EnrolRegistry(ctx context.Context, req api.EnrolRegistry) (api.RegistryEnrolled, error) {
	body, err := a.c.post(ctx, pathVAEnrol, "", req.Bytes())
	if err != nil {
		return api.RegistryEnrolled{}, err
	}
	answer, err := api.ParseRegistryEnrolled(body)
	if err != nil {
		return api.RegistryEnrolled{}, unavailable(pathVAEnrol, err)
	}
	if answer.RegistryKey != req.Key.ID {
		return api.RegistryEnrolled{}, unverified(pathVAEnrol, errOther)
	}
	return answer, nil
}

// AddPublisher presents an RA's grant, a mandate.PublisherGrant, with the publisher's
// credential. It may be repeated.
func (a *Authority) AddPublisher(ctx context.Context, grant string) error {
	_, err := a.c.postAs(ctx, pathPublishers, a.c.credentials.Publisher, api.AddPublisher{Grant: grant}.Bytes())
	return err
}

// Publish sends the bytes of an [api.Publication] with the publisher's credential and
// returns the bytes of the verified [api.Published]: the projection is served from then
// on, under the authority's signature. api.CodePredecessorMissing and
// api.CodeUnavailable have decided nothing: the same bytes are sent again later.
func (a *Authority) Publish(ctx context.Context, publication []byte) (answer []byte, err error) {
	p, err := api.ParsePublication(publication)
	if err != nil {
		return nil, err
	}
	answer, err = a.c.postAs(ctx, pathProjections, a.c.credentials.Publisher, publication)
	if err != nil {
		return nil, err
	}
	got, err := api.ParsePublished(answer)
	if err != nil {
		return nil, unavailable(pathProjections, err)
	}
	if got.CrossingID != p.Projection.CrossingID || got.Role != p.Role {
		return nil, unverified(pathProjections, errOther)
	}
	if err := VerifyProjection(got.ProjectionJWS, p.Projection, a.c.keys); err != nil {
		return nil, unverified(pathProjections, err)
	}
	return answer, nil
}

// Verify resolves an identifier (crossing:verify). A result that resolves is verified:
// the authority has signed this projection, it is of the seal or crossing that was asked
// for (§6.2-1), and seal_matches is what this client computes from the record itself
// (§6.2-2). A result that does not resolve is nobody's signed word, and means that the
// commitment was not made (§6.2); it may be a second too early.
func (a *Authority) Verify(ctx context.Context, req api.VerifyRequest) (*api.VerifyResult, error) {
	body, err := a.c.post(ctx, pathVerify, "", req.Bytes())
	if err != nil {
		return nil, err
	}
	result, err := api.ParseVerifyResult(body)
	if err != nil {
		return nil, unavailable(pathVerify, err)
	}
	if result.Checks.Resolves != api.True {
		return result, nil
	}
	if err := VerifyProjection(result.ProjectionJWS, result.Projection, a.c.keys); err != nil {
		return nil, unverified(pathVerify, err)
	}
	p := result.Projection
	if p.Block.SealID != req.SealID && p.CrossingID != req.CrossingID {
		return nil, unverified(pathVerify, errOther)
	}
	if result.Checks.SealMatches != sealMatches(req.Record, p.Block.Seal) {
		return nil, unverified(pathVerify, errors.New("seal_matches is not what the record shows"))
	}
	return result, nil
}

func sealMatches(record jcs.Value, seal jcs.Hex256) api.Check {
	if record.Type() == jcs.Absent {
		return api.Null
	}
	return api.CheckOf(crossing.JointSealOf(record) == seal)
}

// VerifyProjection checks that jws is the signature of one of the pinned keys over
// exactly this projection (GC-372).
func VerifyProjection(jws string, p api.Projection, keys jose.KeySet) error {
	c, err := jose.ParseCompact(jws, maxStatement)
	if err != nil {
		return err
	}
	key, ok := keys.Find(c.Header.Kid)
	if !ok || c.Header.Typ != api.ProjectionType {
		return errors.New("client: projection is not signed by a pinned key as such")
	}
	if err := c.Verify(key); err != nil {
		return err
	}
	if !bytes.Equal(c.Payload, p.Bytes()) {
		return errors.New("client: another projection is signed")
	}
	return nil
}
