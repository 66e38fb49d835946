package cli

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// gatewayConfig is the member gateway of config.json: what the gateway stands in front of, and
// who may use it. None of it is secret.
//
//	{"addr": "127.0.0.1:7412",
//	 "upstreams": [{"name": "pay", "command": ["npx", "pay-server"],
//	                "tools": {"charge": {"action_type": "payments.charge", "require_execution_id": true}}},
//	               {"name": "files", "url": "https://files.example/mcp", "headers_env": {"Authorization": "FILES_TOKEN"}}],
//	 "agents": {"keys": [{"agent": "buyer", "sha256": "…"}]},
//	 "require_execution_id": "destructive"}
type gatewayConfig struct {
	Addr      string   // of its listener; "" is none
	Hosts     []string // by which it may be called, beside Addr
	Origins   []string // of pages that may call it
	TLS       gatewayTLS
	Upstreams []gatewayUpstream
	Agents    gatewayAgents
	Require   string // none, destructive or all; "" is none
	Algorithm string // of bindings; "" is sha256
	Limits    gatewayLimits
	OTLP      string // where traces go; "" is nowhere, or where the environment says
}

// gatewayTLS are the files of the listener's certificate; relative ones are below the directory.
type gatewayTLS struct{ CertFile, KeyFile string }

// gatewayUpstream is one server of MCP: a URL, or a command.
type gatewayUpstream struct {
	Name       string
	URL        string
	Command    []string
	Headers    []string          // names of headers whose values are in secrets.json
	HeadersEnv map[string]string // header: the environment variable that has its value
	Tools      map[string]jcs.Value
	Timeout    time.Duration

	declared map[string]toolaction.Declaration
}

// gatewayAgents says which credentials are taken.
type gatewayAgents struct {
	Keys []agentauth.Key // nil: none are taken; empty: nobody has one
	JWT  *gatewayJWT
	MTLS *gatewayMTLS
}

type gatewayJWT struct{ Issuer, Audience, JWKSURL, JWKSFile, AgentClaim string }

type gatewayMTLS struct{ CAFile, TrustDomain string }

// gatewayLimits bound what it takes on. Zero is the default of package gateway.
type gatewayLimits struct {
	Body, Answer             int // bytes
	Calls, PerAgent, Streams int
	Idle                     time.Duration
	Processes                int // of one upstream that is a command
	ProcessIdle              time.Duration
	Wait                     time.Duration // of a repeat, for what is under way
}

// gatewayMember is where the configuration stands.
const gatewayMember = "gateway"

// gateway reads the member gateway; one that is absent configures nothing.
func (h *home) gateway() (*gatewayConfig, error) {
	if len(h.Gateway) == 0 {
		return &gatewayConfig{}, nil
	}
	g, err := parseGateway(h.Gateway)
	var wrong *jcs.MemberError
	switch {
	case errors.As(err, &wrong):
		return nil, usagef("correct it, or take it out", "%s: its member %q: %s", filepath.Join(h.dir, configFile), wrong.Pointer, wrong.Rule)
	case err != nil:
		return nil, usagef("correct it, or take it out", "%s: its member %q is no JSON of ours", filepath.Join(h.dir, configFile), "/"+gatewayMember)
	}
	return g, nil
}

// parseGateway is strict: a member that nobody knows is refused, since it was meant to do something.
func parseGateway(raw []byte) (*gatewayConfig, error) {
	v, err := jcs.Parse(raw)
	if err != nil {
		return nil, err
	}
	g := &gatewayConfig{}
	if v.Type() != jcs.ObjectType {
		return nil, &jcs.MemberError{Pointer: "/" + gatewayMember, Rule: mustBeObject}
	}
	r := jcs.NewReader(v)
	g.Addr = optText(r, "addr")
	g.Hosts, g.Origins = texts(r, "hosts"), texts(r, "origins")
	if t := optObject(r, "tls"); t != nil {
		g.TLS = gatewayTLS{text(t, "cert_file"), text(t, "key_file")}
	}
	g.Require = oneOf(r, "require_execution_id", "none", "destructive", "all")
	if g.Algorithm = optText(r, "algorithm"); g.Algorithm != "" {
		if _, err := actionbinding.ParseAlgorithm(g.Algorithm); err != nil {
			r.Fail("algorithm", "is neither sha256 nor sha384")
		}
	}
	g.OTLP = optText(r, "otlp_endpoint")
	g.limits(r)
	g.agents(r)
	upstreams := of(r, "upstreams", jcs.ArrayType, "must be a list of objects")
	if err := r.Close(); err != nil {
		return nil, below("/"+gatewayMember, err)
	}
	i := 0
	for item := range upstreams.Items() {
		at := fmt.Sprintf("/%s/upstreams/%d", gatewayMember, i)
		u, err := parseUpstream(item)
		if err != nil {
			return nil, below(at, err)
		}
		if g.upstream(u.Name) != nil {
			return nil, &jcs.MemberError{Pointer: at + "/name", Rule: "is another's too"}
		}
		g.Upstreams = append(g.Upstreams, u)
		i++
	}
	return g, nil
}

