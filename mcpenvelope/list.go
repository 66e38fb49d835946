package mcpenvelope

import (
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errSchema = errors.New("mcpenvelope: a tool is no JSON object")

// A manifest is the answer to tools/list with the annotation that the SDK's type has no place for.
type manifest struct {
	*mcp.ListToolsResult
	annotation string
	emits      []string
}

// advertise marks the tools that may emit, in the annotation that the memo recommends and in the
// _meta that clients keep (section 8.2), and says in their input schema where a resolution goes. The
// tools themselves are copied: other sessions read them at the same time.
func (e *Emitter) advertise(res *mcp.ListToolsResult) (mcp.Result, error) {
	list := *res
	list.Tools = make([]*mcp.Tool, len(res.Tools))
	for i, t := range res.Tools {
		list.Tools[i] = t
		if t == nil || !slices.Contains(e.cfg.Emits, t.Name) {
			continue
		}
		marked := *t
		marked.Meta = mcp.Meta{}
		for k, v := range t.Meta {
			marked.Meta[k] = v
		}
		marked.Meta[e.cfg.Names.Manifest] = true
		schema, err := e.withArguments(t.InputSchema)
		if err != nil {
			return nil, internal("server fault: the input schema of " + t.Name + " is no JSON object")
		}
		marked.InputSchema = schema
		list.Tools[i] = &marked
	}
	return &manifest{&list, e.cfg.Names.Annotation, e.cfg.Emits}, nil
}

// resolutionSchema describes the argument for whoever fills it in. What is wrong is said by the
// ledger's door, with a named reason; so the schema asks for no more than an object.
const resolutionSchema = `{"type":"object","description":"The principal's resolution of a binding_moment that this server has returned: ` +
	`envelope_digest, resolution (option, answer or question), option_idx with option, answer with answer. ` +
	`Give it only as the person gave it.","properties":{"envelope_digest":{"type":"string"},` +
	`"resolution":{"type":"string","enum":["option","answer","question"]},"option_idx":{"type":"integer","minimum":0},"answer":{"type":"string"}}}`

const awaitSchema = `{"type":"string","description":"The digest of a binding_moment that the person decides on a page: returns what was decided."}`

// withArguments adds our arguments to an input schema. Nothing is required that was not.
func (e *Emitter) withArguments(schema any) (raw, error) {
	text, err := encode(schema)
	if err != nil {
		return nil, err
	}
	members, ok := parseObject(text)
	properties := object{}
	if p, there := members["properties"]; there && ok {
		properties, ok = parseObject(p)
	}
	if !ok {
		return nil, errSchema
	}
	properties[e.cfg.Names.Argument] = raw(resolutionSchema)
	if e.cfg.Bridge != nil && e.cfg.Bridge.pages() {
		properties[e.cfg.Names.Await] = raw(awaitSchema)
	}
	if members["properties"], err = encode(properties); err != nil {
		return nil, err
	}
	return encode(members)
}

// MarshalJSON adds the annotation to the tools that may emit.
func (m *manifest) MarshalJSON() ([]byte, error) {
	text, err := encode(m.ListToolsResult)
	if err != nil {
		return nil, err
	}
	list, ok := parseObject(text)
	if !ok {
		return nil, errSchema
	}
	tools := make([]raw, len(m.Tools))
	for i, t := range m.Tools {
		if tools[i], err = encode(t); err == nil && t != nil && slices.Contains(m.emits, t.Name) {
			tools[i], err = m.annotate(tools[i])
		}
		if err != nil {
			return nil, err
		}
	}
	if list["tools"], err = encode(tools); err != nil {
		return nil, err
	}
	return encode(list)
}

func (m *manifest) annotate(tool raw) (raw, error) {
	members, ok := parseObject(tool)
	annotations := object{}
	if a, there := members["annotations"]; there && ok {
		annotations, ok = parseObject(a)
	}
	if !ok {
		return nil, errSchema
	}
	annotations[m.annotation] = raw("true")
	text, err := encode(annotations)
	if err != nil {
		return nil, err
	}
	members["annotations"] = text
	return encode(members)
}
