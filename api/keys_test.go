package api_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
	"github.com/google/go-cmp/cmp"
)

// A thumbprint's form; of which key does not matter here.
const someKey = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

const acme = "urn:anax:principal:acme"

func moment(n int64) time.Time { return time.Unix(n, 0).UTC() }

// boundedAddition has a key of each kind, and of each kind of bounds.
func boundedAddition(t *testing.T) api.Addition {
	t.Helper()
	a := addition(t)
	a.Keys[0].NotBefore = moment(1_786_000_000)
	a.Agents[0].Key.NotAfter = moment(1_786_000_001)
	a.Humans[0].Key.NotBefore, a.Humans[0].Key.NotAfter = moment(5), moment(6)
	return a
}

func TestKeysBytes(t *testing.T) {
	a := boundedAddition(t)
	list := `,"validity":[{"key":"` + a.Keys[0].ID + `","not_before":1786000000},{"key":"` + a.Agents[0].Key.ID + `","not_after":1786000001},{"key":"` +
		a.Humans[0].Key.ID + `","not_after":6,"not_before":5}]}`
	if !strings.HasSuffix(string(a.Bytes()), list) {
		t.Errorf("addition %s\nends not in %s", a.Bytes(), list)
	}
	request := api.HumanRequest{PrincipalID: acme, Human: a.Humans[0], State: api.HumanPending, RequestedAt: time.UnixMilli(1_786_000_000_123).UTC()}
	for what, c := range map[string]struct {
		got  []byte
		want string
	}{
		"retirement":     {api.Retirement{PrincipalID: acme, Key: someKey}.Bytes(), `{"key":"` + someKey + `","principal_id":"` + acme + `"}`},
		"retirement, at": {api.Retirement{PrincipalID: acme, Key: someKey, NotAfter: moment(7)}.Bytes(), `{"key":"` + someKey + `","not_after":7,"principal_id":"` + acme + `"}`},
		"approval":       {api.HumanDecision{PrincipalID: acme, Key: someKey, Approve: true}.Bytes(), `{"approve":true,"key":"` + someKey + `","principal_id":"` + acme + `"}`},
		"domain":         {api.DomainProof{PrincipalID: acme, Domain: "acme.example"}.Bytes(), `{"domain":"acme.example","principal_id":"` + acme + `"}`},
		"requests": {api.HumanRequests{Requests: []api.HumanRequest{request}}.Bytes(), `{"requests":[{"human_id":"urn:anax:human:one","jwk":` + string(a.Humans[0].Key.JWK()) +
			`,"not_after":6,"not_before":5,"principal_id":"` + acme + `","requested_at_ms":1786000000123,"state":"pending"}]}`},
		"no requests": {api.HumanRequests{}.Bytes(), `{"requests":[]}`},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s: %s", what, c.got)
		}
	}
	got, err := api.ParseAddition(a.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, got); diff != "" {
		t.Error(diff)
	}
	requests, err := api.ParseHumanRequests(api.HumanRequests{Requests: []api.HumanRequest{request}}.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]api.HumanRequest{request}, requests.Requests); diff != "" {
		t.Error(diff)
	}
}

