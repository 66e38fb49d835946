package wiretest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/httpapi"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Registries say where mandates are registered.
type Registries int

// Where the Registration Authorities of a World are.
const (
	Shared    Registries = iota // one, in the responder's own store
	Elsewhere                   // one, with a store and a listener of its own
	Each                        // the responder's in its own store, and the initiators' as in Elsewhere
)

func (r Registries) String() string {
	return [...]string{"an RA in the responder's store", "an RA elsewhere", "an RA each"}[r]
}

// AllRegistries are the settings to run a test in.
func AllRegistries() []Registries { return []Registries{Shared, Elsewhere, Each} }

// An RA is a Registration Authority of a World.
type RA struct {
	*registry.Registry
	URL string // where it answers

	w     *World
	key   *jose.Signer
	store *sqlstore.DB
	rows  *sql.DB // reads what was written; nil: it is the World's
}

// openStore opens a new, empty store, and opens it a second time for reading alone.
func openStore(t testing.TB, cfg Config) (db *sqlstore.DB, rows *sql.DB) {
	t.Helper()
	var err, rowsErr error
	if cfg.Postgres {
		url := pgtest.Store(t)
		db, err = postgres.Open(t.Context(), url)
		rows, rowsErr = postgres.Pool(url)
	} else {
		path := sqlitetest.Path(t)
		db, err = sqlite.Open(t.Context(), path)
		rows, rowsErr = sql.Open("sqlite", path+"?_pragma=query_only(1)&_pragma=busy_timeout(10000)")
	}
	if err = errors.Join(err, rowsErr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = rows.Close()
		_ = db.Close()
	})
	return db, rows
}

// newRA makes an authority over a store. host is who crosses in its name; nil: nobody.
func (w *World) newRA(store *sqlstore.DB, url string, cfg Config, host *registry.Host) *RA {
	w.t.Helper()
	ra := &RA{w: w, URL: url, key: newSigner(w.t), store: store}
	var err error
	ra.Registry, err = registry.New(registry.Config{
		Store: store.Registry(), Signer: ra.key, Now: w.Clock.Now, Profile: w.Acts, VAURL: w.URL, Release: cfg.Release,
		Host: host, Peers: peers{ra: ra},
	})
	w.check(err)
	return ra
}

// elsewhere starts an authority with a store and a listener of its own.
func (w *World) elsewhere(cfg Config) *RA {
	w.t.Helper()
	store, rows := openStore(w.t, cfg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.check(err)
	ra := w.newRA(store, "http://"+l.Addr().String(), cfg, nil)
	ra.rows = rows
	log := slog.New(slog.DiscardHandler)
	handler, err := httpapi.NewPublic(httpapi.PublicConfig{Hosts: []string{l.Addr().String()}, Registry: ra.Registry, Log: log})
	w.check(err)
	w.listen(l, handler, log)
	return ra
}

// listen serves until the end of the test.
func (w *World) listen(l net.Listener, handler http.Handler, log *slog.Logger) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- httpapi.Serve(ctx, l, handler, log) }()
	w.t.Cleanup(func() {
		stop()
		w.HTTP.CloseIdleConnections()
		<-ended
	})
}

// effectorAt is the secret with which a Party's effector spends at the RA of another
// organisation.
func (p *Party) effectorAt(ra *RA) string { return Hash(p.Credentials.Effector + ra.key.Key().ID) }

// counterpart is the Party as another organisation's RA enters it.
func (p *Party) counterpart(at *RA) api.Counterpart {
	return api.Counterpart{
		PrincipalID: p.PrincipalID, Agents: []mandate.Agent{{ID: p.AgentID, Key: p.Agent.Key()}},
		Effector: api.CredentialHash(p.effectorAt(at)),
	}
}

