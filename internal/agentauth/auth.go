package agentauth

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"time"
)

// A Config says which credentials are taken. Without any kind every request is anonymous.
type Config struct {
	Now func() time.Time // required
	// Keys says that registered keys are taken: these. With none in it nobody has one.
	Keys *Keys
	// Token is the issuer whose tokens are taken, nil if none.
	Token *Token
	// Origin is scheme, host and port by which clients know the gateway, for the metadata of its
	// resources; "" is what the request says. It is needed where something else ends TLS.
	Origin string
	// Cert says that client certificates are taken, which the listener of [ServerTLS] verifies.
	Cert *Cert
}

// Keys are the registered ones.
type Keys struct{ List []Key }

// Cert says which client certificates are taken.
type Cert struct {
	// TrustDomain is the only one whose SPIFFE IDs are taken; "" is every domain that the
	// authorities of the listener sign for.
	TrustDomain string
}

// An Authenticator says which agent a request comes from. Its methods may be called
// concurrently.
type Authenticator struct {
	cfg    Config
	keys   registered
	tokens *verifier // nil if no tokens are taken
}

// New makes an Authenticator.
func New(cfg Config) (*Authenticator, error) {
	if cfg.Now == nil {
		return nil, errors.New("agentauth: no clock")
	}
	a := &Authenticator{cfg: cfg}
	var err error
	if cfg.Keys != nil {
		if a.keys, err = newRegistered(cfg.Keys.List); err != nil {
			return nil, err
		}
	}
	if cfg.Cert != nil && cfg.Cert.TrustDomain != "" && !validDomain(cfg.Cert.TrustDomain) {
		return nil, errors.New("agentauth: the trust domain is none")
	}
	if strings.ContainsFunc(cfg.Origin, notInURL) {
		return nil, errors.New("agentauth: the origin is none")
	}
	if cfg.Token != nil {
		if a.tokens, err = newVerifier(*cfg.Token, cfg.Now); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Required reports whether a request needs a credential. If not, all are anonymous.
func (a *Authenticator) Required() bool {
	return a.keys != nil || a.tokens != nil || a.cfg.Cert != nil
}

// Request returns the agent whose credential the request carries, or an [*Error]. Where no
// kind of credential is configured it returns the anonymous Identity, whatever the
// request carries.
func (a *Authenticator) Request(r *http.Request) (Identity, error) {
	if !a.Required() {
		return Identity{}, nil
	}
	byCert, leaf, err := a.certificate(r.TLS)
	if err != nil {
		return Identity{}, err
	}
	credential, err := bearer(r.Header)
	if err != nil {
		return Identity{}, err
	}
	switch {
	case credential == "" && byCert.Anonymous():
		return Identity{}, &Error{Unauthenticated, "no credential came"}
	case credential == "":
		return byCert, nil
	}
	id, subject, err := a.bearer(r.Context(), credential, leaf)
	if err != nil {
		return Identity{}, err
	}
	if !byCert.Anonymous() && !subject.bound && subject.name != byCert.ID {
		return Identity{}, &Error{CredentialConflict, "certificate and bearer credential name different agents"}
	}
	return id, nil
}

// Key returns the agent whose registered key it is, or an [*Error]. It is how an agent is
// known that speaks over standard input and output, where there are no requests.
func (a *Authenticator) Key(secret string) (Identity, error) {
	switch {
	case secret == "":
		return Identity{}, &Error{Unauthenticated, "no key came"}
	case a.keys == nil:
		return Identity{}, invalid("keys are not taken here")
	}
	return a.keys.find(secret)
}

// A subject is what a bearer credential says beside its agent's ID.
type subject struct {
	name  string // the value of the claim, which may be a SPIFFE ID
	bound bool   // to the certificate of this very connection
}

func (a *Authenticator) bearer(ctx context.Context, credential string, leaf *x509.Certificate) (Identity, subject, error) {
	if strings.HasPrefix(credential, keyPrefix) {
		id, err := a.Key(credential)
		return id, subject{}, err
	}
	if a.tokens == nil {
		return Identity{}, subject{}, invalid("tokens are not taken here")
	}
	return a.tokens.verify(ctx, credential, leaf)
}

// maxToken is the longest bearer credential, in bytes.
const maxToken = 16 << 10

// bearer returns the bearer credential of the header, "" if there is none (RFC 6750 §2.1).
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	switch len(values) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", &Error{CredentialConflict, "more than one Authorization header"}
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	credential := strings.TrimLeft(rest, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", invalid("the scheme of Authorization is not Bearer")
	case credential == "":
		return "", invalid("the bearer credential is empty")
	case len(credential) > maxToken:
		return "", invalid("the bearer credential is too long")
	case strings.ContainsFunc(credential, notInToken):
		return "", invalid("the bearer credential has a character that none has")
	}
	return credential, nil
}

// notInToken is the complement of the alphabet of b64token (RFC 6750 §2.1).
func notInToken(r rune) bool {
	return notInSegment(r) && r != '~' && r != '+' && r != '/' && r != '='
}
