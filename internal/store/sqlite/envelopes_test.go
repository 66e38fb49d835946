package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/store/storetest"
)

// covers ENV-003, ENV-045, ENV-050, ENV-078, ENV-079, ENV-102, ENV-104, ENV-107, ENV-108, ENV-113, ENV-115, ENV-118, ENV-120, ENV-121
func TestEnvelopeStore(t *testing.T) {
	t.Parallel()
	storetest.Envelopes(t, func(t *testing.T) *sqlstore.Envelopes {
		db, _ := openAuthority(t)
		return db.Envelopes()
	})
}

// covers ENV-079, ENV-115
func TestEnvelopeRace(t *testing.T) {
	t.Parallel()
	one, path := openAuthority(t)
	two, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	storetest.EnvelopeRace(t, one.Envelopes(), two.Envelopes())
}

// covers ENV-079, ENV-115
func TestEnvelopeFaults(t *testing.T) {
	t.Parallel()
	storetest.EnvelopeFaults(t, func(t *testing.T) (*sqlstore.Envelopes, *storetest.Faults) {
		db, _ := openAuthority(t)
		return db.Envelopes(), storetest.NewFaults(db)
	})
}

// TestEnvelopeText: what a principal wrote, and what came in and was refused, is nowhere in the
// database, and after a purge the words of the envelope are not either. After the database is opened
// again everything else is.
//
// covers ENV-078, ENV-112, ENV-113
func TestEnvelopeText(t *testing.T) {
	t.Parallel()
	path := sqlitetest.Path(t)
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := envelope.Parse([]byte(`{"synopsis":"Release the lighthouse.","findings":["a"],"recommendations":[],"offer":"Ask.",
		"question":{"stem":"Which?","options":[{"label":"One","reasoning":"r"},{"label":"Two","reasoning":"s"}],"recommended_idx":0,
		"hatches":{"free_text":true,"dialogue":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1_786_000_000_000)
	if err := db.Envelopes().Emit(t.Context(), envelope.Emission{Envelope: e, Agent: "agent", Principal: "dana", At: at}); err != nil {
		t.Fatal(err)
	}
	answer, err := envelope.Answer(e, "'); DROP TABLE envelopes; -- umbrella")
	if err != nil {
		t.Fatal(err)
	}
	from := envelope.Arrival{Agent: "agent", By: "dana", At: at}
	if _, err := envelope.Settle(t.Context(), db.Envelopes(), []byte(`{"answer":"umbrella"`), from); err == nil {
		t.Fatal("half a resolution was taken")
	}
	if _, err := envelope.Settle(t.Context(), db.Envelopes(), answer.JSON(), from); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	all := func() string {
		return fmt.Sprint(storetest.ReadTables(t, raw, "envelopes", "envelope_closures", "envelope_discards"))
	}
	if text := all(); strings.Contains(text, "umbrella") || !strings.Contains(text, "lighthouse") {
		t.Errorf("before the purge: %s", text)
	}
	if n, err := db.Envelopes().Purge(t.Context(), at.Add(time.Hour), 10); n != 1 || err != nil {
		t.Fatalf("purged %d, %v", n, err)
	}
	if text := all(); strings.Contains(text, "umbrella") || strings.Contains(text, "lighthouse") {
		t.Errorf("after the purge: %s", text)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = sqlite.Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := envelope.Settle(t.Context(), db.Envelopes(), answer.JSON(), from); !errors.Is(err, envelope.ErrTaken) {
		t.Errorf("after it was opened again: %v", err)
	}
}

// TestEnvelopeExchanged: words that somebody has put in the place of others are not served for their
// digest, and nothing is taken for them: an index would choose another option.
//
// covers ENV-072, ENV-080
func TestEnvelopeExchanged(t *testing.T) {
	t.Parallel()
	db, path := openAuthority(t)
	var list []envelope.Envelope
	for _, options := range []string{`{"label":"Pay","reasoning":"r"},{"label":"Wait","reasoning":"s"}`, `{"label":"Wait","reasoning":"s"},{"label":"Pay","reasoning":"r"}`} {
		e, err := envelope.Parse([]byte(`{"synopsis":"Pay.","findings":[],"recommendations":[],"offer":"Ask.","question":{"stem":"Which?","options":[` + options + `],
			"recommended_idx":0,"hatches":{"free_text":true,"dialogue":true}}}`))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	at := time.UnixMilli(1_786_000_000_000)
	if err := db.Envelopes().Emit(t.Context(), envelope.Emission{Envelope: list[0], Agent: "agent", Principal: "dana", At: at}); err != nil {
		t.Fatal(err)
	}
	r, err := envelope.Choose(list[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, words := range [][]byte{list[1].JSON(), []byte("{}")} {
		if _, err := raw.ExecContext(t.Context(), "UPDATE envelopes SET envelope = ?", words); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Envelopes().Envelope(t.Context(), list[0].Digest()); err == nil {
			t.Errorf("%s is served", words)
		}
		if _, err := db.Envelopes().Take(t.Context(), envelope.NewTaking(r, "dana", envelope.Client, at)); err == nil {
			t.Errorf("a resolution is taken beside %s", words)
		}
	}
	if _, err := raw.ExecContext(t.Context(), "UPDATE envelopes SET envelope = ?", list[0].JSON()); err != nil {
		t.Fatal(err)
	}
	if _, err := envelope.Settle(t.Context(), db.Envelopes(), r.JSON(), envelope.Arrival{Agent: "agent", By: "dana", At: at}); err != nil {
		t.Errorf("after its own words are back: %v", err)
	}
}
