package agentauth

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
)

// certificate returns the agent of a client's certificate, anonymous if none came. Only a
// chain that the listener has verified counts.
func (a *Authenticator) certificate(state *tls.ConnectionState) (Identity, *x509.Certificate, error) {
	if a.cfg.Cert == nil || state == nil || len(state.PeerCertificates) == 0 {
		return Identity{}, nil, nil
	}
	if len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return Identity{}, nil, invalid("the certificate's chain is not verified")
	}
	leaf := state.VerifiedChains[0][0]
	if a.cfg.Now().After(leaf.NotAfter) { // a connection may last longer
		return Identity{}, nil, invalid("the certificate has expired")
	}
	// The X.509-SVID standard §4.3, §5.2: a leaf signs no certificates.
	if leaf.IsCA || leaf.KeyUsage&(x509.KeyUsageCertSign|x509.KeyUsageCRLSign) != 0 {
		return Identity{}, nil, invalid("the certificate is an authority's own")
	}
	if len(leaf.URIs) != 1 {
		return Identity{}, nil, invalid("the certificate has not exactly one URI")
	}
	id, domain, ok := parseSPIFFE(leaf.URIs[0].String())
	if !ok {
		return Identity{}, nil, invalid("the certificate's URI is no SPIFFE ID of a workload")
	}
	if a.cfg.Cert.TrustDomain != "" && domain != a.cfg.Cert.TrustDomain {
		return Identity{}, nil, invalid("the certificate is of another trust domain")
	}
	return Identity{ID: id, How: ByCert}, leaf, nil
}

// parseSPIFFE accepts the ID of a workload (SPIFFE-ID §2): spiffe://, a trust domain of
// lower-case letters, digits, ".", "-" and "_", and a path of segments that are neither
// empty nor dots, of letters, digits, ".", "-" and "_".
func parseSPIFFE(s string) (id, domain string, ok bool) {
	rest, ok := strings.CutPrefix(s, "spiffe://")
	if !ok || len(s) > MaxID {
		return "", "", false
	}
	domain, path, ok := strings.Cut(rest, "/")
	if !ok || !validDomain(domain) {
		return "", "", false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsFunc(segment, notInSegment) {
			return "", "", false
		}
	}
	return s, domain, true
}

func validDomain(domain string) bool {
	return domain != "" && len(domain) <= 255 && !strings.ContainsFunc(domain, func(r rune) bool {
		return notInSegment(r) || 'A' <= r && r <= 'Z'
	})
}

func notInSegment(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_')
}
