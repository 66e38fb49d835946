package gateway

import (
	"encoding/base64"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/bindery/bindery/jcs"
)

// Headers that repeat parts of the body, so that what stands between client and server need not
// read it (2026-07-28). A client on standard output has none; they are made here for it.

// most of what a server's list may say about headers.
const (
	mostParams = 64
	mostTools  = 4096
)

// paramHeader is one argument that a header repeats.
type paramHeader struct {
	path   []string
	header string
}

// paramHeaders are, by tool, the arguments that its input schema marks with x-mcp-header.
type paramHeaders struct {
	mu    sync.Mutex // guards tools
	tools map[string][]paramHeader
}

// learn takes the result of a tools/list.
func (h *paramHeaders) learn(text []byte, result token) {
	found := map[string][]paramHeader{}
	eachItem(text, find(text, result, "tools"), func(tool token) {
		name := plain(find(text, tool, "name").in(text))
		if len(found) < mostTools {
			found[name] = marked(text, find(text, tool, "inputSchema"), nil, nil)
		}
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tools == nil || len(h.tools) > mostTools {
		h.tools = map[string][]paramHeader{}
	}
	maps.Copy(h.tools, found)
}

// marked finds the marks below a schema.
func marked(text []byte, schema token, path []string, list []paramHeader) []paramHeader {
	if len(path) > 16 {
		return list
	}
	eachMember(text, find(text, schema, "properties"), func(name []byte, property token) {
		at := append(path[:len(path):len(path)], plain(append(append([]byte{'"'}, name...), '"')))
		if header := named(text, find(text, property, "x-mcp-header")); tokenOf(header) && len(list) < mostParams {
			list = append(list, paramHeader{at, headerParam + header})
		}
		list = marked(text, property, at, list)
	})
	return list
}

// tokenOf reports whether s is a token of HTTP.
func tokenOf(s string) bool {
	return s != "" && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// plain is the text of a JSON string, of a valid text; "" is none.
func plain(raw []byte) string {
	v, err := jcs.Parse(raw)
	if err != nil {
		return ""
	}
	s, _ := v.Text()
	return s
}

// set writes the headers of a request.
func (h *paramHeaders) set(header http.Header, text []byte, s sighting) {
	method := named(text, s.method)
	header.Set(headerMethod, method)
	name := ""
	switch method {
	case "tools/call", "prompts/get":
		name = plain(find(text, s.params, "name").in(text))
	case "resources/read":
		name = plain(find(text, s.params, "uri").in(text))
	}
	if name != "" {
		header.Set(headerName, headerValue(name))
	}
	if method != "tools/call" {
		return
	}
	h.mu.Lock()
	marks := h.tools[name]
	h.mu.Unlock()
	for _, mark := range marks {
		if value, ok := headerText(find(text, s.params, append([]string{"arguments"}, mark.path...)...).in(text)); ok {
			header.Set(mark.header, headerValue(value))
		}
	}
}

// headerText is an argument as a header has it: a string, a truth value, or an integer that every
// peer can hold.
func headerText(raw []byte) (string, bool) {
	switch {
	case len(raw) == 0 || raw[0] == 'n' || raw[0] == '{' || raw[0] == '[':
		return "", false
	case raw[0] == '"', raw[0] == 't', raw[0] == 'f':
		if raw[0] == '"' {
			return plain(raw), true
		}
		return string(raw), true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != float64(int64(f)) || f < -(1<<53-1) || f > 1<<53-1 {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

// headerValue is a text as the value of a header: as it is, or wrapped as Base64 where it would not
// come through whole, or would look wrapped.
func headerValue(s string) string {
	const before, after = "=?base64?", "?="
	whole := strings.Trim(s, " \t") == s && !(strings.HasPrefix(s, before) && strings.HasSuffix(s, after))
	for i := range len(s) {
		whole = whole && s[i] >= 0x20 && s[i] <= 0x7E
	}
	if whole {
		return s
	}
	return before + base64.StdEncoding.EncodeToString([]byte(s)) + after
}
