package envelope

import (
	"errors"
	"time"
)

// What "a persistently high rate" means, where an operator says nothing else (ENV-121). A rate is
// looked at over the latest 50 occasions of the last 30 days, and not before there are 20 of them.
const (
	DefaultWindow     = 50
	DefaultAge        = 30 * 24 * time.Hour
	DefaultFewest     = 20
	DefaultNoteRate   = 0.10 // of envelopes that carry a calibration note (ENV-050)
	DefaultReopenRate = 0.25 // of resolutions that decline the question (ENV-107)
)

// MaxRateKeys bounds how many agents and decision classes a [Monitor] tells apart; what comes after
// is counted under the empty name.
const MaxRateKeys = 1024

// RateConfig says when a rate is high. Zero fields have the defaults.
type RateConfig struct {
	Window    int           // occasions looked at, at most 1000
	Age       time.Duration // older occasions do not count
	Fewest    int           // occasions before anything is said
	Threshold float64       // a share from 0 to 1; at it or above, a rate is high
}

// A Rate is how often something happened within the window.
type Rate struct {
	Hits, Of int
	High     bool // at or above the threshold, over enough occasions
}

// A Monitor watches one rate, per agent and per decision class (ENV-050, ENV-107). It knows no
// clock: occasions bring their time, and they come in its order. It is for one goroutine.
type Monitor struct {
	cfg     RateConfig
	byAgent map[string]*window
	byClass map[string]*window
}

type window struct{ occasions []occasion }

type occasion struct {
	at  time.Time
	hit bool
}

// NewMonitor returns a Monitor with threshold as the share to use if cfg has none: pass
// [DefaultNoteRate] or [DefaultReopenRate].
func NewMonitor(cfg RateConfig, threshold float64) (*Monitor, error) {
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	if cfg.Age == 0 {
		cfg.Age = DefaultAge
	}
	if cfg.Fewest == 0 {
		cfg.Fewest = min(DefaultFewest, cfg.Window)
	}
	if cfg.Threshold == 0 {
		cfg.Threshold = threshold
	}
	if cfg.Window < 1 || cfg.Window > 1000 || cfg.Age < 0 || cfg.Fewest < 1 || cfg.Fewest > cfg.Window || !(cfg.Threshold > 0 && cfg.Threshold <= 1) {
		return nil, errors.New("envelope: a rate is looked at over 1 to 1000 occasions, and its threshold is above 0 and at most 1 (ENV-121)")
	}
	return &Monitor{cfg, map[string]*window{}, map[string]*window{}}, nil
}

// Note counts one occasion, and returns the rates of its agent and of its class.
func (m *Monitor) Note(agent, class string, hit bool, at time.Time) (ofAgent, ofClass Rate) {
	ofAgent = m.note(m.byAgent, agent, occasion{at, hit})
	ofClass = m.note(m.byClass, class, occasion{at, hit})
	return ofAgent, ofClass
}

// Agent returns the rate of one agent, as of the given time.
func (m *Monitor) Agent(agent string, at time.Time) Rate { return m.rate(m.byAgent[agent], at) }

// Class returns the rate of one decision class, as of the given time.
func (m *Monitor) Class(class string, at time.Time) Rate { return m.rate(m.byClass[class], at) }

func (m *Monitor) note(windows map[string]*window, key string, o occasion) Rate {
	w, ok := windows[key]
	if !ok && len(windows) >= MaxRateKeys {
		key = ""
		w, ok = windows[key]
	}
	if !ok {
		w = &window{}
		windows[key] = w
	}
	if w.occasions = append(w.occasions, o); len(w.occasions) > m.cfg.Window {
		w.occasions = append(w.occasions[:0], w.occasions[1:]...)
	}
	return m.rate(w, o.at)
}

func (m *Monitor) rate(w *window, at time.Time) (r Rate) {
	if w == nil {
		return Rate{}
	}
	for _, o := range w.occasions {
		if at.Sub(o.at) > m.cfg.Age {
			continue
		}
		r.Of++
		if o.hit {
			r.Hits++
		}
	}
	r.High = r.Of >= m.cfg.Fewest && float64(r.Hits) >= m.cfg.Threshold*float64(r.Of)
	return r
}
