package mcpenvelope

import "encoding/json"

// All that this package reads and writes with the SDK's parser goes through this file. Nothing is
// hashed or decided by what it reads: envelopes and resolutions are parsed from the bytes as they came.

// A raw text is a value as it is spelled.
type raw = json.RawMessage

// An object is the members of one, of repeated names the last.
type object map[string]raw

// parseObject reads an object; ok is false for any other text. null has no members.
func parseObject(text []byte) (o object, ok bool) {
	if json.Unmarshal(text, &o) != nil {
		return nil, false
	}
	if o == nil {
		o = object{}
	}
	return o, true
}

// encode writes a value.
func encode(v any) (raw, error) { return json.Marshal(v) }

// decode reads a text into a value.
func decode(text []byte, into any) bool { return json.Unmarshal(text, into) == nil }
