package telemetry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Sizes of the queue.
const (
	maxQueue  = 2048 // spans that wait
	maxBatch  = 256  // spans in one export
	sendEvery = 2 * time.Second
)

// queue is a [sdktrace.SpanProcessor] that never makes a call wait, and counts what it drops.
// The library's own counts, too, and tells nobody.
type queue struct {
	exporter sdktrace.SpanExporter
	spans    chan sdktrace.ReadOnlySpan
	dropped  atomic.Int64
	begin    sync.Once // the first span starts the sender
	once     sync.Once
	stop     chan struct{}
	done     chan struct{}
}

func newQueue(e sdktrace.SpanExporter) *queue {
	return &queue{exporter: e, spans: make(chan sdktrace.ReadOnlySpan, maxQueue), stop: make(chan struct{}), done: make(chan struct{})}
}

// OnStart implements [sdktrace.SpanProcessor].
func (q *queue) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements [sdktrace.SpanProcessor].
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	q.begin.Do(func() { go q.run() })
	select {
	case <-q.stop:
		q.dropped.Add(1)
		return
	default:
	}
	select {
	case q.spans <- s:
	default:
		q.dropped.Add(1)
	}
}

// run sends what waits: when it is a batch, or every two seconds, and what is left at the end.
func (q *queue) run() {
	defer close(q.done)
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	batch := make([]sdktrace.ReadOnlySpan, 0, maxBatch)
	send := func() {
		if len(batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), exportTime)
		defer cancel()
		if q.exporter.ExportSpans(ctx, batch) != nil {
			q.dropped.Add(int64(len(batch)))
		}
		clear(batch)
		batch = batch[:0]
	}
	for {
		select {
		case s := <-q.spans:
			if batch = append(batch, s); len(batch) == maxBatch {
				send()
			}
		case <-tick.C:
			send()
		case <-q.stop:
			for {
				select {
				case s := <-q.spans:
					if batch = append(batch, s); len(batch) == maxBatch {
						send()
					}
					continue
				default:
				}
				send()
				return
			}
		}
	}
}

// ForceFlush implements [sdktrace.SpanProcessor]: what waits is sent within two seconds anyhow.
func (q *queue) ForceFlush(context.Context) error { return nil }

// Shutdown implements [sdktrace.SpanProcessor].
func (q *queue) Shutdown(ctx context.Context) error {
	q.once.Do(func() { close(q.stop) })
	q.begin.Do(func() { close(q.done) }) // there never was a span
	select {
	case <-q.done:
		return q.exporter.Shutdown(ctx)
	case <-ctx.Done():
		q.dropped.Add(int64(len(q.spans)))
		_ = q.exporter.Shutdown(ctx) // which ends an export under way
		return ctx.Err()
	}
}
