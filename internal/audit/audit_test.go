package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

func signer(t testing.TB) *jose.Signer {
	t.Helper()
	k, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// log is n rows, chained.
func log(n int) []audit.Row {
	rows := make([]audit.Row, n)
	tip := audit.Genesis()
	for i := range rows {
		rows[i] = audit.Row{
			At: time.UnixMilli(1_786_000_000_000 + int64(i)), Role: "effector", PrincipalID: "urn:anax:principal:b",
			Operation: "hold", Subject: fmt.Sprintf("subject-%d", i), Outcome: "held",
		}.After(tip)
		tip = rows[i].Tip()
	}
	return rows
}

// export is rows as lines, with a head that s signs over them.
func export(t testing.TB, s *jose.Signer, rows []audit.Row) [][]byte {
	t.Helper()
	var lines [][]byte
	h := audit.Head{Of: "ra", From: 1, Tip: audit.Genesis(), At: time.UnixMilli(1_786_000_000_200)}
	for i, r := range rows {
		if i == 0 {
			h.From = r.Seq
		}
		h.Tip = r.Tip()
		lines = append(lines, r.Line())
	}
	token, err := h.Sign(s)
	if err != nil {
		t.Fatal(err)
	}
	return append(lines, audit.HeadLine(token, s.Key()))
}

func verify(v *audit.Verifier, lines [][]byte) (audit.Head, error) {
	for _, line := range lines {
		if err := v.Line(line); err != nil {
			return audit.Head{}, err
		}
	}
	return v.End()
}

// The two rows of the package comment. The digests were computed by hashlib and
// json.dumps(…, sort_keys=True, separators=(",", ":")) of Python.
func TestWorkedExample(t *testing.T) {
	first := audit.Row{
		At: time.UnixMilli(1786000000000), Role: "operator", Operation: "code",
		Subject: "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b", Outcome: "issued",
	}.After(audit.Genesis())
	second := audit.Row{
		At: time.UnixMilli(1786000000123), Role: "principal", PrincipalID: "urn:anax:principal:a", Operation: "enrol",
		Subject: "urn:anax:principal:a", Outcome: "enrolled",
	}.After(first.Tip())
	if first.Entry != "895556a3dad6ce191faba8e49ab968c889295b75740e7b0d4c5e5ab5b330e007" {
		t.Errorf("entry of the first row %s", first.Entry)
	}
	if second.Entry != "4d509df01ab18825ac72b0ad94692ef2d1f8af5a37ad6989c5ac5f03b5c06c30" {
		t.Errorf("entry of the second row %s", second.Entry)
	}
	want := `{"at":1786000000123,"entry_sha256":"4d509df01ab18825ac72b0ad94692ef2d1f8af5a37ad6989c5ac5f03b5c06c30","operation":"enrol",` +
		`"outcome":"enrolled","prev":"895556a3dad6ce191faba8e49ab968c889295b75740e7b0d4c5e5ab5b330e007","principal_id":"urn:anax:principal:a",` +
		`"role":"principal","seq":2,"subject":"urn:anax:principal:a"}`
	if got := string(second.Line()); got != want {
		t.Errorf("line %s", got)
	}
}

func TestVerify(t *testing.T) {
	ra, other := signer(t), signer(t)
	rows := log(6)
	for name, part := range map[string][]audit.Row{"whole": rows, "from row 3": rows[2:], "one row": rows[:1], "empty": nil} {
		v := audit.NewVerifier("ra", ra.Key().ID)
		h, err := verify(v, export(t, ra, part))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(part) > 0 && (h.Seq != part[len(part)-1].Seq || h.From != part[0].Seq) || h.Of != "ra" {
			t.Errorf("%s: head %+v", name, h)
		}
	}

	lines := export(t, ra, rows)
	edit := func(f func([][]byte) [][]byte) [][]byte { return f(slices.Clone(lines)) }
	rewritten := log(6) // from row 4 on, with the hashes made anew
	tip := rewritten[2].Tip()
	for i := 3; i < len(rewritten); i++ {
		rewritten[i].Outcome = "spent"
		rewritten[i] = rewritten[i].After(tip)
		tip = rewritten[i].Tip()
	}
	changed := rows[3]
	changed.Outcome = "spent"
	moved := rows[3]
	moved.Seq = 5
	moved.Prev = rows[4].Prev
	moved.Entry = moved.Sum()
	gateway := audit.Head{Of: "gateway", From: 1, Tip: rows[5].Tip(), At: rows[5].At}
	foreign, err := gateway.Sign(ra)
	if err != nil {
		t.Fatal(err)
	}
	impostor, err := audit.Head{Of: "ra", From: 1, Tip: rows[5].Tip(), At: rows[5].At}.Sign(other)
	if err != nil {
		t.Fatal(err)
	}
	statement, err := jose.SignCompact(ra, "bindery-status+jwt", jcs.Object(
		jcs.Member{Name: "of", Value: jcs.String("ra")}, jcs.Member{Name: "from", Value: jcs.Int(1)}, jcs.Member{Name: "seq", Value: jcs.Int(6)},
		jcs.Member{Name: "entry_sha256", Value: jcs.String(string(rows[5].Entry))}, jcs.Member{Name: "at", Value: jcs.Int(1)}))
	if err != nil {
		t.Fatal(err)
	}
	head := func(token string, key jose.Key) [][]byte {
		return edit(func(l [][]byte) [][]byte { l[6] = audit.HeadLine(token, key); return l })
	}
	for name, c := range map[string]struct {
		lines [][]byte
		line  int64
		seq   int64
		rule  string
	}{
		"changed row":         {edit(func(l [][]byte) [][]byte { l[3] = changed.Line(); return l }), 4, 4, audit.RuleEntry},
		"removed row":         {edit(func(l [][]byte) [][]byte { return slices.Delete(l, 3, 4) }), 4, 4, audit.RuleSequence},
		"removed first row":   {lines[1:], 6, 1, audit.RuleMissing},
		"reordered pair":      {edit(func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }), 3, 3, audit.RuleSequence},
		"reordered first":     {edit(func(l [][]byte) [][]byte { l[0], l[1] = l[1], l[0]; return l }), 2, 1, audit.RuleSequence},
		"duplicated row":      {edit(func(l [][]byte) [][]byte { return slices.Insert(l, 3, l[2]) }), 4, 4, audit.RuleSequence},
		"row of another log":  {edit(func(l [][]byte) [][]byte { l[4] = moved.Line(); l[3] = l[4]; return l }), 4, 4, audit.RuleSequence},
		"row in its place":    {edit(func(l [][]byte) [][]byte { l[3] = log(9)[3].Line(); l[4] = moved.Line(); return l }), 6, 6, audit.RulePrevious},
		"rewritten":           {append(linesOf(rewritten), lines[6]), 7, 6, audit.RuleUncovered},
		"cut tail":            {edit(func(l [][]byte) [][]byte { return slices.Delete(l, 4, 6) }), 5, 5, audit.RuleMissing},
		"cut head":            {lines[:6], 7, 7, audit.RuleEnd},
		"cut head of a part":  {lines[2:6], 5, 7, audit.RuleEnd},
		"nothing":             {nil, 1, 0, audit.RuleEnd},
		"head of less":        {append(slices.Clone(lines[:6]), export(t, ra, rows[:4])[4]), 7, 5, audit.RuleUncovered},
		"head of a part":      {append(slices.Clone(lines[:6]), export(t, ra, rows[2:])[4]), 7, 1, audit.RuleUncovered},
		"foreign head":        {export(t, other, rows), 7, 0, audit.RuleKey},
		"head of another log": {head(foreign, ra.Key()), 7, 0, audit.RuleSignature},
		"impostor":            {head(impostor, ra.Key()), 7, 0, audit.RuleSignature},
		"another statement":   {head(statement, ra.Key()), 7, 0, audit.RuleSignature},
		"head twice":          {append(slices.Clone(lines), lines[6]), 8, 0, audit.RuleAfter},
		"row after the head":  {append(slices.Clone(lines), lines[5]), 8, 0, audit.RuleAfter},
		"empty line":          {edit(func(l [][]byte) [][]byte { return slices.Insert(l, 2, []byte{}) }), 3, 3, audit.RuleForm},
		"white space":         {edit(func(l [][]byte) [][]byte { l[2] = append([]byte(" "), l[2]...); return l }), 3, 3, audit.RuleForm},
		"unknown member": {edit(func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte(`"seq"`), []byte(`"seqq":1,"seq"`), 1)
			return l
		}), 3, 3, audit.RuleForm},
		"long line": {edit(func(l [][]byte) [][]byte { l[2] = bytes.Repeat([]byte("1"), audit.MaxLine+1); return l }), 3, 3, audit.RuleForm},
		"deep line": {edit(func(l [][]byte) [][]byte { l[2] = bytes.Repeat([]byte("["), 1000); return l }), 3, 3, audit.RuleForm},
		"negative seq": {edit(func(l [][]byte) [][]byte {
			l[0] = bytes.Replace(l[0], []byte(`"seq":1`), []byte(`"seq":-1`), 1)
			return l
		}), 1, 0, audit.RuleForm},
	} {
		_, err := verify(audit.NewVerifier("ra", ra.Key().ID), c.lines)
		var f *audit.Fault
		if !errors.As(err, &f) || *f != (audit.Fault{Line: c.line, Seq: c.seq, Rule: c.rule}) {
			t.Errorf("%s: %v, want row %d, line %d: %s", name, err, c.seq, c.line, c.rule)
		}
	}
}

