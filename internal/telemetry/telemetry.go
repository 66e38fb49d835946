package telemetry

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/bindery/bindery/internal/gateway"
)

// A Config says where traces go.
type Config struct {
	// Endpoint is the collector's base URL, as OTEL_EXPORTER_OTLP_ENDPOINT has it: traces go to
	// /v1/traces below it. https, or http to this host or to an address of a private network.
	Endpoint string
	// Version is the program's, which spans name.
	Version string
	// Headers go with each export, such as the collector's credential. They are never shown.
	Headers map[string]string
}

// A Tracer makes spans and sends them. It implements [gateway.Tracer].
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	queue    *queue
	w3c      propagation.TraceContext
}

var _ gateway.Tracer = (*Tracer)(nil)

// New returns a Tracer that sends to the endpoint, nil if there is none.
func New(cfg Config) (*Tracer, error) {
	if cfg.Endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("telemetry: the endpoint is no URL of a host without user, query and fragment")
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && near(u.Hostname())) {
		return nil, errors.New("telemetry: the endpoint is not https, and its host is none of this network")
	}
	// Each option is given, so that the environment of this process changes none of them.
	exporter := otlptracehttp.NewUnstarted(
		otlptracehttp.WithEndpointURL(u.JoinPath("v1", "traces").String()),
		otlptracehttp.WithHeaders(cfg.Headers),
		otlptracehttp.WithTimeout(exportTime),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}), // the queue is the only memory
		otlptracehttp.WithHTTPClient(&http.Client{Timeout: exportTime, CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("telemetry: redirected")
		}}),
	)
	t := &Tracer{queue: newQueue(exporter)}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(t.queue),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "bindery-gateway"), attribute.String("service.version", cfg.Version))),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
			AttributeValueLengthLimit: longest, AttributeCountLimit: 16, EventCountLimit: 1, LinkCountLimit: 1,
			AttributePerEventCountLimit: 1, AttributePerLinkCountLimit: 1,
		}),
	)
	t.tracer = t.provider.Tracer("github.com/bindery/bindery/internal/gateway")
	return t, nil
}

// near reports whether an endpoint without TLS may have this host: this one, an address of a
// private network, or a name without a dot, as a container has beside it.
func near(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsPrivate()
	}
	return !strings.Contains(host, ".")
}

// longest is the longest value of an attribute, in bytes.
const longest = 200

// Start implements [gateway.Tracer].
func (t *Tracer) Start(ctx context.Context, in http.Header) (context.Context, gateway.Span) {
	if in != nil {
		ctx = t.w3c.Extract(ctx, propagation.HeaderCarrier(in))
	}
	ctx, s := t.tracer.Start(ctx, "message", trace.WithSpanKind(trace.SpanKindServer))
	return ctx, &span{t, s, ctx}
}

// Dropped returns how many spans were not sent.
func (t *Tracer) Dropped() int64 { return t.queue.dropped.Load() }

// Shutdown sends what waits, for five seconds at most, and ends.
func (t *Tracer) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

type span struct {
	t   *Tracer
	s   trace.Span
	ctx context.Context // of the span, for Inject
}

// Inject implements [gateway.Span].
func (s *span) Inject(out http.Header) {
	out.Del("Tracestate")
	s.t.w3c.Inject(s.ctx, propagation.HeaderCarrier(out))
}

// End implements [gateway.Span].
func (s *span) End(h gateway.Observation) {
	defer s.s.End()
	if !s.s.IsRecording() {
		return
	}
	if h.Method != "" {
		s.s.SetName(cut(h.Method))
	}
	for _, a := range [...][2]string{
		{"mcp.method.name", h.Method}, {"bindery.upstream", h.Upstream}, {"gen_ai.tool.name", h.Tool},
		{"bindery.execution_id", h.ExecutionID}, {"bindery.execution.state", h.State}, {"bindery.refusal", h.Refusal},
	} {
		if a[1] != "" {
			s.s.SetAttributes(attribute.String(a[0], cut(a[1])))
		}
	}
	if h.Joined {
		s.s.SetAttributes(attribute.Bool("bindery.joined", true))
	}
	s.s.SetAttributes(attribute.Int64("bindery.upstream_us", h.Waited.Microseconds()))
	if h.Refusal != "" {
		s.s.SetStatus(codes.Error, h.Refusal)
	}
}

// cut is s as it may stand in a span: valid UTF-8, and no longer than the longest.
func cut(s string) string {
	if len(s) > longest {
		s = s[:longest]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// How long sending may take.
const (
	exportTime = 10 * time.Second
	endTime    = 5 * time.Second
)
