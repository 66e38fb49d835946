package api

import (
	"strings"
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Types of the signed statements around a publication: the publisher's over what it
// publishes, and the Verification Authority's over what it stores and serves (GC-372).
const (
	PublicationType = "bindery-publication+jwt"
	ProjectionType  = "bindery-projection+jwt"
)

// Limits of a publication.
const (
	// MaxReceipts is the number of RA receipts: one for each of the two Closeds, which
	// may be registered at two RAs.
	MaxReceipts = 2
	maxJWS      = 8 << 10 // bytes of a signature or receipt
	maxURL      = 512     // bytes of a verify_url
	maxText     = 256     // bytes of a pack id, pack version or authority name
)

// timeLayout is RFC 3339 in UTC with whole seconds (AG-32).
const timeLayout = "2006-01-02T15:04:05Z"

// An EnrolRegistry pins a Registration Authority's key at a Verification Authority, by
// the secret of a one-time code. From then on that RA speaks there for one principal, and
// for no other:
//
//	{"jwk":{"crv","kty","x","y"},"principal_id":"urn:anax:principal:acme","secret":"…",
//	 "url":"https://ra.acme.example"}
type EnrolRegistry struct {
	Secret      string   // of the VA's [Code]
	Key         jose.Key // the key that the RA signs with
	PrincipalID string   // whose mandates it registers
	URL         string   // where it answers: https, or http on loopback
}

// Validate checks the request's rules, but for the secret. The error is an [*Error] with
// CodeMalformed.
func (e EnrolRegistry) Validate() error {
	pointer := ""
	switch {
	case e.Key.Public == nil || e.Key.ID == "":
		pointer = "/jwk"
	case !mandate.ValidPrincipalID(e.PrincipalID):
		pointer = "/principal_id"
	case !validBaseURL(e.URL):
		pointer = "/url"
	default:
		return nil
	}
	return &Error{Code: CodeMalformed, Pointer: pointer}
}

// Bytes is the request's canonical JSON.
func (e EnrolRegistry) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "secret", Value: jcs.String(e.Secret)},
		jcs.Member{Name: "jwk", Value: e.Key.JWK()},
		jcs.Member{Name: "principal_id", Value: text(e.PrincipalID)},
		jcs.Member{Name: "url", Value: text(e.URL)},
	)
}

// ParseEnrolRegistry reads the request. The key goes by its thumbprint.
func ParseEnrolRegistry(body []byte) (EnrolRegistry, error) {
	var e EnrolRegistry
	err := closedObject(body, func(r *jcs.Reader) {
		e.Secret = readText(r, "secret", validSecret)
		e.Key = readKey(r, "jwk")
		e.PrincipalID, e.URL = r.Text("principal_id"), r.Text("url")
	})
	if err != nil {
		return EnrolRegistry{}, err
	}
	e.Key.Kid = ""
	return e, e.Validate()
}

// A RegistryEnrolled tells an enrolled RA whom it has joined:
// {"base_url","registry_key","verified_by"}.
type RegistryEnrolled struct {
	VerifiedBy  string // the VA's name, as "VA-001"
	BaseURL     string // what every verify_url begins with
	RegistryKey string // thumbprint of the key that is now pinned
}

// Bytes is the answer's canonical JSON.
func (e RegistryEnrolled) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "verified_by", Value: jcs.String(e.VerifiedBy)},
		jcs.Member{Name: "base_url", Value: jcs.String(e.BaseURL)},
		jcs.Member{Name: "registry_key", Value: jcs.String(e.RegistryKey)},
	)
}

// ParseRegistryEnrolled reads the answer.
func ParseRegistryEnrolled(body []byte) (RegistryEnrolled, error) {
	var e RegistryEnrolled
	err := closedObject(body, func(r *jcs.Reader) {
		e.VerifiedBy = readText(r, "verified_by", within(maxText))
		e.BaseURL = readText(r, "base_url", within(maxURL))
		e.RegistryKey = readText(r, "registry_key", within(jose.MaxKeyID))
	})
	if err != nil {
		return RegistryEnrolled{}, err
	}
	return e, nil
}

