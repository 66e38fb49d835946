package wiretest

import (
	"context"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/mandate"
)

// An Initiator is a Party with a centre of its own, as `bindery cross` has one: a store in
// another file, the World's RA and VA over the wire, and a clock of its own.
type Initiator struct {
	*Party
	Centre *centre.Centre
	Store  centre.Store
	Clock  *Clock
}

// Initiator enrols a Party and gives it a centre and one Open of class irreversible for a
// thousand. hook may be nil.
func (w *World) Initiator(name string, hook func(point string)) *Initiator {
	w.t.Helper()
	return w.InitiatorOver(name, hook, func(s centre.Store) centre.Store { return s })
}

// InitiatorOver is Initiator with its store wrapped, so that a test can stop it between a
// read and a write.
func (w *World) InitiatorOver(name string, hook func(point string), wrap func(centre.Store) centre.Store) *Initiator {
	w.t.Helper()
	i := &Initiator{Party: w.Party(name), Clock: &Clock{at: w.Clock.Now()}}
	db, err := sqlite.Open(w.t.Context(), sqlitetest.Path(w.t))
	w.check(err)
	w.t.Cleanup(func() { _ = db.Close() })
	i.Store = wrap(db.Centre())
	ra := remoteRA{i.RA}
	i.Centre, err = centre.New(centre.Config{
		Store: i.Store, Self: i.Identity(), Acts: w.Acts, RAKeys: jose.NewKeySet(i.ra.key.Key()),
		Registrar: ra, Resolver: ra, Peers: peers{ra: i.ra, party: i.Party}, Publisher: remoteVA{i.VA}, Verifier: remoteVA{i.VA},
		VerifyURL: w.Authority.VerifyURL, Now: i.Clock.Now, Hook: hook,
	})
	w.check(err)
	i.Grant(i.Store, commitment.Amount{Class: commitment.Irreversible, Magnitude: 1000})
	return i
}

// Dial is P0 over the wire.
func (i *Initiator) Dial(ctx context.Context, url string) (centre.Counterparty, error) {
	return a2acrossing.Discover(ctx, a2acrossing.PeerConfig{HTTP: i.w.HTTP}, url)
}

// Deal is one unit of engagement_code_issuance with the World's responder.
func (i *Initiator) Deal() centre.Deal {
	terms, refusal := crossing.ParseTerms([]byte(Terms))
	if refusal != nil {
		panic("wiretest: the terms are refused")
	}
	return centre.Deal{
		URL: i.w.URL, Terms: terms, Act: "engagement_code_issuance",
		Amount: commitment.Amount{Class: commitment.Irreversible, Magnitude: 1},
	}
}

type remoteRA struct{ *client.Registry }

func (r remoteRA) RegisterClosed(ctx context.Context, token, counterparty string) (string, error) {
	return r.Registry.RegisterClosed(ctx, api.RegisterClosed{Token: token, CounterpartyAgent: counterparty})
}

func (r remoteRA) Principal(ctx context.Context, id string) (*mandate.Principal, error) {
	p, err := r.Registry.Principal(ctx, id)
	return &p, err
}

type remoteVA struct{ *client.Authority }

func (r remoteVA) Publish(ctx context.Context, body []byte) error {
	_, err := r.Authority.Publish(ctx, body)
	return err
}

func (r remoteVA) Verify(ctx context.Context, req api.VerifyRequest) ([]byte, error) {
	result, err := r.Authority.Verify(ctx, req)
	if err != nil {
		return nil, err
	}
	return result.Raw, nil
}
