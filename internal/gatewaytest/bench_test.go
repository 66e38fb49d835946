package gatewaytest_test

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/gatewaytest"
)

const (
	benchRounds  = 5
	benchCalls   = 4000 // of a round, one way
	benchClients = 8
)

// proxyEnv has this test binary be a bare proxy: "ADDR UPSTREAM".
const proxyEnv = "BINDERY_BENCH_PROXY"

// proxyInstead serves a bare proxy for ever, if this process was started for that.
func proxyInstead() {
	addr, upstream, ok := strings.Cut(os.Getenv(proxyEnv), " ")
	if !ok {
		return
	}
	to, err := url.Parse(upstream)
	if err == nil {
		to.Path = ""
		err = http.ListenAndServe(addr, &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			FlushInterval: -1,
			Transport:     &http.Transport{MaxIdleConnsPerHost: callers}, // with the default of two it dials for most calls
		})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A way is one to the upstream: direct, or through a process.
type way struct {
	client  *gatewaytest.Client
	process *exec.Cmd // nil: direct
	times   []time.Duration
	used    time.Duration // processor time
	calls   int
}

func newWay(addr string, process *exec.Cmd) *way {
	t := &http.Transport{MaxIdleConnsPerHost: benchClients}
	return &way{client: &gatewaytest.Client{URL: "http://" + addr + "/mcp", HTTP: &http.Client{Transport: t}}, process: process}
}

// BenchmarkGatewayUnbound measures calls without an execution_id: directly, through Go's
// httputil.ReverseProxy and through the gateway, each in a process of its own, in five
// interleaved rounds. What a way adds to the median time of a call, and the processor time
// that its process takes for one, stand beside those of the bare proxy.
func BenchmarkGatewayUnbound(b *testing.B) {
	upstream, addrs := benchUpstream(b), [2]string{freeAddr(b), freeAddr(b)}
	proxy := exec.Command(os.Args[0])
	proxy.Env = append(os.Environ(), proxyEnv+"="+addrs[0]+" http://"+upstream+"/mcp")
	start(b, proxy)
	gate := exec.Command(bindery(b), "gateway", "--dir", filepath.Join(b.TempDir(), "G"), "--addr", addrs[1], "--upstream", "http://"+upstream+"/mcp")
	start(b, gate)
	for _, addr := range addrs {
		listening(b, addr)
	}
	ways := []*way{newWay(upstream, nil), newWay(addrs[0], proxy), newWay(addrs[1], gate)}
	for _, w := range ways {
		w.round(b, benchCalls/4)
		w.times, w.used, w.calls = nil, 0, 0
	}
	for range benchRounds {
		for _, w := range ways {
			w.round(b, benchCalls)
		}
	}
	direct, bare, ours := ways[0].median(), ways[1].median(), ways[2].median()
	micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
	each := func(w *way) time.Duration { return w.used / time.Duration(w.calls) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(micros(direct), "direct-p50-µs")
	b.ReportMetric(micros(bare-direct), "proxy-adds-µs")
	b.ReportMetric(micros(ours-direct), "gateway-adds-µs")
	b.ReportMetric(micros(ours-direct)/micros(bare-direct), "added/proxy's")
	b.ReportMetric(micros(each(ways[1])), "proxy-cpu-µs")
	b.ReportMetric(micros(each(ways[2])), "gateway-cpu-µs")
	b.ReportMetric(micros(each(ways[2]))/micros(each(ways[1])), "cpu/proxy's")
}

// benchUpstream runs the counting server, with its ledger in memory.
func benchUpstream(b *testing.B) (addr string) {
	b.Helper()
	addr = freeAddr(b)
	start(b, exec.Command(build(b, "github.com/bindery/bindery/internal/gatewaytest/countingserver"), "-addr", addr))
	listening(b, addr)
	return addr
}

// round makes so many calls, one after another on each connection.
func (w *way) round(b *testing.B, calls int) {
	b.Helper()
	body := gatewaytest.Call{Tool: "echo", Arguments: `{"s":"` + strings.Repeat("x", 200) + `","x":1.5}`}.Body()
	before := w.cpu(b)
	times := make([]time.Duration, calls)
	var all sync.WaitGroup
	for c := range benchClients {
		all.Go(func() {
			for i := c; i < calls; i += benchClients {
				began := time.Now()
				a, err := w.client.Post(b.Context(), body)
				times[i] = time.Since(began)
				if err != nil || a.Status != http.StatusOK {
					b.Errorf("%+v, %v", a, err)
					return
				}
			}
		})
	}
	all.Wait()
	w.used += w.cpu(b) - before
	w.calls += calls
	slices.Sort(times)
	w.times = append(w.times, times[calls/2])
}

// median is that of the rounds' medians.
func (w *way) median() time.Duration {
	slices.Sort(w.times)
	return w.times[len(w.times)/2]
}

// cpu is the processor time that the way's process has used.
func (w *way) cpu(b *testing.B) time.Duration {
	b.Helper()
	if w.process == nil {
		return 0
	}
	return cpuOf(b, w.process.Process.Pid)
}

// cpuOf reads /proc, which counts in hundredths of a second.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("not run: processor time of another process (no /proc)")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// rss is the resident memory of a process in MiB.
func rss(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("not run: memory of another process (no /proc)")
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

// BenchmarkGatewayMemory makes 10⁵ calls through a gateway on SQLite, by 64 connections, every
// fourth with an execution_id of its own; BINDERY_CALLS is another number. It tells the
// gateway's resident memory after a tenth of them, the most that it is at any further tenth,
// and the last.
func BenchmarkGatewayMemory(b *testing.B) {
	calls := 100_000
	if n, err := strconv.Atoi(os.Getenv("BINDERY_CALLS")); err == nil {
		calls = n
	}
	upstream, addr, dir := benchUpstream(b), freeAddr(b), filepath.Join(b.TempDir(), "G")
	key, err := exec.Command(bindery(b), "gateway", "agent", "add", "bench", "--dir", dir).Output()
	if err != nil {
		b.Fatal(err)
	}
	gate := exec.Command(bindery(b), "gateway", "--dir", dir, "--addr", addr, "--upstream", "http://"+upstream+"/mcp")
	start(b, gate)
	listening(b, addr)
	client := &gatewaytest.Client{
		URL: "http://" + addr + "/mcp", Token: strings.TrimSpace(string(key)),
		HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}},
	}
	idle := rss(b, gate.Process.Pid)
	var parts []float64
	began := time.Now()
	for tenth := range 10 {
		calling(b, client, tenth*calls/10, (tenth+1)*calls/10)
		parts = append(parts, rss(b, gate.Process.Pid))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(calls)/time.Since(began).Seconds(), "calls/s")
	b.ReportMetric(idle, "idle-MiB")
	b.ReportMetric(parts[0], "warm-MiB")
	b.ReportMetric(slices.Max(parts[1:]), "most-MiB")
	b.ReportMetric(parts[9], "after-MiB")
}

// calling makes the calls from one number to another.
func calling(b *testing.B, client *gatewaytest.Client, from, to int) {
	b.Helper()
	at := now()
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := from + c; i < to; i += callers {
				call := gatewaytest.Call{ID: strconv.Itoa(i), Tool: "pay", Arguments: fmt.Sprintf(`{"key":"key-%d"}`, i)}
				if i%4 == 0 {
					call.ExecutionID, call.Timestamp = fmt.Sprint("call-", i), at
				}
				told, err := ask(b.Context(), client, call)
				if err != nil || told.refusal != "" {
					b.Errorf("%+v, %v", told, err)
					return
				}
			}
		})
	}
	all.Wait()
}
