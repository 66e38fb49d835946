package a2acrossing_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/jcs"
)

// metadataPointer is the JSON Pointer of our object in a message.
const metadataPointer = "/params/message/metadata/https:~1~1anaxstandard.ai~1ext~1governed-crossing~1v1"

// TestDuplicateNames: the A2A library takes the last of two equal names, so it never sees
// these (design C3).
func TestDuplicateNames(t *testing.T) {
	t.Parallel()
	w, s := ready(t)
	message := func(meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","taskId":"` + s.TaskID +
			`","parts":[{"text":"x"}],"metadata":{"` + crossing.URI + `":` + meta + `}}}}`
	}
	seal := string(s.SealBody())
	for name, c := range map[string]struct{ body, member string }{
		"in the metadata":    {message(`{"crossing_state":"sealing","crossing_state":"terms_proposed"}`), metadataPointer + "/crossing_state"},
		"by escape":          {message(`{"crossing_state":"sealing","crossing_st\u0061te":"terms_proposed"}`), metadataPointer + "/crossing_state"},
		"the URI itself":     {strings.Replace(message(`{}`), `"metadata":{`, `"metadata":{"`+crossing.URI+`":{},`, 1), metadataPointer},
		"two messages":       {strings.Replace(message(`{}`), `"params":{`, `"params":{"message":{},`, 1), "/params/message"},
		"in a nested one":    {message(`{"party":{"agc_level":1,"agc_level":9}}`), metadataPointer + "/party/agc_level"},
		"in the record":      {strings.Replace(seal, `"magnitude_asserted":1`, `"magnitude_asserted":1,"magnitude_asserted":1`, 1), "/params/record/magnitude_asserted"},
		"two params":         {strings.Replace(seal, `"params":{`, `"params":{},"params":{`, 1), "/params"},
		"unpaired surrogate": {message(`{"crossing_state":"\ud800"}`), metadataPointer + "/crossing_state"},
	} {
		t.Run(name, func(t *testing.T) {
			before := w.Rows()
			a := w.Post(wiretest.Activated(), []byte(c.body))
			if a.Name() != "RECORD_MALFORMED" || a.Code() != "-40060" || a.Status != http.StatusOK {
				t.Fatalf("answered %s", a.Body)
			}
			if got := wiretest.Text(a.Refusal(), "member"); got != c.member {
				t.Errorf("names member %q, want %q", got, c.member)
			}
			w.OnlyRefusal(before, "RECORD_MALFORMED")
		})
	}
	if a := s.Seal(); a.Result() == nil {
		t.Errorf("afterwards the honest seal is refused: %s", a.Body)
	}
}

// TestForeignBodies: what does not speak of the extension is answered as JSON-RPC says,
// and costs no row.
func TestForeignBodies(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	before := w.Rows()
	for name, c := range map[string]struct{ body, code string }{
		"empty":         {``, "-32700"},
		"no JSON":       {`hello`, "-32700"},
		"duplicate":     {`{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"GetTask","params":{"id":"x"}}`, "-32700"},
		"unknown":       {`{"jsonrpc":"2.0","id":1,"method":"anaxstandard.crossing/unseal","params":{}}`, "-32601"},
		"core spelling": {`{"jsonrpc":"2.0","id":1,"method":"crossing:seal","params":{}}`, "-32601"},
		"upper case":    {`{"jsonrpc":"2.0","id":1,"method":"AnaxStandard.crossing/seal","params":{}}`, "-32601"},
		"no method":     {`{"jsonrpc":"2.0","id":1}`, "-32600"},
		"a batch":       {`[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}]`, "-32600"},
		"a verify":      {`{"jsonrpc":"2.0","id":1,"method":"anaxstandard.crossing/verify","params":{"seal_id":"a","seal_id":"b"}}`, "-40060"},
		"no params":     {`{"jsonrpc":"2.0","id":1,"method":"anaxstandard.crossing/verify"}`, "-40070"},
	} {
		if a := w.Post(wiretest.Plain(), []byte(c.body)); a.Code() != c.code {
			t.Errorf("%s: answered %s, want %s", name, a.Body, c.code)
		}
	}
	w.Unwritten(before)
}

