package gateway

import (
	"context"
	"sync"
)

// counts bounds what is under way at once, in all and for each agent. An agent that has nothing
// under way costs nothing.
type counts struct {
	all, each int // the limits

	mu  sync.Mutex // guards below
	now int
	per map[string]int
}

func newCounts(all, each int) *counts { return &counts{all: all, each: each, per: map[string]int{}} }

// take reports whether one more may begin for agent; leave ends it.
func (c *counts) take(agent string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now >= c.all || c.per[agent] >= c.each {
		return false
	}
	c.now++
	c.per[agent]++
	return true
}

func (c *counts) leave(agent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now--
	if c.per[agent]--; c.per[agent] == 0 {
		delete(c.per, agent)
	}
}

// rooms bounds what is large at once, in all, and for one agent to half of that: whoever finds no
// room waits.
type rooms struct {
	all  chan struct{}
	each int

	mu  sync.Mutex // guards per
	per map[string]*share
}

// A share is one agent's.
type share struct {
	room chan struct{}
	used int // by how many, waiting ones too
}

func newRooms(all int) *rooms {
	return &rooms{all: make(chan struct{}, all), each: (all + 1) / 2, per: map[string]*share{}}
}

// take reports whether there is room for one more of agent before ctx ends; leave gives it back.
func (r *rooms) take(ctx context.Context, agent string) bool {
	r.mu.Lock()
	own := r.per[agent]
	if own == nil {
		own = &share{room: make(chan struct{}, r.each)}
		r.per[agent] = own
	}
	own.used++
	r.mu.Unlock()
	select {
	case own.room <- struct{}{}:
	case <-ctx.Done():
		r.forget(agent)
		return false
	}
	select {
	case r.all <- struct{}{}:
		return true
	case <-ctx.Done():
		<-own.room
		r.forget(agent)
		return false
	}
}

func (r *rooms) leave(agent string) {
	<-r.all
	<-r.forget(agent).room
}

// forget is the share of an agent that is used once less.
func (r *rooms) forget(agent string) *share {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.per[agent]
	if own.used--; own.used == 0 {
		delete(r.per, agent)
	}
	return own
}
