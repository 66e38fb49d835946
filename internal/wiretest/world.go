package wiretest

import (
	"context"
	"database/sql"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/httpapi"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// Config says what kind of responder a World has. The zero Config is an honest one that
// holds one Open of class irreversible for a thousand.
type Config struct {
	// Grants are the Opens of the responder; nil: one of class irreversible, limit 1000.
	Grants []commitment.Amount
	// Publisher and Spender wrap what the centre speaks to, so that a test can let the
	// Verification Authority or the Registration Authority fail. nil: as they are.
	Publisher func(centre.Publisher) centre.Publisher
	Spender   func(centre.Spender) centre.Spender
	// Registries are where the RAs are; zero: one, in the responder's store.
	Registries Registries
	// Postgres keeps everything in PostgreSQL, where the machine has one, and not in SQLite.
	Postgres bool
	// Effector wraps what the centre speaks to at an RA that its commit does not span, by
	// its name, [OwnRA] or [PeerRA]. nil: as it is.
	Effector func(ra string, e centre.Effector) centre.Effector
	// Release is the RAs' release mode; "": none.
	Release registry.ReleaseMode
	// Store wraps the centre's store, so that a test can let the disk fail. nil: as it is.
	Store func(centre.Store) centre.Store
	// AckTimeout is the centre's; 0: a minute, which no stall of the machine outlasts.
	AckTimeout time.Duration
	// VerifyRate bounds crossing:verify by remote address; zero: more than a test asks.
	VerifyRate Rate
	// VerifyOnly makes the responder an agent without clearance.
	VerifyOnly bool
}

// A World is one running responder.
type World struct {
	Clock      *Clock
	URL        string // of everything but an RA elsewhere: card, JSON-RPC, RA and VA
	Acts       commitment.Profile
	RA         *RA // the responder's
	Initiators *RA // the initiators': the same, but for [Each]
	Registry   *registry.Registry
	Authority  *authority.Authority
	Centre     *centre.Centre
	Store      centre.Store
	Responder  *Party
	HTTP       *http.Client

	t  testing.TB
	db *sql.DB // reads what was written
	va *jose.Signer

	twin centre.Config // of the responder

	mu   sync.Mutex // guards hook
	hook func(point string)
}

// New starts a responder. It ends with the test.
func New(t testing.TB, cfg Config) *World {
	t.Helper()
	if cfg.VerifyRate == (Rate{}) {
		cfg.VerifyRate = Rate{PerSecond: 1 << 20, Burst: 1 << 20}
	}
	if cfg.AckTimeout == 0 {
		cfg.AckTimeout = time.Minute
	}
	w := &World{t: t, Clock: &Clock{at: Start}, Acts: commitment.Builtin(), hook: func(string) {}}
	w.va = newSigner(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	w.HTTP = &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	t.Cleanup(transport.CloseIdleConnections)

	db, rows := openStore(t, cfg)
	w.db = rows
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.URL = "http://" + listener.Addr().String()
	w.wire(db, cfg)
	w.serve(listener, cfg)
	w.settle(cfg)
	return w
}

// wire makes the three roles over one store.
func (w *World) wire(db *sqlstore.DB, cfg Config) {
	w.t.Helper()
	var err error
	w.Authority, err = authority.New(authority.Config{
		Store: db.Authority(), Signer: w.va, Name: "VA-001", BaseURL: w.URL + "/", Now: w.Clock.Now,
		RateLimit: cfg.VerifyRate,
	})
	w.check(err)
	if cfg.Registries == Elsewhere {
		w.RA = w.elsewhere(cfg)
	} else {
		w.RA = w.newRA(db, w.URL, cfg, w.host())
	}
	if w.Initiators = w.RA; cfg.Registries == Each {
		w.Initiators = w.elsewhere(cfg)
	}
	w.Registry = w.RA.Registry
	w.Responder = w.newParty(responder, w.RA)
	var publisher centre.Publisher = localVA{w.Authority, w.Responder.Credentials.Publisher}
	if cfg.Publisher != nil {
		publisher = cfg.Publisher(publisher)
	}
	var store centre.Store = db.Centre()
	if cfg.Store != nil {
		store = cfg.Store(store)
	}
	c := centre.Config{
		Store: store, Self: w.Responder.Identity(), Acts: w.Acts, RAKeys: jose.NewKeySet(w.RA.key.Key()),
		Peers: peers{ra: w.RA, party: w.Responder, wrap: cfg.Effector}, Publisher: publisher, Verifier: localVA{w.Authority, ""},
		VerifyURL: w.Authority.VerifyURL, AckTimeout: cfg.AckTimeout, Now: w.Clock.Now, Hook: w.point,
	}
	w.spending(&c, cfg)
	w.Centre, err = centre.New(c)
	w.check(err)
	w.twin = c
	w.Store = db.Centre()
}

// spending gives the centre its RA: over the wire, or in this process and then for its commit.
func (w *World) spending(c *centre.Config, cfg Config) {
	local := &localRA{w.Responder}
	c.Registrar, c.Resolver = local, local
	c.Effector = &localEffector{w.RA, local.effector()}
	if cfg.Registries == Elsewhere {
		far := remoteRA{w.Responder.RA}
		c.Registrar, c.Resolver, c.Effector = far, far, w.Responder.RA
	}
	if cfg.Effector != nil {
		c.Effector = cfg.Effector(OwnRA, c.Effector)
	}
	if cfg.Registries != Elsewhere {
		c.Spender = local
		if cfg.Spender != nil {
			c.Spender = cfg.Spender(local)
		}
	}
	if cfg.VerifyOnly {
		c.Spender, c.Effector = nil, nil
	}
}

// responder is the name of the World's own Party.
const responder = "globex"

// serve mounts everything on one listener, as the program does.
func (w *World) serve(listener net.Listener, cfg Config) {
	w.t.Helper()
	log := slog.New(slog.DiscardHandler)
	verify := httpapi.VerifyRPC(w.Authority, log)
	rest, err := a2acrossing.NewHandler(a2acrossing.Config{
		Desk: w.Centre,
		Card: a2acrossing.Card{
			Name: "globex", URL: w.URL, Version: "0", Profile: w.Responder.Profile, Full: !cfg.VerifyOnly,
			Authority: w.URL + "/", Acts: w.Acts, Plain: true,
		},
		Verify: func(ctx context.Context, params []byte) ([]byte, error) {
			result, refusal := verify(ctx, params)
			if refusal != nil {
				return nil, refusal
			}
			return result, nil
		},
	})
	w.check(err)
	handler, err := httpapi.NewPublic(httpapi.PublicConfig{
		Hosts: []string{listener.Addr().String()}, Registry: w.here(), Authority: w.Authority, Else: rest, Log: log,
	})
	w.check(err)
	w.listen(listener, handler, log)
}

// here is the RA that the responder's own process serves; nil: it is elsewhere.
func (w *World) here() *registry.Registry {
	if w.RA.URL != w.URL {
		return nil
	}
	return w.Registry
}

// settle enters the responder at its own RA and VA and gives it its Opens.
func (w *World) settle(cfg Config) {
	w.t.Helper()
	p := w.Responder
	enrolled, err := w.Registry.EnrolSelf(w.t.Context(), p.enrolment(""))
	w.check(err)
	w.check(w.Authority.PinRegistry(w.t.Context(), w.RA.key.Key()))
	w.check(w.Authority.AddPublisher(w.t.Context(), p.Credentials.Publisher, enrolled.PublisherGrant))
	if cfg.Grants == nil {
		cfg.Grants = []commitment.Amount{{Class: commitment.Irreversible, Magnitude: 1000}}
	}
	for _, amount := range cfg.Grants {
		p.Grant(w.Store, amount)
	}
}

// OnPoint sets what happens at the points of a seal (centre.PointBeforeAttempt …).
func (w *World) OnPoint(f func(point string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = f
}

func (w *World) point(name string) {
	w.mu.Lock()
	f := w.hook
	w.mu.Unlock()
	f(name)
}

// Run lets the centre sweep, as the serving program does, until stop or the end of the
// test.
func (w *World) Run(interval time.Duration) (stop func()) { return w.run(w.Centre, interval) }

func (w *World) run(c *centre.Centre, interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Run(ctx, interval)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	w.t.Cleanup(stop)
	return stop
}

// RunTwin lets a second process of the responder sweep over the same store, without its points,
// until the end of the test.
func (w *World) RunTwin(interval time.Duration) {
	w.t.Helper()
	c := w.twin
	c.Hook = nil
	twin, err := centre.New(c)
	w.check(err)
	w.run(twin, interval)
}

func (w *World) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
