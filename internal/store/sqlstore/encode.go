package sqlstore

import (
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
)

// Small values of a crossing's row are kept as canonical JSON.

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// millis maps the zero time to NULL.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func profileBytes(p crossing.Profile) []byte {
	if p.PrincipalID == "" {
		return nil
	}
	return jcs.Object(
		jcs.Member{Name: "principal_id", Value: jcs.String(p.PrincipalID)},
		jcs.Member{Name: "agent_id", Value: jcs.String(p.AgentID)},
		jcs.Member{Name: "clearance_id_hash", Value: jcs.String(string(p.ClearanceIDHash))},
		jcs.Member{Name: "trust_basis", Value: jcs.String(p.TrustBasis)},
		jcs.Member{Name: "agc_level", Value: jcs.Int(p.AGCLevel)},
	)
}

func decodeProfile(b []byte) (p crossing.Profile, err error) {
	if len(b) == 0 {
		return p, nil
	}
	r, err := reader(b)
	if err != nil {
		return p, err
	}
	p = crossing.Profile{
		PrincipalID: r.Text("principal_id"), AgentID: r.Text("agent_id"), ClearanceIDHash: jcs.Hex256(r.Text("clearance_id_hash")),
		TrustBasis: r.Text("trust_basis"), AGCLevel: r.Int("agc_level"),
	}
	return p, r.Close()
}

func reader(b []byte) (*jcs.Reader, error) {
	v, err := jcs.Parse(b)
	if err != nil {
		return nil, err
	}
	return jcs.NewReader(v), nil
}

func amountBytes(a *commitment.Amount) []byte {
	if a == nil {
		return nil
	}
	return jcs.Object(
		jcs.Member{Name: "class", Value: jcs.String(a.Class.String())},
		jcs.Member{Name: "magnitude", Value: jcs.Int(int64(a.Magnitude))},
		jcs.Member{Name: "currency", Value: jcs.String(string(a.Currency))},
	)
}

func decodeAmount(b []byte) (*commitment.Amount, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r, err := reader(b)
	if err != nil {
		return nil, err
	}
	class, err := commitment.ParseClass(r.Text("class"))
	if err != nil {
		return nil, err
	}
	a, err := commitment.NewAmount(class, commitment.Magnitude(r.Int("magnitude")), commitment.Currency(r.Text("currency")))
	if err != nil {
		return nil, err
	}
	return &a, r.Close()
}

func refusalBytes(r *crossing.Refusal) []byte {
	if r == nil {
		return nil
	}
	return jcs.Object(
		jcs.Member{Name: "name", Value: jcs.String(string(r.Name))},
		jcs.Member{Name: "path", Value: jcs.String(r.Path)},
		jcs.Member{Name: "member", Value: jcs.String(r.Member)},
		jcs.Member{Name: "peer", Value: jcs.Bool(r.Peer)},
	)
}

func decodeRefusal(b []byte) (*crossing.Refusal, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r, err := reader(b)
	if err != nil {
		return nil, err
	}
	refusal := &crossing.Refusal{Name: crossing.Name(r.Text("name")), Path: r.Text("path"), Member: r.Text("member"), Peer: r.Bool("peer")}
	return refusal, r.Close()
}

func textBytes(list []string) []byte {
	if len(list) == 0 {
		return nil
	}
	items := make([][]byte, len(list))
	for i, s := range list {
		items[i] = jcs.String(s)
	}
	return jcs.Array(items...)
}

func decodeTexts(b []byte) (list []string, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	v, err := jcs.Parse(b)
	if err != nil {
		return nil, err
	}
	for item := range v.Items() {
		s, _ := item.Text()
		list = append(list, s)
	}
	return list, nil
}

func decodeCrossing(x *centre.Crossing, own, peer, amount, disclosures, refusal []byte) (err error) {
	if x.Own, err = decodeProfile(own); err != nil {
		return err
	}
	if x.Peer, err = decodeProfile(peer); err != nil {
		return err
	}
	if x.Amount, err = decodeAmount(amount); err != nil {
		return err
	}
	if x.PeerDisclosures, err = decodeTexts(disclosures); err != nil {
		return err
	}
	x.Refusal, err = decodeRefusal(refusal)
	return err
}
