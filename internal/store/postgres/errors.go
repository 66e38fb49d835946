package postgres

import (
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bindery/bindery/internal/store/sqlstore"
)

// A Kind says what keeps a database from being opened.
type Kind int

// The kinds.
const (
	Unreachable Kind = iota + 1 // nobody answers, or not in time
	Refused                     // the server does not let this user in
	Wrong                       // there is no such database, or it is not Bindery's
	Newer                       // its schema is of another version of Bindery
)

// An Error says why [Open] has failed. Its text names neither password nor user.
type Error struct {
	Kind Kind
	text string
}

// Error is one line.
func (e *Error) Error() string { return "postgres: " + e.text }

// Reason is the text without the name of the engine.
func (e *Error) Reason() string { return e.text }

// explain names what a person can do something about. What the driver says of a failed
// connection repeats much of the URL, so none of that is passed on.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if revision, ok := errors.AsType[*sqlstore.RevisionError](err); ok {
		return &Error{Newer, revision.Error()}
	}
	if errors.Is(err, errForeign) || errors.Is(err, errEncoding) {
		return &Error{Wrong, strings.TrimPrefix(err.Error(), "postgres: ")}
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fromServer(err, pg)
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	var network net.Error
	if connecting || errors.As(err, &network) {
		return &Error{Unreachable, "the server gives no answer"}
	}
	return err
}

func fromServer(err error, pg *pgconn.PgError) error {
	switch {
	case pg.Code == "3D000":
		return &Error{Wrong, "there is no such database"}
	case pg.Code == "3F000":
		return &Error{Wrong, "there is no such schema"}
	case strings.HasPrefix(pg.Code, "28"):
		return &Error{Refused, "the server does not let this user in"}
	case strings.HasPrefix(pg.Code, "57P"), strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "08"), pg.Code == "55P03":
		return &Error{Unreachable, "the server takes no connection now"}
	}
	return err
}
