package mandate_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const listURI = "https://ra.example/v1/ra/status-lists/00112233445566778899aabbccddeeff"

func listPayload(lst string) string {
	return `{"exp":1786000060,"iat":1786000000,"status_list":{"bits":1,"lst":"` + lst + `"},"sub":"` + listURI + `","ttl":60}`
}

func signList(t *testing.T, ra party, payload string) string {
	t.Helper()
	token, err := jose.SignCompact(ra.signer(), "statuslist+jwt", []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// The two lists were compressed by others: the first is the example of
// draft-ietf-oauth-status-list §4.1 (16 entries: 1 0 0 1 1 1 0 1  1 1 0 0 0 1 0 1), the second by
// Python's zlib.compress(bytes([1, 0]), 9).
//
// covers GC-355
func TestStatusListVectors(t *testing.T) {
	ra := newParty(t)
	for lst, want := range map[string]string{
		"eNrbuRgAAhcBXQ": "1001110111000101",
		"eNpjZAAAAAQAAg": "1000000000000000",
	} {
		l, err := mandate.ParseStatusList(signList(t, ra, listPayload(lst)), ra.keys())
		if err != nil {
			t.Fatal(err)
		}
		f := mandate.StatusReference{URI: listURI}
		for i := range want {
			f.Index = int64(i)
			if active := want[i] == '0'; l.Active(f.Index) != active || l.Confirms(f, at(issuedAt)) != active {
				t.Errorf("%s: entry %d", lst, i)
			}
		}
		f.Index = int64(strings.IndexByte(want, '0'))
		switch {
		case l.Active(-1), l.Active(int64(len(want))), l.Active(1 << 40):
			t.Error("an entry outside the list is active")
		case l.Confirms(f, at(issuedAt+60)):
			t.Error("a list that has lapsed confirms")
		case l.Confirms(mandate.StatusReference{Index: f.Index}, at(issuedAt)),
			l.Confirms(mandate.StatusReference{URI: listURI + "0", Index: f.Index}, at(issuedAt)):
			t.Error("another list confirms")
		}
	}
}

func TestStatusListRoundTrip(t *testing.T) {
	ra := newParty(t)
	l := mandate.StatusList{
		URI: listURI, At: at(issuedAt), Expires: at(issuedAt + 60), TTL: time.Minute, Bits: make([]byte, 1<<14),
	}
	for _, i := range []int64{0, 7, 8, 1<<17 - 1, 1 << 17, -1} {
		l.NotActive(i)
	}
	token, err := l.Sign(ra.signer())
	if err != nil {
		t.Fatal(err)
	}
	got, err := mandate.ParseStatusList(token, ra.keys())
	if err != nil || !bytes.Equal(got.Bits, l.Bits) || got.URI != l.URI || !got.At.Equal(l.At) || !got.Expires.Equal(l.Expires) || got.TTL != l.TTL {
		t.Errorf("%v", err)
	}
	want := make([]byte, 1<<14)
	want[0], want[1], want[1<<14-1] = 0x81, 0x01, 0x80
	if !bytes.Equal(l.Bits, want) {
		t.Error("bits stand elsewhere than the draft says")
	}
	for what, change := range map[string]func(*mandate.StatusList){
		"no entries":   func(l *mandate.StatusList) { l.Bits = nil },
		"too many":     func(l *mandate.StatusList) { l.Bits = make([]byte, mandate.MaxStatusEntries/8+1) },
		"no URI":       func(l *mandate.StatusList) { l.URI = "" },
		"no life":      func(l *mandate.StatusList) { l.Expires = l.At },
		"no ttl":       func(l *mandate.StatusList) { l.TTL = time.Millisecond },
		"a ttl beyond": func(l *mandate.StatusList) { l.TTL = 25 * time.Hour },
	} {
		bad := l
		change(&bad)
		if _, err := bad.Sign(ra.signer()); err == nil {
			t.Errorf("%s: signed", what)
		}
	}
}

// covers GC-355
func TestStatusListRefused(t *testing.T) {
	ra, stranger := newParty(t), newParty(t)
	good := listPayload("eNrbuRgAAhcBXQ")
	var bomb bytes.Buffer
	z := zlib.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	alter := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for what, payload := range map[string]string{
		"a bomb":              listPayload(jose.EncodeBase64(bomb.Bytes())),
		"no compression":      listPayload("uaM"),
		"cut":                 listPayload("eNrbuRgAAhc"),
		"another checksum":    listPayload("eNrbuRgAAhcBXA"),
		"bytes after the end": listPayload("eNrbuRgAAhcBXQAA"),
		"padding":             listPayload("eNrbuRgAAhcBXQ=="),
		"two bits":            alter(`"bits":1`, `"bits":2`),
		"no bits":             alter(`"bits":1,`, ``),
		"more in the list":    alter(`"bits":1`, `"aggregation_uri":"x","bits":1`),
		"more":                alter(`{"exp"`, `{"aud":"x","exp"`),
		"no exp":              alter(`"exp":1786000060,`, ``),
		"no ttl":              alter(`,"ttl":60`, ``),
		"ttl 0":               alter(`"ttl":60`, `"ttl":0`),
		"ttl beyond":          alter(`"ttl":60`, `"ttl":9007199254740991`),
		"exp before iat":      alter(`"exp":1786000060`, `"exp":1786000000`),
		"no URI":              alter(listURI, "ra"),
	} {
		if _, err := mandate.ParseStatusList(signList(t, ra, payload), ra.keys()); !isFault(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := mandate.ParseStatusList(signList(t, stranger, good), ra.keys()); !isFault(err) {
		t.Errorf("a stranger's: %v", err)
	}
	token, err := jose.SignCompact(ra.signer(), "bindery-status+jwt", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mandate.ParseStatusList(token, ra.keys()); !isFault(err) {
		t.Errorf("another typ: %v", err)
	}
}

func isFault(err error) bool {
	var f *mandate.Fault
	return errors.As(err, &f) && f.Kind == mandate.Invalid
}

// TestStatusReference: an Open's registration says where its bit stands, in the words of the
// draft; a Closed's never does.
func TestStatusReference(t *testing.T) {
	ra := newParty(t)
	g := sampleRegistration()
	g.Variant, g.CounterpartyAgent, g.ChainID, g.CrossingID = mandate.VariantOpen, "", "", ""
	g.StatusList = mandate.StatusReference{URI: listURI, Index: 70121}
	token, err := g.Sign(ra.signer())
	if err != nil {
		t.Fatal(err)
	}
	c, err := jose.ParseCompact(token, len(token))
	if err != nil {
		t.Fatal(err)
	}
	const claim = `,"status":{"status_list":{"idx":70121,"uri":"` + listURI + `"}},`
	if !strings.Contains(string(c.Payload), claim) {
		t.Errorf("payload %s", c.Payload)
	}
	if got, err := mandate.ParseRegistration(token, ra.keys()); err != nil || got != g {
		t.Errorf("%+v, %v", got, err)
	}
	for what, new := range map[string]string{
		"no idx":       `,"status":{"status_list":{"uri":"` + listURI + `"}},`,
		"negative":     strings.Replace(claim, "70121", "-1", 1),
		"beyond":       strings.Replace(claim, "70121", "1048576", 1),
		"fraction":     strings.Replace(claim, "70121", "1.5", 1),
		"no uri":       strings.Replace(claim, listURI, "", 1),
		"more":         strings.Replace(claim, `"idx"`, `"a":1,"idx"`, 1),
		"another form": `,"status":{"token_list":{}},`,
	} {
		token, err := jose.SignCompact(ra.signer(), "bindery-registration+jwt", bytes.Replace(slices.Clone(c.Payload), []byte(claim), []byte(new), 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mandate.ParseRegistration(token, ra.keys()); !isFault(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	closed := sampleRegistration()
	closed.StatusList = g.StatusList
	if _, err := closed.Sign(ra.signer()); !isFault(err) {
		t.Errorf("a Closed with a list: %v", err)
	}
}

// FuzzParseStatusList: what is read is what would be signed.
func FuzzParseStatusList(f *testing.F) {
	f.Add("eNrbuRgAAhcBXQ", int64(60))
	f.Add("eNpjZAAAAAQAAg", int64(1))
	f.Add("", int64(0))
	f.Fuzz(func(t *testing.T, lst string, ttl int64) {
		ra := newParty(t)
		payload := jcs.Object(
			jcs.Member{Name: "exp", Value: jcs.Int(1786000060)}, jcs.Member{Name: "iat", Value: jcs.Int(1786000000)},
			jcs.Member{Name: "status_list", Value: jcs.Object(
				jcs.Member{Name: "bits", Value: jcs.Int(1)}, jcs.Member{Name: "lst", Value: jcs.String(strings.ToValidUTF8(lst, ""))})},
			jcs.Member{Name: "sub", Value: jcs.String(listURI)}, jcs.Member{Name: "ttl", Value: jcs.Int(min(max(ttl, -1), 1<<40))})
		l, err := mandate.ParseStatusList(signList(t, ra, string(payload)), ra.keys())
		if err != nil {
			return
		}
		token, err := l.Sign(ra.signer())
		if err != nil {
			t.Fatal(err)
		}
		again, err := mandate.ParseStatusList(token, ra.keys())
		if err != nil || !bytes.Equal(again.Bits, l.Bits) {
			t.Fatalf("%v", err)
		}
	})
}
