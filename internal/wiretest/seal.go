package wiretest

import (
	"encoding/json"
	"time"

	"github.com/bindery/bindery/crossing"
)

const timeLayout = "2006-01-02T15:04:05Z"

// Seal calls crossing:seal. The first call makes record and params; the next ones send
// the same bytes again, until Forget.
func (s *Script) Seal() Answer {
	s.W.t.Helper()
	return s.W.Post(s.header(), s.SealBody())
}

// SealBody is the request that Seal sends.
func (s *Script) SealBody() []byte {
	if s.Params == nil {
		s.Record = s.NewRecord()
		if s.Edit.Record != nil {
			s.Edit.Record(s.Record)
		}
		s.Params = Doc{
			"record": s.Record, "initiator_closed_mandate": s.Closed, "idempotency_key": s.CrossingID,
			"initiator_anchor_intent": Doc{"prev_hash": nil, "chain_seq": 0},
		}
		if s.Edit.Params != nil {
			s.Edit.Params(s.Params)
		}
	}
	return Envelope(crossing.RPCSeal, s.Params)
}

// Forget drops the record, so that the next Seal makes a new one, at the World's time.
func (s *Script) Forget() { s.Record, s.Params = nil, nil }

// NewRecord is the record of this crossing as an honest initiator builds it: from its
// own tokens and the responder's, with hashes that it computes itself.
func (s *Script) NewRecord() Doc {
	record := Doc{
		"record": "anax-bilateral-crossing-v1", "crossing_id": s.CrossingID, "created_at": stamp(s.Begun),
		"parties":          []any{slot("initiator", s.From.Doc(), s.Open.Token, s.Closed), slot("responder", s.Peer.Party, s.Peer.Open, s.Peer.Closed)},
		"agreement_hash":   s.Agreement(),
		"commitment_class": s.Amount.Class.String(), "commitment_act": s.Act,
		"magnitude_asserted": int64(s.Amount.Magnitude),
		"a2a_context":        Doc{"task_id": s.TaskID, "context_id": s.ContextID, "artifact_id": s.CrossingID},
		"timestamps": Doc{
			"mandates_verified_at": stamp(s.Verified), "terms_agreed_at": stamp(s.Agreed), "sealed_at": stamp(s.W.Clock.Now()),
		},
	}
	if s.Amount.Currency != "" {
		record["currency"] = string(s.Amount.Currency)
	}
	return record
}

func slot(role string, party Doc, open, closed string) Doc {
	d := Doc{}
	for name, value := range party {
		d[name] = value
	}
	claims := claimsOf(closed)
	d["role"] = role
	d["open_mandate_hash"], d["closed_mandate_hash"] = OpenHash(open), Hash(closed)
	d["signer_role"], d["governance_basis"] = claims["signer_role"], claims["governance_basis"]
	return d
}

// Slot is one party's entry in a record: 0 the initiator's, 1 the responder's.
func Slot(record Doc, i int) Doc { return Object(record, "parties", i) }

func stamp(t time.Time) string { return t.UTC().Format(timeLayout) }

// Number is a JSON number spelled exactly so.
func Number(s string) json.RawMessage { return json.RawMessage(s) }
