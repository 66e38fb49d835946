package envelope

import "github.com/bindery/bindery/jcs"

// schemaDialect is the JSON Schema of MCP tools.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// EnvelopeSchema returns a JSON Schema (2020-12) of an envelope, printed from the table that [Parse]
// walks. It says all of [Parse] but what a schema cannot see: that recommended_idx is less than the
// number of options, and what is refused before there is a value (section 6.3).
func EnvelopeSchema() []byte { return envelopeShape().document() }

// ResolutionSchema returns a JSON Schema (2020-12) of a resolution, fit to be the schema of a tool's
// argument. Of [ParseResolution] it says all but what is refused before there is a value, and that
// an answer of characters that are no white space and do not show is blank.
func ResolutionSchema() []byte { return resolutionShape().document(forms()) }

func (s *shape) document(more ...jcs.Member) []byte {
	return jcs.Object(append(s.schema(), append(more, jcs.Member{Name: "$schema", Value: jcs.String(schemaDialect)})...)...)
}

func (s *shape) schema() []jcs.Member {
	members := []jcs.Member{{Name: "type", Value: jcs.String(s.kind.schemaType())}}
	if s.about != "" {
		members = append(members, jcs.Member{Name: "description", Value: jcs.String(s.about)})
	}
	switch s.kind {
	case textKind:
		members = append(members, s.textSchema()...)
	case integerKind:
		members = append(members, jcs.Member{Name: "minimum", Value: jcs.Int(0)}, jcs.Member{Name: "maximum", Value: jcs.Int(maxInteger)})
	case arrayKind:
		members = append(members, jcs.Member{Name: "items", Value: jcs.Object(s.item.schema()...)}, jcs.Member{Name: "maxItems", Value: jcs.Int(int64(s.high))})
		if s.low > 0 {
			members = append(members, jcs.Member{Name: "minItems", Value: jcs.Int(int64(s.low))})
		}
	case objectKind:
		members = append(members, s.objectSchema()...)
	}
	return members
}

func (s *shape) textSchema() (members []jcs.Member) {
	if s.high > 0 {
		members = append(members, jcs.Member{Name: "maxLength", Value: jcs.Int(int64(s.high))})
	}
	if s.pattern != "" {
		members = append(members, jcs.Member{Name: "pattern", Value: jcs.String(s.pattern)})
	}
	if len(s.enum) > 0 {
		members = append(members, jcs.Member{Name: "enum", Value: texts(s.enum)})
	}
	return members
}

func (s *shape) objectSchema() (members []jcs.Member) {
	var properties []jcs.Member
	var required []string
	for i := range s.members {
		m := &s.members[i]
		properties = append(properties, jcs.Member{Name: m.name, Value: jcs.Object(m.value.schema()...)})
		if !m.optional {
			required = append(required, m.name)
		}
	}
	members = append(members, jcs.Member{Name: "additionalProperties", Value: jcs.Bool(false)}, jcs.Member{Name: "properties", Value: jcs.Object(properties...)})
	if len(required) > 0 {
		members = append(members, jcs.Member{Name: "required", Value: texts(required)})
	}
	return members
}

// maxInteger is the largest integer of the profile (ENV-059).
const maxInteger = 1<<53 - 1

func (k kind) schemaType() string {
	switch k {
	case textKind:
		return "string"
	case integerKind:
		return "integer"
	case truthKind:
		return "boolean"
	case arrayKind:
		return "array"
	}
	return "object"
}

// forms says which member goes with which resolution (ENV-074, ENV-076, ENV-077).
func forms() jcs.Member {
	return jcs.Member{Name: "oneOf", Value: jcs.Array(form(KindOption, "option_idx"), form(KindAnswer, "answer"), form(KindQuestion, ""))}
}

// form is the resolution of one kind: with that member and without the other one.
func form(k Kind, with string) []byte {
	properties := []jcs.Member{{Name: "resolution", Value: jcs.Object(jcs.Member{Name: "const", Value: jcs.String(string(k))})}}
	for _, name := range []string{"answer", "option_idx"} {
		if name != with {
			properties = append(properties, jcs.Member{Name: name, Value: jcs.Bool(false)})
		}
	}
	if with == "" {
		return jcs.Object(jcs.Member{Name: "properties", Value: jcs.Object(properties...)})
	}
	return jcs.Object(jcs.Member{Name: "properties", Value: jcs.Object(properties...)}, jcs.Member{Name: "required", Value: texts([]string{with})})
}
