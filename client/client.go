// Package client speaks to a Registration Authority and a Verification Authority over
// HTTP.
//
// It sends the canonical JSON bodies of package api and believes nothing that it cannot
// check: a signed answer is verified under keys that were pinned before (designs R1, R6,
// V5), by enrolment code or configuration, and must be about what was asked. A key set
// that the other side publishes is never a reason for trust by itself; see [PinnedKeys].
//
//	POST /v1/ra/holds
//	Authorization: Bearer <credential>
//
//	{"crossing_id":"7f3c…","initiator_closed":"eyJhbGci…~","responder_closed":"eyJhbGci…~"}
//
// Refused before anything is sent: a base URL that is not https, unless its host is
// loopback. Refused as an answer: a redirect, a body over 1 MiB, another media type than
// JSON, a signature that does not verify.
//
// Errors. A refusal by the other side is an [*api.Error]. So is everything that leaves
// open what the other side has done — no connection, no answer in time, an answer that
// cannot be read or verified — with the code api.CodeUnavailable, wrapped with its
// cause: it is never a refusal, and the call can be made again.
//
// Room: speakers. Network out, to the configured host alone; reads the clock of its
// Config; nonces from crypto/rand.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
)

const (
	// Timeout bounds one call, connection and answer included.
	Timeout = 5 * time.Second
	// maxAnswer is the largest answer that is read, in bytes.
	maxAnswer = 1 << 20
	// maxStatement is the longest signed statement that is verified, in bytes.
	maxStatement = 64 << 10

	jwksPath = "/.well-known/jwks.json"
)

// ErrUnverified is wrapped by the error for an answer whose signature does not verify
// under the pinned keys, or that is about something else than what was asked.
var ErrUnverified = errors.New("client: answer does not verify under the pinned keys")

// A Config says whom to speak to, and as whom.
type Config struct {
	BaseURL     string // scheme, host and port, perhaps a path; https unless the host is loopback
	Credentials Credentials
	Keys        jose.KeySet      // pinned keys of the other side; without one no signed answer is accepted
	HTTP        *http.Client     // its Transport, and Timeout if it has one; nil: the default transport
	Now         func() time.Time // nil: time.Now
}

// Credentials are bearer tokens by role. Each call sends the one of its role and no
// other; a call whose credential is missing is refused without being sent.
type Credentials struct {
	Principal string // Registry.RegisterOpen, Revoke, Add, Withdraw, Retire, HumanRequests, ProveDomain
	Agent     string // Registry.RegisterClosed; Status and Principal, which need none, so as not to be rate-limited
	Issuer    string // Registry.RegisterOpen, where there is no Principal
	Effector  string // Registry.Hold, Confirm, Consume, Burned; Principal, where there is no Agent
	Operator  string // Registry.RegisterIssuer, SetSuspended, AuditRows, DecideHuman; what Principal is for, RegisterOpen apart, where there is none
	Publisher string // Authority.AddPublisher, Authority.Publish
}

// distinct reports whether no token stands for two roles (GC-082).
func (c Credentials) distinct() bool {
	seen := make(map[string]bool)
	for _, token := range []string{c.Principal, c.Agent, c.Issuer, c.Effector, c.Operator, c.Publisher} {
		if seen[token] {
			return false
		}
		seen[token] = token != ""
	}
	return true
}

// A Client is a connection to one base URL. Its methods may be called concurrently.
type Client struct {
	base        string
	credentials Credentials
	keys        jose.KeySet
	http        *http.Client
	now         func() time.Time
}

