package wiretest

import (
	"sync"
	"time"
)

// Start is where a World's clock begins.
var Start = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// A Clock stands still until a test moves it. Everything in a World reads it.
type Clock struct {
	mu sync.Mutex // guards at
	at time.Time
}

// Now is the World's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves it, backwards too.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
