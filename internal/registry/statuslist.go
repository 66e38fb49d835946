package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/mandate"
)

// A status list (design R5) has ListEntries entries, of which Opens take at most MaxListed,
// each at an index drawn at random. Of all entries exactly half are shown as active: the
// active Opens, and decoys that a secret of the list chooses among the entries that no Open
// has. So their number tells nothing of how many Opens there are, and a change of the list
// nothing of whether one was registered or ended: each is one entry up and one down.
const (
	ListEntries = 1 << 17
	MaxListed   = ListEntries / 2

	// ListLifetime is how long a list may be used, and its ttl.
	ListLifetime = 60 * time.Second
	// ListCaching is how long others may keep a list after they were given it: then it is
	// no older than its ttl.
	ListCaching = ListLifetime - listAge

	// listAge is how old a list may be that is given out: another process may have
	// changed what it says.
	listAge = 15 * time.Second
	// listPause is how long a list stays at least, whatever changes; a large one for listShare
	// times as long as it took to make. So asking for it costs a twentieth of a core at most.
	listPause = time.Second
	listShare = 20
	// keptLists bounds the lists in memory, of 22 KiB each.
	keptLists = 64
	// listDraws bounds how often an index is drawn for one Open. More than half of the
	// indexes are free, so that all of them fail once in 2^32.
	listDraws = 32

	listPath = "/v1/ra/status-lists/"
)

// StatusLists keeps which Open has which entry of which list, and no state of its own: what
// a list says is read from the rows that Active reads.
type StatusLists interface {
	// StatusList returns the newest list that has fewer than MaxListed Opens. If there is
	// none, it stores fresh and returns that.
	StatusList(ctx context.Context, fresh NewStatusList) (id string, err error)
	// StatusEntries returns a list's seed and an entry for each of its Opens, in no order.
	// Active is what Mandates.Active says of the Open at the given time. ErrNotFound.
	StatusEntries(ctx context.Context, id string, at time.Time) (seed []byte, entries []StatusEntry, err error)
}

// A NewStatusList is a list without Opens.
type NewStatusList struct {
	ID   string // 128 random bits, so that lists cannot be counted
	Seed []byte // 32 random bytes
	At   time.Time
}

// A StatusEntry is that of one Open.
type StatusEntry struct {
	Index  int64 // 0 to ListEntries − 1
	Active bool
}

// lists are the signed lists that were made lately.
type lists struct {
	change atomic.Int64 // counts what may change a list

	mu   sync.Mutex // guards kept; held while a list is made: one at a time
	kept map[string]signedList
}

type signedList struct {
	token  string
	at     time.Time
	cost   time.Duration // to make it
	change int64
}

func (l *lists) changed() { l.change.Add(1) }

// fresh reports whether the list may be given out.
func (s signedList) fresh(now time.Time, change int64) bool {
	age := now.Sub(s.at)
	pause := min(max(listPause, listShare*s.cost), listAge)
	return s.token != "" && age >= 0 && (age < pause || age < listAge && s.change == change)
}

// StatusList is the signed status list of this name, a JWT that a verifier may keep for its
// ttl (mandate.StatusList). It says of an Open what Status says, 1 s after a change by this
// process (later where a list is large, see listShare) and 15 s after one by another. Anyone
// may have it. api.CodeNotFound: there is none.
func (r *Registry) StatusList(ctx context.Context, id string) (token string, err error) {
	if r.cfg.URL == "" || !validListID(id) {
		return "", &api.Error{Code: api.CodeNotFound}
	}
	now := r.now()
	r.lists.mu.Lock()
	defer r.lists.mu.Unlock()
	change := r.lists.change.Load()
	if s := r.lists.kept[id]; s.fresh(now, change) {
		return s.token, nil
	}
	seed, entries, err := r.cfg.Store.StatusEntries(ctx, id, now)
	if errors.Is(err, ErrNotFound) {
		return "", &api.Error{Code: api.CodeNotFound}
	}
	if err != nil {
		return "", fmt.Errorf("registry: %w", err)
	}
	bits, err := listBits(seed, entries)
	if err != nil {
		return "", fmt.Errorf("registry: status list: %w", err)
	}
	token, err = mandate.StatusList{
		URI: r.listURI(id), At: now, Expires: now.Add(ListLifetime), TTL: ListLifetime, Bits: bits,
	}.Sign(r.cfg.Signer)
	if err != nil {
		return "", fmt.Errorf("registry: status list: %w", err)
	}
	r.lists.keep(id, signedList{token, now, r.now().Sub(now), change})
	return token, nil
}

