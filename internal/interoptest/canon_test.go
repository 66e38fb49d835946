package interoptest_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/jcs"
)

const (
	canonDocuments = 200_000
	canonShort     = 20_000
	canonLength    = "90"                  // bytes of a document, about
	canonDoors     = 8                     // one of so many documents goes through every door of the package
	canonBatch     = 512                   // documents that are asked for in one go
	canonSeeds     = 1_000_000_000_000_000 // fifteen digits, as generate.mjs takes them
	canonShown     = 10                    // differences that are printed
)

// TestCanonFrozen makes the corpus that package jcs replays anew: it has to be what the
// oracle of interop/canon says today.
//
// covers GC-215
func TestCanonFrozen(t *testing.T) {
	t.Parallel()
	needNodeAlone(t, "the corpus of package jcs against the oracle that wrote it")
	want, code := node(t, "canon/freeze.mjs")
	got, err := os.ReadFile("../../jcs/testdata/differential.txt")
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 || !bytes.Equal(got, want) {
		t.Error("jcs/testdata/differential.txt is not what interop/canon/freeze.mjs writes")
	}
}

// TestCanonDifferential puts documents that are new on each run to package jcs and to the
// oracle of interop/canon, and compares kind, offset and every byte. BINDERY_SEED repeats a
// run. It keeps every core busy, so no other test of this package runs beside it.
//
// covers GC-215
func TestCanonDifferential(t *testing.T) {
	needNodeAlone(t, "200,000 documents to package jcs and to another implementation")
	count := canonDocuments
	if testing.Short() {
		count = canonShort
	}
	seed := canonSeed(t)
	t.Logf("%d documents; BINDERY_SEED=%s repeats them", count, seed)
	began := time.Now()
	generator := startCanon(t, "generate.mjs", "--seed", seed, "--count", strconv.Itoa(count), "--length", canonLength)
	judges := []*judge{
		newJudge(t, "integer", jcs.Profile{}, 1),
		newJudge(t, "strict", jcs.Profile{TokenStrict: true}, 10, "--token-strict"),
		newJudge(t, "double", jcs.Profile{Numbers: jcs.DoubleNumbers}, 10, "--numbers", "double"),
		newJudge(t, "double-strict", jcs.Profile{Numbers: jcs.DoubleNumbers, TokenStrict: true}, 10, "--numbers", "double", "--token-strict"),
		newJudge(t, "small", jcs.Profile{MaxDepth: 2, MaxSize: 128}, 10, "--depth", "2", "--size", "128"),
	}
	made := 0
	for batch := generator.lines(canonBatch); len(batch) > 0; batch = generator.lines(canonBatch) {
		for i, j := range judges {
			j.ask(batch, made, i)
		}
		made += len(batch)
	}
	generator.end(t)
	if made != count {
		t.Errorf("%d documents were made", made)
	}
	verdicts := map[string]int{}
	shown := 0
	for _, j := range judges {
		j.end(t)
		for kind, n := range j.verdicts {
			verdicts[kind] += n
		}
		for _, d := range j.differences[:min(len(j.differences), canonShown-shown)] {
			t.Errorf("seed %s, %s", seed, d)
			shown++
		}
		if j.differ > 0 {
			t.Errorf("%s: %d differences, BINDERY_SEED=%s", j.name, j.differ, seed)
		}
	}
	t.Logf("verdicts: %v, in %v", verdicts, time.Since(began).Round(time.Millisecond))
	for kind := jcs.KindSyntax; kind <= jcs.KindSize; kind++ {
		if verdicts[kind.String()] < count/400 {
			t.Errorf("only %d verdicts of the kind %s", verdicts[kind.String()], kind)
		}
	}
	if verdicts["ok"] < count/2 {
		t.Errorf("only %d documents were accepted", verdicts["ok"])
	}
}

func canonSeed(t *testing.T) string {
	t.Helper()
	seed := os.Getenv("BINDERY_SEED")
	if seed == "" {
		return strconv.FormatInt(rand.Int64N(canonSeeds), 10)
	}
	if n, err := strconv.ParseUint(seed, 10, 64); err != nil || n >= canonSeeds {
		t.Fatalf("BINDERY_SEED is %q", seed)
	}
	return seed
}

// A judge is one process of the oracle under one profile, and what came of comparing its
// verdicts with those of package jcs.
type judge struct {
	name    string
	profile jcs.Profile
	every   int // it is asked one of so many documents

	oracle *canonProgram
	asked  chan []question // in the order of the verdicts to come
	ended  chan struct{}

	// Written until ended is closed.
	verdicts    map[string]int // by their first word
	differ      int
	differences []string // the first of them
	fault       error    // why the comparison broke off
}

// A question is one document, in hexadecimal as the programs take it.
type question struct {
	number int // under the seed
	line   string
}

func newJudge(t *testing.T, name string, p jcs.Profile, every int, args ...string) *judge {
	t.Helper()
	j := &judge{
		name: name, profile: p, every: every,
		oracle: startCanon(t, "oracle.mjs", args...),
		asked:  make(chan []question, 4), ended: make(chan struct{}),
		verdicts: map[string]int{},
	}
	go j.compare()
	return j
}

