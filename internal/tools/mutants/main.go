// Command mutants shows that tests bite: it takes out one guard at a time, as the list in
// package internal/mutants says, runs the one test that watches the guard, and demands that
// it fails.
//
//	go run ./internal/tools/mutants                  all
//	go run ./internal/tools/mutants -id NAME         one
//	go run ./internal/tools/mutants -n 20            twenty, drawn; the seed is printed
//	go run ./internal/tools/mutants -n 20 -seed 7    the same twenty as before
//	go run ./internal/tools/mutants -j 2             two at a time
//
// The work tree is never touched: the compiler is told to read another file in place of the
// mutated one (go build -overlay). Each mutant ends in one of three ways:
//
//	killed    the test failed, or the test program ended in a panic
//	SURVIVED  the test passed: the guard is watched by nobody
//	ERROR     the list is wrong: the mutant does not compile, the test does not exist, is
//	          skipped, or fails without any mutant; or the test did not end in time
//
// Exit codes: 0 all killed, 1 not all, 2 usage.
//
// Room: tests. Runs the go command and test programs, writes in a temporary folder.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bindery/bindery/internal/mutants"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// config is what the flags say.
type config struct {
	root    string
	id      string
	n       int
	seed    uint64
	workers int
	limit   time.Duration // for one test program
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c config
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.root, "root", ".", "the root of the repository")
	flags.StringVar(&c.id, "id", "", "only the mutant with this id")
	flags.IntVar(&c.n, "n", 0, "draw this many; 0 means all")
	flags.Uint64Var(&c.seed, "seed", 0, "the seed of the draw; 0 takes one from the clock")
	flags.IntVar(&c.workers, "j", 1, "mutants at a time")
	flags.DurationVar(&c.limit, "timeout", 3*time.Minute, "for one test program")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 || c.n < 0 || c.workers < 1 || c.id != "" && c.n > 0 {
		fmt.Fprintln(stderr, "mutants: no arguments; -n and -j are positive; -id or -n, not both")
		return 2
	}
	list, err := choose(&c)
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	}
	if c.n > 0 {
		fmt.Fprintf(stdout, "seed %d\n", c.seed)
	}
	tmp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
		return 1
	}
	results := runAll(ctx, c, tmp, list, stdout)
	if err := os.RemoveAll(tmp); err != nil {
		fmt.Fprintln(stderr, "mutants:", err)
	}
	return summary(results, stdout)
}

// choose reads the list and keeps what the flags ask for, in the order of the list.
func choose(c *config) ([]mutants.Mutant, error) {
	b, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(mutants.Path)))
	if err != nil {
		return nil, err
	}
	list, err := mutants.Parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", mutants.Path, err)
	}
	switch {
	case c.id != "":
		list = slices.DeleteFunc(list, func(m mutants.Mutant) bool { return m.ID != c.id })
		if len(list) == 0 {
			return nil, fmt.Errorf("no mutant has the id %s", c.id)
		}
	case c.n > 0:
		if c.seed == 0 {
			c.seed = uint64(time.Now().UnixNano())
		}
		r := rand.New(rand.NewPCG(c.seed, 0))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:min(c.n, len(list))]
		slices.SortFunc(list, func(a, b mutants.Mutant) int { return cmp.Compare(a.Line, b.Line) })
	}
	return list, nil
}

// A result is how one mutant ended.
type result struct {
	mutants.Mutant
	verdict verdict
	detail  string // what to look at; empty when killed
	took    time.Duration
}

type verdict string

const (
	killed   verdict = "killed"
	survived verdict = "SURVIVED"
	wrong    verdict = "ERROR"
)

// runAll first runs every named test without a mutant, then every mutant, and prints a
// line for each as it ends.
func runAll(ctx context.Context, c config, tmp string, list []mutants.Mutant, out io.Writer) []result {
	t := &tools{config: c, tmp: tmp}
	sound := t.unmutated(ctx, list)
	results := make([]result, len(list))
	queue := make(chan int)
	var workers sync.WaitGroup
	var printing sync.Mutex
	for range c.workers {
		workers.Go(func() {
			for i := range queue {
				begin := time.Now()
				r := result{Mutant: list[i]}
				if err := sound[key(list[i])]; err != nil {
					r.verdict, r.detail = wrong, err.Error()
				} else {
					r.verdict, r.detail = t.mutated(ctx, list[i])
				}
				r.took = time.Since(begin)
				results[i] = r
				printing.Lock()
				r.print(out)
				printing.Unlock()
			}
		})
	}
	for i := range list {
		queue <- i
	}
	close(queue)
	workers.Wait()
	return results
}

func (r result) print(out io.Writer) {
	fmt.Fprintf(out, "%-8s  %-34s  %5.1f s  %s %s  [%s]\n", r.verdict, r.ID, r.took.Seconds(), r.Package, r.Test, strings.Join(r.Rows, " "))
	if r.detail != "" {
		fmt.Fprintf(out, "    %s\n", strings.ReplaceAll(strings.TrimSpace(r.detail), "\n", "\n    "))
	}
}

func summary(results []result, out io.Writer) int {
	n := map[verdict]int{}
	for _, r := range results {
		n[r.verdict]++
	}
	fmt.Fprintf(out, "%d mutants: %d killed, %d survived, %d errors\n", len(results), n[killed], n[survived], n[wrong])
	if n[killed] != len(results) || len(results) == 0 {
		return 1
	}
	return 0
}
