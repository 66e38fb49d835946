package envelope

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/bindery/bindery/jcs"
)

// Sidecar returns what an emission says beside its envelope as one canonical JSON object, for
// storage: with it and the envelope's bytes [ParseEmission] makes the emission again. e must pass
// [Emission.Check].
func (e Emission) Sidecar() []byte {
	var closed [][]byte
	for _, c := range e.Closed {
		closed = append(closed, jcs.Object(
			jcs.Member{Name: "hatch", Value: jcs.String(string(c.Hatch))},
			jcs.Member{Name: "reason", Value: jcs.String(c.Reason)},
		))
	}
	return jcs.Object(
		jcs.Member{Name: "actions", Value: e.Actions.list()},
		jcs.Member{Name: "agent", Value: jcs.String(e.Agent)},
		jcs.Member{Name: "at", Value: jcs.Int(e.At.UnixMilli())},
		jcs.Member{Name: "closed", Value: jcs.Array(closed...)},
		jcs.Member{Name: "earlier", Value: jcs.String(e.Earlier)},
		jcs.Member{Name: "evidence", Value: e.Evidence.object()},
		jcs.Member{Name: "matter", Value: jcs.String(e.Matter)},
		jcs.Member{Name: "needs", Value: jcs.String(string(e.Needs.orClient()))},
		jcs.Member{Name: "principal", Value: jcs.String(e.Principal)},
		jcs.Member{Name: "session", Value: jcs.String(e.Session)},
	)
}

func (a Actions) list() []byte {
	var items [][]byte
	for _, d := range a.digests[:a.count] {
		items = append(items, jcs.String(string(d)))
	}
	return jcs.Array(items...)
}

// object has the indices of the findings as names.
func (ev Evidence) object() []byte {
	members := []jcs.Member{}
	for _, finding := range ev.Findings() {
		var items [][]byte
		for _, d := range ev.digests[finding] {
			items = append(items, jcs.String(string(d)))
		}
		members = append(members, jcs.Member{Name: strconv.Itoa(finding), Value: jcs.Array(items...)})
	}
	return jcs.Object(members...)
}

// JSON returns ev as one canonical object: envelope_digest, and findings, whose members are named
// by the index of a finding and hold its digests. [ParseEvidence] reads it.
func (ev Evidence) JSON() []byte {
	return jcs.Object(
		jcs.Member{Name: "envelope_digest", Value: jcs.String(ev.envelope.String())},
		jcs.Member{Name: "findings", Value: ev.object()},
	)
}

// ParseEvidence reads the evidence of e as [Evidence.JSON] writes it.
func ParseEvidence(e Envelope, text []byte) (Evidence, error) {
	v, err := jcs.Profile{MaxSize: maxSidecar}.Parse(text)
	if err != nil {
		return Evidence{}, err
	}
	r := jcs.NewReader(v)
	digest, findings := r.Text("envelope_digest"), r.Value("findings")
	if err := r.Close(); err != nil {
		return Evidence{}, err
	}
	if digest != e.Digest().String() {
		return Evidence{}, errors.New("envelope: the evidence is that of another envelope (ENV-118)")
	}
	return evidenceOf(e, findings)
}

// ParseEmission makes an emission of an envelope's JSON and its sidecar, and checks it.
func ParseEmission(envelope, sidecar []byte) (Emission, error) {
	env, err := Parse(envelope)
	if err != nil {
		return Emission{}, err
	}
	v, err := jcs.Profile{MaxSize: maxSidecar}.Parse(sidecar)
	if err != nil {
		return Emission{}, err
	}
	r := jcs.NewReader(v)
	e := Emission{
		Envelope: env, Agent: r.Text("agent"), Principal: r.Text("principal"), Session: r.Text("session"), Matter: r.Text("matter"),
		At: time.UnixMilli(r.Int("at")).UTC(), Earlier: r.Text("earlier"), Needs: Assurance(r.Text("needs")),
	}
	closed, actions, evidence := r.Items("closed"), r.Items("actions"), r.Value("evidence")
	if err := r.Close(); err != nil {
		return Emission{}, err
	}
	for _, item := range closed {
		c := jcs.NewReader(item)
		e.Closed = append(e.Closed, Closure{Hatch(c.Text("hatch")), c.Text("reason")})
		if err := c.Close(); err != nil {
			return Emission{}, err
		}
	}
	if len(actions) > 0 {
		digests, err := digestList(slices.Values(actions))
		if err != nil {
			return Emission{}, err
		}
		if e.Actions, err = NewActions(env, digests...); err != nil {
			return Emission{}, err
		}
	}
	if evidence.Len() > 0 {
		if e.Evidence, err = evidenceOf(env, evidence); err != nil {
			return Emission{}, err
		}
	}
	return e, e.Check()
}

// maxSidecar has room for the evidence of all findings.
const maxSidecar = 1 << 20

func evidenceOf(e Envelope, findings jcs.Value) (Evidence, error) {
	digests := map[int][]jcs.Digest{}
	for name, list := range findings.Members() {
		finding, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(finding) != name {
			return Evidence{}, errors.New("envelope: evidence is named by the index of a finding (ENV-118)")
		}
		if digests[finding], err = digestList(list.Items()); err != nil {
			return Evidence{}, err
		}
	}
	return NewEvidence(e, digests)
}

func digestList(items func(yield func(jcs.Value) bool)) (list []jcs.Digest, err error) {
	for item := range items {
		s, ok := item.Text()
		if !ok {
			return nil, errDigest
		}
		list = append(list, jcs.Digest(s))
	}
	return list, nil
}
