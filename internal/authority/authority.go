package authority

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/limit"
)

// Config is what an [Authority] needs. Store, Signer, Name and BaseURL are required.
type Config struct {
	Store  Store
	Signer *jose.Signer // signs projections (GC-372)
	// Name is verified_by, as "VA-001" (AG-56); 1 to 64 printable ASCII characters.
	Name string
	// BaseURL is what every verify_url begins with, as "https://verify.example/": http or
	// https, a host, and a path that ends with "/".
	BaseURL   string
	RateLimit Rate
	// Registries are the RAs that can be asked about mandates, read for each question; nil:
	// none can.
	Registries func(context.Context) ([]Registrar, error)
	Now        func() time.Time // nil: time.Now
	Log        *slog.Logger     // refused publications, without names; nil: nothing is logged
	Observer   Observer         // nil: nobody is told
}

// An Authority is one Verification Authority. All methods may be called concurrently.
type Authority struct {
	store    Store
	signer   *jose.Signer
	name     string
	baseURL  string
	unknown  []byte // the one verdict for everything that does not resolve
	limiter  limiter
	now      func() time.Time
	log      *slog.Logger
	observer Observer

	registrars func(context.Context) ([]Registrar, error)
	standings  standings
}

// New checks cfg and returns an Authority.
func New(cfg Config) (*Authority, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("authority: no store")
	case cfg.Signer == nil:
		return nil, errors.New("authority: no signer")
	case !printable(cfg.Name, 64):
		return nil, errors.New("authority: name is not 1 to 64 printable ASCII characters")
	}
	if err := cfg.RateLimit.Check(); err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	if err := checkBaseURL(cfg.BaseURL); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = silent{}
	}
	return &Authority{
		store: cfg.Store, signer: cfg.Signer, name: cfg.Name, baseURL: cfg.BaseURL,
		unknown: unknownVerdict(cfg.Name), limiter: limiter{buckets: limit.New(cfg.RateLimit)},
		now: cfg.Now, log: cfg.Log, observer: cfg.Observer, registrars: cfg.Registries,
	}, nil
}

func checkBaseURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.HasSuffix(u.Path, "/") ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" || !printable(s, 256) {
		return errors.New("authority: base URL is not http(s)://host/ with a path that ends with a slash")
	}
	return nil
}

func printable(s string, limit int) bool {
	for i := range min(len(s), limit) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return s != "" && len(s) <= limit
}

// VerifyURL is where a person resolves a seal: the verify_url of its block (GC-233).
func (a *Authority) VerifyURL(sealID string) string { return a.baseURL + "?id=" + sealID }

// JWKS is the authority's key as a JWK Set: what its projections verify under.
func (a *Authority) JWKS() []byte { return jose.NewKeySet(a.signer.Key()).JWKS() }

// undecided is the answer to a fault of our own: nothing was decided. The edge logs it.
func undecided(doing string, err error) error {
	return fmt.Errorf("authority: %s: %w", doing, err)
}
