package mcpenvelope

import (
	"strings"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
	"github.com/bindery/bindery/jcs"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The fields of the form.
const (
	fieldChoice = "choice"
	fieldAnswer = "answer"
	fieldReopen = "reopen"
)

// titled is the protocol version from which on the values of a choice have titles in oneOf.
const titled = "2025-11-25"

// elicitation is what the client is asked to put to its user.
func (b *Bridge) elicitation(c *call, q *question) *mcp.ElicitParams {
	version := c.req.ProtocolVersion()
	if q.mode == byPage {
		p := &mcp.ElicitParams{
			Mode: "url", URL: b.cfg.Pages + q.page.path,
			Message: "A decision is asked of you: " + string(render.Show(q.em.Envelope.Synopsis())) + "\nThe page shows all of it. Opening it decides nothing.",
		}
		if version < modern { // which has no such member
			p.ElicitationID = q.page.path
		}
		return p
	}
	message := q.view.Text(72)
	if q.notice != "" {
		message = q.notice + "\n\n" + message
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: formSchema(q.view, version)}
}

// formSchema has a field for each of the three resolutions, none of them filled in: there is nothing
// that pressing Enter would consent to. A closed hatch has no field.
func formSchema(v render.View, version string) raw {
	var values, titles, items [][]byte
	members := []string{}
	add := func(name string, schema []byte) {
		members = append(members, string(jcs.String(name))+":"+string(schema))
	}
	for _, w := range v.Ways() {
		if w.Kind != envelope.KindOption {
			continue
		}
		title := w.Key + ") " + string(w.Title) + " — " + string(w.Detail)
		if w.Recommended { // said before the letter, where no label stands
			title = "[recommended by the agent] " + w.Key + ") " + string(w.Title) + " — " + string(w.Detail)
		}
		values, titles = append(values, jcs.String(w.Key)), append(titles, jcs.String(title))
		items = append(items, jcs.Object(jcs.Member{Name: "const", Value: jcs.String(w.Key)}, jcs.Member{Name: "title", Value: jcs.String(title)}))
	}
	choice := []jcs.Member{
		{Name: "type", Value: jcs.String("string")},
		{Name: "title", Value: jcs.String("Choose an option")},
		{Name: "oneOf", Value: jcs.Array(items...)},
	}
	if version < titled {
		choice = append(choice[:2], jcs.Member{Name: "enum", Value: jcs.Array(values...)}, jcs.Member{Name: "enumNames", Value: jcs.Array(titles...)})
	}
	add(fieldChoice, jcs.Object(choice...))
	for _, w := range v.Ways() {
		kind := "string"
		name := fieldAnswer
		switch w.Kind {
		case envelope.KindOption:
			continue
		case envelope.KindQuestion:
			kind, name = "boolean", fieldReopen
		}
		add(name, jcs.Object(
			jcs.Member{Name: "type", Value: jcs.String(kind)},
			jcs.Member{Name: "title", Value: jcs.String("Or: " + string(w.Title))},
			jcs.Member{Name: "description", Value: jcs.String(string(w.Detail))},
		))
	}
	return raw(`{"type":"object","properties":{` + strings.Join(members, ",") + `}}`)
}

// invoke says in words how a way is taken: not over a tool call where more than its assurance is asked.
func invoke(m mode, em envelope.Emission) func(render.Way) string {
	return func(w render.Way) string {
		switch {
		case !envelope.Client.AtLeast(em.Needs):
			return ""
		case m == byText && w.Kind == envelope.KindOption:
			return "resolution option, option_idx " + string(rune('0'+w.Index))
		case m == byText:
			return "resolution " + string(w.Kind)
		case w.Kind == envelope.KindOption:
			return "In the form: " + fieldChoice + " " + w.Key
		case w.Kind == envelope.KindAnswer:
			return "In the form: write it into " + fieldAnswer
		}
		return "In the form: set " + fieldReopen
	}
}

// What a person is told whose form came back unclear.
const (
	nothingFilled = "Nothing was filled in. Choose an option, or write an answer, or decline the question."
	severalFilled = "More than one was filled in. Choose an option, or write an answer, or decline the question: one of them."
	formBroken    = "The form came back in another shape than it was sent in. Please fill it in again."
)

// fromForm makes a resolution of what was filled in: exactly one of the three. A blank answer and a
// switch that is off are not filled in. Where it is not one, notice says what to do.
func fromForm(v render.View, content map[string]any) (r envelope.Resolution, notice string) {
	choice, ok1 := field[string](content, fieldChoice)
	answer, ok2 := field[string](content, fieldAnswer)
	reopen, ok3 := field[bool](content, fieldReopen)
	if !ok1 || !ok2 || !ok3 {
		return r, formBroken
	}
	filled := 0
	var way render.Way
	for _, f := range []struct {
		ok   bool
		kind envelope.Kind
	}{{choice != "", envelope.KindOption}, {strings.TrimSpace(answer) != "", envelope.KindAnswer}, {reopen, envelope.KindQuestion}} {
		if f.ok {
			filled, way = filled+1, render.Way{Kind: f.kind}
		}
	}
	switch {
	case filled == 0:
		return r, nothingFilled
	case filled > 1:
		return r, severalFilled
	}
	if way.Kind == envelope.KindOption {
		way.Index = -1
		for _, w := range v.Ways() {
			if w.Kind == envelope.KindOption && w.Key == choice {
				way = w
			}
		}
	}
	r, err := v.Resolve(way, answer)
	if err != nil {
		return r, formBroken
	}
	return r, ""
}

// field takes a field that may be left out; ok is false if it is of another type.
func field[T any](content map[string]any, name string) (v T, ok bool) {
	x, there := content[name]
	if !there || x == nil {
		return v, true
	}
	v, ok = x.(T)
	return v, ok
}