// meet makes the Party and the responder known at each other's RA, by a code of the
// responder's and over the wire.
func (w *World) meet(p *Party) {
	w.t.Helper()
	ctx := w.t.Context()
	secret, err := w.RA.NewCode(ctx, registry.CodeTerms{})
	w.check(err)
	c, err := client.New(client.Config{BaseURL: w.RA.URL, HTTP: w.HTTP, Now: w.Clock.Now, Keys: jose.NewKeySet(w.RA.key.Key())})
	w.check(err)
	answer, err := c.Registry().EnrolPeer(ctx, api.EnrolPeer{
		Secret: secret, Counterpart: p.counterpart(w.RA), Key: p.ra.key.Key(), URL: p.ra.URL,
	})
	w.check(err)
	err = p.ra.AddPeer(ctx, answer.Counterpart, registry.Peer{PrincipalID: answer.PrincipalID, Key: w.RA.key.Key(), URL: w.RA.URL})
	if !errors.Is(err, &api.Error{Code: api.CodeConflict}) { // an earlier Party's meeting has entered it
		w.check(err)
	}
}

// peers are the RAs that the authority of a Party has pinned, as the Party finds them.
type peers struct {
	ra    *RA
	party *Party                                             // nil: keys alone are asked for
	wrap  func(ra string, e centre.Effector) centre.Effector // nil: as it is
}

func (p peers) Peer(ctx context.Context, principalID string) (*centre.Peer, error) {
	row, err := p.ra.store.Registry().Peer(ctx, principalID)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := p.ra.w
	at := w.RA
	if p.ra == at {
		at = w.Initiators
	}
	keys := jose.NewKeySet(row.Key)
	c, err := client.New(client.Config{BaseURL: row.URL, Keys: keys, HTTP: w.HTTP, Now: w.Clock.Now, Credentials: client.Credentials{
		Effector: p.party.effectorAt(at),
	}})
	if err != nil {
		return nil, err
	}
	peer := &centre.Peer{Keys: keys, Resolver: remoteRA{c.Registry()}, Effector: c.Registry()}
	if p.wrap != nil {
		peer.Effector = p.wrap(PeerRA, peer.Effector)
	}
	return peer, nil
}

func (p peers) PeerKeys(ctx context.Context, principalID string) (jose.KeySet, error) {
	row, err := p.ra.store.Registry().Peer(ctx, principalID)
	if errors.Is(err, registry.ErrNotFound) {
		return jose.KeySet{}, nil
	}
	return jose.NewKeySet(row.Key), err
}

// Names of the RAs in [Config].Effector.
const (
	OwnRA  = "own"  // the responder's
	PeerRA = "peer" // the initiator's, in Each
)

// localEffector is an RA in this process.
type localEffector struct {
	ra    *RA
	actor registry.Actor
}

func (l *localEffector) Hold(ctx context.Context, h api.Hold) (string, error) {
	return l.ra.Hold(ctx, l.actor, h)
}

func (l *localEffector) Confirm(ctx context.Context, t mandate.Triple) (string, error) {
	return l.ra.Confirm(ctx, l.actor, t)
}

func (l *localEffector) Release(ctx context.Context, r api.Release) (string, error) {
	return l.ra.Release(ctx, l.actor, r)
}

// host is the responder as its own RA presents it.
func (w *World) host() *registry.Host {
	return &registry.Host{
		PrincipalID: principalOf(responder), Pin: w.Authority.PinRegistry,
		Credential: func(string) jcs.Hex256 { return api.CredentialHash(w.Responder.effectorAt(w.Initiators)) },
	}
}

// Hold consumes the two Closeds at the RA, or at the RAs, where they are registered, with the
// responder's credentials and outside of any seal. The initiator's is from's.
func (w *World) Hold(h api.Hold, from *Party) {
	w.t.Helper()
	ctx := w.t.Context()
	if w.Initiators == w.RA {
		_, err := w.Responder.RA.Hold(ctx, h)
		w.check(err)
		return
	}
	t := h.Triple()
	_, err := w.Responder.RA.Hold(ctx, api.Hold{
		CrossingID: h.CrossingID, InitiatorToken: t.InitiatorToken, ResponderClosed: h.ResponderClosed, CounterpartyAgent: from.AgentID,
	})
	w.check(err)
	peer, err := peers{ra: w.RA, party: w.Responder}.Peer(ctx, from.PrincipalID)
	w.check(err)
	_, err = peer.Effector.Hold(ctx, api.Hold{
		CrossingID: h.CrossingID, InitiatorClosed: h.InitiatorClosed, ResponderToken: t.ResponderToken, CounterpartyAgent: w.Responder.AgentID,
	})
	w.check(err)
}
