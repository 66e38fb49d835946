package audit

import (
	"bytes"
	"strconv"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
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
	of, thumbprint string
	known          jcs.Hex256
	seen           bool

	lines int64
	first int64 // seq of the first row; 0 before it
	tip   Tip
	head  *Head
	fault *Fault
}

// NewVerifier makes a Verifier for a log, as "ra", of the authority whose key has this RFC
// 7638 thumbprint.
func NewVerifier(of, thumbprint string) *Verifier {
	return &Verifier{of: of, thumbprint: thumbprint, tip: Genesis()}
}

// Known asks besides that a row with this entry_sha256 be there: one that the caller knows
// from an earlier export. It is called before the first line.
func (v *Verifier) Known(entry jcs.Hex256) { v.known = entry }

// Line takes the next line, without its line feed. The error is a [*Fault]; after one,
// every call returns it again.
func (v *Verifier) Line(line []byte) error {
	if v.fault != nil {
		return v.fault
	}
	v.lines++
	if v.head != nil {
		return v.refuse(0, RuleAfter)
	}
	value, err := jcs.Profile{MaxDepth: 2, MaxSize: MaxLine}.Parse(line)
	if err != nil || value.Type() != jcs.ObjectType || !bytes.Equal(value.Bytes(), line) {
		return v.refuse(v.next(), RuleForm)
	}
	if value.Get("head").Type() != jcs.Absent {
		return v.takeHead(value)
	}
	row, err := readRow(value)
	if err != nil {
		return v.refuse(v.next(), RuleForm)
	}
	return v.takeRow(row)
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

func (v *Verifier) takeRow(row Row) error {
	if v.first == 0 {
		v.first = row.Seq // the head says whether it is the right one
		if row.Seq > 1 {
			v.tip = Tip{Seq: row.Seq - 1, Entry: row.Prev}
		}
	}
	switch {
	case row.Seq < v.first: // it should have come before the first line
		return v.refuse(row.Seq, RuleSequence)
	case row.Seq != v.tip.Seq+1:
		return v.refuse(v.tip.Seq+1, RuleSequence)
	case row.Prev != v.tip.Entry:
		return v.refuse(row.Seq, RulePrevious)
	case row.Entry != row.Sum():
		return v.refuse(row.Seq, RuleEntry)
	}
	v.tip = row.Tip()
	v.seen = v.seen || row.Entry == v.known
	return nil
}

func (v *Verifier) takeHead(value jcs.Value) error {
	r := jcs.NewReader(value)
	token := r.Text("head")
	key, err := jose.ParseJWK(r.Value("key"))
	if r.Close() != nil || err != nil {
		return v.refuse(0, RuleForm)
	}
	if key.ID != v.thumbprint {
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
	v.head = &h
	return nil
}

// End says that there are no more lines, and returns the head under which all rows hold.
// The error is a [*Fault].
func (v *Verifier) End() (Head, error) {
	switch {
	case v.fault != nil:
		return Head{}, v.fault
	case v.head == nil:
		v.lines++
		return Head{}, v.refuse(v.next(), RuleEnd)
	case v.known != "" && !v.seen:
		return Head{}, v.refuse(0, RuleKnown)
	}
	return *v.head, nil
}
