package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/bindery/bindery/jcs"
)

// adHoc is the upstream of a command line. Its name is in every action_scope, and so is the same
// whenever the command line is: what it is called, and the start of a digest of it.
func adHoc(name, upstream string, command []string) (gatewayUpstream, error) {
	u := gatewayUpstream{Name: name, URL: upstream, Command: command}
	words := command
	if upstream != "" {
		if !webURL(upstream) {
			return u, usagef("try --upstream https://HOST/mcp", "%q is not http or https with a host, without a user", upstream)
		}
		words = []string{upstream}
	}
	if name == "" {
		u.Name = upstreamName(words)
	} else if !upstreamForm.MatchString(name) {
		return u, usage("the name of an upstream is 1 to 64 of a-z, 0-9, dot, hyphen and underscore", "try --name tools")
	}
	return u, nil
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

func upstreamName(words []string) string {
	called := filepath.Base(words[0])
	if u, err := url.Parse(words[0]); err == nil && u.Host != "" {
		called = u.Hostname()
	}
	called = strings.Trim(notInName.ReplaceAllString(strings.ToLower(called), "-"), "-")
	if len(called) > 40 {
		called = called[:40]
	}
	var items [][]byte
	for _, w := range words {
		items = append(items, jcs.String(strings.ToValidUTF8(w, "\uFFFD")))
	}
	return strings.TrimPrefix(called+"-", "-") + string(jcs.HexOf(jcs.Array(items...)))[:8]
}

// same reports whether both are one place.
func (u *gatewayUpstream) same(other gatewayUpstream) bool {
	return u.URL == other.URL && strings.Join(u.Command, "\x00") == strings.Join(other.Command, "\x00")
}

// header are the credentials of this gateway at an upstream: from secrets.json, or from the
// environment.
func (h *home) header(u gatewayUpstream) (http.Header, error) {
	header := http.Header{}
	for _, name := range u.Headers {
		value, there := h.secrets.GatewayHeaders[u.Name+"/"+name]
		if !there || !validHeader(name, value) {
			return nil, usagef(`put it there, as "gateway_headers": {"`+u.Name+"/"+name+`": "VALUE"}`, "%s has no value of the header %s of the upstream %s", filepath.Join(h.dir, secretsFile), name, u.Name)
		}
		header.Set(name, value)
	}
	for name, variable := range u.HeadersEnv {
		value := os.Getenv(variable)
		if !validHeader(name, value) {
			return nil, usagef("set it before", "the variable %s has no value for the header %s of the upstream %s", variable, name, u.Name)
		}
		header.Set(name, value)
	}
	return header, nil
}

var headerForm = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$")

func validHeader(name, value string) bool {
	return headerForm.MatchString(name) && value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// headerFlags are headers as flags have them, NAME=VARIABLE.
func headerFlags(list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, s := range list {
		name, variable, ok := strings.Cut(s, "=")
		if !ok || variable == "" || !headerForm.MatchString(name) {
			return nil, usagef("try --header-env Authorization=TOOLS_TOKEN; the variable has the whole value, such as Bearer …", "%q is not NAME=VARIABLE", s)
		}
		m[name] = variable
	}
	return m, nil
}

// reachWithin is how long an upstream has to accept a connection before a directory is made for it.
const reachWithin = 5 * time.Second

// startable refuses a command that no program here goes by.
func (u *gatewayUpstream) startable() error {
	if len(u.Command) == 0 {
		return nil
	}
	_, err := exec.LookPath(u.Command[0])
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if err != nil {
		return usagef("is it installed, and on the PATH?", "the upstream %s: %s", u.Name, visible(fmt.Sprintf("%q cannot be started: %v", u.Command[0], err)))
	}
	return nil
}

// reachable refuses a URL at which nobody listens. A gateway that has a directory is started all
// the same: its upstream may come later.
func (u *gatewayUpstream) reachable(ctx context.Context) error {
	if u.URL == "" {
		return nil
	}
	at, err := url.Parse(u.URL)
	if err != nil {
		return err
	}
	port := firstOf(at.Port(), "443")
	if at.Port() == "" && at.Scheme == "http" {
		port = "80"
	}
	addr := net.JoinHostPort(at.Hostname(), port)
	conn, err := (&net.Dialer{Timeout: reachWithin}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return usagef("start it first; no directory has been made", "the upstream at %s cannot be reached: %s", addr, netReason(err))
	}
	return conn.Close()
}

// shown is an upstream as a person knows it.
func (u *gatewayUpstream) shown() string {
	if u.URL != "" {
		return u.URL
	}
	return fmt.Sprintf("%q", u.Command)
}
