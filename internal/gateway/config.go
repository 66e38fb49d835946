package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/toolaction"
)

// A Config says what a gateway stands in front of, and who may use it.
type Config struct {
	// Upstreams are what it stands in front of; at least one. Each is at /mcp/NAME; a single one is
	// at /mcp too.
	Upstreams []Upstream
	// Hosts are the accepted values of the Host header, each with its port unless it is the
	// scheme's own. At least one.
	Hosts []string
	// Origins are accepted values of the Origin header, beside those of Hosts.
	Origins []string
	// Authenticate says which agent a request comes from; an error of it is an *[agentauth.Error].
	// Nil: every agent is anonymous, and no execution_id is taken (AX-15).
	Authenticate func(*http.Request) (agentauth.Identity, error)
	// Metadata returns the URL of the metadata of the protected resource at path, "" if there is
	// none, for the challenge of a 401 (RFC 9728). Nil: there is none.
	Metadata func(r *http.Request) string
	// Registry admits bound calls and keeps the log. Nil: no execution_id is taken, and there is no log.
	Registry Registry
	// Algorithm is that of new bindings (AX-07).
	Algorithm actionbinding.Algorithm
	// Require says which tools are called with an execution_id alone, beside those that their
	// declaration names.
	Require toolaction.Require
	// SessionKey keeps the sessions of agents apart: at least 32 bytes, the same in all replicas.
	SessionKey []byte
	Limits     Limits
	// Observer is told of every request; nil: nobody is. Tracer follows requests; nil: nobody does.
	Observer Observer
	Tracer   Tracer
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: nothing is logged
}

// Limits bound what one request, one agent and all of them may take. Zero is the default.
type Limits struct {
	Body     int           // bytes of a message from a client; 4 MiB
	Answer   int           // bytes of the answer to a bound call; 16 MiB
	Calls    int           // requests under way at once, streams not counted; 1024
	PerAgent int           // of these, one agent's; 256
	Streams  int           // streams of GET at once; 1024, of which one agent may have PerAgent
	Large    int           // messages, and answers to bound calls, beyond 256 KiB in memory at once; 32 of each, one agent's half of that
	Idle     time.Duration // how long a stream may say nothing; an hour
	Reading  time.Duration // how long a client has for its message; 30 s
	Writing  time.Duration // how long it may take no piece of an answer, and a second for each 64 KiB of it; 30 s
}

func (l Limits) filled() Limits {
	fill := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	fill(&l.Body, 4<<20)
	fill(&l.Answer, 16<<20)
	fill(&l.Calls, 1024)
	fill(&l.PerAgent, 256)
	fill(&l.Streams, 1024)
	fill(&l.Large, 32)
	if l.Idle <= 0 {
		l.Idle = time.Hour
	}
	if l.Reading <= 0 {
		l.Reading = 30 * time.Second
	}
	if l.Writing <= 0 {
		l.Writing = 30 * time.Second
	}
	return l
}

// DefaultTimeout is how long an upstream has for one call.
const DefaultTimeout = 5 * time.Minute

// An Upstream is one server of MCP.
type Upstream struct {
	// Name stands in its path, in every action_scope and in the log: 1 to 64 of a-z, 0-9, "-", "_" and ".".
	Name string
	// URL is its endpoint, http or https. With a Transport of one's own it is a name alone.
	URL string
	// Header goes with every request to it, in the place of the client's: its credential.
	Header http.Header
	// Transport carries requests to it; nil: [NewTransport]. It follows no redirect, retries
	// nothing of which a byte may have left, and calls [firstByte] before the first.
	Transport http.RoundTripper
	// Timeout is how long it has until the head of an answer, and for the whole of a bound call;
	// 0: [DefaultTimeout].
	Timeout time.Duration
	// Tools are the declarations of tools, by exact name.
	Tools map[string]toolaction.Declaration
}

var upstreamName = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)

func (u *Upstream) check() error {
	if !upstreamName.MatchString(u.Name) || strings.Trim(u.Name, ".") == "" {
		return fmt.Errorf("gateway: upstream %q: the name is not 1 to 64 of a-z, 0-9, dot, dash and underline", u.Name)
	}
	at, err := url.Parse(u.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.Fragment != "" || at.User != nil {
		return fmt.Errorf("gateway: upstream %s: url is not http or https with a host, without user and fragment", u.Name)
	}
	return nil
}

func (c *Config) check() error {
	switch {
	case len(c.Upstreams) == 0:
		return errors.New("gateway: no upstream")
	case len(c.Hosts) == 0:
		return errors.New("gateway: no host")
	case len(c.SessionKey) < 32:
		return errors.New("gateway: the session key has fewer than 32 bytes")
	}
	seen := map[string]bool{}
	for i := range c.Upstreams {
		u := &c.Upstreams[i]
		if err := u.check(); err != nil {
			return err
		}
		if seen[u.Name] {
			return fmt.Errorf("gateway: two upstreams are named %s", u.Name)
		}
		seen[u.Name] = true
	}
	return nil
}
