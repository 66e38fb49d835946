package sdjwt_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/sdjwt"
	"github.com/bindery/bindery/jcs"
	"github.com/google/go-cmp/cmp"
)

// covers GC-141, GC-142
func TestIssue(t *testing.T) {
	is := newIssuer(t)
	payload := []byte(`{"iss":"urn:x:y","sub":"urn:x:z"}`)
	issued, err := sdjwt.Issue(is.signer(), payload, jcs.Member{Name: "limit", Value: jcs.Int(5)})
	if err != nil {
		t.Fatal(err)
	}
	if issued.Bare() != issued.JWT+"~" || issued.Full() != issued.JWT+"~"+issued.Disclosures[0]+"~" {
		t.Errorf("forms %q, %q", issued.Bare(), issued.Full())
	}
	// Read back with the standard library alone.
	parts := strings.Split(issued.JWT, ".")
	header, _ := base64.RawURLEncoding.DecodeString(parts[0])
	if want := `{"alg":"ES256","kid":"` + is.public().ID + `","typ":"dc+sd-jwt"}`; string(header) != want {
		t.Errorf("header %s", header)
	}
	body, _ := base64.RawURLEncoding.DecodeString(parts[1])
	want := `{"_sd":["` + digest(issued.Disclosures[0]) + `"],"_sd_alg":"sha-256","iss":"urn:x:y","sub":"urn:x:z"}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Error(diff)
	}
	var disclosure []any
	text, _ := base64.RawURLEncoding.DecodeString(issued.Disclosures[0])
	if err := json.Unmarshal(text, &disclosure); err != nil || len(disclosure) != 3 || disclosure[1] != "limit" || disclosure[2] != 5.0 {
		t.Errorf("disclosure %s, %v", text, err)
	}
	if salt, err := base64.RawURLEncoding.DecodeString(disclosure[0].(string)); err != nil || len(salt) != 16 {
		t.Errorf("salt of %d bytes, %v", len(salt), err)
	}
	again, err := sdjwt.Issue(is.signer(), payload, jcs.Member{Name: "limit", Value: jcs.Int(5)})
	if err != nil || again.Disclosures[0] == issued.Disclosures[0] || again.JWT == issued.JWT {
		t.Errorf("two tokens of one payload are alike: %v", err)
	}
}

func TestIssueSortsDigests(t *testing.T) {
	is := newIssuer(t)
	for range 8 {
		issued, err := sdjwt.Issue(is.signer(), []byte(`{}`),
			jcs.Member{Name: "a", Value: jcs.Int(1)}, jcs.Member{Name: "b", Value: jcs.Int(2)}, jcs.Member{Name: "c", Value: jcs.Int(3)})
		if err != nil {
			t.Fatal(err)
		}
		body, _ := base64.RawURLEncoding.DecodeString(strings.Split(issued.JWT, ".")[1])
		var p struct {
			SD []string `json:"_sd"`
		}
		if err := json.Unmarshal(body, &p); err != nil || len(p.SD) != 3 || p.SD[0] > p.SD[1] || p.SD[1] > p.SD[2] {
			t.Fatalf("digests %v, %v", p.SD, err)
		}
	}
}

func TestIssueRefuses(t *testing.T) {
	is := newIssuer(t)
	five := jcs.Member{Name: "limit", Value: jcs.Int(5)}
	for name, c := range map[string]struct {
		payload string
		claims  []jcs.Member
	}{
		"not an object":    {`[]`, nil},
		"not JSON":         {`{`, nil},
		"fraction":         {`{"a":1.5}`, nil},
		"own _sd":          {`{"_sd":[]}`, nil},
		"own _sd_alg":      {`{"_sd_alg":"sha-256"}`, nil},
		"dots":             {`{"...":1}`, nil},
		"nested _sd":       {`{"a":{"_sd":[]}}`, nil},
		"claim twice":      {`{"limit":1}`, []jcs.Member{five}},
		"two of one name":  {`{}`, []jcs.Member{five, five}},
		"reserved name":    {`{}`, []jcs.Member{{Name: "_sd", Value: jcs.Int(1)}}},
		"value with _sd":   {`{}`, []jcs.Member{{Name: "limit", Value: []byte(`{"_sd":[]}`)}}},
		"value a fraction": {`{}`, []jcs.Member{{Name: "limit", Value: []byte(`1.5`)}}},
		"far too large":    {`{"a":"` + strings.Repeat("a", 60<<10) + `"}`, nil},
	} {
		if _, err := sdjwt.Issue(is.signer(), []byte(c.payload), c.claims...); err == nil {
			t.Errorf("%s: issued", name)
		}
	}
}
