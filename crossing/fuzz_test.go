package crossing_test

import (
	"bytes"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// FuzzParseTerms: no panic; a document that is taken has canonical bytes that are taken
// too, are their own canonical form, and have the same hash.
//
// covers GC-212, GC-215
func FuzzParseTerms(f *testing.F) {
	for _, doc := range []string{td1, td2, td3, td4, td5, `{"terms_version":"1","a":1,"\u0061":2}`, `{"terms_version":"1","n":1.5}`, `[`, ``} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		terms, refusal := crossing.ParseTerms(src)
		if refusal != nil {
			if refusal.Name != crossing.AgreementHashMismatch || refusal.Path == "" {
				t.Errorf("refused as %+v", refusal)
			}
			return
		}
		again, refusal := crossing.ParseTerms(terms.Canonical())
		if refusal != nil {
			t.Fatalf("the canonical form is refused: %v", refusal)
		}
		if again.Hash() != terms.Hash() || !bytes.Equal(again.Canonical(), terms.Canonical()) {
			t.Errorf("%s became %s", terms.Canonical(), again.Canonical())
		}
	})
}

// FuzzParseMessage: no panic, and what was printed is read back and printed alike.
//
// covers GC-272, GC-287
func FuzzParseMessage(f *testing.F) {
	for src := range messages() {
		f.Add([]byte(src))
	}
	f.Add(crossing.RefusalBytes(crossing.Refused, crossing.Refuse(crossing.MandateExpired)))
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := jcs.Parse(src)
		if err != nil {
			return
		}
		m, refusal := crossing.ParseMessage(v)
		if refusal != nil {
			if m != nil || refusal.Name != crossing.RecordMalformed {
				t.Errorf("%v beside %+v", m, refusal)
			}
			return
		}
		printed := messageBytes(m)
		if printed == nil {
			return // a terminal state without a refusal
		}
		again, refusal := crossing.ParseMessage(parse(t, printed))
		if refusal != nil {
			t.Fatalf("%s is refused: %v", printed, refusal)
		}
		if got := messageBytes(again); !bytes.Equal(got, printed) {
			t.Errorf("%s became %s", printed, got)
		}
	})
}

// FuzzParseSealParams: no panic; params that are taken print to the same params, whose
// record is the bytes that came.
//
// covers GC-059, GC-060, GC-061, GC-062
func FuzzParseSealParams(f *testing.F) {
	f.Add([]byte(goldenParams))
	f.Add([]byte(`{"record":{},"idempotency_key":""}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := jcs.Parse(src)
		if err != nil {
			return
		}
		p, refusal := crossing.ParseSealParams(v)
		if refusal != nil {
			if p != nil || refusal.Name != crossing.RecordMalformed {
				t.Errorf("%v beside %+v", p, refusal)
			}
			return
		}
		if !bytes.Equal(p.Record.Bytes(), p.RecordBytes) || p.JointSeal() != p.Record.JointSeal() {
			t.Errorf("%s was read as %s", p.RecordBytes, p.Record.Bytes())
		}
		again, refusal := crossing.ParseSealParams(parse(t, p.Bytes()))
		if refusal != nil {
			t.Fatalf("%s is refused: %v", p.Bytes(), refusal)
		}
		if !bytes.Equal(again.Bytes(), p.Bytes()) {
			t.Errorf("%s became %s", p.Bytes(), again.Bytes())
		}
	})
}
