package mandate

import (
	"errors"
	"time"
	"unicode/utf8"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// The types of the RA's statements: the typ of the header, by which one statement cannot
// be passed off as another.
const (
	typRegistration = "bindery-registration+jwt"
	typReceipt      = "bindery-spend+jwt"
	typRefusal      = "bindery-refusal+jwt"
	typStatus       = "bindery-status+jwt"
	typPrincipal    = "bindery-principal+jwt"
	typPublisher    = "bindery-publisher+jwt"
)

const maxStatement = 256 << 10 // bytes; a principal's record is the long one

// signStatement signs a payload as a statement of the given type, if read, the function
// that will read it, finds no fault in it.
func signStatement[T any](s *jose.Signer, typ string, payload []byte, read func(*jcs.Reader) T) (string, error) {
	if _, err := readStatement(payload, read); err != nil {
		return "", err
	}
	token, err := jose.SignCompact(s, typ, payload)
	if err == nil && len(token) > maxStatement {
		return "", invalid("token", "longer than 256 KiB")
	}
	return token, err
}

// parseStatement verifies a statement under the pinned keys and only then reads it.
func parseStatement[T any](token, typ string, keys jose.KeySet, read func(*jcs.Reader) T) (T, error) {
	var none T
	c, err := jose.ParseCompact(token, maxStatement)
	if err != nil {
		return none, invalid("token", "not a compact ES256 signature")
	}
	if c.Header.Typ != typ {
		return none, invalid("typ", "not "+typ)
	}
	key, ok := keys.Find(c.Header.Kid)
	if !ok {
		return none, invalid("kid", "not among the pinned keys")
	}
	if c.Verify(key) != nil {
		return none, invalid("signature", "does not verify under the pinned key")
	}
	return readStatement(c.Payload, read)
}

// readStatement reads a payload as a closed object.
func readStatement[T any](payload []byte, read func(*jcs.Reader) T) (T, error) {
	var none T
	v, err := jcs.Profile{MaxDepth: 4, MaxSize: maxStatement}.Parse(payload)
	if err != nil {
		return none, invalid("payload", "not strict JSON")
	}
	r := jcs.NewReader(v)
	out := read(r)
	if err := r.Close(); err != nil {
		bad := (*jcs.MemberError)(nil)
		if errors.As(err, &bad) && bad.Rule != "unknown" && bad.Pointer != "" {
			return none, invalid(bad.Pointer, bad.Rule)
		}
		return none, invalid("payload", "not an object of the statement's members alone")
	}
	return out, nil
}

// Members that many statements have.
const (
	memberAt      = "at"
	memberExpires = "exp"
	ruleValue     = "value"
)

func readWhen(r *jcs.Reader, name string) time.Time {
	n := r.Int(name)
	if n < 0 || n > maxSeconds {
		r.Fail(name, ruleValue)
	}
	return time.Unix(n, 0).UTC()
}

func readHex(r *jcs.Reader, name string) jcs.Hex256 {
	h, err := jcs.ParseHex256(r.Text(name))
	if err != nil {
		r.Fail(name, ruleValue)
	}
	return h
}

// readWord reads a required string that valid accepts.
func readWord(r *jcs.Reader, name string, valid func(string) bool) string {
	s := r.Text(name)
	if !valid(s) {
		r.Fail(name, ruleValue)
	}
	return s
}

func readKey(r *jcs.Reader, name string) jose.Key {
	k, err := jose.ParseJWK(r.Value(name))
	if err != nil {
		r.Fail(name, ruleValue)
	}
	return k
}

// textMember leaves out what is no text: the reader then finds it missing.
func textMember(name, s string) jcs.Member {
	if !utf8.ValidString(s) {
		return jcs.Member{Name: name}
	}
	return jcs.Member{Name: name, Value: jcs.String(s)}
}

// whenMember leaves out a time that has no whole seconds from 1970 to 9999.
func whenMember(name string, t time.Time) jcs.Member {
	n := t.Unix()
	if n < 0 || n > maxSeconds {
		return jcs.Member{Name: name}
	}
	return jcs.Member{Name: name, Value: jcs.Int(n)}
}

// intMember leaves out a number outside the integer profile.
func intMember(name string, n int64) jcs.Member {
	if n < 0 || n > 1<<53-1 {
		return jcs.Member{Name: name}
	}
	return jcs.Member{Name: name, Value: jcs.Int(n)}
}
