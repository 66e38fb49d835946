package wiretest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// A Doc is a JSON object that a test may change at will. A member may be a
// json.RawMessage, which is sent as it stands: 1.0, 1e400, or an object with one name
// twice.
type Doc map[string]any

// JSON writes v with sorted member names, without white space and without escapes that
// JSON does not ask for. For ASCII names and integers that is the RFC 8785 form.
func JSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("wiretest: a document cannot be written: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Parse reads a JSON object. Numbers stay as they were written.
func Parse(b []byte) (Doc, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var doc Doc
	return doc, d.Decode(&doc)
}

// Clone is a deep copy.
func (d Doc) Clone() Doc {
	c, err := Parse(JSON(d))
	if err != nil {
		panic("wiretest: a document does not survive a copy: " + err.Error())
	}
	return c
}

// At walks into v by member names and array indexes; nil when there is no such place.
func At(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			switch m := v.(type) {
			case Doc:
				v = m[step]
			case map[string]any:
				v = m[step]
			default:
				return nil
			}
		case int:
			list, ok := v.([]any)
			if !ok || step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// Text is the string at a place, "" when there is none.
func Text(v any, path ...any) string {
	s, _ := At(v, path...).(string)
	return s
}

// Object is the object at a place, nil when there is none.
func Object(v any, path ...any) Doc {
	switch m := At(v, path...).(type) {
	case Doc:
		return m
	case map[string]any:
		return m
	}
	return nil
}

// HasName reports whether a member of this name stands anywhere in v.
func HasName(v any, name string) bool {
	switch v := v.(type) {
	case Doc:
		return HasName(map[string]any(v), name)
	case map[string]any:
		for key, member := range v {
			if key == name || HasName(member, name) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if HasName(item, name) {
				return true
			}
		}
	}
	return false
}

// Hash is the hex SHA-256 of exactly these bytes.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// JointSeal is the joint seal of a record (§4.4-4): the hex SHA-256 of its RFC 8785 form
// without prev_hash and chain_seq. It shares no code with package crossing.
func JointSeal(record Doc) string {
	bare := Doc{}
	for name, member := range record {
		if name != "prev_hash" && name != "chain_seq" {
			bare[name] = member
		}
	}
	return Hash(string(JSON(bare)))
}

// OpenHash is the open_mandate_hash of a token: over its issuer-signed JWT and one tilde
// (design M4).
func OpenHash(token string) string {
	jwt, _, _ := strings.Cut(token, "~")
	return Hash(jwt + "~")
}
