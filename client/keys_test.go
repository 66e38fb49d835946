package client_test

import (
	"errors"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/jose"
)

// TestKeysOfficeRefusesItself: nothing malformed and nothing without a credential is sent.
func TestKeysOfficeRefusesItself(t *testing.T) {
	r := saying(t, jose.KeySet{}, func([]byte) (int, []byte) {
		t.Error("something was sent")
		return 200, []byte("{}")
	})
	malformed := &api.Error{Code: api.CodeMalformed}
	for what, err := range map[string]error{
		"retirement": r.Retire(t.Context(), api.Retirement{}),
		"decision":   r.DecideHuman(t.Context(), api.HumanDecision{}),
		"domain":     r.ProveDomain(t.Context(), api.DomainProof{PrincipalID: "urn:anax:principal:a", Domain: "localhost"}),
	} {
		if !errors.Is(err, malformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	c, err := client.New(client.Config{BaseURL: "https://ra.example"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Registry().HumanRequests(t.Context(), ""); !errors.Is(err, &api.Error{Code: api.CodeUnauthenticated}) {
		t.Errorf("a list without a credential: %v", err)
	}
}

// TestHumanRequestsRead: an answer that cannot be read has told nothing.
func TestHumanRequestsRead(t *testing.T) {
	for say, good := range map[string]bool{`{"requests":[]}`: true, `{}`: false, `{"requests":null}`: false, `{"requests":[{}]}`: false, `{"requests":[],"x":1}`: false} {
		r := saying(t, jose.KeySet{}, func([]byte) (int, []byte) { return 200, []byte(say) })
		_, err := r.HumanRequests(t.Context(), "urn:anax:principal:a")
		if good {
			if err != nil {
				t.Errorf("%s: %v", say, err)
			}
			continue
		}
		undecided(t, say, err)
	}
}
