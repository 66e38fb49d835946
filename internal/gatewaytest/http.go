package gatewaytest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// ServeHTTP is the one endpoint of streamable HTTP, at whatever path. The path that a
// redirect names counts an effect of its own, "redirected".
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/elsewhere":
		_, _ = u.cfg.Ledger.Effect("redirected")
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		u.listen(w, r)
	case r.Method == http.MethodDelete:
		u.mu.Lock()
		delete(u.sessions, r.Header.Get("Mcp-Session-Id"))
		u.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPost:
		u.post(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// listen is the stream of what the server has to say unasked, which is nothing.
func (u *Upstream) listen(w http.ResponseWriter, r *http.Request) {
	if !u.cfg.Sessions {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if !u.inSession(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func (u *Upstream) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m message
	if err := decode(body, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(m.fault(-32700, "no JSON"))
		return
	}
	if m.Method == "initialize" && u.cfg.Sessions {
		u.mu.Lock()
		u.minted++
		id := "session-" + strconv.Itoa(u.minted)
		u.sessions[id] = true
		u.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
	} else if u.cfg.Sessions && !m.isModern() && !u.inSession(w, r) {
		return
	}
	u.carry(w, r, &m, u.answer(&m))
}

func (u *Upstream) inSession(w http.ResponseWriter, r *http.Request) bool {
	id := r.Header.Get("Mcp-Session-Id")
	u.mu.Lock()
	known := u.sessions[id]
	u.mu.Unlock()
	switch {
	case known:
		return true
	case id == "":
		w.WriteHeader(http.StatusBadRequest)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	return false
}

// carry sends a reply, or does with the connection what the plan says.
func (u *Upstream) carry(w http.ResponseWriter, r *http.Request, m *message, a reply) {
	if a.body == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	p := a.plan
	if p.Delay > 0 {
		select {
		case <-time.After(p.Delay):
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case p.Silent:
		<-r.Context().Done()
	case p.Reset:
		reset(w)
	case p.Redirect:
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case p.Status != 0:
		w.WriteHeader(p.Status)
		_, _ = io.WriteString(w, "it does not go")
	case p.Huge > 0:
		huge(w, m, p.Huge)
	case p.Half:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s", a.body[:len(a.body)/2])
	case u.cfg.SSE || p.Stream:
		stream(w, m, a)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a.body)
		if p.Twice {
			_, _ = w.Write(bytes.Clone(a.body))
		}
	}
}

func stream(w http.ResponseWriter, m *message, a reply) {
	flush := http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", "text/event-stream")
	if a.plan.Stream {
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", progress(m))
		_ = flush()
	}
	_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", a.body)
	if a.plan.Twice {
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", a.body)
	}
	_ = flush()
}

func progress(m *message) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.ID)
}

// reset ends the connection so that the other side sees it broken, and not closed.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// huge writes an answer of n bytes without having it in memory.
func huge(w io.Writer, m *message, n int) {
	const part = 1 << 16
	before := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
	after := []byte(`"}]` + m.typed("complete") + `}}`)
	if h, ok := w.(http.ResponseWriter); ok {
		h.Header().Set("Content-Type", "application/json")
	}
	if _, err := w.Write(before); err != nil {
		return
	}
	fill := bytes.Repeat([]byte("x"), part)
	for left := n - len(before) - len(after); left > 0; left -= part {
		if _, err := w.Write(fill[:min(left, part)]); err != nil {
			return
		}
	}
	_, _ = w.Write(after)
}
