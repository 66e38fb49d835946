package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// object builds an object of string members from name, value pairs.
func object(pairs ...string) []byte {
	m := make([]jcs.Member, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, jcs.Member{Name: pairs[i], Value: text(pairs[i+1])})
	}
	return jcs.Object(m...)
}

// text is a string value. What is no text becomes text that the other side refuses.
func text(s string) []byte { return jcs.String(strings.ToValidUTF8(s, "\uFFFD")) }

// readSeconds reads a required time in whole seconds since 1970.
func readSeconds(r *jcs.Reader, name string) time.Time {
	n := r.Int(name)
	if n < 0 {
		r.Fail(name, "value")
	}
	return time.Unix(n, 0).UTC()
}

// closed ends a reading: nothing may be left over.
func closed[T any](r *jcs.Reader, v T) (T, error) {
	if err := r.Close(); err != nil {
		var none T
		return none, malformed(err)
	}
	return v, nil
}

// readHex reads a required bare hex SHA-256.
func readHex(r *jcs.Reader, name string) jcs.Hex256 {
	return jcs.Hex256(readText(r, name, func(s string) bool { return isHex(jcs.Hex256(s)) }))
}

// readText reads a required string for which valid holds.
func readText(r *jcs.Reader, name string, valid func(string) bool) string {
	s := r.Text(name)
	if r.Err() == nil && !valid(s) {
		r.Fail(name, "value")
	}
	return s
}

// readKey reads a required public JWK.
func readKey(r *jcs.Reader, name string) jose.Key {
	v := r.Value(name)
	if r.Err() != nil {
		return jose.Key{}
	}
	k, err := jose.ParseJWK(v)
	if err != nil {
		r.Fail(name, "value")
	}
	return k
}

func parseKey(v jcs.Value) (jose.Key, error) {
	k, err := jose.ParseJWK(v)
	if err != nil {
		return jose.Key{}, &jcs.MemberError{Rule: "value"}
	}
	return k, nil
}

// itemFault is the first fault in an item of an array, with its whole pointer.
type itemFault struct{ err error }

// readItems reads a required array of at most limit items.
func readItems[T any](r *jcs.Reader, name string, limit int, fault *itemFault, parse func(jcs.Value) (T, error)) []T {
	items := r.Items(name)
	if len(items) > limit {
		r.Fail(name, "value")
		return nil
	}
	var out []T
	for i, v := range items {
		item, err := parse(v)
		if err != nil && fault.err == nil {
			pointer := "/" + name + "/" + strconv.Itoa(i)
			if inner, ok := malformed(err).(*Error); ok {
				pointer += inner.Pointer
			}
			fault.err = &jcs.MemberError{Pointer: pointer, Rule: "value"}
		}
		out = append(out, item)
	}
	return out
}

func validToken(s string) bool { return graphic(s, maxToken) }

// graphic reports whether s is 1 to limit bytes in 0x21 … 0x7E.
func graphic(s string, limit int) bool {
	for i := range min(len(s), limit) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return s != "" && len(s) <= limit
}
