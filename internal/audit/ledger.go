package audit

import (
	"errors"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

const (
	rowPage  = 256 // rows are read so many at a time
	headPage = 64  // and signed heads
)

// ErrNoRow says that a log has no row with the seq that was asked for.
var ErrNoRow = errors.New("audit: the log has no such row")

// A Link is a row of any log: a [Row] or an [Entry].
type Link interface {
	Tip() Tip             // its seq, and the entry_sha256 that it bears
	Previous() jcs.Hex256 // the prev that it bears
	Sum() jcs.Hex256      // the entry_sha256 that it must bear
	Line() []byte
}

// A SignedHead is a [Head] of a whole log, from row 1 on, as a store keeps it.
type SignedHead struct {
	Tip
	Signed string // by [Head.Sign]
	At     time.Time
}

// A Ledger is a stored log and what was signed of it. It judges what it reads as a
// [Verifier] does, and besides compares it with every head that was signed before, so that
// its authority does not sign what it did not write. The effects are its owner's: each
// field is a call into a store.
//
// Its errors are an [*Fault] for a log that does not hold, and else those of its fields.
type Ledger[R Link] struct {
	Of     string // LogRA or LogGateway
	Signer *jose.Signer
	End    func() (Tip, error)                               // of the log; [Genesis] if it is empty
	Rows   func(from int64, limit int) ([]R, error)          // at most limit, in their order
	Heads  func(from int64, limit int) ([]SignedHead, error) // at most limit, in their order
	Last   func() (SignedHead, error)                        // with the highest seq; the zero value: none
	Keep   func(SignedHead) error                            // one with the same seq stays as it is
}

// SignHead signs the head of the log if rows were added since the last one, and keeps it. It
// reads those rows again: a log that does not go on from the last head is not signed.
func (l *Ledger[R]) SignHead(at time.Time) error {
	last, tip, err := l.ends()
	if err != nil || tip == last.Tip {
		return err
	}
	w := &walk[R]{Ledger: l, from: last.Seq + 1, to: tip.Seq, signed: last.Seq}
	if err := w.run(); err != nil {
		return err
	}
	_, err = l.sign(1, w.next, at)
	return err
}

// Export writes the log from a row on, and then a head that it signs over it, as lines
// without their line feeds. Rows that are added meanwhile are not in it. A log that does
// not hold, or not up to a head that was signed before, is written as far as it does, and
// without a head. A row that is not there is [ErrNoRow]. An error of write ends it.
func (l *Ledger[R]) Export(from int64, at time.Time, write func(line []byte) error) error {
	last, tip, err := l.ends()
	if err != nil {
		return err
	}
	if from < 1 || from > max(tip.Seq, 1) {
		return ErrNoRow
	}
	w := &walk[R]{Ledger: l, from: from, to: tip.Seq, signed: last.Seq, heads: true, write: write}
	if err := w.run(); err != nil {
		return err
	}
	signed, err := l.sign(from, w.next, at)
	if err != nil {
		return err
	}
	return write(HeadLine(signed, l.Signer.Key()))
}

// sign signs a head, and keeps it if it is one of the whole log.
func (l *Ledger[R]) sign(from int64, tip Tip, at time.Time) (string, error) {
	signed, err := Head{Of: l.Of, From: from, Tip: tip, At: at}.Sign(l.Signer)
	if err != nil || from > 1 {
		return signed, err
	}
	return signed, l.Keep(SignedHead{Tip: tip, Signed: signed, At: at})
}

// ends are the last head that was signed, with [Genesis] if there is none, and then where
// the log ends: no earlier than that, since rows are never taken away.
func (l *Ledger[R]) ends() (last SignedHead, tip Tip, err error) {
	if last, err = l.Last(); err != nil {
		return last, tip, err
	}
	if last.Signed == "" {
		last.Tip = Genesis()
	}
	tip, err = l.End()
	return last, tip, err
}

// walk reads a part of the log and judges it.
type walk[R Link] struct {
	*Ledger[R]
	from   int64
	to     int64
	signed int64              // up to where the log was signed
	heads  bool               // judge every head that was signed, too; else the last one before from
	write  func([]byte) error // nil: nothing is written

	next  Tip // of the row before
	lines int64
	kept  []SignedHead // heads from next on
}

// run goes from the row before w.from, of which only the entry counts, to w.to.
func (w *walk[R]) run() error {
	w.next = Genesis()
	at := max(w.from-1, 1)
	if err := w.readHeads(at); err != nil {
		return err
	}
	for at <= w.to {
		rows, err := w.Rows(at, int(min(rowPage, w.to-at+1)))
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return w.fault(at, RuleMissing)
		}
		for _, row := range rows {
			if err := w.take(row, at); err != nil {
				return err
			}
			at++
		}
	}
	if w.signed > w.to {
		return w.fault(w.to+1, RuleMissing)
	}
	return nil
}

func (w *walk[R]) fault(seq int64, rule string) error {
	return &Fault{Line: w.lines + 1, Seq: seq, Rule: rule}
}

func (w *walk[R]) take(row R, seq int64) error {
	before := seq < w.from
	switch {
	case row.Tip().Seq != seq:
		return w.fault(seq, RuleSequence)
	case row.Previous() != w.next.Entry && (!before || seq == 1):
		return w.fault(seq, RulePrevious)
	case row.Tip().Entry != row.Sum():
		return w.fault(seq, RuleEntry)
	}
	w.next = row.Tip()
	if err := w.judgeHead(); err != nil {
		return err
	}
	if before || w.write == nil {
		return nil
	}
	w.lines++
	return w.write(row.Line())
}

// judgeHead compares the row that was read last with the head that was signed when it was
// the last of the log.
func (w *walk[R]) judgeHead() error {
	if len(w.kept) == 0 || w.kept[0].Seq != w.next.Seq {
		return nil
	}
	kept := w.kept[0]
	h, err := ParseHead(kept.Signed, w.Signer.Key())
	switch {
	case err != nil || h.Of != w.Of || h.Tip != kept.Tip:
		return w.fault(w.next.Seq, RuleSignature)
	case h.Tip != w.next:
		return w.fault(w.next.Seq, RuleUncovered)
	}
	w.kept = w.kept[1:]
	if len(w.kept) == 0 && w.heads {
		return w.readHeads(w.next.Seq + 1)
	}
	return nil
}

func (w *walk[R]) readHeads(from int64) (err error) {
	w.kept, err = w.Heads(from, headPage)
	return err
}
