package gateway

import (
	"strings"
	"sync"

	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// Limits of what is kept of an upstream's tools.
const (
	maxTools     = 4096
	maxToolEntry = 256 << 10 // bytes of one entry of tools/list
	maxToolBytes = 16 << 20  // of all
	maxList      = 4 << 20   // of one answer
	maxLearning  = 16        // answers at once; what comes beside them is not learned from
)

// tools are an upstream's own words on its tools: input schemas and annotations, as the latest
// answer to tools/list had them. They settle how numbers are spelled (design X5) and which tools
// need an execution_id; a tool that is not there has no schema, and every hint against it.
type tools struct {
	mu    sync.RWMutex // guards below
	known map[string]knownTool
	total int // bytes of their entries
}

// A knownTool is one of them.
type knownTool struct {
	tool toolaction.Tool
	size int
}

func newTools() tools { return tools{known: map[string]knownTool{}} }

// learn takes the entries of a result of tools/list. What is beyond the limits is not kept.
func (t *tools) learn(upstream string, result jcs.Value) {
	for entry := range result.Get("tools").Items() {
		size := len(entry.Bytes())
		if size > maxToolEntry {
			continue
		}
		tool, err := toolaction.ReadTool(upstream, entry)
		if err != nil {
			continue
		}
		t.put(tool, size)
	}
}

func (t *tools) put(tool toolaction.Tool, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.known[tool.Name]
	_, there := t.known[tool.Name]
	if !there && len(t.known) >= maxTools || t.total-old.size+size > maxToolBytes {
		return
	}
	t.total += size - old.size
	t.known[tool.Name] = knownTool{tool, size}
}

// Learn takes the result of a tools/list of an upstream that somebody else has asked for. It is
// JSON; what cannot be read is ignored.
func (g *Gateway) Learn(upstream string, result []byte) {
	u := g.upstreams[upstream]
	if u == nil {
		return
	}
	if v, err := (jcs.Profile{Numbers: jcs.DoubleNumbers}).Parse(result); err == nil {
		u.tools.learn(upstream, v)
	}
}

// Tool is what is known of a tool: its declaration, and what the upstream has said of it.
func (g *Gateway) Tool(upstream, name string) (toolaction.Tool, bool) {
	u := g.upstreams[upstream]
	if u == nil {
		return toolaction.Tool{}, false
	}
	return g.tool(u, name), true
}

func (g *Gateway) tool(u *upstream, name string) toolaction.Tool {
	u.tools.mu.RLock()
	k, there := u.tools.known[name]
	u.tools.mu.RUnlock()
	if !there {
		k.tool = toolaction.Tool{Upstream: u.Name, Name: name, Annotations: toolaction.Annotations{Destructive: true}}
	}
	declared, exact := u.Tools[name]
	k.tool.Declaration, k.tool.Require = declared, g.cfg.Require
	if !exact && u.alike(name) {
		k.tool.Require = toolaction.RequireAll
	}
	return k.tool
}

// alike reports whether a declared tool that needs an execution_id has this name but for its case:
// some upstreams take the one for the other.
func (u *upstream) alike(name string) bool {
	for declared, d := range u.Tools {
		if strings.EqualFold(declared, name) && (toolaction.Tool{Declaration: d}).RequiresID() {
			return true
		}
	}
	return false
}

// paramHeaders are the headers that carry an argument (x-mcp-header), as the schema of a tool
// says: the lower-case name behind Mcp-Param-, and the path of the argument.
func paramHeadersOf(schema jcs.Value) map[string][]string {
	found := map[string][]string{}
	collectParams(schema, nil, found)
	return found
}

const maxParamDepth = 16

func collectParams(schema jcs.Value, path []string, found map[string][]string) {
	if len(path) >= maxParamDepth {
		return
	}
	for name, prop := range schema.Get("properties").Members() {
		at := append(path[:len(path):len(path)], name)
		if header, ok := prop.Get("x-mcp-header").Text(); ok && header != "" {
			found[strings.ToLower(header)] = at
		}
		collectParams(prop, at, found)
	}
}
