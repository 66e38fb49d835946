package gatewaytest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A Client sends bytes to an MCP server over HTTP, as they are.
type Client struct {
	URL    string
	Token  string       // "": no Authorization
	HTTP   *http.Client // nil: the default one
	Header http.Header  // more headers, also in place of those that Post sets; nil: none
}

// An Answer is what came back for one POST.
type Answer struct {
	Status   int
	Header   http.Header
	Body     []byte   // as it came
	Messages [][]byte // the JSON-RPC messages in it: one of JSON, any number of an event stream
}

// Post sends body and reads the whole answer.
func (c *Client) Post(ctx context.Context, body []byte) (*Answer, error) {
	resp, err := c.send(ctx, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &Answer{Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	switch {
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		for line := range bytes.Lines(a.Body) {
			data, ok := bytes.CutPrefix(line, []byte("data:"))
			if data = bytes.TrimSpace(data); ok && len(data) > 0 { // an event without data carries an id alone
				a.Messages = append(a.Messages, data)
			}
		}
	case len(a.Body) > 0:
		a.Messages = [][]byte{a.Body}
	}
	return a, nil
}

func (c *Client) send(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	describe(req.Header, body)
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for name, values := range c.Header {
		req.Header[name] = values
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	return h.Do(req)
}

// describe sets the headers that a revision wants of this body.
func describe(h http.Header, body []byte) {
	var m message
	if decode(body, &m) != nil {
		return
	}
	if !m.isModern() {
		h.Set("Mcp-Protocol-Version", "2025-11-25")
		return
	}
	h.Set("Mcp-Protocol-Version", modern)
	h.Set("Mcp-Method", m.Method)
	if m.Params.Name != "" {
		h.Set("Mcp-Name", m.Params.Name)
	}
}

// A Call is a tools/call in the making. Arguments are written as they are.
type Call struct {
	ID          string // a JSON token; "" is 1
	Tool        string
	Arguments   string // JSON; "" is none
	ExecutionID string // "" is none
	Timestamp   string // of the action, "" is none
	Modern      bool   // 2026-07-28 instead of 2025-11-25
	State       string // the requestState that this call goes on from, with an answer to "confirm"
	AsTask      bool   // ask for a task, as 2025-11-25 does
}

// Body are the bytes of the call.
func (c Call) Body() []byte {
	id, b := c.ID, bytes.Buffer{}
	if id == "" {
		id = "1"
	}
	fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%s`, id, quote(c.Tool))
	if c.Arguments != "" {
		b.WriteString(`,"arguments":` + c.Arguments)
	}
	if c.AsTask {
		b.WriteString(`,"task":{"ttl":60000}`)
	}
	if c.State != "" {
		b.WriteString(`,"requestState":` + quote(c.State) + `,"inputResponses":{"confirm":{"action":"accept","content":{"ok":true}}}`)
	}
	if meta := c.meta(); meta != "" {
		b.WriteString(`,"_meta":{` + meta + `}`)
	}
	b.WriteString("}}")
	return b.Bytes()
}

func (c Call) meta() string {
	var list []string
	if c.Modern {
		list = append(list, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}`,
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	}
	if c.ExecutionID != "" {
		list = append(list, `"bindery/execution_id":`+quote(c.ExecutionID))
	}
	if c.Timestamp != "" {
		list = append(list, `"bindery/action_timestamp":`+quote(c.Timestamp))
	}
	return strings.Join(list, ",")
}

// A Told is what a reply says of a call.
type Told struct {
	Text   string // the first text of the result's content, or of the one that a refusal records
	Result raw    // nil: an error
	Error  string // the name of a refusal, or the message of an error that has none
	State  string // of the execution, as the gateway tells it; "" if it tells nothing
	CallID string
}

// Tell reads the last message of an answer.
func (a *Answer) Tell() (told Told, err error) {
	if len(a.Messages) == 0 {
		return told, fmt.Errorf("status %d without a message", a.Status)
	}
	type execution struct {
		State  string `json:"state"`
		CallID string `json:"call_id"`
		Result raw    `json:"result"`
	}
	var m struct {
		Result raw `json:"result"`
		Error  *struct {
			Message string `json:"message"`
			Data    struct {
				Error     string    `json:"error"`
				Execution execution `json:"execution"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := decode(a.Messages[len(a.Messages)-1], &m); err != nil {
		return told, err
	}
	if m.Error != nil {
		told.Error, told.State, told.CallID = m.Error.Data.Error, m.Error.Data.Execution.State, m.Error.Data.Execution.CallID
		if told.Error == "" {
			told.Error = m.Error.Message
		}
		m.Result = m.Error.Data.Execution.Result
	} else {
		told.Result = m.Result
	}
	if m.Result == nil {
		return told, nil
	}
	var r struct {
		Content []struct{ Text string }
		Meta    struct {
			Execution execution `json:"bindery/execution"`
		} `json:"_meta"`
	}
	if err := decode(m.Result, &r); err != nil {
		return told, err
	}
	if m.Error == nil {
		told.State, told.CallID = r.Meta.Execution.State, r.Meta.Execution.CallID
	}
	if len(r.Content) > 0 {
		told.Text = r.Content[0].Text
	}
	return told, nil
}
