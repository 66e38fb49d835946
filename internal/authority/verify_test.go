package authority_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to look behind the store

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/jcs"
)

// unknown is the whole answer for everything that does not resolve, written by hand.
const unknown = `{"checks":{"basis_present":null,"chain_consistent":null,"chain_position_valid":null,` +
	`"not_superseded":null,"resolves":false,"seal_matches":null},"verified_by":"VA-001"}`

func (w *world) raw() *sql.DB {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { db.Close() })
	return db
}

func parse(t testing.TB, src string) jcs.Value {
	t.Helper()
	v, err := jcs.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// covers GC-089, GC-090, GC-091, GC-133, GC-260, GC-372
func TestVerdict(t *testing.T) {
	w := newWorld(t)
	p := w.sign(w.publication(crossing.Responder), w.responder)
	answer, err := w.va.Publish(t.Context(), w.responder.credential, p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	published, err := api.ParsePublished(answer)
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute + 300*time.Millisecond)
	want := `{"chain_id":"f4d3f04c5246feb5db0dfdc852c6ee8feffe7c6fb3a46c2fa59c75ead76caf63","chain_seq":0,` +
		`"checks":{"basis_present":true,"chain_consistent":true,"chain_position_valid":true,"not_superseded":true,"resolves":true,"seal_matches":null},` +
		`"crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","crossing_state":"committed",` +
		`"evidence":{"as_of":"2026-09-01T12:01:05Z","publisher_jws":"` + p.Signature + `"},` +
		`"is_genesis":true,"outcome":"CLEARED","pack_id":"pack-anax","pack_version":"1.2.0","prev_hash":null,` +
		`"projection_jws":"` + published.ProjectionJWS + `",` +
		`"seal":"9d1890ad73042c722716153a2d43721b06e0c2e0d84ed2420b4e8573e83bf762","seal_id":"canal-mf0z8k00-00112233aabb",` +
		`"seal_version":3,"sealed_at":"2026-09-01T12:00:00Z","verified_by":"VA-001",` +
		`"verify_url":"http://127.0.0.1:8080/?id=canal-mf0z8k00-00112233aabb"}`
	for name, got := range map[string][]byte{
		"seal_id":            w.verify(api.VerifyRequest{SealID: sealOne}),
		"crossing_id":        w.verify(api.VerifyRequest{CrossingID: crossingOne}),
		"portal seal_id":     w.resolve(sealOne),
		"portal crossing_id": w.resolve(crossingOne),
	} {
		if string(got) != want {
			t.Errorf("by %s:\n%s\nwant\n%s", name, got, want)
		}
	}
	all := w.verify(api.VerifyRequest{SealID: sealOne, Record: parse(t, record)})
	if withRecord := strings.Replace(want, `"seal_matches":null`, `"seal_matches":true`, 1); string(all) != withRecord {
		t.Errorf("with the record:\n%s\nwant\n%s", all, withRecord)
	}
	scan(t, parse(t, string(all)), "")
}

// scan looks at every member name and text of an answer for what must never leave.
func scan(t *testing.T, v jcs.Value, at string) {
	t.Helper()
	switch v.Type() {
	case jcs.ObjectType:
		for name, member := range v.Members() {
			if strings.Contains(name, "clearance") || strings.Contains(name, "agent") {
				t.Errorf("member %s/%s in an answer", at, name)
			}
			scan(t, member, at+"/"+name)
		}
	case jcs.ArrayType:
		for item := range v.Items() {
			scan(t, item, at+"/-")
		}
	case jcs.StringType:
		if s, _ := v.Text(); strings.Contains(s, "urn:anax:agent:") || strings.Contains(s, "urn:anax:principal:") {
			t.Errorf("%s names a subject", at)
		}
	}
}

func (w *world) resolve(id string) []byte {
	w.t.Helper()
	result, err := w.va.Resolve(w.t.Context(), id)
	if err != nil {
		w.t.Fatalf("resolve: %v", err)
	}
	return result
}

// covers GC-088, GC-327
func TestVerifyRecord(t *testing.T) {
	w := newWorld(t)
	w.publish(w.responder, w.publication(crossing.Responder))
	matches := func(src string) string {
		t.Helper()
		result, err := w.va.Verify(t.Context(), api.VerifyRequest{CrossingID: crossingOne, Record: parse(t, src)})
		if err != nil {
			return err.Error()
		}
		return string(parse(t, string(result)).Get("checks").Get("seal_matches").Bytes())
	}
	edit := func(old, new string) string {
		t.Helper()
		if !strings.Contains(record, old) {
			t.Fatalf("nothing to change: %s", old)
		}
		return strings.Replace(record, old, new, 1)
	}
	for _, c := range []struct{ name, src, want string }{
		{"as sealed", record, "true"},
		{"white space", strings.Replace(record, "{", "{ ", 1), "true"},
		{"another spelling of a number", edit(`"magnitude_asserted":1`, `"magnitude_asserted":1.0`), "true"},
		// AG-30: a position is left out before anything is judged.
		{"with a position", edit(`"record":`, `"chain_seq":7,"prev_hash":"`+recordAnchor+`","record":`), "true"},
		{"with an impossible position", edit(`"record":`, `"chain_seq":"x","prev_hash":[],"record":`), "true"},
		{"one byte of a hash", edit("51d2361f", "51d2361e"), "false"},
		{"one byte of an agent", edit("agent:trust", "agent:truss"), "false"},
		{"another magnitude", edit(`"magnitude_asserted":1`, `"magnitude_asserted":2`), "false"},
		{"no object", `{}`, "RECORD_MALFORMED at /record/record"},
		{"raw clearance_id", edit(`"clearance_id_hash":"5470`, `"clearance_id":"5470`), "RECORD_MALFORMED at /record/parties"},
		{"a clearance_id beside", edit(`"record":`, `"clearance_id":"x","record":`), "RECORD_MALFORMED at /record/clearance_id"},
		{"same principal twice", edit("principal:trust", "principal:anax"), "RECORD_MALFORMED at /record/parties"},
		{"three parties", edit(`"parties":[`, `"parties":[{},`), "RECORD_MALFORMED at /record/parties"},
		{"a mandate by value", edit(`"task-1"`, `"eyJhbGciOiJFUzI1NiJ9.e30.AA~"`), "RECORD_MALFORMED at /record/a2a_context/task_id"},
	} {
		// Where in a party a fault lies is for package crossing to say.
		if got := matches(c.src); got != c.want && !strings.HasPrefix(got, c.want+"/") && !strings.HasPrefix(got, c.want+"~1") {
			t.Errorf("%s: seal_matches %s, want %s", c.name, got, c.want)
		}
	}
	// A bad record is refused before the identifier is looked at.
	_, err := w.va.Verify(t.Context(), api.VerifyRequest{SealID: "nothing", Record: parse(t, `{}`)})
	refused(t, "unknown id with a bad record", err, recordMalformed, "/record/record")
	if got := w.verify(api.VerifyRequest{SealID: "nothing", Record: parse(t, record)}); string(got) != unknown {
		t.Errorf("unknown id with a good record: %s", got)
	}
	_, err = w.va.Verify(t.Context(), api.VerifyRequest{SealID: sealOne, CrossingID: crossingOne})
	refused(t, "both identifiers", err, verifyParams, "")
}

// covers GC-092, GC-122, GC-134, GC-343
func TestUnknownAndMalformedAlike(t *testing.T) {
	w := newWorld(t)
	w.publish(w.responder, w.publication(crossing.Responder))
	for _, id := range []string{
		"", " ", "canal-", "canal-mf0z8k00-00112233aabc", "canal-mf0z8k00-00112233AABB", " " + sealOne, sealOne + "\n",
		"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be002", strings.ToUpper(crossingOne), "{" + crossingOne + "}",
		"' OR 1=1 --", "\x00", "\xff\xfe", "𝒞", "../../etc/passwd", strings.Repeat("x", 1<<16), "null", "ASELF-1",
	} {
		for name, got := range map[string][]byte{
			"seal_id":     w.verify(api.VerifyRequest{SealID: id}),
			"crossing_id": w.verify(api.VerifyRequest{CrossingID: id}),
			"portal":      w.resolve(id),
		} {
			if string(got) != unknown {
				t.Errorf("%s %.40q: %s", name, id, got)
			}
		}
	}
	// An identifier of the other kind is unknown, too.
	if got := w.verify(api.VerifyRequest{SealID: crossingOne}); string(got) != unknown {
		t.Errorf("a crossing_id as seal_id: %s", got)
	}
	if got := w.verify(api.VerifyRequest{CrossingID: sealOne}); string(got) != unknown {
		t.Errorf("a seal_id as crossing_id: %s", got)
	}
}

// covers GC-258, GC-328
func TestChainConsistent(t *testing.T) {
	w := newWorld(t)
	first := w.publication(crossing.Responder)
	w.publish(w.responder, first)
	good := w.next(crossing.Responder, 2, chain.Position{Prev: recordAnchor, Seq: 1})
	w.publish(w.responder, good)
	foreign := w.next(crossing.Responder, 3, chain.Position{Prev: jcs.HexOf([]byte("another chain")), Seq: 2})
	w.publish(w.responder, foreign)
	// Our principal is initiator in the fourth: the chain does not mind the role.
	theirs := w.next(crossing.Responder, 4, chain.Genesis())
	theirs.InitiatorAgent, theirs.ResponderAgent = responderAgent, initiatorAgent
	w.publish(w.initiator, theirs)
	ours := theirs
	ours.Role = crossing.Initiator
	ours.Projection.Block.Position = foreign.Projection.Block.Position.Next(foreign.Projection.Block.Seal)
	w.publish(w.responder, ours)
	after := w.next(crossing.Responder, 5, ours.Projection.Block.Position.Next(ours.Projection.Block.Seal))
	w.publish(w.responder, after)

	expect := func(what string, p api.Publication, want api.Check) {
		t.Helper()
		c := w.checks(p.Projection.CrossingID)
		if c.ChainConsistent != want || c.ChainPositionValid != want || c.Resolves != api.True || c.BasisPresent != api.True {
			t.Errorf("%s: checks %s", what, c.Bytes())
		}
	}
	expect("genesis", first, api.True)
	expect("next", good, api.True)
	expect("a prev_hash of another chain", foreign, api.False)
	expect("after a position as initiator", after, api.True)

	if _, err := w.raw().Exec("UPDATE projections SET joint_seal = ? WHERE chain_seq = 0 AND role = 'responder'", string(jcs.HexOf([]byte("tampered")))); err != nil {
		t.Fatal(err)
	}
	expect("tampered row", first, api.False)
	expect("after a tampered row", good, api.False)
	// An index that was changed to fit the next position does not fit its own projection.
	fitting := w.next(crossing.Responder, 6, chain.Position{Prev: chain.Genesis().Anchor(jcs.HexOf([]byte("forged"))), Seq: 1})
	fitting.InitiatorAgent = "urn:anax:agent:other"
	fitting.Projection.ChainID = chain.ID(fitting.InitiatorAgent, fitting.ResponderAgent)
	before := w.next(crossing.Responder, 7, chain.Genesis())
	before.InitiatorAgent, before.Projection.ChainID = fitting.InitiatorAgent, fitting.Projection.ChainID
	w.publish(w.responder, before)
	w.publish(w.responder, fitting)
	expect("another prev_hash", fitting, api.False)
	if _, err := w.raw().Exec("UPDATE projections SET joint_seal = ? WHERE crossing_id = ?", string(jcs.HexOf([]byte("forged"))), before.Projection.CrossingID); err != nil {
		t.Fatal(err)
	}
	expect("after a row made to fit", fitting, api.False)
	if _, err := w.raw().Exec("DELETE FROM projections WHERE crossing_id = ?", good.Projection.CrossingID); err != nil {
		t.Fatal(err)
	}
	expect("after a removed row", foreign, api.False)
}

// covers GC-125
func TestSameStoreSameResult(t *testing.T) {
	w := newWorld(t)
	w.publish(w.responder, w.publication(crossing.Responder))
	replica, err := authority.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	a := w.verify(api.VerifyRequest{SealID: sealOne})
	b, err := replica.Verify(t.Context(), api.VerifyRequest{SealID: sealOne})
	if err != nil || !bytes.Equal(a, b) {
		t.Fatalf("two replicas differ:\n%s\n%s\n%v", a, b, err)
	}
	w.pass(time.Hour)
	later := w.verify(api.VerifyRequest{SealID: sealOne})
	if bytes.Equal(a, later) {
		t.Fatal("as_of does not move")
	}
	if cut(t, a) != cut(t, later) {
		t.Fatalf("more than evidence moves:\n%s\n%s", a, later)
	}
}

// cut leaves evidence out.
func cut(t *testing.T, result []byte) string {
	t.Helper()
	var m []jcs.Member
	for name, v := range parse(t, string(result)).Members() {
		if name != "evidence" {
			m = append(m, jcs.Member{Name: name, Value: v.Bytes()})
		}
	}
	return string(jcs.Object(m...))
}

// covers GC-094, GC-117
func TestRateLimit(t *testing.T) {
	w := newWorld(t)
	cfg := w.cfg
	cfg.RateLimit = authority.Rate{PerSecond: 2, Burst: 3}
	va, err := authority.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	admitted := func(remote string, n int) (got int) {
		for range n {
			if err := va.Admit(remote); err == nil {
				got++
			} else {
				refused(t, "over the rate", err, rateLimited, "")
			}
		}
		return got
	}
	if got := admitted("a", 10); got != 3 {
		t.Errorf("a burst of %d was admitted, want 3", got)
	}
	if got := admitted("b", 10); got != 3 {
		t.Errorf("another address: %d admitted, want 3", got)
	}
	w.pass(time.Second)
	if got := admitted("a", 10); got != 2 {
		t.Errorf("after a second: %d admitted, want 2", got)
	}
	w.pass(time.Hour)
	if got := admitted("a", 10); got != 3 {
		t.Errorf("after an hour: %d admitted, want 3", got)
	}
	w.pass(-2 * time.Hour)
	if got := admitted("a", 10); got != 0 {
		t.Errorf("after the clock went back: %d admitted, want 0", got)
	}
	w.pass(time.Second)
	if got := admitted("a", 10); got != 2 {
		t.Errorf("a second after it went back: %d admitted, want 2", got)
	}
}

func TestRateLimitDefault(t *testing.T) {
	w := newWorld(t)
	n := 0
	for w.va.Admit("a") == nil {
		n++
	}
	if n != 100 {
		t.Errorf("a burst of %d by default, want 100", n)
	}
}

// failing fails every read of a projection.
type failing struct{ authority.Store }

var errDisk = errors.New("disk on fire")

func (failing) BySeal(context.Context, string) (authority.Row, error) {
	return authority.Row{}, errDisk
}

// TestStoreFailure: a store that fails is not a verdict.
func TestStoreFailure(t *testing.T) {
	w := newWorld(t)
	cfg := w.cfg
	cfg.Store = failing{w.store}
	va, err := authority.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	// What has not the form of an identifier never gets there.
	if result, err := va.Verify(t.Context(), api.VerifyRequest{SealID: "nothing"}); err != nil || string(result) != unknown {
		t.Fatalf("malformed: %s, %v", result, err)
	}
	result, err := va.Verify(t.Context(), api.VerifyRequest{SealID: sealOne})
	if !errors.Is(err, errDisk) || result != nil {
		t.Fatalf("result %s, error %v", result, err)
	}
	var refusal *api.Error
	if errors.As(err, &refusal) {
		t.Fatalf("a failing store is a refusal: %v", refusal)
	}
}

// FuzzIdentifier gives any string as any identifier: always a verdict (E-2).
//
// covers GC-122
func FuzzIdentifier(f *testing.F) {
	for _, s := range []string{"", sealOne, crossingOne, "canal-0-000000000000", "\x00", "\xff", "?", "%"} {
		f.Add(s)
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, id string) {
		for _, req := range []api.VerifyRequest{{SealID: id}, {CrossingID: id}} {
			result, err := w.va.Verify(t.Context(), req)
			if err != nil || string(result) != unknown {
				t.Fatalf("%q: %s, %v", id, result, err)
			}
		}
		if result, err := w.va.Resolve(t.Context(), id); err != nil || string(result) != unknown {
			t.Fatalf("portal %q: %s, %v", id, result, err)
		}
	})
}
