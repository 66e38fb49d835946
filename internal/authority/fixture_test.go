package authority_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	baseURL        = "http://127.0.0.1:8080/"
	initiatorAgent = "urn:anax:agent:trust"
	responderAgent = "urn:anax:agent:anax"
	crossingOne    = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001"
	sealOne        = "canal-mf0z8k00-00112233aabb"
)

var start = time.Date(2026, 9, 1, 12, 0, 5, 0, time.UTC)

// A party is a principal that publishes.
type party struct {
	principal  string
	credential string
	signer     *jose.Signer
}

// A world is one authority with the RA it has pinned and the two parties of a crossing.
type world struct {
	t         testing.TB
	path      string
	db        *sqlstore.DB
	store     *sqlstore.Authority
	va        *authority.Authority
	vaSigner  *jose.Signer
	ra        *jose.Signer
	responder party
	initiator party

	mu  sync.Mutex // guards at
	at  time.Time
	cfg authority.Config
}

func newSigner(t testing.TB) *jose.Signer {
	t.Helper()
	key, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, path: sqlitetest.Path(t), vaSigner: newSigner(t), ra: newSigner(t), at: start}
	db, err := sqlite.Open(t.Context(), w.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w.db, w.store = db, db.Authority()
	w.cfg = authority.Config{Store: w.store, Signer: w.vaSigner, Name: "VA-001", BaseURL: baseURL, Now: w.now}
	if w.va, err = authority.New(w.cfg); err != nil {
		t.Fatal(err)
	}
	if err := w.va.PinRegistry(t.Context(), w.ra.Key()); err != nil {
		t.Fatal(err)
	}
	w.responder = w.newParty("anax")
	w.initiator = w.newParty("trust")
	return w
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

// newParty enrols a publisher by a grant of the pinned RA.
func (w *world) newParty(name string) party {
	w.t.Helper()
	p := party{principal: "urn:anax:principal:" + name, credential: "credential of " + name, signer: newSigner(w.t)}
	if err := w.va.AddPublisher(w.t.Context(), p.credential, w.grant(p, w.ra)); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) grant(p party, ra *jose.Signer) string {
	w.t.Helper()
	token, err := mandate.PublisherGrant{
		PrincipalID: p.principal, Key: p.signer.Key(), CredentialHash: api.CredentialHash(p.credential), At: start,
	}.Sign(ra)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// receipt is an RA's word on a crossing.
func (w *world) receipt(ra *jose.Signer, change func(*mandate.SpendReceipt)) string {
	w.t.Helper()
	r := mandate.SpendReceipt{
		Triple: mandate.Triple{
			CrossingID: crossingOne, InitiatorToken: jcs.HexOf([]byte("initiator")), ResponderToken: jcs.HexOf([]byte("responder")),
		},
		Effector: w.responder.principal, State: mandate.Spent, At: start,
	}
	change(&r)
	token, err := r.Sign(ra)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

func unchanged(*mandate.SpendReceipt) {}

// publication is the first crossing as a party publishes it, unsigned.
func (w *world) publication(role crossing.Role) api.Publication {
	return api.Publication{
		Role: role, InitiatorAgent: initiatorAgent, ResponderAgent: responderAgent,
		Projection: api.Projection{
			CrossingID: crossingOne, ChainID: chain.ID(initiatorAgent, responderAgent),
			Block: crossing.Block{
				SealID: sealOne, Seal: recordSeal, Position: chain.Genesis(),
				Basis:     mandate.GovernanceBasis{PackID: "pack-anax", PackVersion: "1.2.0"},
				SealedAt:  time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC),
				VerifyURL: baseURL + "?id=" + sealOne,
			},
		},
	}
}

// next is a later crossing of the same pair.
func (w *world) next(role crossing.Role, n int, at chain.Position) api.Publication {
	p := w.publication(role)
	digit := string(rune('0' + n))
	p.Projection.CrossingID = strings.Replace(crossingOne, "001", "00"+digit, 1)
	p.Projection.Block.SealID = "canal-mf0z8k00-00112233aab" + digit
	p.Projection.Block.VerifyURL = w.va.VerifyURL(p.Projection.Block.SealID)
	p.Projection.Block.Seal = jcs.HexOf([]byte("seal " + digit))
	p.Projection.Block.Position = at
	return p
}

// sign completes a publication as party would: signature, and a receipt for a responder.
func (w *world) sign(p api.Publication, by party) api.Publication {
	w.t.Helper()
	if p.Role == crossing.Responder && p.Receipts == nil {
		p.Receipts = []string{w.receipt(w.ra, func(r *mandate.SpendReceipt) {
			r.CrossingID, r.Effector = p.Projection.CrossingID, by.principal
		})}
	}
	signature, err := jose.SignCompact(by.signer, api.PublicationType, p.Statement())
	if err != nil {
		w.t.Fatal(err)
	}
	p.Signature = signature
	return p
}

// publish publishes p, signed, and requires success.
func (w *world) publish(by party, p api.Publication) (answer []byte) {
	w.t.Helper()
	answer, err := w.va.Publish(w.t.Context(), by.credential, w.sign(p, by).Bytes())
	if err != nil {
		w.t.Fatalf("publish: %v", err)
	}
	return answer
}

// refused requires err to be an *api.Error with this code and pointer.
func refused(t *testing.T, what string, err error, code, pointer string) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != code || e.Pointer != pointer {
		t.Errorf("%s: error %v, want %s at %q", what, err, code, pointer)
	}
}

// verify resolves an identifier and requires an answer.
func (w *world) verify(req api.VerifyRequest) []byte {
	w.t.Helper()
	result, err := w.va.Verify(w.t.Context(), req)
	if err != nil {
		w.t.Fatalf("verify: %v", err)
	}
	return result
}

func (w *world) checks(crossingID string) api.Checks {
	w.t.Helper()
	r, err := api.ParseVerifyResult(w.verify(api.VerifyRequest{CrossingID: crossingID}))
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Checks
}
