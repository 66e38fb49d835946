package postgres

import (
	"context"
	"errors"
	"net"
	neturl "net/url"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// What is waited for, and how long. Together they stay below ten seconds.
const (
	connectTimeout = 3 * time.Second
	answerTimeout  = 6 * time.Second // longer than the server's own limits

	// A script that changes the schema reads whole tables, and another process may be at it.
	migrationTimeout = 10 * time.Minute
)

// limits are the server's, unless the URL sets them. A process that was stopped while it
// held the lock loses it before others have waited too long for it.
func limits() map[string]string {
	return map[string]string{
		"application_name":                    "bindery",
		"idle_in_transaction_session_timeout": "3000",
		"lock_timeout":                        "4500",
		"statement_timeout":                   "5000",
	}
}

var errSilent = errors.New("postgres: the server gives no answer")

// errURL repeats nothing of what is no URL: it may have a password in it.
func errURL() error { return &Error{Wrong, "no URL of the form postgres://USER@HOST/DATABASE"} }

// parse reads a URL. No error repeats any of it.
func parse(url string) (*pgx.ConnConfig, error) {
	u, err := neturl.Parse(url)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errURL()
	}
	// An empty password keeps PGPASSWORD out, which every process of the user might read;
	// the password file is asked then.
	if _, set := u.User.Password(); !set {
		q := u.Query()
		if !q.Has("password") {
			q.Set("password", "")
			u.RawQuery = q.Encode()
		}
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, errURL()
	}
	for name, value := range limits() {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout == 0 || config.ConnectTimeout > connectTimeout {
		config.ConnectTimeout = connectTimeout
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &patient{Conn: c, now: time.Now, limit: answerTimeout}, nil
	}
	return config, nil
}

// migrating is a configuration for scripts that change the schema, whatever the URL says of
// other statements. A process that is stopped between two of its statements still loses its
// transaction.
func migrating(url string) (*pgx.ConnConfig, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"statement_timeout", "lock_timeout"} {
		config.RuntimeParams[name] = strconv.FormatInt(migrationTimeout.Milliseconds(), 10)
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if p, ok := c.(*patient); ok {
			p.limit = migrationTimeout + answerTimeout
		}
		return c, err
	}
	return config, nil
}

// patient is a connection on which no answer is waited for longer than its limit: a
// server that was cut off without a word says nothing for hours.
type patient struct {
	net.Conn
	now   func() time.Time
	limit time.Duration

	mu    sync.Mutex // guards bound
	bound bool       // the driver has set a limit of its own, or has given up
}

// Read waits for at most the limit.
func (p *patient) Read(b []byte) (int, error) {
	p.mu.Lock()
	if !p.bound {
		p.Conn.SetReadDeadline(p.now().Add(p.limit))
	}
	p.mu.Unlock()
	n, err := p.Conn.Read(b)
	var timeout net.Error
	if n > 0 || !errors.As(err, &timeout) || !timeout.Timeout() {
		return n, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.bound {
		err = errSilent // the driver would wait once more after a timeout
	}
	return 0, err
}

// SetDeadline is how the driver ends a call whose caller has left.
func (p *patient) SetDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bound = !t.IsZero()
	return p.Conn.SetDeadline(t)
}
