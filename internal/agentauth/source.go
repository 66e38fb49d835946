package agentauth

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// How an issuer's URL is asked.
const (
	refreshAfter = 10 * time.Minute // a set so old is asked for again
	askEvery     = 30 * time.Second // not more often, whatever kids come
	staleFor     = time.Hour        // a set so old is not used
	askTimeout   = 5 * time.Second
	maxRedirects = 3
)

// source holds an issuer's keys, and asks for them.
type source struct {
	url    string // "" if the set came with the configuration
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	set    keySet
	got    time.Time     // when set was got
	asked  time.Time     // when it was asked for last
	flight chan struct{} // closed when the request under way has ended; nil if none is
}

func newSource(t Token, now func() time.Time) (*source, error) {
	s := &source{url: t.URL, now: now}
	if (t.URL == "") == (t.KeySet == nil) {
		return nil, errors.New("agentauth: the issuer's keys are given as a URL or as a set")
	}
	if t.URL == "" {
		var err error
		s.set, err = parseKeySet(t.KeySet)
		return s, err
	}
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return nil, errors.New("agentauth: the URL of the issuer's keys is not https, or http on this host")
	}
	transport := t.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: askTimeout, ResponseHeaderTimeout: askTimeout,
		}
	}
	s.client = &http.Client{Transport: transport, Timeout: askTimeout, CheckRedirect: sameOrigin}
	return s, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func sameOrigin(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; req.URL.Scheme != first.Scheme || req.URL.Host != first.Host || len(via) > maxRedirects {
		return errors.New("agentauth: redirected to another origin, or too often")
	}
	return nil
}

// find returns the key that kid and alg name. It waits for the issuer's answer only if
// there is no key to use without it.
func (s *source) find(ctx context.Context, kid, alg string) (*issuerKey, error) {
	key, flight := s.look(kid, alg)
	if key == nil && flight != nil {
		select {
		case <-flight:
		case <-ctx.Done():
			return nil, &Error{KeysUnavailable, "the request ended before the issuer's keys came"}
		}
		key, _ = s.look(kid, alg)
	}
	if key != nil {
		return key, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usable() == nil {
		return nil, &Error{KeysUnavailable, "the issuer's keys cannot be had"}
	}
	return nil, invalid("no key of the issuer's, or more than one, goes with the token's kid and alg")
}

// look finds the key in the set at hand, and begins to ask for another set if it is time to.
func (s *source) look(kid, alg string) (key *issuerKey, flight chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key = s.usable().find(kid, alg)
	if s.url == "" {
		return key, nil
	}
	now := s.now()
	due := key == nil || now.Sub(s.got) >= refreshAfter
	if due && s.flight == nil && (s.asked.IsZero() || now.Sub(s.asked) >= askEvery) {
		s.asked, s.flight = now, make(chan struct{})
		go s.ask(s.flight)
	}
	return key, s.flight
}

// usable is the set at hand, nil if it is too old.
func (s *source) usable() keySet {
	if s.url != "" && s.now().Sub(s.got) >= staleFor {
		return nil
	}
	return s.set
}

// ask asks for the set once. Its time does not depend on who waits for it.
func (s *source) ask(done chan struct{}) {
	set, err := s.fetch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.set, s.got = set, s.now()
	}
	s.flight = nil
	close(done)
}

func (s *source) fetch() (keySet, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, errors.New("agentauth: the issuer's keys: another status than 200")
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxKeySet+1))
	if err != nil {
		return nil, err
	}
	return parseKeySet(body) // which refuses what is too long
}
