package audit

import (
	"strings"
	"time"

	"github.com/bindery/bindery/jcs"
)

// genesis stands for the entry before the first row.
const genesis = "0000000000000000000000000000000000000000000000000000000000000000"

// A Tip is the end of a log: its last row's seq and entry_sha256.
type Tip struct {
	Seq   int64
	Entry jcs.Hex256
}

// Genesis is the tip of the empty log: 0, and 64 zeros.
func Genesis() Tip { return Tip{Entry: genesis} }

// A Row is one state change of an authority. It never holds a token, a limit or a
// clearance_id.
type Row struct {
	Seq         int64     // from 1, without gaps
	At          time.Time // milliseconds, on the authority's clock
	Role        string    // of who did it
	PrincipalID string    // of who did it; "" for the operator's own terminal
	Operation   string
	Subject     string // a hash or an identifier
	Outcome     string
	Prev        jcs.Hex256 // entry of the row before
	Entry       jcs.Hex256 // entry_sha256
}

// After is r as the row after a tip: with Seq, Prev and Entry of that place.
func (r Row) After(t Tip) Row {
	r.Seq, r.Prev = t.Seq+1, t.Entry
	for _, s := range []*string{&r.Role, &r.PrincipalID, &r.Operation, &r.Subject, &r.Outcome} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	r.Entry = r.Sum()
	return r
}

// Tip is the end of a log whose last row is r.
func (r Row) Tip() Tip { return Tip{Seq: r.Seq, Entry: r.Entry} }

// Previous is the entry of the row before r.
func (r Row) Previous() jcs.Hex256 { return r.Prev }

// Sum is the entry_sha256 that the rest of r has: the SHA-256 of its canonical JSON.
func (r Row) Sum() jcs.Hex256 { return jcs.HexOf(jcs.Object(r.members()...)) }

// Line is r as a line of an export, without the line feed.
func (r Row) Line() []byte {
	return jcs.Object(append(r.members(), jcs.Member{Name: "entry_sha256", Value: text(string(r.Entry))})...)
}

func (r Row) members() []jcs.Member {
	return []jcs.Member{
		{Name: "seq", Value: jcs.Int(r.Seq)},
		{Name: "at", Value: jcs.Int(r.At.UnixMilli())},
		{Name: "role", Value: text(r.Role)},
		{Name: "principal_id", Value: text(r.PrincipalID)},
		{Name: "operation", Value: text(r.Operation)},
		{Name: "subject", Value: text(r.Subject)},
		{Name: "outcome", Value: text(r.Outcome)},
		{Name: "prev", Value: text(string(r.Prev))},
	}
}

// text writes a string that a store may hold in any bytes.
func text(s string) []byte { return jcs.String(strings.ToValidUTF8(s, "\uFFFD")) }

func readRow(v jcs.Value) (Row, error) {
	r := jcs.NewReader(v)
	row := Row{
		Seq: r.Int("seq"), At: time.UnixMilli(r.Int("at")).UTC(), Role: r.Text("role"), PrincipalID: r.Text("principal_id"),
		Operation: r.Text("operation"), Subject: r.Text("subject"), Outcome: r.Text("outcome"),
		Prev: readHex(r, "prev"), Entry: readHex(r, "entry_sha256"),
	}
	if row.Seq < 1 {
		r.Fail("seq", "value")
	}
	return row, r.Close()
}

func readHex(r *jcs.Reader, name string) jcs.Hex256 {
	h, err := jcs.ParseHex256(r.Text(name))
	if err != nil {
		r.Fail(name, "value")
	}
	return h
}
