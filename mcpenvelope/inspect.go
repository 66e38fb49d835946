package mcpenvelope

import (
	"errors"
	"fmt"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// MaxResult bounds the text of a tool result that is looked at for an envelope, in bytes.
const MaxResult = 16 << 20

// An Inspection says what a tool result has where an envelope would be.
type Inspection struct {
	Envelope envelope.Envelope // zero: there is none, or none to be rendered
	// Fault says why what is there is not rendered: one of the package envelope, or a rule of the
	// delivery. The ordinary content is shown instead, and [Inspection.Diagnostic] to the operator
	// (ENV-011 to ENV-013, ENV-101).
	Fault error
}

// Diagnostic is one line for the operator, "" if nothing was discarded. It holds nothing of the input
// but names of the grammar.
func (i Inspection) Diagnostic() string {
	if i.Fault == nil {
		return ""
	}
	return "binding moment discarded, the tool's ordinary result is shown: " + i.Fault.Error()
}

// Faults of the delivery.
var (
	errUnequal  = errors.New("mcpenvelope: the result has two envelopes that differ (E2)")
	errStrict   = errors.New("mcpenvelope: the result is not strict JSON, so that parsers differ on what it holds (ENV-055 to ENV-058)")
	errNoMeta   = errors.New("mcpenvelope: the _meta of the result is not an object")
	errNotDone  = errors.New("mcpenvelope: a result that asks for input carries no envelope (D3)")
	errTooLarge = errors.New("mcpenvelope: the result is too large to be looked at")
	errSurface  = errors.New("mcpenvelope: the server is not authenticated, and the policy refuses envelopes of such (ENV-106)")
)

// foreign reads what is not ours: a result may hold any number and nest deeper than an envelope may;
// names and texts are held to one reading all the same (AE-11).
func foreign(max int) jcs.Profile {
	return jcs.Profile{Numbers: jcs.DoubleNumbers, MaxDepth: 512, MaxSize: max}
}

// Inspect looks at the JSON text of one tool result, as received, for an envelope: at its top level
// first, by the names of n and by the default ones, then in the mirror. Where it finds more than one
// they must be equal in their digests; where one is malformed, none counts. It does not ask whether
// the tool has advertised anything (ENV-087).
func Inspect(result []byte, n Names) (Inspection, error) {
	n, err := n.complete()
	if err != nil {
		return Inspection{}, err
	}
	return inspect(result, n), nil
}

func inspect(result []byte, n Names) Inspection {
	if len(result) > MaxResult {
		return Inspection{Fault: errTooLarge}
	}
	found, metaFault := candidates(result, n)
	if len(found) == 0 {
		return Inspection{}
	}
	if _, err := foreign(MaxResult).Append(nil, result); err != nil {
		return Inspection{Fault: errStrict}
	}
	if metaFault {
		return Inspection{Fault: errNoMeta}
	}
	top, _ := parseObject(result)
	if string(top["resultType"]) == `"input_required"` {
		return Inspection{Fault: errNotDone}
	}
	var first envelope.Envelope
	for i, text := range found {
		e, err := envelope.Parse(text)
		if err != nil {
			return Inspection{Fault: err}
		}
		if i == 0 {
			first = e
		} else if !e.Equal(first) {
			return Inspection{Fault: errUnequal}
		}
	}
	return Inspection{Envelope: first}
}

// candidates are the values that stand where an envelope would be, in the order of detection. They
// are found with a parser that takes the last of repeated names; the caller refuses such texts.
func candidates(result []byte, n Names) (found []raw, metaFault bool) {
	top, ok := parseObject(result)
	if !ok {
		return nil, false
	}
	d := DefaultNames()
	found = pick(top, n.Field, d.Field)
	if text, ok := top["_meta"]; ok {
		meta, ok := parseObject(text)
		metaFault = !ok
		found = append(found, pick(meta, n.Mirror, d.Mirror)...)
	}
	return found, metaFault
}

func pick(from object, name, or string) (list []raw) {
	if v, ok := from[name]; ok {
		list = append(list, v)
	}
	if v, ok := from[or]; ok && or != name {
		list = append(list, v)
	}
	return list
}

// refusedText is the line that answers a call whose resolution was discarded.
func refusedText(r *envelope.Refusal) string {
	return fmt.Sprintf("The resolution was discarded and nothing was done. %s", r.Error())
}