// below is a fault whose pointer begins at a part of the file.
func below(at string, err error) error {
	if e, ok := errors.AsType[*jcs.MemberError](err); ok {
		return &jcs.MemberError{Pointer: at + e.Pointer, Rule: e.Rule}
	}
	return err
}

// What a member of another type is told.
const (
	mustBeText   = "must be a text"
	mustBeTexts  = "must be a list of texts"
	mustBeNumber = "must be a whole number"
	mustBeObject = "must be an object"
)

// of is a member that must be of the type t if it is there.
func of(r *jcs.Reader, name string, t jcs.Type, must string) jcs.Value {
	v := r.OptValue(name)
	if v.Type() != jcs.Absent && v.Type() != t {
		r.Fail(name, must)
	}
	return v
}

// text is one that must be there.
func text(r *jcs.Reader, name string) string {
	of(r, name, jcs.StringType, mustBeText)
	return r.Text(name)
}

func optText(r *jcs.Reader, name string) string {
	of(r, name, jcs.StringType, mustBeText)
	s, _ := r.OptText(name)
	return s
}

// optObject is nil if the member is absent.
func optObject(r *jcs.Reader, name string) *jcs.Reader {
	if of(r, name, jcs.ObjectType, mustBeObject).Type() == jcs.Absent {
		return nil
	}
	return r.Object(name)
}

func texts(r *jcs.Reader, name string) (list []string) {
	for item := range of(r, name, jcs.ArrayType, mustBeTexts).Items() {
		s, ok := item.Text()
		if !ok || s == "" {
			r.Fail(name, mustBeTexts)
			return nil
		}
		list = append(list, s)
	}
	return list
}

func oneOf(r *jcs.Reader, name string, words ...string) string {
	of(r, name, jcs.StringType, mustBeText)
	s, ok := r.OptText(name)
	if ok && !slices.Contains(words, s) {
		r.Fail(name, "is none of "+strings.Join(words, ", ")) // words are constants
	}
	return s
}

// number is a member from 1 to most; 0 is absent.
func number(r *jcs.Reader, name string, most int64) int {
	v := r.OptValue(name)
	n, ok := v.Int()
	if v.Type() != jcs.Absent && !ok {
		r.Fail(name, mustBeNumber)
	}
	if ok && (n < 1 || n > most) {
		r.Fail(name, fmt.Sprintf("is not from 1 to %d", most))
	}
	return int(n)
}

func seconds(r *jcs.Reader, name string, most int64) time.Duration {
	return time.Duration(number(r, name, most)) * time.Second
}

func (g *gatewayConfig) limits(r *jcs.Reader) {
	l := optObject(r, "limits")
	if l == nil {
		return
	}
	g.Limits = gatewayLimits{
		Body: number(l, "body_bytes", 16<<20), Answer: number(l, "answer_bytes", 256<<20),
		Calls: number(l, "calls", 1<<20), PerAgent: number(l, "calls_per_agent", 1<<20), Streams: number(l, "streams", 1<<20),
		Idle: seconds(l, "stream_idle_s", 7*24*3600), Processes: number(l, "processes", 4096), ProcessIdle: seconds(l, "process_idle_s", 7*24*3600),
		Wait: seconds(l, "wait_s", 3600),
	}
}

