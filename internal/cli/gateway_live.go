package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/telemetry"
)

// rereadEvery is how often a gateway that runs looks whether its agents have changed.
const rereadEvery = time.Second

// below is a path as config.json has it: absolute, or below the directory.
func (h *home) below(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(h.dir, path)
}

// agentFiles are the files beside config.json that say who an agent is and what the listener
// shows.
func (h *home) agentFiles(g *gatewayConfig) []string {
	files := []string{g.TLS.CertFile, g.TLS.KeyFile}
	if g.Agents.JWT != nil {
		files = append(files, g.Agents.JWT.JWKSFile)
	}
	if g.Agents.MTLS != nil {
		files = append(files, g.Agents.MTLS.CAFile)
	}
	var list []string
	for _, f := range files {
		if f != "" {
			list = append(list, h.below(f))
		}
	}
	return list
}

// stdioAgent is the agent of a client over standard input and output. Where no agents are
// configured it is anonymous.
func stdioAgent(auth *agentauth.Authenticator) (agentauth.Identity, error) {
	if !auth.Required() {
		return agentauth.Identity{}, nil
	}
	id, err := auth.Key(os.Getenv(agentKeyEnv))
	if err != nil {
		return id, usagef("set it to a key that bindery gateway agent add has printed", "this gateway has agents, and %s has no key of one", agentKeyEnv)
	}
	return id, nil
}

// keepAgents takes over what has changed in the directory while a gateway runs, until ctx
// ends. What cannot be read or is wrong changes nothing, and is logged.
func (h *home) keepAgents(ctx context.Context, live *agentauth.Live, log *slog.Logger) error {
	tick := time.NewTicker(rereadEvery)
	defer tick.Stop()
	g, err := h.gateway()
	if err != nil {
		return err
	}
	config := filepath.Join(h.dir, configFile)
	files := append([]string{config}, h.agentFiles(g)...)
	seen := "" // they may have been written since they were read
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := fingerprint(files)
		if now == seen {
			continue
		}
		seen = now
		next, auth, t, err := rereadAgents(h.dir)
		if err != nil {
			log.ErrorContext(ctx, "the agents in the directory are not taken over: the gateway goes on with those it has", "reason", err.Error())
			continue
		}
		if next = append([]string{config}, next...); !slices.Equal(next, files) {
			files, seen = next, "" // it is read once more, since a new one may have changed meanwhile
		}
		live.Set(auth, t)
		log.InfoContext(ctx, "the agents in the directory have changed, and are taken over")
	}
}

func rereadAgents(dir string) (files []string, auth *agentauth.Authenticator, t *tls.Config, err error) {
	h, err := openHome(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	g, err := h.gateway()
	if err != nil {
		return nil, nil, nil, err
	}
	auth, t, err = h.authenticator(g)
	return h.agentFiles(g), auth, t, err
}

// fingerprint changes when one of the files does.
func fingerprint(files []string) string {
	var b strings.Builder
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			fmt.Fprintf(&b, "%q -\n", f)
			continue
		}
		fmt.Fprintf(&b, "%q %d %d\n", f, info.Size(), info.ModTime().UnixNano())
	}
	return b.String()
}

// newTracer is where the configuration, or else the environment, says that traces go; nil if
// neither does.
func (g *gatewayConfig) newTracer() (*telemetry.Tracer, error) {
	cfg := telemetry.Config{Endpoint: g.OTLP, Version: versionString()}
	if cfg.Endpoint == "" {
		cfg.Endpoint = os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	cfg.Headers = otlpHeaders(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"))
	t, err := telemetry.New(cfg)
	if err != nil {
		return nil, usagef("correct gateway.otlp_endpoint, or OTEL_EXPORTER_OTLP_ENDPOINT", "traces cannot be sent: %s", reasonOf(err))
	}
	return t, nil
}

// reasonOf is what a package says is wrong, without its name.
func reasonOf(err error) string {
	_, reason, _ := strings.Cut(err.Error(), ": ")
	return reason
}

// otlpHeaders reads the list of the OpenTelemetry specification: name=value, with commas between
// and values escaped as in a URL.
func otlpHeaders(list string) map[string]string {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(pair, "=")
		unescaped, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); ok && err == nil && name != "" {
			headers[name] = unescaped
		}
	}
	return headers
}
