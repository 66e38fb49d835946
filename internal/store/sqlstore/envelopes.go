package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

var _ envelope.Ledger = (*Envelopes)(nil)

// MaxDiscards is how many refused resolutions are kept of one agent, the latest.
const MaxDiscards = 1024

// maxName bounds a name that a resolution comes with, in bytes, and maxKey an agent's as its column
// has it, which an index of PostgreSQL must have room for.
const (
	maxName = 1024
	maxKey  = 2048
)

var errName = errors.New("sqlstore: a name in the ledger of envelopes is too long")

// Envelopes is the ledger of the envelopes that agents emit: an [envelope.Ledger] that lasts.
//
// A digest that was emitted stays for ever. Of a resolved envelope [Envelopes.Purge] removes the
// words; what stands beside them, who resolved it and how, stay. No text of an answer, and none of
// a refused resolution, is ever written.
type Envelopes struct{ db *DB }

// Envelopes returns the ledger of envelopes.
func (db *DB) Envelopes() *Envelopes { return &Envelopes{db} }

// Emit implements [envelope.Ledger].
func (s *Envelopes) Emit(ctx context.Context, e envelope.Emission) error {
	if err := e.Check(); err != nil {
		return err
	}
	digest, agent, meta := e.Envelope.Digest().String(), named(e.Agent), e.Envelope.Meta()
	if len(agent) > maxKey {
		return errName
	}
	return s.db.update(ctx, func(t *tx) error {
		n, err := t.changed(
			`INSERT INTO envelopes (digest, agent, session, decision_class, noted, closed, emitted_at, envelope, sidecar)
			 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			digest, agent, named(e.Session), named(meta.DecisionClass), truth(meta.HasCalibrationNote), truth(len(e.Closed) > 0),
			e.At.UnixMilli(), e.Envelope.JSON(), e.Sidecar())
		if err != nil {
			return err
		}
		if n == 0 {
			return envelope.ErrEmitted
		}
		for _, c := range e.Closed {
			err := t.exec(
				`INSERT INTO envelope_closures (agent, emitted_at, digest, hatch, reason) VALUES (?, ?, ?, ?, ?)`,
				agent, e.At.UnixMilli(), digest, string(c.Hatch), named(c.Reason))
			if err != nil {
				return err
			}
		}
		t.note(Change{Of: "envelope", Operation: "emit", Outcome: "emitted"})
		return nil
	})
}

// Envelope implements [envelope.Ledger]. Of an envelope whose words are purged it returns agent and
// session alone, and [envelope.ErrTaken].
func (s *Envelopes) Envelope(ctx context.Context, d envelope.Digest) (envelope.Emission, error) {
	return emission(s.db.view(ctx), d)
}

// emission reads one row. Without its words it is [envelope.ErrTaken].
func emission(t *tx, d envelope.Digest) (e envelope.Emission, err error) {
	var text, sidecar []byte
	var agent, session string
	err = t.row(`SELECT agent, session, envelope, sidecar FROM envelopes WHERE digest = ?`, d.String()).
		Scan(&agent, &session, &text, &sidecar)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return envelope.Emission{}, envelope.ErrUnknown
	case err != nil:
		return envelope.Emission{}, err
	case text == nil:
		if e.Agent, err = unnamed(agent); err == nil {
			e.Session, err = unnamed(session)
		}
		return e, errors.Join(err, envelope.ErrTaken)
	}
	if e, err = envelope.ParseEmission(text, sidecar); err != nil {
		return envelope.Emission{}, fmt.Errorf("sqlstore: an envelope is not as it was written: %w", err)
	}
	if e.Envelope.Digest() != d {
		return envelope.Emission{}, errors.New("sqlstore: an envelope is not the one of its digest")
	}
	return e, nil
}

// Take implements [envelope.Ledger].
func (s *Envelopes) Take(ctx context.Context, t envelope.Taking) (e envelope.Emission, err error) {
	if len(t.By) > maxName {
		return envelope.Emission{}, errName
	}
	if t.Assurance == "" {
		t.Assurance = envelope.Client
	}
	var option, answer any
	switch t.Kind {
	case envelope.KindOption:
		option = t.OptionIdx
	case envelope.KindAnswer:
		answer = string(t.Answer)
	}
	err = s.db.update(ctx, func(x *tx) error {
		if e, err = emission(x, t.Envelope); err != nil {
			return err
		}
		n, err := x.changed(
			`UPDATE envelopes SET resolution_digest = ?, kind = ?, option_idx = ?, answer_digest = ?, resolved_by = ?, assurance = ?, resolved_at = ?
			 WHERE digest = ? AND resolved_at IS NULL`,
			t.Resolution.String(), string(t.Kind), option, answer, named(t.By), string(t.Assurance), t.At.UnixMilli(), t.Envelope.String())
		if err != nil {
			return err
		}
		if n != 1 {
			return envelope.ErrTaken
		}
		x.note(Change{Of: "envelope", Operation: "take", Outcome: string(t.Kind)})
		return nil
	})
	if err != nil {
		return envelope.Emission{}, err
	}
	return e, nil
}

// Discard implements [envelope.Ledger]. The latest [MaxDiscards] of an agent are kept: whoever
// sends refused resolutions does not fill the store.
func (s *Envelopes) Discard(ctx context.Context, d envelope.Discarded) error {
	agent := named(d.Agent)
	if len(agent) > maxKey || len(d.By) > maxName || len(d.Name) > maxName {
		return errName
	}
	return s.db.update(ctx, func(t *tx) error {
		var number int64
		if err := t.row(`SELECT coalesce(max(number), 0) + 1 FROM envelope_discards WHERE agent = ?`, agent).Scan(&number); err != nil {
			return err
		}
		err := t.exec(
			`INSERT INTO envelope_discards (agent, number, name, envelope_digest, text_digest, discarded_by, discarded_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			agent, number, named(d.Name), nullable(d.Envelope.String()), string(d.Text), named(d.By), d.At.UnixMilli())
		if err != nil {
			return err
		}
		t.note(Change{Of: "envelope", Operation: "discard", Outcome: d.Name})
		if number <= MaxDiscards {
			return nil
		}
		return t.exec(`DELETE FROM envelope_discards WHERE agent = ? AND number <= ?`, agent, number-MaxDiscards)
	})
}

// Taking returns how the envelope of that digest was resolved, also after its words are purged; ok
// is false if it was not resolved. The error is [envelope.ErrUnknown] if it was never emitted.
func (s *Envelopes) Taking(ctx context.Context, d envelope.Digest) (t envelope.Taking, ok bool, err error) {
	var resolution, kind, answer, by, assurance sql.NullString
	var option, at sql.NullInt64
	err = s.db.view(ctx).row(
		`SELECT resolution_digest, kind, option_idx, answer_digest, resolved_by, assurance, resolved_at FROM envelopes WHERE digest = ?`, d.String()).
		Scan(&resolution, &kind, &option, &answer, &by, &assurance, &at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return t, false, envelope.ErrUnknown
	case err != nil || !at.Valid:
		return t, false, err
	}
	t = envelope.Taking{
		Envelope: d, Kind: envelope.Kind(kind.String), OptionIdx: -1, Answer: jcs.Digest(answer.String),
		Assurance: envelope.Assurance(assurance.String), At: fromMillis(at.Int64),
	}
	if option.Valid {
		t.OptionIdx = int(option.Int64)
	}
	if t.Resolution, err = envelope.ParseDigest(resolution.String); err != nil {
		return envelope.Taking{}, false, err
	}
	if t.By, err = unnamed(by.String); err != nil {
		return envelope.Taking{}, false, err
	}
	return t, true, nil
}

// Discards returns the latest refused resolutions of an agent, the latest first.
func (s *Envelopes) Discards(ctx context.Context, agent string, limit int) ([]envelope.Discarded, error) {
	rows, err := s.db.view(ctx).rows(
		`SELECT name, envelope_digest, text_digest, discarded_by, discarded_at FROM envelope_discards WHERE agent = ? ORDER BY number DESC LIMIT ?`,
		named(agent), limit)
	return collect(rows, err, func(scan func(...any) error) (d envelope.Discarded, err error) {
		var of sql.NullString
		var at int64
		if err := scan(&d.Name, &of, &d.Text, &d.By, &at); err != nil {
			return d, err
		}
		d.Agent, d.At = agent, fromMillis(at)
		if of.Valid {
			if d.Envelope, err = envelope.ParseDigest(of.String); err != nil {
				return d, err
			}
		}
		if d.Name, err = unnamed(d.Name); err != nil {
			return d, err
		}
		d.By, err = unnamed(d.By)
		return d, err
	})
}

// Purge removes the words of at most limit envelopes that were resolved before that time, and says
// of how many. Their digests stay, so that none of them can be emitted again (ENV-115).
func (s *Envelopes) Purge(ctx context.Context, resolvedBefore time.Time, limit int) (n int, err error) {
	rows, err := s.db.view(ctx).rows(
		`SELECT digest FROM envelopes WHERE resolved_at IS NOT NULL AND envelope IS NOT NULL AND resolved_at < ? ORDER BY resolved_at LIMIT ?`,
		resolvedBefore.UnixMilli(), limit)
	digests, err := collect(rows, err, func(scan func(...any) error) (d string, err error) {
		err = scan(&d)
		return d, err
	})
	if err != nil || len(digests) == 0 {
		return 0, err
	}
	err = s.db.update(ctx, func(t *tx) error {
		n = 0
		for _, d := range digests {
			changed, err := t.changed(
				`UPDATE envelopes SET envelope = NULL WHERE digest = ? AND envelope IS NOT NULL AND resolved_at < ?`, d, resolvedBefore.UnixMilli())
			if err != nil {
				return err
			}
			n += int(changed)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// truth is a truth value as a column has it.
func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// named is a name as a column has it: text that both engines keep, whatever the name holds.
func named(s string) string {
	if utf8.ValidString(s) && !strings.ContainsAny(s, "%\x00") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, width := utf8.DecodeRuneInString(s)
		if r == '%' || r == 0 || r == utf8.RuneError && width == 1 {
			fmt.Fprintf(&b, "%%%02X", s[0])
		} else {
			b.WriteString(s[:width])
		}
		s = s[width:]
	}
	return b.String()
}

// unnamed is the name that a column has.
func unnamed(s string) (string, error) { return url.PathUnescape(s) }
