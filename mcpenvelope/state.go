package mcpenvelope

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/bindery/bindery/jcs"
)

// statePrefix tells our request states from those of a tool.
const statePrefix = "bindery.1."

// A state is what a client of protocol 2026-07-28 carries from one round to the next. It is sealed:
// it holds for one envelope, one call with these arguments, one session, and not for long. That it
// is used once, the ledger sees to: what it leads to is a resolution.
type state struct {
	digest  string
	tool    string
	args    string // SHA-256 of the arguments as received, canonical
	session string
	mode    mode
	path    string // of the page
	round   int
	expires time.Time
}

func (s state) json() []byte {
	return jcs.Object(
		jcs.Member{Name: "args", Value: jcs.String(s.args)},
		jcs.Member{Name: "digest", Value: jcs.String(s.digest)},
		jcs.Member{Name: "expires", Value: jcs.Int(s.expires.UnixMilli())},
		jcs.Member{Name: "mode", Value: jcs.String(string(s.mode))},
		jcs.Member{Name: "path", Value: jcs.String(s.path)},
		jcs.Member{Name: "round", Value: jcs.Int(int64(s.round))},
		jcs.Member{Name: "session", Value: jcs.String(s.session)},
		jcs.Member{Name: "tool", Value: jcs.String(s.tool)},
	)
}

var errState = errors.New("mcpenvelope: the request state is not one of this server, or of another call, or too old")

// A sealer authenticates states.
type sealer struct{ key []byte }

func (s sealer) mac(text []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte("bindery-request-state-v1\x00"))
	h.Write(text)
	return h.Sum(nil)
}

func (s sealer) seal(st state) string {
	text := st.json()
	return statePrefix + base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(s.mac(text))
}

func (s sealer) open(sealed string) (state, error) {
	head, tail, ok := strings.Cut(strings.TrimPrefix(sealed, statePrefix), ".")
	text, err1 := base64.RawURLEncoding.Strict().DecodeString(head)
	mac, err2 := base64.RawURLEncoding.Strict().DecodeString(tail)
	if !ok || err1 != nil || err2 != nil || !hmac.Equal(mac, s.mac(text)) {
		return state{}, errState
	}
	v, err := jcs.Parse(text)
	if err != nil {
		return state{}, errState
	}
	r := jcs.NewReader(v)
	st := state{
		args: r.Text("args"), digest: r.Text("digest"), expires: time.UnixMilli(r.Int("expires")), mode: mode(r.Text("mode")),
		path: r.Text("path"), round: int(r.Int("round")), session: r.Text("session"), tool: r.Text("tool"),
	}
	if r.Close() != nil {
		return state{}, errState
	}
	return st, nil
}

// state is the state of a question in a call.
func (b *Bridge) state(c *call, q *question) (state, error) {
	args := c.args
	if len(args) == 0 {
		args = []byte("{}")
	}
	canonical, err := foreign(MaxResult).Append(nil, args)
	if err != nil {
		return state{}, err
	}
	s := state{
		digest: q.em.Envelope.Digest().String(), tool: c.req.Params.Name, args: string(jcs.HexOf(canonical)),
		session: c.e.cfg.Session(c.req), mode: q.mode, round: q.round, expires: b.now().Add(b.cfg.Lifetime).Truncate(time.Millisecond),
	}
	if q.page != nil {
		s.path = q.page.path
	}
	return s, nil
}