func linesOf(rows []audit.Row) (lines [][]byte) {
	for _, r := range rows {
		lines = append(lines, r.Line())
	}
	return lines
}

// TestFlippedBit flips each bit of an export in turn, line feeds too.
func TestFlippedBit(t *testing.T) {
	ra := signer(t)
	rows := log(3)
	lines := export(t, ra, rows)
	file := append(bytes.Join(lines, []byte("\n")), '\n')
	row, bits := 0, 0
	for i := range file {
		for bit := range 8 {
			if bit != i%8 && row == len(rows) { // of the head one bit a byte: each costs a signature
				continue
			}
			bad := slices.Clone(file)
			bad[i] ^= 1 << bit
			v := audit.NewVerifier("ra", ra.Key().ID)
			var err error
			for line := range bytes.Lines(bad) {
				if line, whole := bytes.CutSuffix(line, []byte("\n")); whole {
					err = errors.Join(err, v.Line(line))
				}
			}
			_, end := v.End()
			var f *audit.Fault
			if !errors.As(errors.Join(err, end), &f) {
				t.Fatalf("bit %d of byte %d: taken", bit, i)
			}
			if row < len(rows) && f.Line != int64(row+1) && file[i] != '\n' {
				t.Fatalf("bit %d of byte %d, in row %d: %v", bit, i, row+1, f)
			}
			bits++
		}
		if file[i] == '\n' {
			row++
		}
	}
	if bits < 8*len(lines[0]) {
		t.Fatalf("%d bits", bits)
	}
}

