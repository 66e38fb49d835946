package postgres

import (
	"context"
	"errors"
	"net"
	neturl "net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// What is waited for, and how long. Together they stay below ten seconds.
const (
	connectTimeout = 3 * time.Second
	answerTimeout  = 6 * time.Second // longer than the server's own limits
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
		return &patient{Conn: c, now: time.Now}, nil
	}
	return config, nil
}

// patient is a connection on which no answer is waited for longer than answerTimeout: a
// server that was cut off without a word says nothing for hours.
type patient struct {
	net.Conn
	now func() time.Time

	mu    sync.Mutex // guards bound
	bound bool       // the driver has set a limit of its own, or has given up
}

// Read waits for at most answerTimeout.
func (p *patient) Read(b []byte) (int, error) {
	p.mu.Lock()
	if !p.bound {
		p.Conn.SetReadDeadline(p.now().Add(answerTimeout))
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
