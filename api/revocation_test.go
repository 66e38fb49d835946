package api_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
)

const thumbprint = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs" // the key of RFC 7638's example

func TestRevokeSigner(t *testing.T) {
	const acme = "urn:anax:principal:acme"
	good := []api.RevokeSigner{
		{Kind: api.KindKey, PrincipalID: acme, Subject: thumbprint},
		{Kind: api.KindHuman, PrincipalID: acme, Subject: "urn:anax:human:jo"},
		{Kind: api.KindPrincipal, PrincipalID: acme},
	}
	for _, req := range good {
		again(t, req, req.Bytes(), api.ParseRevokeSigner)
		answer := api.SignerRevoked{RevokeSigner: req, At: time.Unix(1_786_000_000, 0).UTC()}
		again(t, answer, answer.Bytes(), api.ParseSignerRevoked)
	}
	if got := string(good[0].Bytes()); got != `{"kind":"key","principal_id":"urn:anax:principal:acme","subject":"`+thumbprint+`"}` {
		t.Errorf("bytes %s", got)
	}
	for what, c := range map[string]struct {
		req     api.RevokeSigner
		pointer string
	}{
		"no kind":            {api.RevokeSigner{PrincipalID: acme, Subject: thumbprint}, "/kind"},
		"another kind":       {api.RevokeSigner{Kind: "agent", PrincipalID: acme, Subject: thumbprint}, "/kind"},
		"no principal":       {api.RevokeSigner{Kind: api.KindPrincipal}, "/principal_id"},
		"a key's name":       {api.RevokeSigner{Kind: api.KindKey, PrincipalID: acme, Subject: "2026-key"}, "/subject"},
		"too short":          {api.RevokeSigner{Kind: api.KindKey, PrincipalID: acme, Subject: thumbprint[1:]}, "/subject"},
		"another alphabet":   {api.RevokeSigner{Kind: api.KindKey, PrincipalID: acme, Subject: strings.Replace(thumbprint, "_", "+", 1)}, "/subject"},
		"an agent":           {api.RevokeSigner{Kind: api.KindHuman, PrincipalID: acme, Subject: "urn:anax:agent:a"}, "/subject"},
		"no human":           {api.RevokeSigner{Kind: api.KindHuman, PrincipalID: acme}, "/subject"},
		"a principal's name": {api.RevokeSigner{Kind: api.KindPrincipal, PrincipalID: acme, Subject: acme}, "/subject"},
	} {
		_, err := api.ParseRevokeSigner(c.req.Bytes())
		for _, err := range []error{err, c.req.Validate()} {
			if got := pointerOf(t, what, err); got != c.pointer {
				t.Errorf("%s: at %q, want %q", what, got, c.pointer)
			}
		}
	}
	if _, err := api.ParseSignerRevoked(good[0].Bytes()); !errors.Is(err, &api.Error{Code: api.CodeMalformed}) {
		t.Errorf("an answer without a time: %v", err)
	}
}