// ask gives the oracle its share of a batch, of which the first document has the number
// first. Questions are noted before they are asked, so compare is never behind: whatever
// fills the pipes, it takes the verdicts out at their end.
func (j *judge) ask(batch []string, first, share int) {
	var questions []question
	var text strings.Builder
	for i, line := range batch {
		if (first+i)%j.every == share%j.every {
			questions = append(questions, question{first + i, line})
			text.WriteString(line)
			text.WriteByte('\n')
		}
	}
	j.asked <- questions
	_, _ = io.WriteString(j.oracle.stdin, text.String()) // compare sees that the oracle is gone
}

// compare takes the verdicts of the oracle in turn, until there are no more questions.
func (j *judge) compare() {
	defer close(j.ended)
	var src, form, got []byte
	for questions := range j.asked {
		for _, q := range questions {
			if j.fault != nil {
				break
			}
			if !j.oracle.stdout.Scan() {
				j.breakOff(q, errors.Join(io.ErrUnexpectedEOF, j.oracle.stdout.Err()))
				break
			}
			var err error
			if src, err = appendHex(src[:0], q.line); err != nil {
				j.breakOff(q, err)
				break
			}
			want := j.oracle.stdout.Bytes()
			kind, _, _ := bytes.Cut(want, []byte(" "))
			j.verdicts[string(kind)]++
			if form, got = j.answer(form[:0], got[:0], src, q.number); !bytes.Equal(got, want) {
				j.different(q, got, want)
			}
		}
	}
}

// breakOff ends the oracle too: nobody reads on, and it must not wait for that.
func (j *judge) breakOff(q question, why error) {
	j.fault = fmt.Errorf("no verdict on document %d: %w", q.number, why)
	_ = j.oracle.cmd.Process.Kill() // it may have ended already
}

// answer appends to got what package jcs makes of src, in the words of the oracle; a panic is
// an answer too. The canonical form is appended to form.
func (j *judge) answer(form, got, src []byte, number int) (_, answer []byte) {
	defer func() {
		if v := recover(); v != nil {
			answer = fmt.Append(nil, "panic: ", v)
		}
	}()
	form, err := j.profile.Append(form, src)
	got = appendVerdict(got, form, err)
	if j.every == 1 && number%canonDoors == 0 {
		got = append(got, elsewhere(src, form, err)...)
	}
	return form, got
}

func (j *judge) different(q question, got, want []byte) {
	if j.differ++; j.differ <= canonShown {
		j.differences = append(j.differences, fmt.Sprintf("document %d as %s: %s\njcs:    %s\noracle: %s", q.number, j.name, q.line, got, want))
	}
}

func (j *judge) end(t *testing.T) {
	t.Helper()
	close(j.asked)
	_ = j.oracle.stdin.Close() // it may be gone, which compare has seen
	<-j.ended
	if j.fault != nil {
		t.Errorf("%s: %v", j.name, j.fault)
	}
	j.oracle.end(t)
}

// elsewhere says which other door of the package, if any, answers a document of the integer
// profile otherwise than Append did.
func elsewhere(src, form []byte, want error) string {
	ok := want == nil
	if jcs.Canonical(src) != (ok && bytes.Equal(src, form)) {
		return ", but Canonical answers otherwise"
	}
	v, err := jcs.Parse(src)
	if !sameFault(err, want) || ok && !bytes.Equal(v.Bytes(), form) {
		return ", but Parse answers otherwise"
	}
	sum, err := jcs.Sum256(src)
	if !sameFault(err, want) || ok && sum != sha256.Sum256(form) {
		return ", but Sum256 answers otherwise"
	}
	return ""
}

func sameFault(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Error() == b.Error()
}

func appendHex(dst []byte, line string) ([]byte, error) {
	if line == "-" {
		return dst, nil
	}
	return hex.AppendDecode(dst, []byte(line))
}

// appendVerdict writes what Append returned as the oracle does.
func appendVerdict(dst, form []byte, err error) []byte {
	if fault := (*jcs.Error)(nil); errors.As(err, &fault) {
		return fmt.Appendf(dst, "%s %d", fault.Kind, fault.Offset)
	}
	if err != nil {
		return fmt.Appendf(dst, "no *jcs.Error: %v", err)
	}
	return hex.AppendEncode(append(dst, "ok "...), form)
}

// A canonProgram is one process of interop/canon, read while it writes.
type canonProgram struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Scanner
	stderr bytes.Buffer
}

func startCanon(t *testing.T, name string, args ...string) *canonProgram {
	t.Helper()
	p := &canonProgram{name: name, cmd: exec.CommandContext(t.Context(), "node", append([]string{"canon/" + name}, args...)...)}
	p.cmd.Dir = programs
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin, p.stdout = stdin, bufio.NewScanner(stdout)
	p.stdout.Buffer(make([]byte, 64<<10), 1<<20)
	return p
}

// lines returns the next lines, n of them while there are as many.
func (p *canonProgram) lines(n int) []string {
	var list []string
	for len(list) < n && p.stdout.Scan() {
		list = append(list, p.stdout.Text())
	}
	return list
}

// end waits for the process, which has been read to its end.
func (p *canonProgram) end(t *testing.T) {
	t.Helper()
	if err := errors.Join(p.stdout.Err(), p.cmd.Wait()); err != nil {
		t.Errorf("%s: %v\n%s", p.name, err, &p.stderr)
	}
}
