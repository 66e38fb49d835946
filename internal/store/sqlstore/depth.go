package sqlstore

import (
	"context"
	"slices"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
)

// Depth implements [centre.Depths].
func (c *Centre) Depth(ctx context.Context) (d centre.Depth, err error) {
	t := c.db.view(ctx)
	var seals int64 // published
	err = t.row(
		`SELECT (SELECT count(*) FROM outbox WHERE acknowledged_at IS NULL), (SELECT count(*) FROM attempts WHERE state = 'open'),
		   (SELECT count(*) FROM seals) - (SELECT count(*) FROM outbox WHERE acknowledged_at IS NULL AND role = 'responder')`).
		Scan(&d.Waiting, &d.Attempts, &seals)
	if err != nil {
		return centre.Depth{}, err
	}
	rows, err := t.rows("SELECT role, state, count(*) FROM crossings GROUP BY role, state ORDER BY role, state")
	d.Crossings, err = collect(rows, err, func(scan func(...any) error) (s centre.StateCount, err error) {
		err = scan(&s.Role, &s.State, &s.N)
		return s, err
	})
	if err != nil {
		return centre.Depth{}, err
	}
	d.Crossings = published(d.Crossings, seals)
	return d, nil
}

// published counts a responder's sealed crossings as what they are: their rows stay at
// sealing, and the published seal tells.
func published(counts []centre.StateCount, seals int64) []centre.StateCount {
	at := func(state crossing.State) int {
		return slices.IndexFunc(counts, func(s centre.StateCount) bool {
			return s.Role == string(crossing.Responder) && s.State == string(state)
		})
	}
	sealing := at(crossing.Sealing)
	if sealing < 0 || seals <= 0 {
		return counts
	}
	n := min(seals, counts[sealing].N)
	counts[sealing].N -= n
	if i := at(crossing.Committed); i >= 0 {
		counts[i].N += n
	} else {
		counts = append(counts, centre.StateCount{Role: string(crossing.Responder), State: string(crossing.Committed), N: n})
	}
	return slices.DeleteFunc(counts, func(s centre.StateCount) bool { return s.N == 0 })
}