func (g *gatewayConfig) agents(r *jcs.Reader) {
	a := optObject(r, "agents")
	if a == nil {
		return
	}
	if keys := of(a, "keys", jcs.ArrayType, "must be a list of objects"); keys.Type() != jcs.Absent {
		g.Agents.Keys = []agentauth.Key{} // not nil: whoever takes the last one out has not opened the door
		for item := range keys.Items() {
			k := jcs.NewReader(item)
			key := agentauth.Key{Agent: k.Text("agent"), Sum: jcs.Hex256(k.Text("sha256"))}
			if k.Close() != nil || !agentauth.ValidName(key.Agent) {
				a.Fail("keys", "are objects of agent and sha256")
				return
			}
			if _, err := jcs.ParseHex256(string(key.Sum)); err != nil {
				a.Fail("keys", "has a sha256 that is none")
			}
			g.Agents.Keys = append(g.Agents.Keys, key)
		}
	}
	if j := optObject(a, "jwt"); j != nil {
		g.Agents.JWT = &gatewayJWT{
			Issuer: text(j, "issuer"), Audience: text(j, "audience"), JWKSURL: optText(j, "jwks_url"), JWKSFile: optText(j, "jwks_file"),
			AgentClaim: oneOf(j, "agent_claim", agentauth.ClaimClientID, agentauth.ClaimAZP, agentauth.ClaimSub),
		}
		if (g.Agents.JWT.JWKSURL == "") == (g.Agents.JWT.JWKSFile == "") {
			a.Fail("jwt", "has one of jwks_url and jwks_file")
		}
	}
	if m := optObject(a, "mtls"); m != nil {
		g.Agents.MTLS = &gatewayMTLS{text(m, "ca_file"), optText(m, "trust_domain")}
		if g.TLS == (gatewayTLS{}) {
			a.Fail("mtls", "needs the member tls beside agents")
		}
	}
	if g.Agents.none() {
		r.Fail("agents", "names no kind of credential; leave it out if everybody is to be anonymous")
	}
}

var upstreamForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func parseUpstream(v jcs.Value) (u gatewayUpstream, err error) {
	if v.Type() != jcs.ObjectType {
		return u, &jcs.MemberError{Rule: mustBeObject}
	}
	r := jcs.NewReader(v)
	u = gatewayUpstream{
		Name: text(r, "name"), URL: optText(r, "url"), Command: texts(r, "command"), Headers: texts(r, "headers"),
		Timeout: seconds(r, "timeout_s", 24*3600), Tools: map[string]jcs.Value{}, declared: map[string]toolaction.Declaration{},
	}
	if !upstreamForm.MatchString(u.Name) {
		r.Fail("name", "is not 1 to 64 of a-z, 0-9, dot, hyphen and underscore")
	}
	switch {
	case u.URL == "" && len(u.Command) == 0:
		r.Fail("url", "is missing, and so is command")
	case u.URL != "" && len(u.Command) > 0:
		r.Fail("url", "stands beside command; an upstream has one of them")
	case u.URL != "" && !webURL(u.URL):
		r.Fail("url", "is not http or https with a host, without a user")
	case len(u.Command) > 0 && (len(u.Headers) > 0 || r.OptValue("headers_env").Type() != jcs.Absent):
		r.Fail("command", "takes no headers; set its environment")
	}
	if env := optObject(r, "headers_env"); env != nil {
		u.HeadersEnv = map[string]string{}
		for name := range r.OptValue("headers_env").Members() {
			u.HeadersEnv[name] = text(env, name)
		}
	}
	if tools := optObject(r, "tools"); tools != nil {
		for name := range r.OptValue("tools").Members() {
			u.Tools[name] = of(tools, name, jcs.ObjectType, mustBeObject)
		}
	}
	if err := r.Close(); err != nil {
		return u, err
	}
	for name, d := range u.Tools {
		if u.declared[name], err = toolaction.ParseDeclaration(d); err != nil {
			return u, below("/tools/"+pointerName(name), declared(err))
		}
	}
	return u, nil
}

// declared says of a declaration's member what type it must have.
func declared(err error) error {
	e, ok := errors.AsType[*jcs.MemberError](err)
	if !ok || e.Rule != "type" {
		return err
	}
	must := mustBeText
	switch e.Pointer {
	case "/require_execution_id":
		must = "must be true or false"
	case "/status", "/status/succeeded", "/status/failed":
		must = mustBeObject
	}
	return &jcs.MemberError{Pointer: e.Pointer, Rule: must}
}

