package audit

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// The logs: what a head is [Head.Of], and which rows it ends.
const (
	LogRA      = "ra"      // of [Row]
	LogGateway = "gateway" // of [Entry]
)

// MaxLine is the longest line of an export, in bytes without the line feed.
const MaxLine = 64 << 10

// The rules of a [Fault].
const (
	RuleForm      = "form"      // not a canonical line of these members
	RuleSequence  = "sequence"  // seq is not the next one
	RulePrevious  = "previous"  // prev is not the entry before
	RuleEntry     = "entry"     // entry_sha256 is not this row's
	RuleKey       = "key"       // the head bears another key
	RuleSignature = "signature" // the head is not signed by that key, or of another log
	RuleMissing   = "missing"   // the row is covered by the head, and is not there
	RuleUncovered = "uncovered" // the row is there, and the head does not cover it
	RuleEnd       = "end"       // no head: the end is missing
	RuleAfter     = "after"     // something follows the head
	RuleKnown     = "known"     // the known entry is not among the rows
)

// A Fault is the first place of an export that does not hold.
type Fault struct {
	Line int64  // from 1
	Seq  int64  // of the row that is not as it must be; 0 for the head, or if unknown
	Rule string // a Rule constant
}

// Error names the place and the rule.
func (f *Fault) Error() string {
	place := "line " + strconv.FormatInt(f.Line, 10)
	if f.Seq > 0 {
		place = "row " + strconv.FormatInt(f.Seq, 10) + ", " + place
	}
	return "audit: " + place + " does not hold: " + f.Rule
}

// A Verifier takes an export line by line. It needs the memory of one line.
type Verifier struct {
	of      string
	keys    []string            // thumbprints
	known   map[jcs.Hex256]bool // entries that must be there, and are not yet
	entries func(Entry) error

	lines  int64
	first  int64 // seq of the first row; 0 before it
	before Tip   // of the row before the first
	tip    Tip
	head   *Head
	key    jose.Key
	fault  *Fault
}

// NewVerifier makes a Verifier for a log, LogRA or LogGateway, of an owner whose key has one
// of these RFC 7638 thumbprints.
func NewVerifier(of string, thumbprints ...string) *Verifier {
	return &Verifier{of: of, keys: thumbprints, tip: Genesis(), before: Genesis(), known: map[jcs.Hex256]bool{}}
}

// Known asks besides that a row with this entry_sha256 be there: one that the caller knows
// from an earlier export. It is called before the first line.
func (v *Verifier) Known(entry jcs.Hex256) { v.known[entry] = true }

// Entries gives each entry of a gateway's log to a function, once it holds in its place.
// That the log's owner stands for it is not known before [Verifier.End]. Its error ends the
// walk, and is returned as it is. It is called before the first line.
func (v *Verifier) Entries(take func(Entry) error) { v.entries = take }

// Before is the tip that the first row follows: [Genesis] for a whole log.
func (v *Verifier) Before() Tip { return v.before }

// Line takes the next line, without its line feed. The error is a [*Fault], or of what was
// given to Entries; after a fault, every call returns it again.
func (v *Verifier) Line(line []byte) error {
	if v.fault != nil {
		return v.fault
	}
	v.lines++
	if v.head != nil {
		return v.refuse(0, RuleAfter)
	}
	value, err := parseLine(line)
	if err != nil {
		return v.refuse(v.next(), RuleForm)
	}
	if value.Get("head").Type() != jcs.Absent {
		return v.takeHead(value)
	}
	return v.takeRow(value)
}

// ErrForm says of a line no more than that it is not canonical JSON of its members.
var ErrForm = errors.New("audit: not a line of an export")

// parseLine reads a line that is the canonical form of one object.
func parseLine(line []byte) (jcs.Value, error) {
	v, err := jcs.Profile{MaxDepth: 2, MaxSize: MaxLine}.Parse(line)
	if err != nil || v.Type() != jcs.ObjectType || !bytes.Equal(v.Bytes(), line) {
		return jcs.Value{}, ErrForm
	}
	return v, nil
}

// readLink reads a row of a log, as "ra".
func readLink(of string, v jcs.Value) (Link, error) {
	if of == LogGateway {
		return readEntry(v)
	}
	return readRow(v)
}

// next is the seq that the next row must have; 0 while nothing says so.
func (v *Verifier) next() int64 {
	if v.first == 0 {
		return 0
	}
	return v.tip.Seq + 1
}

func (v *Verifier) refuse(seq int64, rule string) error {
	v.fault = &Fault{Line: v.lines, Seq: seq, Rule: rule}
	return v.fault
}

func (v *Verifier) takeRow(value jcs.Value) error {
	row, err := readLink(v.of, value)
	if err != nil {
		return v.refuse(v.next(), RuleForm)
	}
	seq := row.Tip().Seq
	if v.first == 0 {
		v.first = seq // the head says whether it is the right one
		if seq > 1 {
			v.tip = Tip{Seq: seq - 1, Entry: row.Previous()}
			v.before = v.tip
		}
	}
	switch {
	case seq < v.first: // it should have come before the first line
		return v.refuse(seq, RuleSequence)
	case seq != v.tip.Seq+1:
		return v.refuse(v.tip.Seq+1, RuleSequence)
	case row.Previous() != v.tip.Entry:
		return v.refuse(seq, RulePrevious)
	case row.Tip().Entry != row.Sum():
		return v.refuse(seq, RuleEntry)
	}
	v.tip = row.Tip()
	delete(v.known, v.tip.Entry)
	if e, ok := row.(Entry); ok && v.entries != nil {
		return v.entries(e)
	}
	return nil
}

func (v *Verifier) takeHead(value jcs.Value) error {
	r := jcs.NewReader(value)
	token := r.Text("head")
	key, err := jose.ParseJWK(r.Value("key"))
	if r.Close() != nil || err != nil {
		return v.refuse(0, RuleForm)
	}
	if !slices.Contains(v.keys, key.ID) {
		return v.refuse(0, RuleKey)
	}
	h, err := ParseHead(token, key)
	if err != nil || h.Of != v.of {
		return v.refuse(0, RuleSignature)
	}
	first := v.first
	if first == 0 {
		first = v.tip.Seq + 1
	}
	switch {
	case first > h.From:
		return v.refuse(h.From, RuleMissing)
	case first < h.From:
		return v.refuse(first, RuleUncovered)
	case v.tip.Seq < h.Seq:
		return v.refuse(v.tip.Seq+1, RuleMissing)
	case v.tip.Seq > h.Seq:
		return v.refuse(h.Seq+1, RuleUncovered)
	case v.tip.Entry != h.Entry:
		return v.refuse(h.Seq, RuleUncovered)
	}
	v.head, v.key = &h, key
	return nil
}

// Key is the one that signed the head, after [Verifier.End].
func (v *Verifier) Key() jose.Key { return v.key }

// End says that there are no more lines, and returns the head under which all rows hold.
// The error is a [*Fault].
func (v *Verifier) End() (Head, error) {
	switch {
	case v.fault != nil:
		return Head{}, v.fault
	case v.head == nil:
		v.lines++
		return Head{}, v.refuse(v.next(), RuleEnd)
	case len(v.known) > 0:
		return Head{}, v.refuse(0, RuleKnown)
	}
	return *v.head, nil
}
