package wiretest

import (
	"context"
	"database/sql"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
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
	"github.com/bindery/bindery/internal/store/sqlite"
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
	// Store wraps the centre's store, so that a test can let the disk fail. nil: as it is.
	Store func(centre.Store) centre.Store
	// AckTimeout is the centre's; 0: 5 s.
	AckTimeout time.Duration
	// VerifyRate bounds crossing:verify by remote address; zero: more than a test asks.
	VerifyRate Rate
	// VerifyOnly makes the responder an agent without clearance.
	VerifyOnly bool
}

// A World is one running responder.
type World struct {
	Clock     *Clock
	URL       string // of everything: card, JSON-RPC, RA and VA
	Acts      commitment.Profile
	Registry  *registry.Registry
	Authority *authority.Authority
	Centre    *centre.Centre
	Store     centre.Store
	Responder *Party
	HTTP      *http.Client

	t    testing.TB
	db   *sql.DB // reads what was written
	keys struct{ ra, va *jose.Signer }

	mu   sync.Mutex // guards hook
	hook func(point string)
}

// New starts a responder. It ends with the test.
func New(t testing.TB, cfg Config) *World {
	t.Helper()
	if cfg.VerifyRate == (Rate{}) {
		cfg.VerifyRate = Rate{PerSecond: 1 << 20, Burst: 1 << 20}
	}
	w := &World{t: t, Clock: &Clock{at: Start}, Acts: commitment.Builtin(), hook: func(string) {}}
	w.keys.ra, w.keys.va = newSigner(t), newSigner(t)
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	w.HTTP = &http.Client{Transport: transport, Timeout: 30 * time.Second}
	t.Cleanup(transport.CloseIdleConnections)

	path := filepath.Join(t.TempDir(), "bindery.db")
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if w.db, err = sql.Open("sqlite", path+"?_pragma=query_only(1)&_pragma=busy_timeout(10000)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
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
	w.Registry, err = registry.New(registry.Config{
		Store: db.Registry(), Signer: w.keys.ra, Now: w.Clock.Now, Profile: w.Acts, VAURL: w.URL,
	})
	w.check(err)
	w.Authority, err = authority.New(authority.Config{
		Store: db.Authority(), Signer: w.keys.va, Name: "VA-001", BaseURL: w.URL + "/", Now: w.Clock.Now,
		RateLimit: cfg.VerifyRate,
	})
	w.check(err)
	w.Responder = w.newParty("globex")
	ra := &localRA{w, w.Responder}
	var publisher centre.Publisher = localVA{w.Authority, w.Responder.Credentials.Publisher}
	if cfg.Publisher != nil {
		publisher = cfg.Publisher(publisher)
	}
	var store centre.Store = db.Centre()
	if cfg.Store != nil {
		store = cfg.Store(store)
	}
	c := centre.Config{
		Store: store, Self: w.Responder.Identity(), Acts: w.Acts, RAKeys: jose.NewKeySet(w.keys.ra.Key()),
		Registrar: ra, Resolver: ra, Publisher: publisher, Verifier: localVA{w.Authority, ""},
		VerifyURL: w.Authority.VerifyURL, AckTimeout: cfg.AckTimeout, Now: w.Clock.Now, Hook: w.point,
	}
	if !cfg.VerifyOnly {
		c.Spender = ra
		if cfg.Spender != nil {
			c.Spender = cfg.Spender(ra)
		}
	}
	w.Centre, err = centre.New(c)
	w.check(err)
	w.Store = db.Centre()
}

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
		Hosts: []string{listener.Addr().String()}, Registry: w.Registry, Authority: w.Authority, Else: rest, Log: log,
	})
	w.check(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- httpapi.Serve(ctx, listener, handler, log) }()
	w.t.Cleanup(func() {
		stop()
		w.HTTP.CloseIdleConnections()
		<-ended
	})
}

// settle enters the responder at its own RA and VA and gives it its Opens.
func (w *World) settle(cfg Config) {
	w.t.Helper()
	p := w.Responder
	enrolled, err := w.Registry.EnrolSelf(w.t.Context(), p.enrolment(""))
	w.check(err)
	w.check(w.Authority.PinRegistry(w.t.Context(), w.keys.ra.Key()))
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
func (w *World) Run(interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.Centre.Run(ctx, interval)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	w.t.Cleanup(stop)
	return stop
}

func (w *World) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
