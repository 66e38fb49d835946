package gatewaytest

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"strconv"
	"sync"
)

// A Ledger counts effects by key. Each is a line of its file, and on disk before Effect
// returns, so that no end of any process can lose or repeat one.
type Ledger struct {
	file *os.File // nil: in memory alone

	mu     sync.Mutex // guards counts and total
	counts map[string]int
	total  int
}

// OpenLedger opens the ledger at path, or makes it. The empty path is a ledger in memory.
func OpenLedger(path string) (*Ledger, error) {
	l := &Ledger{counts: map[string]int{}}
	if path == "" {
		return l, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		key, err := strconv.Unquote(lines.Text())
		if err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("line %d of the ledger is no key: %w", l.total+1, err)
		}
		l.counts[key]++
		l.total++
	}
	l.file = file
	return l, lines.Err()
}

// Effect counts one more effect of key and returns its number among all effects, from 1.
func (l *Ledger) Effect(key string) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		if _, err := l.file.WriteString(strconv.Quote(key) + "\n"); err != nil {
			return 0, err
		}
		if err := l.file.Sync(); err != nil {
			return 0, err
		}
	}
	l.counts[key]++
	l.total++
	return l.total, nil
}

// Count is how many effects key has.
func (l *Ledger) Count(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[key]
}

// Counts are all keys with their effects.
func (l *Ledger) Counts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts)
}

// Close closes the file.
func (l *Ledger) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
