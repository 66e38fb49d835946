package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/registry"

	_ "modernc.org/sqlite"
)

// BenchmarkDemo is a whole demo, processes included: build it once, run it b.N times.
func BenchmarkDemo(b *testing.B) {
	bin := buildBinary(b)
	for b.Loop() {
		cmd := exec.Command(bin, "demo", "--once", "--json")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}

// BenchmarkCrossing is whole crossings, P0 to P5, against a serve process of its own:
// registry, authority and centre over one SQLite file. Beside the rate stand two bounds of
// the same run: what the machine's P-256 allows for the signatures that a crossing makes
// and checks, and its durable commits. Resident memory of the serving process is reported
// idle and at the end; run it with -benchtime 10000x for the figure of record.
func BenchmarkCrossing(b *testing.B) {
	bin := buildBinary(b)
	dir := b.TempDir()
	responder, initiator, serve := benchPair(b, bin, dir)
	idle := rss(b, serve.Process.Pid)
	n, err := openNode(b.Context(), initiator, nodeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close()
	terms, refusal := crossing.ParseTerms([]byte(demoTerms))
	if refusal != nil {
		b.Fatal(refusal)
	}
	amount, err := commitment.NewAmount(commitment.Irreversible, 1, "")
	if err != nil {
		b.Fatal(err)
	}
	deal := centre.Deal{URL: "http://" + responder.Addr, Terms: terms, Act: "engagement_code_issuance", Amount: amount}
	commits, crypto := commitsPerSecond(b, dir), signaturesBound()
	b.SetParallelism(8 / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := n.centre.Cross(b.Context(), deal, dial, func(string) {}, func(centre.Event) {}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "crossings/s")
	b.ReportMetric(rate/crypto, "of-crypto-bound")
	b.ReportMetric(rate/commits, "of-raw-commits")
	b.ReportMetric(idle, "idle-MiB")
	b.ReportMetric(rss(b, serve.Process.Pid), "after-MiB")
}

func buildBinary(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "bindery")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/bindery/bindery/cmd/bindery").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// benchPair makes two parties with plenty of authority and serves the responder.
func benchPair(b *testing.B, bin, dir string) (responder, initiator *home, serve *exec.Cmd) {
	b.Helper()
	ctx := b.Context()
	addrs, err := freeAddrs(2)
	if err != nil {
		b.Fatal(err)
	}
	responder, err = initHome(ctx, filepath.Join(dir, "B"), benchInit(initOptions{principal: "urn:anax:principal:globex", addr: addrs[0], adminAddr: addrs[1]}))
	if err != nil {
		b.Fatal(err)
	}
	serve = exec.Command(bin, "serve", "--dir", responder.dir)
	if err := serve.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		_ = serve.Wait()
	})
	for range 200 {
		if get(ctx, "http://"+responder.AdminAddr+"/healthz", "") == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	n, err := openNode(ctx, responder, nodeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	code, err := n.newCode(ctx, registry.CodeTerms{Kind: registry.CodeParty}, false)
	if err != nil {
		b.Fatal(err)
	}
	n.Close()
	initiator, err = initHome(ctx, filepath.Join(dir, "A"), benchInit(initOptions{
		principal: "urn:anax:principal:acme", join: "http://" + responder.Addr, code: code.String(),
	}))
	if err != nil {
		b.Fatal(err)
	}
	for _, h := range []*home{responder, initiator} {
		if _, err := grantOpen(ctx, h, openOptions{
			class: "irreversible", limit: 1 << 40, acts: []string{"engagement_code_issuance"}, counterparties: []string{"*"}, lifetime: 24 * time.Hour,
		}); err != nil {
			b.Fatal(err)
		}
	}
	return responder, initiator, serve
}

func benchInit(o initOptions) initOptions {
	o.trustBasis, o.agcLevel, o.pack = "self_declared", 1, "bench/1.0.0"
	return o
}

// rss is a process's resident memory in MiB.
func rss(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // no /proc here
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

// commitsPerSecond is the machine's rate of durable SQLite commits of one small row.
func commitsPerSecond(b *testing.B, dir string) float64 {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "raw.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (v BLOB)"); err != nil {
		b.Fatal(err)
	}
	const rounds = 500
	row := bytes.Repeat([]byte("x"), 256)
	begin := time.Now()
	for range rounds {
		if _, err := db.ExecContext(context.Background(), "INSERT INTO t VALUES (?)", row); err != nil {
			b.Fatal(err)
		}
	}
	return rounds / time.Since(begin).Seconds()
}

// signaturesBound is how many crossings a second this machine's P-256 allows on all its
// cores. One crossing makes 10 signatures (2 Closeds, 2 registrations, 2 principal
// records at the least, hold and spend receipts, 2 publications and 2 projections, of
// which the records are the only ones that could be kept) and checks about 30.
func signaturesBound() float64 {
	const signs, verifies, rounds = 12, 30, 200
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return 0
	}
	sum := sha256.Sum256([]byte("bench"))
	begin := time.Now()
	var sig []byte
	for range rounds {
		sig, _ = ecdsa.SignASN1(rand.Reader, key, sum[:])
	}
	sign := time.Since(begin) / rounds
	begin = time.Now()
	for range rounds {
		ecdsa.VerifyASN1(&key.PublicKey, sum[:], sig)
	}
	verify := time.Since(begin) / rounds
	return float64(runtime.GOMAXPROCS(0)) / (signs*sign + verifies*verify).Seconds()
}