// An AddPublisher presents an RA's grant for the credential that the request itself is
// made with: {"grant":"eyJ…"}.
type AddPublisher struct {
	Grant string // mandate.PublisherGrant
}

// Bytes is the request's canonical JSON.
func (a AddPublisher) Bytes() []byte {
	return jcs.Object(jcs.Member{Name: "grant", Value: jcs.String(a.Grant)})
}

// ParseAddPublisher reads the request.
func ParseAddPublisher(body []byte) (AddPublisher, error) {
	var a AddPublisher
	err := closedObject(body, func(r *jcs.Reader) { a.Grant = readText(r, "grant", compact) })
	if err != nil {
		return AddPublisher{}, err
	}
	return a, nil
}

// A Projection is what a party makes public of a seal: the block of §4.3.2 with its own
// position, plus crossing_id and chain_id (design V4). clearance_id and the agents are
// not in it (GC-091, GC-260).
type Projection struct {
	CrossingID string
	ChainID    jcs.Hex256
	Block      crossing.Block
}

// Bytes is the projection's canonical JSON: what is hashed, signed, stored and served.
func (p Projection) Bytes() []byte { return p.Block.Projection(p.CrossingID, p.ChainID) }

// ParseProjection reads a projection: closed, every value in the form that Bytes
// writes. Whether its chain_id and verify_url are right, only an authority can say.
func ParseProjection(body []byte) (Projection, error) {
	var p Projection
	err := closedObject(body, func(r *jcs.Reader) { p = readProjection(r) })
	if err != nil {
		return Projection{}, err
	}
	return p, nil
}

func readProjection(r *jcs.Reader) Projection {
	p := Projection{CrossingID: readText(r, "crossing_id", crossing.ValidCrossingID), ChainID: readHex(r, "chain_id")}
	b := &p.Block
	b.SealID = readText(r, "seal_id", crossing.ValidSealID)
	b.Seal = readHex(r, "seal")
	b.Position = readPosition(r)
	b.Basis = mandate.GovernanceBasis{
		PackID:      readText(r, "pack_id", within(maxText)),
		PackVersion: readText(r, "pack_version", within(maxText)),
	}
	b.SealedAt = readTime(r, "sealed_at")
	b.VerifyURL = readText(r, "verify_url", within(maxURL))
	// One value is left to these three; they are written out for whoever reads a block.
	literal(r, "crossing_state", string(crossing.Committed))
	literal(r, "outcome", "CLEARED")
	if r.Int("seal_version") != 3 && r.Err() == nil {
		r.Fail("seal_version", "value")
	}
	return p
}

// readPosition reads prev_hash, chain_seq and is_genesis and requires them to say the
// same thing (§4.4.2-2).
func readPosition(r *jcs.Reader) chain.Position {
	var p chain.Position
	p.Seq = r.Int("chain_seq")
	if prev := r.Value("prev_hash"); prev.Type() != jcs.NullType && r.Err() == nil {
		p.Prev = readHex(r, "prev_hash")
	}
	genesis := r.Bool("is_genesis")
	switch {
	case r.Err() != nil:
	case p.Validate() != nil:
		r.Fail("chain_seq", "value")
	case genesis != p.IsGenesis():
		r.Fail("is_genesis", "value")
	}
	return p
}

// A Publication is the body of POST /v1/projections (design V4):
//
//	{"initiator_agent","projection":{…},"receipts":["eyJ…"],"responder_agent","role","signature"}
//
// The authority keeps the two agents to itself; it needs them for chain_id alone.
type Publication struct {
	Projection     Projection
	Role           crossing.Role // of the publisher
	InitiatorAgent string
	ResponderAgent string
	Signature      string   // compact JWS of [PublicationType] over Statement, by the publisher's key
	Receipts       []string // mandate.SpendReceipt; at most MaxReceipts
}

// Statement is the payload that the publisher signs:
// {"crossing_id","projection_sha256","role"}.
func (p Publication) Statement() []byte {
	return jcs.Object(
		jcs.Member{Name: "role", Value: jcs.String(string(p.Role))},
		jcs.Member{Name: "crossing_id", Value: jcs.String(p.Projection.CrossingID)},
		jcs.Member{Name: "projection_sha256", Value: jcs.String(string(jcs.HexOf(p.Projection.Bytes())))},
	)
}

