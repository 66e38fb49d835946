package authority

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// Verify answers crossing:verify with canonical JSON (§3.7.3). No identifier is an error;
// VERIFY_PARAMS says that two came, RECORD_MALFORMED that the record breaks §4.4. An
// error that is no [*api.Error] has decided nothing.
func (a *Authority) Verify(ctx context.Context, req api.VerifyRequest) (result []byte, err error) {
	if req.SealID != "" && req.CrossingID != "" {
		a.observer.Verified(verdictRefused)
		return nil, &api.Error{Code: string(crossing.VerifyParams)}
	}
	seal, err := sealOf(req.Record)
	if err != nil {
		a.observer.Verified(verdictRefused)
		return nil, err
	}
	if req.CrossingID != "" {
		return a.verdict(ctx, crossingKey(req.CrossingID), seal)
	}
	return a.verdict(ctx, sealKey(req.SealID), seal)
}

// Resolve is Verify for one identifier whose form says which it is: the portal's single
// input (§6.2, GC-084).
func (a *Authority) Resolve(ctx context.Context, id string) (result []byte, err error) {
	if crossing.ValidCrossingID(id) {
		return a.verdict(ctx, crossingKey(id), "")
	}
	return a.verdict(ctx, sealKey(id), "")
}

// identifier is what was asked for, if it has its form. The zero one names nothing, so
// that no other string ever reaches the store.
type identifier struct{ sealID, crossingID string }

func sealKey(s string) identifier {
	if !crossing.ValidSealID(s) {
		return identifier{}
	}
	return identifier{sealID: s}
}

func crossingKey(s string) identifier {
	if !crossing.ValidCrossingID(s) {
		return identifier{}
	}
	return identifier{crossingID: s}
}

// sealOf recomputes the joint seal of a supplied record, "" if there is none. A chain
// position in it is left out before anything is judged (AG-30).
func sealOf(record jcs.Value) (jcs.Hex256, error) {
	if record.Type() == jcs.Absent {
		return "", nil
	}
	malformed := &api.Error{Code: string(crossing.RecordMalformed), Pointer: "/record"}
	if record.Type() != jcs.ObjectType {
		return "", malformed
	}
	var members []jcs.Member
	for name, v := range record.Members() {
		if name != "prev_hash" && name != "chain_seq" {
			members = append(members, jcs.Member{Name: name, Value: v.Bytes()})
		}
	}
	bare, err := jcs.Parse(jcs.Object(members...))
	if err != nil {
		return "", malformed
	}
	if _, refusal := crossing.ParseRecord(bare); refusal != nil {
		malformed.Pointer += refusal.Member
		return "", malformed
	}
	return crossing.JointSealOf(bare), nil
}

func (a *Authority) verdict(ctx context.Context, id identifier, seal jcs.Hex256) ([]byte, error) {
	row, err := a.lookup(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		a.observer.Verified(verdictUnknown)
		return a.unknown, nil
	case err != nil:
		return nil, undecided("resolving", err)
	}
	checks, err := a.checks(ctx, row, seal)
	if err != nil {
		return nil, undecided("resolving", err)
	}
	a.verified(checks)
	return a.answer(row, checks)
}

func (a *Authority) lookup(ctx context.Context, id identifier) (Row, error) {
	switch {
	case id.sealID != "":
		return a.store.BySeal(ctx, id.sealID)
	case id.crossingID != "":
		return a.store.Find(ctx, id.crossingID, crossing.Responder)
	}
	return Row{}, ErrNotFound
}

// checks are the tests of §6.2 over what is stored.
func (a *Authority) checks(ctx context.Context, row Row, seal jcs.Hex256) (api.Checks, error) {
	block := row.Publication.Projection.Block
	linked, err := a.linked(ctx, row)
	if err != nil {
		return api.Checks{}, err
	}
	c := api.Checks{
		Resolves:        api.True,
		ChainConsistent: api.CheckOf(linked),
		BasisPresent:    api.CheckOf(block.Basis.PackID != "" && block.Basis.PackVersion != ""),
		// Nothing supersedes a seal yet: there is no operation that could.
		NotSuperseded: api.True,
		// The rule of §4.4.2-3 is the same link seen from the chain: any prev_hash but the
		// anchor before it in this chain_id is foreign.
		ChainPositionValid: api.CheckOf(linked),
	}
	if seal != "" {
		c.SealMatches = api.CheckOf(seal == block.Seal)
	}
	return c, nil
}

// linked reports whether a row is a genesis or follows the anchor held for the position
// before it, of the same principal in either role (design V1). The anchor is computed
// from the seal and position before, never read.
func (a *Authority) linked(ctx context.Context, row Row) (bool, error) {
	p := row.Publication.Projection
	if !intact(row) {
		return false, nil
	}
	if row.Position.IsGenesis() {
		return true, nil
	}
	before, err := a.store.At(ctx, row.PrincipalID, p.ChainID, row.Position.Seq-1)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return intact(before) && before.Position.Next(before.Seal) == row.Position, nil
}

// intact reports whether a row's index says what its projection says.
func intact(row Row) bool {
	b := row.Publication.Projection.Block
	return row.Position == b.Position && row.Seal == b.Seal
}

// answer is the public projection (GC-089). Everything that may differ from one call to
// the next is in evidence.
func (a *Authority) answer(row Row, checks api.Checks) ([]byte, error) {
	projection, err := jcs.Parse(row.Publication.Projection.Bytes())
	if err != nil {
		return nil, err
	}
	members := []jcs.Member{
		{Name: "verified_by", Value: jcs.String(a.name)},
		{Name: "checks", Value: checks.Bytes()},
		{Name: "projection_jws", Value: jcs.String(row.ProjectionJWS)},
		{Name: "evidence", Value: jcs.Object(
			jcs.Member{Name: "as_of", Value: jcs.String(a.now().UTC().Truncate(time.Second).Format(time.RFC3339))},
			jcs.Member{Name: "publisher_jws", Value: jcs.String(row.Publication.Signature)},
		)},
	}
	for name, v := range projection.Members() {
		members = append(members, jcs.Member{Name: name, Value: v.Bytes()})
	}
	return jcs.Object(members...), nil
}

// unknownVerdict names nothing that was asked for (AG-50, §7.6).
func unknownVerdict(name string) []byte {
	return jcs.Object(
		jcs.Member{Name: "verified_by", Value: jcs.String(name)},
		jcs.Member{Name: "checks", Value: api.Checks{}.Bytes()},
	)
}
