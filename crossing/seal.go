package crossing

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// SealParams are the params of crossing:seal (§3.7.1). Unknown ones are ignored: new
// optional params stay within /v1 (§3.7.6).
type SealParams struct {
	Record          *Record
	RecordBytes     []byte // canonical, as received
	ClosedMandate   string // the initiator's, by value
	AnchorIntent    chain.Position
	InitiatorSeal   jcs.Hex256 // optional, additive: what the initiator computed
	possibleIntents error
}

// JointSeal is the joint seal of the record as received.
func (p *SealParams) JointSeal() jcs.Hex256 { return jcs.HexOf(p.RecordBytes) }

// Possible reports whether the intended position can exist at all: null goes with 0
// and with nothing else (AG-43). It is CHAIN_POSITION_UNAVAILABLE, judged late.
func (p *SealParams) Possible() *Refusal {
	if p.possibleIntents != nil {
		return RefuseAt(ChainPositionUnavailable, "§4.4.2-2")
	}
	return nil
}

// ParseSealParams reads the params. Faults of shape are RECORD_MALFORMED (GC-059…062).
func ParseSealParams(v jcs.Value) (*SealParams, *Refusal) {
	r := jcs.NewReader(v)
	p := &SealParams{ClosedMandate: token(r, "initiator_closed_mandate")}
	key := r.Text("idempotency_key")
	record := r.Value("record")
	p.AnchorIntent = positionOf(r.Object("initiator_anchor_intent"))
	if s, ok := r.OptText("initiator_joint_seal"); ok {
		var err error
		if p.InitiatorSeal, err = jcs.ParseHex256(s); err != nil {
			r.Fail("initiator_joint_seal", "value")
		}
	}
	if err := r.Err(); err != nil {
		return nil, paramsFault(err)
	}
	var refusal *Refusal
	if p.Record, refusal = ParseRecord(record); refusal != nil {
		refusal.Member = "/record" + refusal.Member
		return nil, refusal
	}
	if key != p.Record.CrossingID {
		return nil, malformed("§3.7.1 idempotency_key", "/idempotency_key")
	}
	p.RecordBytes = record.Bytes()
	p.possibleIntents = p.AnchorIntent.Validate()
	return p, nil
}

func paramsFault(err error) *Refusal {
	var m *jcs.MemberError
	if !errors.As(err, &m) {
		return malformed("§3.7.1", "")
	}
	return malformed("§3.7.1 "+m.Rule, m.Pointer)
}

// Bytes is the params' canonical JSON, as an initiator sends and stores it.
func (p *SealParams) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "record", Value: p.RecordBytes},
		jcs.Member{Name: "initiator_closed_mandate", Value: jcs.String(p.ClosedMandate)},
		jcs.Member{Name: "initiator_anchor_intent", Value: positionBytes(p.AnchorIntent)},
		jcs.Member{Name: "idempotency_key", Value: jcs.String(p.Record.CrossingID)},
		jcs.Member{Name: "initiator_joint_seal", Value: jcs.String(string(p.JointSeal()))},
	)
}

func positionBytes(p chain.Position) []byte {
	return jcs.Object(
		jcs.Member{Name: "prev_hash", Value: prevHash(p)},
		jcs.Member{Name: "chain_seq", Value: jcs.Int(p.Seq)},
	)
}

// positionOf reads prev_hash, null or 64 hex digits, and chain_seq. Whether the two go
// together is not asked.
func positionOf(r *jcs.Reader) chain.Position {
	p := chain.Position{Seq: r.Int("chain_seq")}
	if prev := r.Value("prev_hash"); prev.Type() != jcs.NullType {
		p.Prev = hex256(r, "prev_hash")
	}
	return p
}

func prevHash(p chain.Position) []byte {
	if p.IsGenesis() {
		return jcs.Null()
	}
	return jcs.String(string(p.Prev))
}

// A Block is the Crossing Seal as it stands in Artifact.metadata (§4.3.2). It is a
// pointer: its presence proves nothing until it has been resolved (GC-234).
type Block struct {
	SealID    string
	Seal      jcs.Hex256
	Position  chain.Position
	Basis     mandate.GovernanceBasis
	SealedAt  time.Time
	VerifyURL string
}

// Members are the twelve of §4.3.2 (GC-231); clearance_id is not among them (GC-232).
func (b *Block) Members() []jcs.Member {
	return []jcs.Member{
		{Name: "crossing_state", Value: jcs.String(string(Committed))},
		{Name: "seal_id", Value: jcs.String(b.SealID)},
		{Name: "seal", Value: jcs.String(string(b.Seal))},
		{Name: "prev_hash", Value: prevHash(b.Position)},
		{Name: "chain_seq", Value: jcs.Int(b.Position.Seq)},
		{Name: "is_genesis", Value: jcs.Bool(b.Position.IsGenesis())},
		{Name: "seal_version", Value: jcs.Int(3)},
		{Name: "pack_id", Value: jcs.String(b.Basis.PackID)},
		{Name: "pack_version", Value: jcs.String(b.Basis.PackVersion)},
		{Name: "outcome", Value: jcs.String("CLEARED")},
		{Name: "sealed_at", Value: instant(b.SealedAt)},
		{Name: "verify_url", Value: jcs.String(b.VerifyURL)},
	}
}

