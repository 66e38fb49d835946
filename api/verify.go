package api

import (
	"errors"
	"strings"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// A VerifyRequest is the params of crossing:verify (§3.7.3): exactly one identifier,
// and a record if its seal is to be recomputed (GC-087, GC-088).
type VerifyRequest struct {
	SealID     string
	CrossingID string
	Record     jcs.Value // absent: not supplied
}

// Bytes is the params' canonical JSON.
func (v VerifyRequest) Bytes() []byte {
	var m []jcs.Member
	if v.CrossingID != "" {
		m = append(m, jcs.Member{Name: "crossing_id", Value: jcs.String(v.CrossingID)})
	}
	if v.SealID != "" || v.CrossingID == "" {
		m = append(m, jcs.Member{Name: "seal_id", Value: jcs.String(v.SealID)})
	}
	if v.Record.Type() != jcs.Absent {
		m = append(m, jcs.Member{Name: "record", Value: v.Record.Bytes()})
	}
	return jcs.Object(m...)
}

// ParseVerifyRequest reads the params. Any string is an identifier and gets a verdict;
// neither, both or a non-string is VERIFY_PARAMS, and so is a body that is no JSON
// object (AG-51). A fault of JSON inside the record, or a record that is no object, is
// RECORD_MALFORMED. Unknown params are ignored (§3.7.6), though their numbers are integers too.
func ParseVerifyRequest(body []byte) (VerifyRequest, error) {
	if len(body) > MaxBody {
		return VerifyRequest{}, &Error{Code: CodeTooLarge}
	}
	v, err := jcs.Parse(body)
	if err != nil {
		return VerifyRequest{}, verifySyntax(body, err)
	}
	seal, byCrossing := v.Get("seal_id"), v.Get("crossing_id")
	if (seal.Type() == jcs.Absent) == (byCrossing.Type() == jcs.Absent) {
		return VerifyRequest{}, &Error{Code: string(crossing.VerifyParams)}
	}
	var req VerifyRequest
	var ok bool
	if seal.Type() != jcs.Absent {
		req.SealID, ok = seal.Text()
	} else {
		req.CrossingID, ok = byCrossing.Text()
	}
	if !ok {
		return VerifyRequest{}, &Error{Code: string(crossing.VerifyParams)}
	}
	req.Record = v.Get("record")
	if t := req.Record.Type(); t != jcs.Absent && t != jcs.ObjectType {
		return VerifyRequest{}, &Error{Code: string(crossing.RecordMalformed), Pointer: "/record"}
	}
	return req, nil
}

func verifySyntax(body []byte, err error) *Error {
	if fault, ok := errors.AsType[*jcs.Error](err); ok {
		at := jcs.PointerAt(body, fault.Offset)
		if at == "/record" || strings.HasPrefix(at, "/record/") {
			return &Error{Code: string(crossing.RecordMalformed), Pointer: at}
		}
	}
	return &Error{Code: string(crossing.VerifyParams)}
}

// A Check is one answer in checks: null, false or true.
type Check uint8

// The three answers. Null says that the check could not be made: nothing resolved, or
// no record was supplied.
const (
	Null Check = iota
	False
	True
)

// CheckOf is True or False.
func CheckOf(ok bool) Check {
	if ok {
		return True
	}
	return False
}

func (c Check) bytes() []byte {
	if c == Null {
		return jcs.Null()
	}
	return jcs.Bool(c == True)
}

// Checks are the tests of §6.2 by their names on the wire (GC-090, AG-48).
type Checks struct {
	Resolves           Check // the identifier names a seal; never null
	SealMatches        Check // the supplied record has this seal; null without one
	ChainConsistent    Check // genesis, or prev_hash is the anchor held for the position before
	BasisPresent       Check // pack_id and pack_version are there
	NotSuperseded      Check // nothing has replaced the seal
	ChainPositionValid Check // the position is one of this chain_id and no other (§4.4.2-3)
}

// Bytes is the canonical JSON of the checks.
func (c Checks) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "resolves", Value: jcs.Bool(c.Resolves == True)},
		jcs.Member{Name: "seal_matches", Value: c.SealMatches.bytes()},
		jcs.Member{Name: "chain_consistent", Value: c.ChainConsistent.bytes()},
		jcs.Member{Name: "basis_present", Value: c.BasisPresent.bytes()},
		jcs.Member{Name: "not_superseded", Value: c.NotSuperseded.bytes()},
		jcs.Member{Name: "chain_position_valid", Value: c.ChainPositionValid.bytes()},
	)
}

func readChecks(r *jcs.Reader) Checks {
	c := Checks{
		Resolves:        CheckOf(r.Bool("resolves")),
		SealMatches:     readCheck(r, "seal_matches"),
		ChainConsistent: readCheck(r, "chain_consistent"),
		BasisPresent:    readCheck(r, "basis_present"),
		NotSuperseded:   readCheck(r, "not_superseded"),
	}
	if r.OptValue("chain_position_valid").Type() != jcs.Absent { // additive: another VA may lack it
		c.ChainPositionValid = readCheck(r, "chain_position_valid")
	}
	return c
}

func readCheck(r *jcs.Reader, name string) Check {
	v := r.Value(name)
	if v.Type() == jcs.NullType || r.Err() != nil {
		return Null
	}
	ok, isBool := v.Bool()
	if !isBool {
		r.Fail(name, "type")
	}
	return CheckOf(ok)
}

// A VerifyResult is the answer of crossing:verify as a client reads it. Without
// Checks.Resolves, only VerifiedBy and Checks mean anything: the commitment was not
// made (§6.2, GC-331).
type VerifyResult struct {
	Checks        Checks
	VerifiedBy    string
	Projection    Projection
	ProjectionJWS string    // the authority's signature over Projection (GC-372); "" where another VA gives none
	PublisherJWS  string    // the publisher's signature over its [Publication.Statement]; "" likewise
	AsOf          time.Time // when the authority answered; zero likewise
	Raw           []byte    // the whole answer, canonical
}

// ParseVerifyResult reads an answer and ignores unknown members (V-2, GC-128).
func ParseVerifyResult(body []byte) (*VerifyResult, error) {
	v, err := jcs.Profile{MaxSize: MaxBody}.Parse(body)
	if err != nil {
		return nil, &Error{Code: CodeMalformed}
	}
	r := jcs.NewReader(v)
	out := &VerifyResult{VerifiedBy: readText(r, "verified_by", within(maxText)), Raw: v.Bytes()}
	out.Checks = readChecks(r.Object("checks"))
	if out.Checks.Resolves == True {
		readResolved(r, out)
	}
	if err := r.Err(); err != nil {
		return nil, malformed(err)
	}
	return out, nil
}

func readResolved(r *jcs.Reader, out *VerifyResult) {
	out.Projection = readProjection(r)
	out.ProjectionJWS, _ = r.OptText("projection_jws")
	if r.OptValue("evidence").Type() != jcs.Absent {
		evidence := r.Object("evidence")
		out.AsOf = readTime(evidence, "as_of")
		out.PublisherJWS, _ = evidence.OptText("publisher_jws")
	}
}
