package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// TestLyingStatusList: which answers are taken for the list that was asked for.
//
// covers GC-355
func TestLyingStatusList(t *testing.T) {
	ra, other := vaSigner(t), vaSigner(t)
	const path = "/v1/ra/status-lists/00112233445566778899aabbccddeeff"
	for what, c := range map[string]struct {
		by     *jose.Signer
		change func(*mandate.StatusList)
		media  string
		status int
		good   bool
	}{
		"good":            {by: ra, good: true},
		"another's":       {by: other},
		"another list":    {by: ra, change: func(l *mandate.StatusList) { l.URI += "0" }},
		"lapsed":          {by: ra, change: func(l *mandate.StatusList) { l.At, l.Expires = raNow.Add(-time.Hour), raNow }},
		"another type":    {by: ra, media: "application/json"},
		"another status":  {by: ra, status: http.StatusAccepted},
		"nothing but 503": {by: ra, status: http.StatusServiceUnavailable},
	} {
		var body string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path || r.Header.Get("Accept") != "application/statuslist+jwt" || r.Header.Get("Authorization") != "" {
				t.Errorf("%s: asked %s %v", what, r.URL, r.Header)
			}
			media := c.media
			if media == "" {
				media = "application/statuslist+jwt"
			}
			w.Header().Set("Content-Type", media)
			if c.status != 0 {
				w.WriteHeader(c.status)
			}
			_, _ = w.Write([]byte(body))
		}))
		l := mandate.StatusList{URI: server.URL + path, At: raNow, Expires: raNow.Add(time.Minute), TTL: time.Minute, Bits: []byte{2}}
		if c.change != nil {
			c.change(&l)
		}
		var err error
		if body, err = l.Sign(c.by); err != nil {
			t.Fatal(err)
		}
		conn, err := client.New(client.Config{BaseURL: server.URL, HTTP: patient(), Keys: jose.NewKeySet(ra.Key()), Now: func() time.Time { return raNow }})
		if err != nil {
			t.Fatal(err)
		}
		got, err := conn.Registry().StatusList(t.Context(), mandate.StatusReference{URI: server.URL + path, Index: 1})
		if (err == nil) != c.good || c.good && (got.Active(1) || !got.Active(0)) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
		if !c.good && !errors.Is(err, &api.Error{Code: api.CodeUnavailable}) {
			t.Errorf("%s: %v is taken for a refusal", what, err)
		}
		server.Close()
	}
}

// TestLyingRevocation: an answer about something else is none; without a credential nothing
// is sent.
func TestLyingRevocation(t *testing.T) {
	req := api.RevokeSigner{Kind: api.KindPrincipal, PrincipalID: "urn:anax:principal:a"}
	other := api.RevokeSigner{Kind: api.KindPrincipal, PrincipalID: "urn:anax:principal:b"}
	answer := api.SignerRevoked{RevokeSigner: req, At: raNow.Truncate(time.Second).UTC()}
	for what, c := range map[string]struct {
		body       []byte
		credential string
		good       bool
	}{
		"good":          {answer.Bytes(), "p", true},
		"no credential": {answer.Bytes(), "", false},
		"another":       {api.SignerRevoked{RevokeSigner: other, At: answer.At}.Bytes(), "p", false},
		"no answer":     {jcs.Object(), "p", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer p" {
				t.Errorf("%s: sent with %q", what, r.Header.Get("Authorization"))
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(c.body)
		}))
		conn, err := client.New(client.Config{BaseURL: server.URL, HTTP: patient(), Credentials: client.Credentials{Principal: c.credential}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := conn.Registry().RevokeSigner(t.Context(), req)
		if (err == nil) != c.good || c.good && got != answer {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
		server.Close()
	}
}