// Bytes is the block's canonical JSON.
func (b *Block) Bytes() []byte { return jcs.Object(b.Members()...) }

// Projection is what a party publishes at the Verification Authority: the block with
// crossing_id and chain_id (design V4).
func (b *Block) Projection(crossingID string, chainID jcs.Hex256) []byte {
	return jcs.Object(append(b.Members(),
		jcs.Member{Name: "crossing_id", Value: jcs.String(crossingID)},
		jcs.Member{Name: "chain_id", Value: jcs.String(string(chainID))},
	)...)
}

// ParseBlock reads a block and tolerates unknown members (GC-004). Members that say the
// same thing twice must agree; is_genesis and outcome may be absent. The error is a
// [*jcs.MemberError].
func ParseBlock(v jcs.Value) (*Block, error) {
	r := jcs.NewReader(v)
	b := &Block{SealID: short(r, "seal_id"), Seal: hex256(r, "seal"), SealedAt: instantOf(r, "sealed_at"), VerifyURL: short(r, "verify_url")}
	b.Position = positionOf(r)
	b.Basis = mandate.GovernanceBasis{PackID: short(r, "pack_id"), PackVersion: short(r, "pack_version")}
	if State(r.Text("crossing_state")) != Committed {
		r.Fail("crossing_state", "value")
	}
	if outcome, ok := r.OptText("outcome"); ok && outcome != "CLEARED" {
		r.Fail("outcome", "value")
	}
	if r.Err() == nil && b.Position.Validate() != nil {
		r.Fail("chain_seq", "value")
	}
	if said := r.OptValue("is_genesis"); said.Type() != jcs.Absent {
		if genesis, ok := said.Bool(); !ok || genesis != b.Position.IsGenesis() {
			r.Fail("is_genesis", "value")
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return b, nil
}

// A SealResult is the answer of crossing:seal (§3.7.2, GC-069).
type SealResult struct {
	CrossingID string
	Block      Block // the responder's; ready to attach
}

// Bytes is the result's canonical JSON: the bytes that are stored and repeated (WC-3).
func (s *SealResult) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "crossing_id", Value: jcs.String(s.CrossingID)},
		jcs.Member{Name: "joint_seal", Value: jcs.String(string(s.Block.Seal))},
		jcs.Member{Name: "seal_id", Value: jcs.String(s.Block.SealID)},
		jcs.Member{Name: "sealed_at", Value: instant(s.Block.SealedAt)},
		jcs.Member{Name: "responder_anchor", Value: positionBytes(s.Block.Position)},
		jcs.Member{Name: "verify_url", Value: jcs.String(s.Block.VerifyURL)},
		jcs.Member{Name: "artifact_block", Value: s.Block.Bytes()},
	)
}

// ParseSealResult reads a result, ignores unknown members (V-2, GC-128), and requires
// its members to agree with its block. The error is or wraps a [*jcs.MemberError]; a
// fault of the block points into the block.
func ParseSealResult(v jcs.Value) (*SealResult, error) {
	r := jcs.NewReader(v)
	s := &SealResult{CrossingID: uuid(r, "crossing_id")}
	block, err := ParseBlock(r.Value("artifact_block"))
	if err != nil {
		return nil, errors.Join(r.Err(), err)
	}
	s.Block = *block
	if positionOf(r.Object("responder_anchor")) != block.Position {
		r.Fail("responder_anchor", "value")
	}
	same := hex256(r, "joint_seal") == block.Seal && r.Text("seal_id") == block.SealID &&
		instantOf(r, "sealed_at").Equal(block.SealedAt) && r.Text("verify_url") == block.VerifyURL
	if r.Err() == nil && !same {
		r.Fail("artifact_block", "value")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// SealID forms a seal's public identifier from a moment and 48 bits of randomness that
// the caller took from a CSPRNG (AG-45, GC-341): canal-<base36 ms>-<12 hex>.
func SealID(at time.Time, random [6]byte) string {
	return "canal-" + strconv.FormatInt(at.UnixMilli(), 36) + "-" + hexString(random[:])
}

// ValidSealID reports whether s has the form that SealID gives (GC-071).
func ValidSealID(s string) bool {
	rest, ok := strings.CutPrefix(s, "canal-")
	if !ok || len(rest) > 64 {
		return false
	}
	when, random, ok := strings.Cut(rest, "-")
	if !ok || when == "" || len(random) != 12 {
		return false
	}
	return strings.Trim(when, "0123456789abcdefghijklmnopqrstuvwxyz") == "" && strings.Trim(random, "0123456789abcdef") == ""
}

func hexString(b []byte) string { return hex.EncodeToString(b) }
