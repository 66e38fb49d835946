package cli_test

import (
	"database/sql"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/jcs"
)

// inspect looks into both databases and asks the authority: whatever has happened on
// the way, one crossing is one seal, one anchor and one position a party, and one spent
// hold over two consumed Closeds.
func (w *world) inspect(t *testing.T, id string, report []byte) {
	t.Helper()
	var r struct {
		SealID    string `json:"seal_id"`
		JointSeal string `json:"joint_seal"`
		Initiator struct {
			AgentID string `json:"agent_id"`
			Seq     int64  `json:"chain_seq"`
			Anchor  string `json:"anchor"`
		} `json:"initiator"`
		Responder struct {
			AgentID string `json:"agent_id"`
			Seq     int64  `json:"chain_seq"`
			Anchor  string `json:"anchor"`
		} `json:"responder"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		t.Fatal(err)
	}
	books := map[string]*book{} // no longer open than this: they would keep what a crash leaves from being recovered
	for _, dir := range append([]string{w.a, w.b, w.va}, w.ras()...) {
		if books[dir] == nil {
			books[dir] = ledger(t, dir)
			defer books[dir].Close()
		}
	}
	a, b, va := books[w.a], books[w.b], books[w.va]
	w.acknowledged(t, id, b)

	for _, c := range []struct {
		what  string
		db    *book
		query string
		args  []any
		want  int64
	}{
		{"seals", b, "SELECT count(*) FROM seals WHERE crossing_id = ? AND seal_id = ? AND joint_seal = ?", []any{id, r.SealID, r.JointSeal}, 1},
		{"seals of all crossings", b, "SELECT count(*) FROM seals", nil, int64(w.committed)},
		{"sealed attempts", b, "SELECT count(*) FROM attempts WHERE crossing_id = ? AND state = 'sealed'", []any{id}, 1},
		{"other attempts", b, "SELECT count(*) FROM attempts WHERE state <> 'sealed'", nil, int64(w.refusedSeals)},
		{"anchors of the responder", b, "SELECT count(*) FROM anchors WHERE crossing_id = ? AND joint_seal = ? AND anchor = ? AND chain_seq = ?", []any{id, r.JointSeal, r.Responder.Anchor, r.Responder.Seq}, 1},
		{"anchors of the initiator", a, "SELECT count(*) FROM anchors WHERE crossing_id = ? AND joint_seal = ? AND anchor = ? AND chain_seq = ?", []any{id, r.JointSeal, r.Initiator.Anchor, r.Initiator.Seq}, 1},
		{"projections", va, "SELECT count(*) FROM projections WHERE crossing_id = ? AND seal_id = ?", []any{id, r.SealID}, 2},
		{"refused publications", va, "SELECT count(*) FROM publication_refusals", nil, 0},
		{"outbox rows of the initiator", a, "SELECT count(*) FROM outbox WHERE crossing_id = ? AND acknowledged_at IS NOT NULL", []any{id}, 1},
		{"crossings of the initiator", a, "SELECT count(*) FROM crossings WHERE crossing_id = ? AND state = 'committed'", []any{id}, 1},
	} {
		var got int64
		if err := c.db.QueryRow(c.query, c.args...).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s: %s: %d, want %d", id, c.what, got, c.want)
		}
	}
	w.spent(t, id, books)
	for role, db := range map[string]*book{"initiator": a, "responder": b} {
		var names string
		if err := db.QueryRow(`SELECT coalesce(min(name || ' ' || failure_path || ' ' || detail), '') FROM refusals
			WHERE crossing_id = ? AND name <> ?`, id, w.tolerated).Scan(&names); err != nil {
			t.Fatal(err)
		}
		if names != "" {
			t.Errorf("%s: the %s has refused it: %s", id, role, names)
		}
	}
	w.chains(t, id, a, r.Initiator.AgentID, r.Responder.AgentID)
	w.chains(t, id, b, r.Responder.AgentID, r.Initiator.AgentID)
	w.resolves(t, id, r.SealID, r.JointSeal)
}

// spent looks at the RAs: what each keeps of a crossing is spent once. Two RAs keep a Closed
// each, under one triple.
func (w *world) spent(t *testing.T, id string, books map[string]*book) {
	t.Helper()
	n := int64(len(w.ras()))
	for _, dir := range w.ras() {
		ra := books[dir]
		for _, c := range []struct {
			what, query string
			args        []any
			want        int64
		}{
			{"Closeds of the crossing", "SELECT count(*) FROM closeds WHERE crossing_id = ?", []any{id}, 2 / n},
			{"consumed Closeds", "SELECT count(*) FROM closeds WHERE crossing_id = ? AND state = 'consumed'", []any{id}, 2 / n},
			{"holds", "SELECT count(*) FROM holds WHERE crossing_id = ?", []any{id}, 1},
			{"spent holds", "SELECT count(*) FROM holds WHERE crossing_id = ? AND state = 'spent'", []any{id}, 1},
			{"holds of all crossings", "SELECT count(*) FROM holds", nil, int64(w.committed + w.returned)},
			{"spent holds of all crossings", "SELECT count(*) FROM holds WHERE state = 'spent'", nil, int64(w.committed)},
			{"Opens with a wrong draw", wrongDraws, nil, 0},
		} {
			var got int64
			if err := ra.QueryRow(c.query, c.args...).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s: %s at %s: %d, want %d", id, c.what, dir, got, c.want)
			}
		}
	}
}

// wrongDraws counts Opens of which something else is drawn than what is registered and was
// not given back, each once: a lost answer books nothing twice, and nothing returns twice.
const wrongDraws = `SELECT count(*) FROM opens WHERE drawn <> (SELECT coalesce(sum(magnitude_limit), 0) FROM closeds
	WHERE closeds.open_mandate_hash = opens.open_mandate_hash AND closeds.state <> 'released')`

// acknowledged waits for the responder to know that the authority serves its projection.
// The authority's answer may have been lost with either process; the initiator needs
// only that it resolves, the responder asks again within its next sweep.
func (w *world) acknowledged(t *testing.T, id string, b *book) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var all, done int
		err := b.QueryRow("SELECT count(*), count(acknowledged_at) FROM outbox WHERE crossing_id = ?", id).Scan(&all, &done)
		if err != nil {
			t.Fatal(err)
		}
		if all == 1 && done == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: the responder has %d outbox rows, %d of them acknowledged", id, all, done)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// chains walks a party's chain with the counterparty: contiguous from its genesis, every
// anchor as computed again, one link a crossing, and the head after the last.
func (w *world) chains(t *testing.T, id string, db *book, party, counterparty string) {
	t.Helper()
	rows, err := db.Query(`SELECT chain_seq, coalesce(prev_hash, ''), joint_seal, anchor, crossing_id FROM anchors
		WHERE party = ? AND chain_id = ? ORDER BY chain_seq`, party, string(chain.ID(party, counterparty)))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var links []chain.Link
	head := chain.Genesis()
	for rows.Next() {
		var l chain.Link
		if err := rows.Scan(&l.Seq, &l.Prev, &l.JointSeal, &l.Anchor, &l.CrossingID); err != nil {
			t.Fatal(err)
		}
		if l.Position != head || l.Anchor != head.Anchor(l.JointSeal) {
			t.Errorf("%s: %s has a broken link at %d", id, party, l.Seq)
		}
		head = head.Next(l.JointSeal)
		links = append(links, l)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if err := chain.Verify(links); err != nil {
		t.Errorf("%s: the chain of %s: %v", id, party, err)
	}
	if len(links) != w.committed {
		t.Errorf("%s: %s has %d links for %d crossings", id, party, len(links), w.committed)
	}
	var next int64
	var anchor jcs.Hex256
	if err := db.QueryRow("SELECT next_seq, anchor FROM chain_heads WHERE party = ? AND chain_id = ?", party, string(chain.ID(party, counterparty))).Scan(&next, &anchor); err != nil {
		t.Fatal(err)
	}
	if next != head.Seq || anchor != head.Prev {
		t.Errorf("%s: the head of %s is not after its last link", id, party)
	}
	var all int
	if err := db.QueryRow("SELECT count(*) FROM anchors").Scan(&all); err != nil {
		t.Fatal(err)
	}
	if all != len(links) {
		t.Errorf("%s: %d anchors stand beside the chain", id, all-len(links))
	}
}

// resolves asks the authority for either identifier.
func (w *world) resolves(t *testing.T, id, sealID, jointSeal string) {
	t.Helper()
	for _, name := range []string{id, sealID} {
		v := w.asked(t, name)
		for _, check := range []string{"resolves", "chain_consistent", "basis_present", "not_superseded", "chain_position_valid"} {
			if v.Checks[check] != true {
				t.Errorf("%s: the authority says of %s: %v", id, check, v.Checks[check])
			}
		}
		if v.SealID != sealID || v.Seal != jointSeal {
			t.Errorf("%s: the authority holds the seal %s %s", id, v.SealID, v.Seal)
		}
	}
}

// A verdict is what the authority tells anyone.
type verdict struct {
	SealID string         `json:"seal_id"`
	Seal   string         `json:"seal"`
	Checks map[string]any `json:"checks"`
}

func (w *world) asked(t *testing.T, identifier string) (v verdict) {
	t.Helper()
	resp, err := http.Get("http://" + w.vaAddr + "/?id=" + url.QueryEscape(identifier))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A book is a directory's database, for reading alone.
type book struct {
	*sql.DB
	postgres bool
}

// ledger opens a directory's database.
func ledger(t *testing.T, dir string) *book {
	t.Helper()
	c, err := readConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := &book{postgres: c.Store != ""}
	if b.postgres {
		b.DB, err = postgres.Pool(c.Store)
	} else {
		b.DB, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "bindery.db")+"?mode=ro&_pragma=busy_timeout(60000)&_pragma=query_only(1)")
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var placeholder = regexp.MustCompile(`\?[0-9]*`)

// spelled numbers the placeholders as PostgreSQL does.
func (b *book) spelled(query string) string {
	if !b.postgres {
		return query
	}
	n := 0
	return placeholder.ReplaceAllStringFunc(query, func(p string) string {
		if n++; p == "?" {
			p += strconv.Itoa(n)
		}
		return "$" + p[1:]
	})
}

// QueryRow asks for one row.
func (b *book) QueryRow(query string, args ...any) *sql.Row {
	return b.DB.QueryRow(b.spelled(query), args...)
}

// Query asks for rows.
func (b *book) Query(query string, args ...any) (*sql.Rows, error) {
	return b.DB.Query(b.spelled(query), args...)
}
