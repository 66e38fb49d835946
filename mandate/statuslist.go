package mandate

import (
	"bytes"
	"compress/zlib"
	"io"
	"strings"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

const (
	typStatusList = "statuslist+jwt"
	memberStatus  = "status"
	maxListURI    = 2048      // bytes
	maxTTL        = 24 * 3600 // seconds
)

// MaxStatusEntries is the most entries that a [StatusList] has: what inflates to more is
// refused before it is kept.
const MaxStatusEntries = 1 << 20

// A StatusReference says which bit of which status list is a mandate's. Its form is that
// of the claim of the Token Status List draft, draft-ietf-oauth-status-list:
//
//	"status":{"status_list":{"idx":70121,"uri":"https://ra.example/v1/ra/status-lists/…"}}
type StatusReference struct {
	URI   string // the sub of the list
	Index int64  // 0 or more
}

func (f StatusReference) claim() []byte {
	return jcs.Object(jcs.Member{Name: "status_list", Value: jcs.Object(intMember("idx", f.Index), textMember("uri", f.URI))})
}

// readReference reads the optional member status.
func readReference(r *jcs.Reader) StatusReference {
	v := r.OptValue(memberStatus)
	if v.Type() == jcs.Absent {
		return StatusReference{}
	}
	outer := jcs.NewReader(v)
	inner := jcs.NewReader(outer.Value("status_list"))
	f := StatusReference{URI: readWord(inner, "uri", validListURI), Index: inner.Int("idx")}
	if outer.Close() != nil || inner.Close() != nil || f.Index < 0 || f.Index >= MaxStatusEntries {
		r.Fail(memberStatus, ruleValue)
	}
	return f
}

func validListURI(s string) bool { return len(s) <= maxListURI && graphic(s) && isURI(s) }

// A StatusList is the RA's word on many mandates at once: one bit each, 0 where the
// mandate is active and 1 where it is not (the draft's VALID and INVALID; what is unknown,
// revoked, expired and spent look alike, as in a [Status]). Whoever holds a copy can look
// without telling the RA which mandate it looks for.
//
// It is a JWT of typ "statuslist+jwt", whose payload for 16 entries, of which all but the
// first are active, is
//
//	{"exp":1786000060,"iat":1786000000,
//	 "status_list":{"bits":1,"lst":"eNpjZAAAAAQAAg"},
//	 "sub":"https://ra.example/v1/ra/status-lists/…","ttl":60}
//
// lst is the bits, entry i at bit i mod 8 of byte i div 8 with bit 0 the least, compressed
// by zlib (RFC 1950), in base64url.
type StatusList struct {
	URI     string // where it is served
	At      time.Time
	Expires time.Time     // after At
	TTL     time.Duration // whole seconds, 1 to a day: after it a copy is to be fetched anew
	Bits    []byte        // 1 to MaxStatusEntries / 8 bytes
}

// NotActive sets the bit of an entry; one outside the list is left out.
func (l StatusList) NotActive(index int64) {
	if index >= 0 && index/8 < int64(len(l.Bits)) {
		l.Bits[index/8] |= 1 << (index % 8)
	}
}

// Active reports whether the list says that the entry is active. What is not in the list
// is not.
func (l StatusList) Active(index int64) bool {
	return index >= 0 && index/8 < int64(len(l.Bits)) && l.Bits[index/8]&(1<<(index%8)) == 0
}

// Confirms reports whether l says of the mandate that a registration refers to that it is
// active, and still holds at the given time.
func (l StatusList) Confirms(f StatusReference, at time.Time) bool {
	return f.URI != "" && l.URI == f.URI && at.Before(l.Expires) && l.Active(f.Index)
}

// Sign returns the list as a compact statement of the RA. The error is a [*Fault] where a
// field is not what [ParseStatusList] would accept.
func (l StatusList) Sign(s *jose.Signer) (string, error) {
	lst, err := deflate(l.Bits)
	if err != nil {
		return "", err
	}
	payload := jcs.Object(
		textMember("sub", l.URI),
		whenMember("iat", l.At),
		whenMember(memberExpires, l.Expires),
		intMember("ttl", int64(l.TTL/time.Second)),
		jcs.Member{Name: "status_list", Value: jcs.Object(intMember("bits", 1), textMember("lst", lst))},
	)
	return signStatement(s, typStatusList, payload, readStatusList)
}

// ParseStatusList verifies a list under the RA's pinned keys and reads it. Whether it is
// the list that one wants, and holds now, is for [StatusList.Confirms]. The error is a
// [*Fault] of kind Invalid.
func ParseStatusList(token string, keys jose.KeySet) (StatusList, error) {
	return parseStatement(token, typStatusList, keys, readStatusList)
}

func readStatusList(r *jcs.Reader) StatusList {
	l := StatusList{
		URI:     readWord(r, "sub", validListURI),
		At:      readWhen(r, "iat"),
		Expires: readWhen(r, memberExpires),
	}
	ttl := r.Int("ttl")
	if ttl < 1 || ttl > maxTTL {
		r.Fail("ttl", ruleValue)
		return l
	}
	l.TTL = time.Duration(ttl) * time.Second
	if !l.Expires.After(l.At) {
		r.Fail(memberExpires, ruleValue)
	}
	list := jcs.NewReader(r.Value("status_list"))
	bits, lst := list.Int("bits"), list.Text("lst")
	var ok bool
	if l.Bits, ok = inflate(lst); list.Close() != nil || bits != 1 || !ok {
		r.Fail("status_list", ruleValue)
	}
	return l
}

func deflate(bits []byte) (string, error) {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(bits); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return jose.EncodeBase64(b.Bytes()), nil
}

// inflate reads lst. It never makes more bytes than a list may have.
func inflate(lst string) (bits []byte, ok bool) {
	compressed, err := jose.DecodeBase64(lst)
	if err != nil {
		return nil, false
	}
	rest := strings.NewReader(string(compressed))
	z, err := zlib.NewReader(rest)
	if err != nil {
		return nil, false
	}
	bits, err = io.ReadAll(io.LimitReader(z, MaxStatusEntries/8+1))
	return bits, err == nil && len(bits) > 0 && len(bits) <= MaxStatusEntries/8 && rest.Len() == 0 && z.Close() == nil
}
