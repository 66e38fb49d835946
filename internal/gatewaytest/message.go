package gatewaytest

import (
	"encoding/json"
	"fmt"

	"github.com/bindery/bindery/jcs"
)

// modern is the revision without sessions.
const modern = "2026-07-28"

// raw is JSON as it came.
type raw = json.RawMessage

// decode reads JSON with another parser than the gateway's.
func decode(b []byte, into any) error { return json.Unmarshal(b, into) }

// A message is what the server reads of a JSON-RPC message. Bytes stay as they came.
type message struct {
	ID     raw    `json:"id"`
	Method string `json:"method"`
	Params struct {
		Name            string         `json:"name"`
		Arguments       raw            `json:"arguments"`
		Meta            map[string]any `json:"_meta"`
		ProtocolVersion string         `json:"protocolVersion"`
		RequestState    string         `json:"requestState"`
		InputResponses  raw            `json:"inputResponses"`
		TaskID          string         `json:"taskId"`
	} `json:"params"`
}

// isModern tells a request of 2026-07-28, which says so in each request.
func (m *message) isModern() bool {
	v, _ := m.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string)
	return v >= modern
}

// typed is the member that every result of 2026-07-28 has.
func (m *message) typed(kind string) string {
	if !m.isModern() {
		return ""
	}
	return `,"resultType":` + quote(kind)
}

// result is an answer to m. members is what stands in the result, after its first brace.
func (m *message) result(members string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{%s}}`, m.ID, members)
}

func (m *message) fault(code int, text string) []byte {
	id := m.ID
	if len(id) == 0 {
		id = raw("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quote(text))
}

func quote(s string) string { return string(jcs.String(s)) }
