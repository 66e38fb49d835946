package mandate_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/mandate"
)

// covers GC-149, GC-150
func TestIdentifiers(t *testing.T) {
	long := "urn:x:" + strings.Repeat("a", 250)
	for id, want := range map[string]struct{ principal, agent, human bool }{
		acme:                                   {true, false, false},
		agent:                                  {false, true, false},
		human:                                  {false, false, true},
		"https://acme.example/a?b#c":           {true, true, true},
		"did:web:acme.example":                 {true, true, true},
		"x:y":                                  {true, true, true},
		"a+b-c.1:y":                            {true, true, true},
		long:                                   {true, true, true},
		long + "a":                             {},
		"":                                     {},
		"acme":                                 {},
		":acme":                                {},
		"x:":                                   {},
		"1x:y":                                 {},
		"x y:z":                                {},
		"x_y:z":                                {},
		"*":                                    {},
		"urn:anax:":                            {},
		"urn:anax:principal:":                  {},
		"urn:anax:principal":                   {},
		"urn:anax:va:001":                      {},
		"URN:anax:principal:acme":              {},
		"urn:ANAX:principal:acme":              {},
		"urn:anax:Principal:acme":              {},
		"urn:anax:principal:acme\n":            {},
		"urn:anax:principal:a b":               {},
		"urn:anax:principal:acm\u00e9":         {},
		"urn:anax:principal:\x7f":              {},
		"urn:anax:principal:\u0430cme":         {}, // Cyrillic a
		"urn:anaxx:principal:acme":             {true, true, true},
		"urn:anax:principal:acme/sub?x=%2A#~!": {true, false, false},
		"urn:anax:agent:a|b":                   {}, // two pairs could share a chain_id
		"did:web:a|b":                          {true, false, true},
	} {
		if got := mandate.ValidPrincipalID(id); got != want.principal {
			t.Errorf("ValidPrincipalID(%q) = %v", id, got)
		}
		if got := mandate.ValidAgentID(id); got != want.agent {
			t.Errorf("ValidAgentID(%q) = %v", id, got)
		}
		if got := mandate.ValidHumanID(id); got != want.human {
			t.Errorf("ValidHumanID(%q) = %v", id, got)
		}
	}
}

// covers GC-166
func TestCrossingID(t *testing.T) {
	for id, want := range map[string]bool{
		crossingID:                              true,
		"01890a5d-ac96-774b-bcce-b302099a8057":  true, // version 7
		"b7d1c0de-1111-9222-8333-444455556666":  false,
		"b7d1c0de-1111-0222-8333-444455556666":  false,
		"b7d1c0de-1111-4222-7333-444455556666":  false,
		"b7d1c0de111142228333444455556666":      false,
		"b7d1c0de-1111-4222-8333-44445555666":   false,
		"b7d1c0de-1111-4222-8333-4444555566666": false,
		"b7d1c0de_1111_4222_8333_444455556666":  false,
		"B7D1C0DE-1111-4222-8333-444455556666":  false,
		"ffffffff-ffff-ffff-ffff-ffffffffffff":  false,
		"":                                      false,
	} {
		if got := mandate.ValidCrossingID(id); got != want {
			t.Errorf("ValidCrossingID(%q) = %v", id, got)
		}
	}
}

// covers GC-038
func TestTrustBasis(t *testing.T) {
	for basis, want := range map[string]bool{
		"self_declared": true, "organisational_controls": true, "third_party_audited": true,
		"vicca_authority_sealed": true, "nca_verified": true,
		"": false, "Self_declared": false, "self-declared": false, "nca_verified ": false,
	} {
		if got := mandate.ValidTrustBasis(basis); got != want {
			t.Errorf("ValidTrustBasis(%q) = %v", basis, got)
		}
	}
}
