package cli

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
)

// TestGatewayConfigTypes: a member of another type is told what it must be.
func TestGatewayConfigTypes(t *testing.T) {
	const upstream = `{"upstreams":[{"name":"a","url":"https://a.example",`
	const tool = upstream + `"tools":{"pay":{`
	for _, c := range []struct{ text, at, must string }{
		{`5`, "/gateway", "an object"},
		{`{"addr":5}`, "/gateway/addr", "a text"},
		{`{"hosts":"a"}`, "/gateway/hosts", "a list of texts"},
		{`{"origins":[5]}`, "/gateway/origins", "a list of texts"},
		{`{"origins":[""]}`, "/gateway/origins", "a list of texts"},
		{`{"tls":[]}`, "/gateway/tls", "an object"},
		{`{"tls":{"cert_file":5,"key_file":"k"}}`, "/gateway/tls/cert_file", "a text"},
		{`{"require_execution_id":true}`, "/gateway/require_execution_id", "a text"},
		{`{"limits":null}`, "/gateway/limits", "an object"},
		{`{"limits":{"calls":"5"}}`, "/gateway/limits/calls", "a whole number"},
		{`{"limits":{"wait_s":true}}`, "/gateway/limits/wait_s", "a whole number"},
		{`{"agents":[]}`, "/gateway/agents", "an object"},
		{`{"agents":{"keys":{}}}`, "/gateway/agents/keys", "a list of objects"},
		{`{"agents":{"jwt":5}}`, "/gateway/agents/jwt", "an object"},
		{`{"agents":{"jwt":{"issuer":5}}}`, "/gateway/agents/jwt/issuer", "a text"},
		{`{"agents":{"mtls":{"ca_file":[]}}}`, "/gateway/agents/mtls/ca_file", "a text"},
		{`{"upstreams":{}}`, "/gateway/upstreams", "a list of objects"},
		{`{"upstreams":["a"]}`, "/gateway/upstreams/0", "an object"},
		{`{"upstreams":[{"name":5}]}`, "/gateway/upstreams/0/name", "a text"},
		{`{"upstreams":[{"name":"a","command":"x"}]}`, "/gateway/upstreams/0/command", "a list of texts"},
		{upstream + `"timeout_s":"1"}]}`, "/gateway/upstreams/0/timeout_s", "a whole number"},
		{upstream + `"headers_env":[]}]}`, "/gateway/upstreams/0/headers_env", "an object"},
		{upstream + `"headers_env":{"A":5}}]}`, "/gateway/upstreams/0/headers_env/A", "a text"},
		{upstream + `"tools":[]}]}`, "/gateway/upstreams/0/tools", "an object"},
		{upstream + `"tools":{"hosts":5}}]}`, "/gateway/upstreams/0/tools/hosts", "an object"},
		{tool + `"scope":5}}}]}`, "/gateway/upstreams/0/tools/pay/scope", "a text"},
		{tool + `"require_execution_id":"x"}}}]}`, "/gateway/upstreams/0/tools/pay/require_execution_id", "true or false"},
		{tool + `"status":[]}}}]}`, "/gateway/upstreams/0/tools/pay/status", "an object"},
		{tool + `"status":{"tool":5}}}}]}`, "/gateway/upstreams/0/tools/pay/status/tool", "a text"},
	} {
		h := &home{dir: "D"}
		h.Gateway = []byte(c.text)
		_, err := h.gateway()
		if want := `"` + c.at + `": must be ` + c.must; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want … %s", c.text, err, want)
		}
	}
}

// TestGatewayAgentsBetween: what is registered after a gateway has read its configuration and
// before it first looks at the file is taken over too.
//
// covers EXA-012
func TestGatewayAgentsBetween(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret, key := agentauth.NewKey("buyer")
	write := func(gateway string) {
		t.Helper()
		h := &home{dir: dir, ring: newRing(nil), config: config{Name: "gateway", Roles: []string{roleGateway}, Addr: defaultAddr, AdminAddr: freeAdmin}}
		h.Gateway = []byte(gateway)
		if err := h.save(); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"agents":{"keys":[]}}`)
	h, err := openHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.gateway()
	if err != nil {
		t.Fatal(err)
	}
	live, err := h.agents(g)
	if err != nil {
		t.Fatal(err)
	}
	write(`{"agents":{"keys":[{"agent":"buyer","sha256":"` + string(key.Sum) + `"}]}}`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.keepAgents(ctx, live, slog.New(slog.DiscardHandler)) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if id, err := live.Key(secret); err == nil && id.ID == "key:buyer" {
			break
		}
		if time.Now().After(deadline) {
			t.Error("the key was missed")
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
