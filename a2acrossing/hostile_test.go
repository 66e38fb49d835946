package a2acrossing_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// TestTwoRecordsAtOnce sends two records of one crossing, 32 times each and all at once. At
// most one is sealed; whoever sent the other is told that it is not theirs, or to wait.
//
// covers GC-068, GC-250, GC-313
func TestTwoRecordsAtOnce(t *testing.T) {
	t.Parallel()
	w, s := ready(t)
	bodies := [][]byte{s.SealBody()}
	s.Forget()
	s.Edit.Record = func(record wiretest.Doc) {
		wiretest.Object(record, "timestamps")["sealed_at"] = "2026-09-01T12:00:01Z"
	}
	bodies = append(bodies, s.SealBody())
	answers, errs := make([]wiretest.Answer, 64), make([]error, 64)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i], errs[i] = w.Send(wiretest.Activated(), bodies[i%2]) })
	}
	wg.Wait()
	var result []byte
	var by int
	for i, a := range answers {
		switch {
		case errs[i] != nil:
			t.Errorf("call %d: %v", i, errs[i])
		case a.Result() == nil && a.Name() != "SEAL_MISMATCH" && a.Name() != "SEAL_PENDING":
			t.Errorf("call %d answered %s", i, a.Body)
		case a.Result() != nil && result == nil:
			result, by = a.Result(), i%2
		case a.Result() != nil && (i%2 != by || !bytes.Equal(a.Result(), result)):
			t.Errorf("call %d answered\n%s\nand another\n%s", i, a.Body, result)
		}
	}
	n := w.Count()
	n.Refusals = 0 // one for each call that came after the seal
	if want := (wiretest.Counts{Anchors: 1, Seals: 1, Holds: 1, Attempts: 1, Outbox: 1, Projections: 1}); n != want || result == nil {
		t.Errorf("counts %+v, want %+v; sealed %s", n, want, result)
	}
	for i, body := range bodies {
		a := w.Post(wiretest.Activated(), body)
		if i == by && !bytes.Equal(a.Result(), result) || i != by && a.Name() != "SEAL_MISMATCH" {
			t.Errorf("record %d now gets %s", i, a.Body)
		}
	}
}

// TestClientLeaves: an initiator that goes away in the middle of its seal does not undo
// what was begun, and its same call gets the result later.
//
// covers GC-068, GC-311, GC-313
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, at := range []string{centre.PointAfterAttempt, centre.PointAfterHold, centre.PointAfterSeal, centre.PointBeforeReply} {
		t.Run(at, func(t *testing.T) {
			w, s := ready(t)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			gone := make(chan struct{})
			w.OnPoint(func(point string) {
				if point == at {
					leave()
					<-gone
				}
			})
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/rpc", bytes.NewReader(s.SealBody()))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = wiretest.Activated()
			resp, err := w.HTTP.Do(req)
			close(gone)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("the call ended with %v, %v", resp, err)
			}
			w.OnPoint(func(string) {})
			for end := time.Now().Add(time.Minute); w.Count().Seals == 0 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if n := w.Count(); n.Seals != 1 || n.Anchors != 1 || n.Holds != 1 {
				t.Errorf("without its client it has %+v", n)
			}
			a := s.Seal()
			if a.Result() == nil {
				t.Fatalf("the same call answers %s", a.Body)
			}
			want := wiretest.Counts{Anchors: 1, Seals: 1, Holds: 1, Attempts: 1, Outbox: 1, Projections: 1}
			if got := w.Count(); got != want {
				t.Errorf("counts %+v, want %+v", got, want)
			}
		})
	}
}

func dial(t *testing.T, l *wiretest.Pipes) net.Conn {
	t.Helper()
	c, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSlowBody: a body that comes one byte each tenth of a second is cut off after the
// fifteen seconds that the server reads, long before it is complete; nobody else waits, and
// the party behind the server is never reached.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := &countingDesk{}
		rest, err := a2acrossing.NewHandler(a2acrossing.Config{Desk: desk, Card: a2acrossing.Card{Name: "x", URL: "http://x"}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		l, ended := wiretest.NewPipes(), make(chan error, 1)
		go func() { ended <- wiretest.Serve(ctx, l, "x:80", rest) }()

		const head = "POST /rpc HTTP/1.1\r\nHost: x:80\r\nContent-Type: application/json\r\n"
		slow, begun, written := dial(t, l), time.Now(), 0
		if _, err := io.WriteString(slow, head+"Content-Length: 1000\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, slow) }() // reads what it is told, to the end
		for {
			if _, err := slow.Write([]byte(" ")); err != nil {
				break
			}
			if written++; written%50 == 0 {
				const ask = `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`
				quick, asked := dial(t, l), time.Now()
				_, _ = io.WriteString(quick, head+"Connection: close\r\nContent-Length: 64\r\n\r\n"+ask+strings.Repeat(" ", 64-len(ask)))
				resp, err := http.ReadResponse(bufio.NewReader(quick), nil)
				if err != nil || resp.StatusCode != http.StatusOK || time.Since(asked) != 0 {
					t.Errorf("after %d bytes another is answered %v, %v, in %s", written, resp, err, time.Since(asked))
				}
				_ = quick.Close()
			}
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begun); took < 15*time.Second || took > 16*time.Second {
			t.Errorf("cut off after %s and %d bytes, want 15 s", took, written)
		}
		if desk.refused != 0 {
			t.Errorf("the desk was asked to refuse %d times", desk.refused)
		}
		_ = slow.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