// TestKeysMalformed: every rule of these bodies, with the pointer to where it was broken.
func TestKeysMalformed(t *testing.T) {
	a := boundedAddition(t)
	plain := addition(t)
	body := strings.TrimSuffix(string(plain.Bytes()), "}")
	entry := `{"key":"` + plain.Keys[0].ID + `","not_after":7}`
	of := func(parse func([]byte) error, body, pointer string) struct {
		err     error
		pointer string
	} {
		return struct {
			err     error
			pointer string
		}{parse([]byte(body)), pointer}
	}
	adding := func(b []byte) error { _, err := api.ParseAddition(b); return err }
	retiring := func(b []byte) error { _, err := api.ParseRetirement(b); return err }
	deciding := func(b []byte) error { _, err := api.ParseHumanDecision(b); return err }
	proving := func(b []byte) error { _, err := api.ParseDomainProof(b); return err }
	listing := func(b []byte) error { _, err := api.ParseHumanRequests(b); return err }
	for what, c := range map[string]struct {
		err     error
		pointer string
	}{
		"bounds of no key":        of(adding, body+`,"validity":[{"key":"`+someKey+`","not_after":7}]}`, "/validity/0"),
		"bounds twice":            of(adding, body+`,"validity":[`+entry+`,`+entry+`]}`, "/validity/1"),
		"bounds without a bound":  of(adding, body+`,"validity":[{"key":"`+plain.Keys[0].ID+`"}]}`, "/validity/0/key"),
		"bounds of text":          of(adding, body+`,"validity":[{"key":"`+plain.Keys[0].ID+`","not_after":"7"}]}`, "/validity/0/not_after"),
		"bounds before 1970":      of(adding, body+`,"validity":[{"key":"`+plain.Keys[0].ID+`","not_before":-1}]}`, "/validity/0/not_before"),
		"bounds after 9999":       of(adding, body+`,"validity":[{"key":"`+plain.Keys[0].ID+`","not_after":253402300800}]}`, "/validity/0/not_after"),
		"bounds null":             of(adding, body+`,"validity":null}`, "/validity"),
		"bounds with more":        of(adding, body+`,"validity":[{"key":"`+plain.Keys[0].ID+`","not_after":7,"x":1}]}`, "/validity/0/x"),
		"bounds that leave out":   of(adding, body+`,"validity":[{"key":"`+plain.Keys[0].ID+`","not_after":7,"not_before":7}]}`, "/validity"),
		"retiring nothing":        of(retiring, `{"key":"","principal_id":"`+acme+`"}`, "/key"),
		"retiring by a hash":      of(retiring, `{"key":"`+string(hashA)+`","principal_id":"`+acme+`"}`, "/key"),
		"retiring nobody's":       of(retiring, `{"key":"`+someKey+`","principal_id":"acme"}`, "/principal_id"),
		"retiring in text":        of(retiring, `{"key":"`+someKey+`","not_after":"7","principal_id":"`+acme+`"}`, "/not_after"),
		"retiring before 1970":    of(retiring, `{"key":"`+someKey+`","not_after":-7,"principal_id":"`+acme+`"}`, "/not_after"),
		"retiring and more":       of(retiring, `{"key":"`+someKey+`","principal_id":"`+acme+`","x":1}`, "/x"),
		"deciding nothing":        of(deciding, `{"key":"`+someKey+`","principal_id":"`+acme+`"}`, "/approve"),
		"deciding in text":        of(deciding, `{"approve":"true","key":"`+someKey+`","principal_id":"`+acme+`"}`, "/approve"),
		"deciding on no key":      of(deciding, `{"approve":true,"key":"x","principal_id":"`+acme+`"}`, "/key"),
		"proving no domain":       of(proving, `{"domain":"localhost","principal_id":"`+acme+`"}`, "/domain"),
		"proving a URL":           of(proving, `{"domain":"https://acme.example","principal_id":"`+acme+`"}`, "/domain"),
		"proving for nobody":      of(proving, `{"domain":"acme.example","principal_id":""}`, "/principal_id"),
		"a list of what":          of(listing, `{"requests":{}}`, "/requests"),
		"a request in what state": of(listing, `{"requests":[{"human_id":"urn:anax:human:one","jwk":`+string(plain.Keys[0].JWK())+`,"principal_id":"`+acme+`","requested_at_ms":1,"state":"approved"}]}`, "/requests/0/state"),
		"asking with half a second": {func() error {
			b := a
			b.Keys = []jose.Key{a.Keys[0]}
			b.Keys[0].NotBefore = moment(7).Add(time.Millisecond)
			return b.Validate()
		}(), "/validity"},
		"retiring at half a second": {api.Retirement{PrincipalID: acme, Key: someKey, NotAfter: moment(7).Add(1)}.Validate(), "/not_after"},
		"enrolling with bounds": {func() error {
			return api.Enrol{
				PrincipalID: acme, Name: "Acme", ClearanceIDHash: hashA, TrustBasis: "self_declared", Keys: a.Keys,
				Humans: []mandate.Human{},
			}.Validate()
		}(), "/keys"},
	} {
		if e, ok := errors.AsType[*api.Error](c.err); !ok || e.Code != api.CodeMalformed || e.Pointer != c.pointer {
			t.Errorf("%s: %v, want it at %s", what, c.err, c.pointer)
		}
	}
}