// TestExactNumbers: a number counts by its exact decimal value (design J2), in a record, in a message and
// in what the authority resolves.
func TestExactNumbers(t *testing.T) {
	t.Parallel()
	w, s := ready(t)
	for _, number := range []string{
		"1.0000000000000000001", "1.5", "0.9999999999999999999", "9007199254740991.4", "9007199254740992", "1e400", "-1e-400",
	} {
		t.Run(number, func(t *testing.T) {
			before := w.Rows()
			record := s.NewRecord()
			record["magnitude_asserted"] = wiretest.Number(number)
			s.Params = wiretest.Doc{
				"record": record, "initiator_closed_mandate": s.Closed, "idempotency_key": s.CrossingID,
				"initiator_anchor_intent": wiretest.Doc{"prev_hash": nil, "chain_seq": 0},
			}
			a := s.Seal()
			wantError(t, a, "RECORD_MALFORMED", "-40060")
			if got := wiretest.Text(a.Refusal(), "member"); got != "/params/record/magnitude_asserted" {
				t.Errorf("names member %q", got)
			}
			w.OnlyRefusal(before, "RECORD_MALFORMED")

			v := w.Verify(wiretest.Doc{"crossing_id": s.CrossingID, "record": record})
			if v.Name() != "RECORD_MALFORMED" {
				t.Errorf("verify answered %s", v.Body)
			}

			x := w.Script(s.From)
			x.Open = s.Open
			x.Edit.P1 = func(meta wiretest.Doc) { wiretest.Object(meta, "party")["agc_level"] = wiretest.Number(number) }
			before = w.Rows()
			if a := x.P1(); a.Name() != "RECORD_MALFORMED" {
				t.Errorf("P1 answered %s", a.Body)
			}
			w.OnlyRefusal(before, "RECORD_MALFORMED")
		})
	}
	s.Forget()
	s.Edit.Record = func(record wiretest.Doc) { record["magnitude_asserted"] = wiretest.Number("10e-1") }
	if a := s.Seal(); a.Result() == nil {
		t.Errorf("10e-1 is one, and is refused: %s", a.Body)
	}
}

// TestForeignNumbers: a foreign payload beside ours may hold any JSON number (design J3).
func TestForeignNumbers(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme"))
	s.Edit.Message = func(m wiretest.Doc) {
		wiretest.Object(m, "metadata")["https://example.com/weather"] = wiretest.Doc{"degrees": wiretest.Number("17.25")}
	}
	if a := s.P1(); a.Name() != "" || a.Code() != "" {
		t.Errorf("answered %s", a.Body)
	}
}

// TestBodyLimit: a body over 1 MiB is refused before it is parsed, by the listener and by
// the handler alone.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	w := wiretest.New(t, wiretest.Config{})
	before := w.Rows()
	garbage := bytes.Repeat([]byte("{"), limit+1)
	if a := w.Post(wiretest.Activated(), garbage); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("the listener answered %d %s", a.Status, a.Body)
	}
	w.Unwritten(before)

	desk := &countingDesk{}
	h, err := a2acrossing.NewHandler(a2acrossing.Config{Desk: desk, Card: a2acrossing.Card{Name: "x", URL: w.URL}})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]int{limit: http.StatusOK, limit + 1: http.StatusRequestEntityTooLarge} {
		body := append([]byte(crossing.URI), bytes.Repeat([]byte(" "), n-len(crossing.URI))...)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/rpc", bytes.NewReader(body)))
		if rec.Code != want {
			t.Errorf("%d bytes: %d, want %d", n, rec.Code, want)
		}
	}
	if desk.refused != 1 || desk.other != 0 {
		t.Errorf("the desk was asked to refuse %d times, and %d other things", desk.refused, desk.other)
	}
}

// countingDesk is a party that is never reached.
type countingDesk struct{ refused, other int }

func (d *countingDesk) Exchange(context.Context, string, string, *crossing.Message) (*crossing.Task, error) {
	d.other++
	return nil, crossing.ErrNoTask
}

func (d *countingDesk) Task(context.Context, string) (*crossing.Task, error) {
	d.other++
	return nil, crossing.ErrNoTask
}

func (d *countingDesk) Seal(context.Context, jcs.Value) ([]byte, error) {
	d.other++
	return nil, crossing.Refuse(crossing.SealPending)
}

func (d *countingDesk) Refuse(context.Context, *crossing.Refusal) (*crossing.Task, error) {
	d.refused++
	return &crossing.Task{ID: "t", State: crossing.Refused}, nil
}