// TestKnown: an entry of an earlier export must stand in a later one.
func TestKnown(t *testing.T) {
	ra, rows := signer(t), log(5)
	for name, c := range map[string]struct {
		entry jcs.Hex256
		rule  string
	}{
		"first": {rows[0].Entry, ""}, "last": {rows[4].Entry, ""}, "unknown": {jcs.HexOf([]byte("x")), audit.RuleKnown},
	} {
		v := audit.NewVerifier("ra", ra.Key().ID)
		v.Known(c.entry)
		_, err := verify(v, export(t, ra, rows))
		var f *audit.Fault
		if errors.As(err, &f) != (c.rule != "") || f != nil && f.Rule != c.rule {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFaultStays: after a fault nothing is taken any more, and the first is named.
func TestFaultStays(t *testing.T) {
	ra := signer(t)
	lines := export(t, ra, log(4))
	v := audit.NewVerifier("ra", ra.Key().ID)
	first := v.Line(lines[0])
	fault := v.Line(lines[2])
	if first != nil || fault == nil {
		t.Fatalf("%v, %v", first, fault)
	}
	for _, line := range lines[1:] {
		if err := v.Line(line); err != fault {
			t.Errorf("after a fault: %v", err)
		}
	}
	if _, err := v.End(); err != fault {
		t.Errorf("at the end: %v", err)
	}
	if !strings.Contains(fault.Error(), "row 2, line 2 does not hold: sequence") {
		t.Error(fault)
	}
}

func TestHeadsThatAreNotSigned(t *testing.T) {
	s := signer(t)
	entry := jcs.HexOf(nil)
	for name, h := range map[string]audit.Head{
		"no log":         {From: 1, Tip: audit.Tip{Seq: 1, Entry: entry}},
		"from 0":         {Of: "ra", Tip: audit.Tip{Seq: 1, Entry: entry}},
		"before from":    {Of: "ra", From: 3, Tip: audit.Tip{Seq: 2, Entry: entry}},
		"no entry":       {Of: "ra", From: 1, Tip: audit.Tip{Seq: 1}},
		"empty, entered": {Of: "ra", From: 1, Tip: audit.Tip{Entry: entry}},
	} {
		h.At = time.UnixMilli(1)
		if _, err := h.Sign(s); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
}

// TestAnyText: what a store holds is written as text, whatever it is.
func TestAnyText(t *testing.T) {
	ra := signer(t)
	r := audit.Row{At: time.UnixMilli(0), Role: "\xff", Subject: "\"\n\u2028\x00ü\xed\xa0\x80"}.After(audit.Genesis())
	if _, err := verify(audit.NewVerifier("ra", ra.Key().ID), export(t, ra, []audit.Row{r})); err != nil {
		t.Error(err)
	}
}

func FuzzLine(f *testing.F) {
	ra := signer(f)
	lines := export(f, ra, log(2))
	for _, line := range lines {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		v := audit.NewVerifier("ra", ra.Key().ID)
		if v.Line(line) == nil && !bytes.HasPrefix(line, []byte(`{"at":`)) {
			t.Errorf("taken: %q", line)
		}
		v.End()
	})
}
