package centre

import (
	"strconv"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// Deviations are the rows of the specification that a run cannot keep without the one
// authority it names: another verify host stands in verify_url (design V5).
func Deviations(verifyURL string) []string {
	const host = "https://verify.anaxstandard.ai/"
	if len(verifyURL) >= len(host) && verifyURL[:len(host)] == host {
		return nil
	}
	return []string{"GC-024", "GC-233"}
}

// report is what an initiator knows of a committed crossing, as canonical JSON. It is
// stored, and given again as it is.
func (r *run) report(s *sealed, own chain.Link, verdict jcs.Value) []byte {
	x := r.x
	terms, refusal := crossing.ParseTerms(x.Terms)
	if refusal != nil {
		panic("centre: stored terms do not parse") // they were parsed before they were stored
	}
	peer := chain.Link{Position: s.block.Position, JointSeal: s.block.Seal, Anchor: s.block.Position.Anchor(s.block.Seal)}
	return jcs.Object(
		jcs.Member{Name: "crossing_id", Value: jcs.String(x.CrossingID)},
		jcs.Member{Name: "record", Value: s.bytes},
		jcs.Member{Name: "terms", Value: terms.Canonical()},
		jcs.Member{Name: "joint_seal", Value: jcs.String(string(s.block.Seal))},
		jcs.Member{Name: "seal_id", Value: jcs.String(s.block.SealID)},
		jcs.Member{Name: "sealed_at", Value: blockMember(s.block, "sealed_at")},
		jcs.Member{Name: "verify_url", Value: jcs.String(s.block.VerifyURL)},
		jcs.Member{Name: "deviations", Value: texts(Deviations(s.block.VerifyURL))},
		jcs.Member{Name: "artifact_block", Value: s.block.Bytes()},
		jcs.Member{Name: "initiator", Value: partyReport(x.Own, own, s.record.ChainID(), x.OwnOpen, x.OwnClosed)},
		jcs.Member{Name: "responder", Value: partyReport(x.Peer, peer, s.record.ChainID(), x.PeerOpen, x.PeerClosed)},
		jcs.Member{Name: "verify", Value: verdict.Bytes()},
		jcs.Member{Name: "phases", Value: phases(r.phases)},
	)
}

func blockMember(b crossing.Block, name string) []byte {
	for _, m := range b.Members() {
		if m.Name == name {
			return m.Value
		}
	}
	return jcs.Null()
}

func partyReport(p crossing.Profile, l chain.Link, chainID jcs.Hex256, open, closed string) []byte {
	prev := jcs.Null()
	if !l.IsGenesis() {
		prev = jcs.String(string(l.Prev))
	}
	return jcs.Object(
		jcs.Member{Name: "principal_id", Value: jcs.String(p.PrincipalID)},
		jcs.Member{Name: "agent_id", Value: jcs.String(p.AgentID)},
		jcs.Member{Name: "chain_id", Value: jcs.String(string(chainID))},
		jcs.Member{Name: "chain_seq", Value: jcs.Int(l.Seq)},
		jcs.Member{Name: "prev_hash", Value: prev},
		jcs.Member{Name: "anchor", Value: jcs.String(string(l.Anchor))},
		jcs.Member{Name: "closed_mandate", Value: jcs.String(closed)},
		jcs.Member{Name: "open_mandate", Value: jcs.String(open)},
	)
}

func phases(events []Event) []byte {
	items := make([][]byte, 0, len(events))
	for _, e := range events {
		items = append(items, jcs.Object(
			jcs.Member{Name: "phase", Value: jcs.String(e.Phase)},
			jcs.Member{Name: "name", Value: jcs.String(e.Name)},
			jcs.Member{Name: "ms", Value: jcs.Int(e.Took.Milliseconds())},
		))
	}
	return jcs.Array(items...)
}

func texts(list []string) []byte {
	items := make([][]byte, len(list))
	for i, s := range list {
		items[i] = jcs.String(s)
	}
	return jcs.Array(items...)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