func (l *lists) keep(id string, s signedList) {
	if l.kept == nil {
		l.kept = map[string]signedList{}
	}
	if _, there := l.kept[id]; !there && len(l.kept) >= keptLists {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(l.kept)), func(a, b string) int { return l.kept[a].at.Compare(l.kept[b].at) })
		delete(l.kept, oldest)
	}
	l.kept[id] = s
}

func (r *Registry) listURI(id string) string { return r.cfg.URL + listPath + id }

func validListID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16 && hex.EncodeToString(b) == id
}

// listBits is the list's bits: 0 for the active Opens and for as many decoys as make half
// of the list, 1 for all else.
func listBits(seed []byte, entries []StatusEntry) ([]byte, error) {
	l := mandate.StatusList{Bits: make([]byte, ListEntries/8)}
	taken, active := make([]bool, ListEntries), 0
	for _, e := range entries {
		if e.Index < 0 || e.Index >= ListEntries {
			return nil, errors.New("index outside the list")
		}
		taken[e.Index] = true
		if e.Active {
			active++
		} else {
			l.NotActive(e.Index)
		}
	}
	decoys := ListEntries/2 - active
	for _, index := range shuffled(seed) {
		switch {
		case taken[index]:
		case decoys > 0:
			decoys--
		default:
			l.NotActive(int64(index))
		}
	}
	return l.Bits, nil
}

// shuffled is all indexes in an order that only the seed tells: each SHA-256 of seed and a
// counter moves eight of them.
func shuffled(seed []byte) []uint32 {
	order := make([]uint32, ListEntries)
	block := append(slices.Clone(seed), 0, 0, 0, 0)
	var stream [sha256.Size]byte
	for i := range order {
		if i%8 == 0 {
			binary.BigEndian.PutUint32(block[len(seed):], uint32(i/8))
			stream = sha256.Sum256(block)
		}
		j := binary.BigEndian.Uint32(stream[4*(i%8):]) % uint32(i+1)
		order[i] = order[j]
		order[j] = uint32(i)
	}
	return order
}

// addOpen signs the receipt of an Open and stores both. With status lists, the Open gets an
// index that no other has: it is drawn until one is free.
func (r *Registry) addOpen(ctx context.Context, o Open) (receipt string, err error) {
	for range listDraws {
		if o.StatusList, o.StatusIndex, err = r.drawIndex(ctx); err != nil {
			return "", fmt.Errorf("registry: status list: %w", err)
		}
		if o.Receipt, err = r.registrationOf(o).Sign(r.cfg.Signer); err != nil {
			return "", fmt.Errorf("registry: receipt: %w", err)
		}
		receipt, err = r.cfg.Store.AddOpen(ctx, o)
		if !errors.Is(err, ErrListed) {
			break
		}
	}
	if err != nil {
		return "", fromAddOpen(err)
	}
	r.lists.changed()
	return receipt, nil
}

func (r *Registry) registrationOf(o Open) mandate.Registration {
	g := o.registration()
	if o.StatusList != "" {
		g.StatusList = mandate.StatusReference{URI: r.listURI(o.StatusList), Index: o.StatusIndex}
	}
	return g
}

func (r *Registry) drawIndex(ctx context.Context) (list string, index int64, err error) {
	if r.cfg.URL == "" {
		return "", 0, nil
	}
	var random [16 + 32 + 4]byte
	rand.Read(random[:]) // ends the program rather than return an error
	list, err = r.cfg.Store.StatusList(ctx, NewStatusList{ID: hex.EncodeToString(random[:16]), Seed: random[16:48], At: r.now()})
	return list, int64(binary.BigEndian.Uint32(random[48:]) % ListEntries), err
}
