package agentauth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// A TLSConfig is what the gateway's own listener shows and asks for. All are PEM.
type TLSConfig struct {
	Cert, Key []byte // its own chain and key
	ClientCA  []byte // authorities of client certificates; nil if none is asked for
}

// ServerTLS returns the configuration of a listener: TLS 1.2 or later, the certificate, and,
// with ClientCA, a request for a client's certificate. A client may come without one, since
// an agent may have another credential; one that no authority has signed ends the handshake.
// Sessions are not resumed by tickets where certificates are agents: an authority that is
// taken off the list is off it at the next connection.
func ServerTLS(cfg TLSConfig) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(cfg.Cert, cfg.Key)
	if err != nil {
		return nil, errors.New("agentauth: the listener's certificate and key are no pair in PEM")
	}
	t := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if cfg.ClientCA != nil {
		t.ClientCAs = x509.NewCertPool()
		if !t.ClientCAs.AppendCertsFromPEM(cfg.ClientCA) {
			return nil, errors.New("agentauth: no certificate of an authority in PEM")
		}
		t.ClientAuth = tls.VerifyClientCertIfGiven
		t.SessionTicketsDisabled = true
	}
	return t, nil
}
