package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	pathSigners  = "/v1/ra/signer-revocations"
	pathLists    = "/v1/ra/status-lists/"
	pathVAStatus = "/v1/va/status"
	typeList     = "application/statuslist+jwt"
)

// RevokeSigner ends a key, a human or a principal for good, with the principal's
// credential or, without one, the operator's.
func (r *Registry) RevokeSigner(ctx context.Context, req api.RevokeSigner) (api.SignerRevoked, error) {
	if err := req.Validate(); err != nil {
		return api.SignerRevoked{}, err
	}
	body, err := r.c.postAs(ctx, pathSigners, r.owner(), req.Bytes())
	if err != nil {
		return api.SignerRevoked{}, err
	}
	answer, err := api.ParseSignerRevoked(body)
	if err != nil {
		return api.SignerRevoked{}, unavailable(pathSigners, err)
	}
	if answer.RevokeSigner != req {
		return api.SignerRevoked{}, unverified(pathSigners, errOther)
	}
	return answer, nil
}

// SignedStatus asks with a nonce of the caller's and returns the authority's signed
// statement, verified, so that it can be passed on.
func (r *Registry) SignedStatus(ctx context.Context, req api.StatusRequest) (statement string, err error) {
	_, statement, err = r.c.status(ctx, pathStatus, r.c.credentials.Agent, req)
	return statement, err
}

// Status asks a Verification Authority whether a mandate is active, by its
// open_mandate_hash or token_sha256. The answer is a Registration Authority's, verified
// under its keys, registries, and fresh by its nonce: the VA only passes it on (design R5).
// The mandate is the principal's, or, with "", that of whom the answer names: whoever holds
// the mandate says whose it is, so that no other organisation's RA is believed about it.
// api.CodeRegistryUnreachable: it could not ask one.
func (a *Authority) Status(ctx context.Context, principalID string, hash jcs.Hex256, registries jose.KeySet) (mandate.Status, error) {
	asking := *a.c
	asking.keys = registries
	status, _, err := asking.status(ctx, pathVAStatus, "", api.StatusRequest{Hash: hash, Nonce: newNonce(), PrincipalID: principalID})
	return status, err
}

func newNonce() string {
	var random [16]byte
	rand.Read(random[:]) // ends the program rather than return an error
	return jose.EncodeBase64(random[:])
}

// status is one question, and the answer to it and no other, in force now.
func (c *Client) status(ctx context.Context, path, credential string, req api.StatusRequest) (mandate.Status, string, error) {
	none := mandate.Status{}
	body, err := c.post(ctx, path, credential, req.Bytes())
	if err != nil {
		return none, "", err
	}
	answer, err := api.ParseStatement(body)
	if err != nil {
		return none, "", unavailable(path, err)
	}
	status, err := mandate.ParseStatus(answer.Token, c.keys)
	if err != nil {
		return none, "", unverified(path, err)
	}
	if status.Active && req.PrincipalID != "" && status.PrincipalID != req.PrincipalID {
		return none, "", unverified(path, errOther)
	}
	if status.Hash != req.Hash || status.Nonce != req.Nonce || !c.now().Before(status.Expires) {
		return none, "", unverified(path, errOther)
	}
	return status, answer.Token, nil
}

// StatusList fetches the status list to which the registration of an Open refers, verified,
// that list and no other, and in force now. Whoever asks for it does not say which mandate
// it is about; ask StatusList.Confirms about that one.
func (r *Registry) StatusList(ctx context.Context, f mandate.StatusReference) (mandate.StatusList, error) {
	none := mandate.StatusList{}
	id, ok := strings.CutPrefix(f.URI, r.c.base+pathLists)
	if !ok || id == "" {
		return none, fmt.Errorf("client: the status list is served elsewhere than at %s", r.c.base)
	}
	token, err := r.c.getList(ctx, pathLists+url.PathEscape(id))
	if err != nil {
		return none, err
	}
	l, err := mandate.ParseStatusList(token, r.c.keys)
	if err != nil {
		return none, unverified(pathLists, err)
	}
	if l.URI != f.URI || !r.c.now().Before(l.Expires) {
		return none, unverified(pathLists, errOther)
	}
	return l, nil
}

// getList asks for what is a JWT where it is an answer, and JSON where it is a refusal.
func (c *Client) getList(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return "", fmt.Errorf("client: %s: %w", path, err)
	}
	req.Header.Set("Accept", typeList)
	resp, err := c.http.Do(req)
	if err != nil {
		return "", unavailable(path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	media, _, fault := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return "", unavailable(path, err)
	case len(answer) > maxAnswer:
		return "", unavailable(path, fmt.Errorf("answer over 1 MiB"))
	case resp.StatusCode != http.StatusOK:
		_, err := verdict(path, resp.StatusCode, answer)
		return "", err
	case fault != nil || media != typeList:
		return "", unavailable(path, fmt.Errorf("answer is no status list"))
	}
	return string(answer), nil
}