// New checks cfg and returns a Client. Nothing is sent. One credential for two roles is
// refused here already: a party that holds both governs others' authority and quietly
// holds its own (§3.7.2 rule 3).
func New(cfg Config) (*Client, error) {
	base, err := parseBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if !cfg.Credentials.distinct() {
		return nil, errors.New("client: one credential has two roles")
	}
	c := &Client{base: base, credentials: cfg.Credentials, keys: cfg.Keys, http: new(http.Client), now: cfg.Now}
	if cfg.HTTP != nil {
		*c.http = *cfg.HTTP
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http.Jar = nil
	if c.http.Timeout <= 0 {
		c.http.Timeout = Timeout
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c, nil
}

func parseBase(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Hostname() == "":
		return "", errors.New("client: base URL names no host")
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return "", errors.New("client: base URL has user, query or fragment")
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return strings.TrimSuffix(u.String(), "/"), nil
	}
	return "", errors.New("client: base URL is not https")
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// BaseURL is the configured base URL, without a final slash.
func (c *Client) BaseURL() string { return c.base }

// PinnedKeys fetches the key set published at baseURL and returns the key with the
// given RFC 7638 thumbprint alone, as the thumbprint of an enrolment code names it. A
// set without that key is an error that wraps [ErrUnverified].
func PinnedKeys(ctx context.Context, baseURL, thumbprint string) (jose.KeySet, error) {
	c, err := New(Config{BaseURL: baseURL})
	if err != nil {
		return jose.KeySet{}, err
	}
	published, err := c.jwks(ctx)
	if err != nil {
		return jose.KeySet{}, err
	}
	for _, key := range published.Keys() {
		if thumbprint != "" && key.ID == thumbprint {
			return jose.NewKeySet(key), nil
		}
	}
	return jose.KeySet{}, unverified("keys", errors.New("no key with the pinned thumbprint"))
}

// jwks is what the other side publishes. It proves nothing.
func (c *Client) jwks(ctx context.Context) (jose.KeySet, error) {
	body, err := c.get(ctx, jwksPath)
	if err != nil {
		return jose.KeySet{}, err
	}
	set, err := jose.ParseJWKS(body)
	if err != nil {
		return jose.KeySet{}, unavailable("keys", err)
	}
	return set, nil
}

// post sends body with the credential, "" for a public route, and returns the answer.
func (c *Client) post(ctx context.Context, path, credential string, body []byte) ([]byte, error) {
	return c.do(ctx, http.MethodPost, path, credential, body)
}

// postAs is post for a route that needs a credential.
func (c *Client) postAs(ctx context.Context, path, credential string, body []byte) ([]byte, error) {
	if credential == "" {
		return nil, &api.Error{Code: api.CodeUnauthenticated}
	}
	return c.do(ctx, http.MethodPost, path, credential, body)
}

// get asks for a public resource. path may carry a query.
func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	return c.getAs(ctx, path, "")
}

// getAs is get with a credential, "" for none.
func (c *Client) getAs(ctx context.Context, path, credential string) ([]byte, error) {
	return c.do(ctx, http.MethodGet, path, credential, nil)
}

func (c *Client) do(ctx context.Context, method, path, credential string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", path, err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if credential != "" {
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unavailable(path, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, unavailable(path, err)
	case len(answer) > maxAnswer:
		return nil, unavailable(path, errors.New("answer over 1 MiB"))
	case !isJSON(resp.Header.Get("Content-Type")):
		return nil, unavailable(path, fmt.Errorf("answer is not JSON, status %d", resp.StatusCode))
	}
	return verdict(path, resp.StatusCode, answer)
}

// verdict tells an answer from a refusal.
func verdict(path string, status int, answer []byte) ([]byte, error) {
	switch {
	case status == http.StatusOK:
		return answer, nil
	case status >= 400:
		refusal := api.ParseError(answer)
		if refusal.Code == api.CodeUnavailable {
			return nil, unavailable(path, fmt.Errorf("status %d", status))
		}
		return nil, refusal
	}
	return nil, unavailable(path, fmt.Errorf("status %d", status))
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

// unavailable is the error for a call whose outcome is open.
func unavailable(what string, cause error) error {
	return fmt.Errorf("client: %s: %w: %w", what, &api.Error{Code: api.CodeUnavailable}, cause)
}

// unverified is the error for an answer that proves nothing.
func unverified(what string, cause error) error {
	return unavailable(what, fmt.Errorf("%w: %w", ErrUnverified, cause))
}
