package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/bindery/bindery/envelope"
)

// DefaultClosedRate is the share of envelopes with a closed hatch at which it is high (ENV-108).
const DefaultClosedRate = 0.25

// A ClosedHatch is one hatch that an envelope closed (ENV-108).
type ClosedHatch struct {
	Envelope envelope.Digest
	envelope.Closure
	At time.Time
}

// Closed returns the latest hatches that an agent closed, the latest first.
func (s *Envelopes) Closed(ctx context.Context, agent string, limit int) ([]ClosedHatch, error) {
	rows, err := s.db.view(ctx).rows(
		`SELECT digest, hatch, reason, emitted_at FROM envelope_closures WHERE agent = ? ORDER BY emitted_at DESC, digest DESC, hatch DESC LIMIT ?`,
		named(agent), limit)
	return collect(rows, err, func(scan func(...any) error) (c ClosedHatch, err error) {
		var digest string
		var at int64
		if err := scan(&digest, &c.Hatch, &c.Reason, &at); err != nil {
			return c, err
		}
		c.At = fromMillis(at)
		if c.Envelope, err = envelope.ParseDigest(digest); err != nil {
			return c, err
		}
		c.Reason, err = unnamed(c.Reason)
		return c, err
	})
}

// EnvelopeRates are what an operator watches, of one agent or of one decision class.
type EnvelopeRates struct {
	Notes    envelope.Rate // of the envelopes, those with a calibration note (ENV-050)
	Reopened envelope.Rate // of the resolutions, those that decline the question (ENV-107)
	Closed   envelope.Rate // of the envelopes, those that close a hatch (ENV-108)
}

// RatesOfAgent returns the rates of an agent as of that time. Zero fields of cfg
// have the defaults of package envelope, and [DefaultClosedRate].
func (s *Envelopes) RatesOfAgent(ctx context.Context, agent string, at time.Time, cfg envelope.RateConfig) (EnvelopeRates, error) {
	return s.rates(ctx, "agent", agent, at, cfg)
}

// RatesOfClass is [Envelopes.RatesOfAgent] of a decision class; "" are the envelopes without one.
func (s *Envelopes) RatesOfClass(ctx context.Context, class string, at time.Time, cfg envelope.RateConfig) (EnvelopeRates, error) {
	return s.rates(ctx, "decision_class", class, at, cfg)
}

// rates lets the monitors of package envelope look at the latest rows, so that "high" has one
// meaning. column is one of two words of this file.
func (s *Envelopes) rates(ctx context.Context, column, key string, at time.Time, cfg envelope.RateConfig) (r EnvelopeRates, err error) {
	for _, one := range []struct {
		rate      *envelope.Rate
		threshold float64
		query     string
	}{
		{&r.Notes, envelope.DefaultNoteRate, `SELECT emitted_at, noted FROM envelopes WHERE ` + column + ` = ? AND emitted_at <= ? ORDER BY emitted_at DESC LIMIT ?`},
		{&r.Reopened, envelope.DefaultReopenRate, `SELECT resolved_at, CASE kind WHEN 'question' THEN 1 ELSE 0 END FROM envelopes
			WHERE ` + column + ` = ? AND resolved_at IS NOT NULL AND resolved_at <= ? ORDER BY resolved_at DESC LIMIT ?`},
		{&r.Closed, DefaultClosedRate, `SELECT emitted_at, closed FROM envelopes WHERE ` + column + ` = ? AND emitted_at <= ? ORDER BY emitted_at DESC LIMIT ?`},
	} {
		if *one.rate, err = s.rate(ctx, one.query, key, at, cfg, one.threshold); err != nil {
			return EnvelopeRates{}, err
		}
	}
	return r, nil
}

func (s *Envelopes) rate(ctx context.Context, query, key string, at time.Time, cfg envelope.RateConfig, threshold float64) (envelope.Rate, error) {
	monitor, err := envelope.NewMonitor(cfg, threshold)
	if err != nil {
		return envelope.Rate{}, err
	}
	window := cfg.Window
	if window == 0 {
		window = envelope.DefaultWindow
	}
	type occasion struct{ at, hit int64 }
	rows, err := s.db.view(ctx).rows(query, named(key), at.UnixMilli(), window)
	latest, err := collect(rows, err, func(scan func(...any) error) (o occasion, err error) {
		err = scan(&o.at, &o.hit)
		return o, err
	})
	if err != nil {
		return envelope.Rate{}, err
	}
	for _, o := range slices.Backward(latest) {
		monitor.Note("", "", o.hit != 0, fromMillis(o.at))
	}
	return monitor.Agent("", at), nil
}
