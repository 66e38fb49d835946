package render

import "strings"

// A Picker is the choice at a terminal: the text with a cursor. It is data; reading keys and
// painting are the terminal's. A Picker does not change, [Picker.Press] returns the next one.
//
// No way is under the cursor at the beginning, so that no single key decides by accident: Return
// takes what arrows or a letter have pointed at.
type Picker struct {
	view View
	at   int // index of the way under the cursor; -1 for none
}

// A Key is what was pressed: one of the names below, or one character.
type Key string

// The keys that are no character.
const (
	Up     Key = "up"
	Down   Key = "down"
	Return Key = "return"
)

// Picker returns a picker without a choice.
func (v View) Picker() Picker { return Picker{v, -1} }

// Press moves the cursor by an arrow or to the way of a letter or digit (1 is the first way);
// other keys do nothing. Return takes the way under the cursor: taken is then true, and the
// surface asks for the text of an answer, if that is the way, and calls [View.Resolve].
func (p Picker) Press(k Key) (next Picker, way Way, taken bool) {
	n := len(p.view.ways)
	switch {
	case k == Up && p.at < 0:
		p.at = n - 1
	case k == Up:
		p.at = (p.at + n - 1) % n
	case k == Down:
		p.at = (p.at + 1) % n
	case k == Return && p.at >= 0:
		return p, p.view.ways[p.at], true
	case len(k) == 1:
		for i, w := range p.view.ways {
			if strings.EqualFold(string(k), w.Key) || k[0] == byte('1'+i) {
				p.at = i
			}
		}
	}
	return p, Way{}, false
}

// At returns the way under the cursor.
func (p Picker) At() (w Way, ok bool) {
	if p.at < 0 {
		return Way{}, false
	}
	return p.view.ways[p.at], true
}

// Frame returns what the terminal shows: the text of [View.Text], where the ways have a cursor in
// the first column and their keys instead of a reply. It holds no escape sequence.
func (p Picker) Frame(columns int) string {
	s := newSheet(columns)
	p.view.brief(s)
	for i, w := range p.view.ways {
		arrow := besides
		if w.Recommended {
			arrow = pointing
		}
		if i == p.at {
			arrow = ">" + arrow[1:]
		}
		w.Invoke = Shown("Key: " + w.Key)
		if i == p.at {
			w.Invoke = "Key: Return, to take this way"
		}
		p.view.way(s, arrow, w)
	}
	p.view.foot(s)
	return s.String()
}