// pointerName escapes a name for a JSON Pointer.
func pointerName(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

func webURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Port() == "" && strings.HasSuffix(u.Host, ":") {
		return false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// upstream finds one by its name; nil if there is none.
func (g *gatewayConfig) upstream(name string) *gatewayUpstream {
	for i := range g.Upstreams {
		if g.Upstreams[i].Name == name {
			return &g.Upstreams[i]
		}
	}
	return nil
}

// encode is the configuration as config.json has it, in the order of its documentation.
func (g *gatewayConfig) encode() []byte {
	var m members
	m.text("addr", g.Addr)
	m.texts("hosts", g.Hosts)
	m.texts("origins", g.Origins)
	if g.TLS != (gatewayTLS{}) {
		m.add("tls", jcs.Object(jcs.Member{Name: "cert_file", Value: jcs.String(g.TLS.CertFile)}, jcs.Member{Name: "key_file", Value: jcs.String(g.TLS.KeyFile)}))
	}
	if len(g.Upstreams) > 0 {
		var list [][]byte
		for _, u := range g.Upstreams {
			list = append(list, u.encode())
		}
		m.add("upstreams", jcs.Array(list...))
	}
	m.object("agents", g.Agents.members())
	m.text("require_execution_id", g.Require)
	m.text("algorithm", g.Algorithm)
	m.object("limits", g.Limits.members())
	m.text("otlp_endpoint", g.OTLP)
	return jcs.Object(m...)
}

func (u gatewayUpstream) encode() []byte {
	var m members
	m.text("name", u.Name)
	m.text("url", u.URL)
	m.texts("command", u.Command)
	m.texts("headers", u.Headers)
	var env members
	for name, variable := range u.HeadersEnv {
		env.text(name, variable)
	}
	m.object("headers_env", env)
	var tools members
	for name, d := range u.Tools {
		tools.add(name, d.Bytes())
	}
	m.object("tools", tools)
	m.seconds("timeout_s", u.Timeout)
	return jcs.Object(m...)
}

func (a gatewayAgents) members() (m members) {
	if a.Keys != nil {
		var list [][]byte
		for _, k := range a.Keys {
			list = append(list, jcs.Object(jcs.Member{Name: "agent", Value: jcs.String(k.Agent)}, jcs.Member{Name: "sha256", Value: jcs.String(string(k.Sum))}))
		}
		m.add("keys", jcs.Array(list...))
	}
	if j := a.JWT; j != nil {
		var o members
		o.text("issuer", j.Issuer)
		o.text("audience", j.Audience)
		o.text("jwks_url", j.JWKSURL)
		o.text("jwks_file", j.JWKSFile)
		o.text("agent_claim", j.AgentClaim)
		m.object("jwt", o)
	}
	if a.MTLS != nil {
		var o members
		o.text("ca_file", a.MTLS.CAFile)
		o.text("trust_domain", a.MTLS.TrustDomain)
		m.object("mtls", o)
	}
	return m
}

func (l gatewayLimits) members() (m members) {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"body_bytes", l.Body}, {"answer_bytes", l.Answer}, {"calls", l.Calls}, {"calls_per_agent", l.PerAgent},
		{"streams", l.Streams}, {"processes", l.Processes},
	} {
		if n.value != 0 {
			m.add(n.name, jcs.Int(int64(n.value)))
		}
	}
	m.seconds("stream_idle_s", l.Idle)
	m.seconds("process_idle_s", l.ProcessIdle)
	m.seconds("wait_s", l.Wait)
	return m
}

// members are those of an object that is being written; what says nothing is left out.
type members []jcs.Member

func (m *members) add(name string, value []byte) {
	*m = append(*m, jcs.Member{Name: name, Value: value})
}

func (m *members) text(name, s string) {
	if s != "" {
		m.add(name, jcs.String(s))
	}
}

func (m *members) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	var items [][]byte
	for _, s := range list {
		items = append(items, jcs.String(s))
	}
	m.add(name, jcs.Array(items...))
}

func (m *members) object(name string, inner members) {
	if len(inner) > 0 {
		m.add(name, jcs.Object(inner...))
	}
}

func (m *members) seconds(name string, d time.Duration) {
	if d != 0 {
		m.add(name, jcs.Int(int64(d/time.Second)))
	}
}
