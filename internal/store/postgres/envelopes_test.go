package postgres_test

import (
	"testing"

	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/store/storetest"
)

// covers ENV-003, ENV-045, ENV-050, ENV-078, ENV-079, ENV-102, ENV-104, ENV-107, ENV-108, ENV-113, ENV-115, ENV-118, ENV-120, ENV-121
func TestEnvelopeStore(t *testing.T) {
	t.Parallel()
	storetest.Envelopes(t, func(t *testing.T) *sqlstore.Envelopes {
		db, _ := open(t)
		return db.Envelopes()
	})
}

// covers ENV-079, ENV-115
func TestEnvelopeRace(t *testing.T) {
	t.Parallel()
	one, url := open(t)
	storetest.EnvelopeRace(t, one.Envelopes(), openURL(t, url).Envelopes())
}

// covers ENV-079, ENV-115
func TestEnvelopeFaults(t *testing.T) {
	t.Parallel()
	storetest.EnvelopeFaults(t, func(t *testing.T) (*sqlstore.Envelopes, *storetest.Faults) {
		db, _ := open(t)
		return db.Envelopes(), storetest.NewFaults(db)
	})
}
