package cli

import (
	"context"
	"errors"
	"net/url"

	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// A directory's database is the file bindery.db in it, or the PostgreSQL database that
// --store has named. Its URL stands in config.json; one with a password, which is a secret,
// in secrets.json.

const storeUsage = "postgres://USER@HOST/DATABASE, instead of the file " + storeFile + " in the directory"

// checkStore refuses what is no URL of a PostgreSQL database. It repeats none of it.
func checkStore(store string) error {
	u, err := url.Parse(store)
	if store == "" || err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		return nil
	}
	return usage("--store is no URL of a PostgreSQL database", "try --store "+storeUsage)
}

// setStore keeps the URL where it belongs.
func (h *home) setStore(store string) {
	h.config.Store, h.secrets.Store = store, ""
	if hasPassword(store) {
		h.config.Store, h.secrets.Store = "", store
	}
}

// hasPassword also suspects what it cannot read.
func hasPassword(store string) bool {
	u, err := url.Parse(store)
	if err != nil {
		return true
	}
	_, set := u.User.Password()
	return set || u.Query().Has("password") || u.Query().Has("sslpassword")
}

// storeURL is the PostgreSQL database of this directory; "" is none.
func (h *home) storeURL() string { return firstOf(h.secrets.Store, h.config.Store) }

// openStore opens the directory's database.
func (h *home) openStore(ctx context.Context) (*sqlstore.DB, error) {
	store := h.storeURL()
	if h.lostRecord() {
		return nil, usagef("restore it; to begin with none, where every execution_id is free again, take another --dir", "%s has lost its record of executions, %s", h.dir, storeFile)
	}
	if store == "" {
		db, err := sqlite.Open(ctx, h.store())
		if err != nil {
			return nil, usagef("is it this user's, and of this version of bindery?", "the database of %s cannot be opened: %v", h.dir, err)
		}
		return db, nil
	}
	db, err := postgres.Open(ctx, store)
	return db, storeError(err)
}

// claimStore refuses a database that is another directory's: what two parties keep must not
// be mixed.
func (h *home) claimStore(ctx context.Context) error {
	store := h.storeURL()
	if store == "" {
		return nil
	}
	fresh, err := postgres.Fresh(ctx, store)
	if err == nil && !fresh {
		try := "give each directory a database, or a schema with ?search_path=NAME, of its own"
		if h.onlyGateway() {
			try += "; a replica is a copy of the whole directory"
		}
		return usage("the database of --store belongs to a directory already", try)
	}
	return storeError(err)
}

// moveStore opens a directory that is there with another URL: the same database at another
// place, as one says that has moved it.
func (h *home) moveStore(ctx context.Context, store string) error {
	if store == "" || store == h.storeURL() {
		return nil
	}
	if err := checkStore(store); err != nil {
		return err
	}
	if h.storeURL() == "" {
		return usagef("leave --store out; it is chosen at: bindery init --store URL", "the database of %s is the file %s", h.dir, storeFile)
	}
	switch fresh, err := postgres.Fresh(ctx, store); {
	case err != nil:
		return storeError(err)
	case fresh:
		return usage("the database of --store is empty, and not this directory's", "restore it there first")
	}
	h.setStore(store)
	stored, err := openHome(h.dir)
	if err != nil {
		return err
	}
	stored.setStore(store)
	return stored.save()
}

// storeError says in a person's words why a database cannot be opened.
func storeError(err error) error {
	e, ok := errors.AsType[*postgres.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case postgres.Refused:
		return usage("the PostgreSQL server does not let this user in", "check user and password of --store, or PGPASSFILE")
	case postgres.Wrong:
		return usage("--store: "+e.Reason(), "name an empty database, or a schema with ?search_path=NAME, of Bindery's own")
	case postgres.Newer:
		return usage("--store: "+e.Reason(), "use the newer bindery")
	}
	return &unknownError{"the PostgreSQL server of --store gives no answer", "is it running, and reachable from here?"}
}