// Bytes is the publication's canonical JSON.
func (p Publication) Bytes() []byte {
	receipts := make([][]byte, len(p.Receipts))
	for i, r := range p.Receipts {
		receipts[i] = jcs.String(r)
	}
	return jcs.Object(
		jcs.Member{Name: "projection", Value: p.Projection.Bytes()},
		jcs.Member{Name: "role", Value: jcs.String(string(p.Role))},
		jcs.Member{Name: "initiator_agent", Value: jcs.String(p.InitiatorAgent)},
		jcs.Member{Name: "responder_agent", Value: jcs.String(p.ResponderAgent)},
		jcs.Member{Name: "signature", Value: jcs.String(p.Signature)},
		jcs.Member{Name: "receipts", Value: jcs.Array(receipts...)},
	)
}

// ParsePublication reads a publication. Nothing in it is trusted yet.
func ParsePublication(body []byte) (Publication, error) {
	var p Publication
	err := closedObject(body, func(r *jcs.Reader) {
		p.Role = crossing.Role(readText(r, "role", validRole))
		p.InitiatorAgent = readText(r, "initiator_agent", mandate.ValidAgentID)
		p.ResponderAgent = readText(r, "responder_agent", mandate.ValidAgentID)
		p.Signature = readText(r, "signature", compact)
		p.Receipts = readReceipts(r)
		p.Projection = readProjection(r.Object("projection"))
	})
	if err != nil {
		return Publication{}, err
	}
	return p, nil
}

func readReceipts(r *jcs.Reader) []string {
	items := r.Items("receipts")
	if len(items) > MaxReceipts {
		r.Fail("receipts", "value")
	}
	var receipts []string
	for _, item := range items {
		s, ok := item.Text()
		if (!ok || !compact(s)) && r.Err() == nil {
			r.Fail("receipts", "value")
		}
		receipts = append(receipts, s)
	}
	return receipts
}

// A Published is the authority's acknowledgement: the projection is served from now on.
// {"crossing_id","projection_jws","role"}
type Published struct {
	CrossingID    string
	Role          crossing.Role
	ProjectionJWS string // the authority's signature over the projection, of [ProjectionType]
}

// Bytes is the answer's canonical JSON.
func (p Published) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "crossing_id", Value: jcs.String(p.CrossingID)},
		jcs.Member{Name: "role", Value: jcs.String(string(p.Role))},
		jcs.Member{Name: "projection_jws", Value: jcs.String(p.ProjectionJWS)},
	)
}

// ParsePublished reads the answer.
func ParsePublished(body []byte) (Published, error) {
	var p Published
	err := closedObject(body, func(r *jcs.Reader) {
		p.CrossingID = readText(r, "crossing_id", crossing.ValidCrossingID)
		p.Role = crossing.Role(readText(r, "role", validRole))
		p.ProjectionJWS = readText(r, "projection_jws", compact)
	})
	if err != nil {
		return Published{}, err
	}
	return p, nil
}

func validRole(s string) bool {
	return s == string(crossing.Initiator) || s == string(crossing.Responder)
}

// compact reports whether s may be a compact JWS: the alphabet and the two dots.
func compact(s string) bool { return graphic(s, maxJWS) && strings.Count(s, ".") == 2 }

func within(limit int) func(string) bool {
	return func(s string) bool { return s != "" && len(s) <= limit }
}

func literal(r *jcs.Reader, name, want string) {
	if r.Text(name) != want && r.Err() == nil {
		r.Fail(name, "value")
	}
}

// readTime reads a moment in RFC 3339, UTC, whole seconds, and no other spelling.
func readTime(r *jcs.Reader, name string) time.Time {
	s := r.Text(name)
	t, err := time.Parse(timeLayout, s)
	if (err != nil || t.Format(timeLayout) != s) && r.Err() == nil {
		r.Fail(name, "value")
	}
	return t
}
