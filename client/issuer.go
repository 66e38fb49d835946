package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	issuerPath     = "/.well-known/jwt-vc-issuer"
	issuerTimeout  = 2 * time.Second // of one document, connection and answer included
	maxIssuerBytes = 64 << 10
)

// An IssuerConfig says how the documents of issuers are read.
type IssuerConfig struct {
	// Transport is for tests: it reaches what stands for the internet. nil is a transport
	// that connects to public addresses alone, without a proxy.
	Transport http.RoundTripper
}

// Issuers reads what a domain publishes about the keys with which it issues: JWT VC Issuer
// Metadata, https://DOMAIN/.well-known/jwt-vc-issuer.
//
//	{"issuer":"https://acme.example","jwks":{"keys":[{"crv":"P-256","kid":"…","kty":"EC",…}]}}
//
// or, in the place of jwks, jwks_uri with a URL of the same host. Members beside these are
// ignored. Only https is spoken, and only to the domain itself: no redirect is followed, no
// address that is not public is connected to, whatever the domain's name resolves to. A
// document has at most 64 KiB, is application/json, and takes 2 seconds at most.
//
// Its methods may be called concurrently. Nothing is kept.
type Issuers struct{ http *http.Client }

// NewIssuers returns a reader.
func NewIssuers(cfg IssuerConfig) *Issuers {
	if cfg.Transport == nil {
		cfg.Transport = publicTransport(net.DefaultResolver.LookupNetIP)
	}
	return &Issuers{&http.Client{
		Transport:     cfg.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       issuerTimeout,
	}}
}

// errAddress is what a connection to an address that is not public fails with.
var errAddress = errors.New("client: not a public address")

// publicTransport resolves a name itself and connects to one of the addresses that it has
// judged: a name that resolves differently the next time gains nothing.
func publicTransport(lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: issuerTimeout}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		found, err := lookup(ctx, "ip", host)
		if err != nil {
			return nil, err
		}
		err = errAddress
		for _, addr := range found {
			if !public(addr) {
				continue
			}
			var c net.Conn
			if c, err = dialer.DialContext(ctx, network, net.JoinHostPort(addr.Unmap().String(), port)); err == nil {
				return c, nil
			}
		}
		return nil, err
	}
	return &http.Transport{
		DialContext: dial, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		TLSHandshakeTimeout: issuerTimeout, ResponseHeaderTimeout: issuerTimeout, MaxResponseHeaderBytes: 16 << 10,
	}
}

// notPublic are the blocks of the IANA special-purpose registries that netip does not name.
func notPublic() []netip.Prefix {
	var blocks []netip.Prefix
	for _, b := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", // of 2000::/3, all of IPv6 that is routed
	} {
		blocks = append(blocks, netip.MustParsePrefix(b))
	}
	return blocks
}

// public reports whether addr is one that anybody on the internet could reach.
func public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Zone() != "" {
		return false
	}
	if addr.Is6() && !netip.MustParsePrefix("2000::/3").Contains(addr) {
		return false
	}
	for _, block := range notPublic() {
		if block.Contains(addr) {
			return false
		}
	}
	return true
}

// Keys returns the keys that the domain publishes. The error is an [*api.Error], wrapped
// with its cause: api.CodeDomainUnreachable when there is no answer that the rules allow;
// CodeDomainMalformed when it is no such document; CodeDomainMismatch when it is another
// issuer's, or points to another host.
func (i *Issuers) Keys(ctx context.Context, domain string) (jose.KeySet, error) {
	none := jose.KeySet{}
	if !mandate.ValidDomain(domain) {
		return none, &api.Error{Code: api.CodeMalformed, Pointer: "/domain"}
	}
	origin := "https://" + domain
	v, err := i.read(ctx, origin+issuerPath)
	if err != nil {
		return none, err
	}
	r := jcs.NewReader(v)
	issuer, keys := r.Text("issuer"), r.OptValue("jwks")
	uri, elsewhere := r.OptText("jwks_uri")
	switch {
	case r.Err() != nil:
		return none, domainFault(api.CodeDomainMalformed, r.Err())
	case elsewhere == (keys.Type() != jcs.Absent):
		return none, domainFault(api.CodeDomainMalformed, errors.New("not one of jwks and jwks_uri"))
	case issuer != origin:
		return none, domainFault(api.CodeDomainMismatch, errors.New("issuer is not the domain"))
	}
	if elsewhere {
		if keys, err = i.readFrom(ctx, origin, uri); err != nil {
			return none, err
		}
	}
	return usable(keys)
}

// usable returns the P-256 keys of a JWK Set. A domain may publish others as well, which
// are passed over: what is asked here is only whether certain keys are among them.
func usable(jwks jcs.Value) (jose.KeySet, error) {
	r := jcs.NewReader(jwks)
	items := r.Items("keys")
	if r.Err() != nil {
		return jose.KeySet{}, domainFault(api.CodeDomainMalformed, r.Err())
	}
	if len(items) > jose.MaxKeys {
		return jose.KeySet{}, domainFault(api.CodeDomainMalformed, errors.New("more than 64 keys"))
	}
	var keys []jose.Key
	for _, item := range items {
		if k, err := jose.ParseJWK(item); err == nil {
			k.Kid = "" // ours are known by their thumbprints
			keys = append(keys, k)
		}
	}
	return jose.NewKeySet(keys...), nil
}

func parseDocument(b []byte) (jcs.Value, error) {
	v, err := jcs.Profile{Numbers: jcs.DoubleNumbers, MaxDepth: 16, MaxSize: maxIssuerBytes}.Parse(b)
	if err != nil {
		return jcs.Value{}, domainFault(api.CodeDomainMalformed, err)
	}
	return v, nil
}

// readFrom reads a document whose URL a document named: of the same origin, spelled as it
// is here, and of no other.
func (i *Issuers) readFrom(ctx context.Context, origin, uri string) (jcs.Value, error) {
	path, same := cutOrigin(uri, origin)
	if !same {
		return jcs.Value{}, domainFault(api.CodeDomainMismatch, errors.New("jwks_uri is of another host"))
	}
	return i.read(ctx, origin+path)
}

// cutOrigin returns what of an absolute URL follows its origin: a path that begins with a
// slash, so that no user, port or longer host name can follow.
func cutOrigin(uri, origin string) (path string, same bool) {
	if len(uri) <= len(origin) || uri[:len(origin)] != origin || uri[len(origin)] != '/' {
		return "", false
	}
	return uri[len(origin):], true
}

func (i *Issuers) read(ctx context.Context, url string) (jcs.Value, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return jcs.Value{}, domainFault(api.CodeDomainMalformed, err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := i.http.Do(req)
	if err != nil {
		return jcs.Value{}, domainFault(api.CodeDomainUnreachable, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return jcs.Value{}, domainFault(api.CodeDomainUnreachable, fmt.Errorf("status %d", resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxIssuerBytes+1))
	switch {
	case err != nil:
		return jcs.Value{}, domainFault(api.CodeDomainUnreachable, err)
	case len(body) > maxIssuerBytes:
		return jcs.Value{}, domainFault(api.CodeDomainMalformed, errors.New("over 64 KiB"))
	case !isJSON(resp.Header.Get("Content-Type")):
		return jcs.Value{}, domainFault(api.CodeDomainMalformed, errors.New("not application/json"))
	}
	return parseDocument(body)
}

func domainFault(code string, cause error) error {
	return fmt.Errorf("client: domain: %w: %w", &api.Error{Code: code}, cause)
}
