package render

import (
	"errors"
	"strings"

	"github.com/bindery/bindery/envelope"
)

// A Fallback is the ordinary content of a tool, shown where there is no envelope, or none that is
// well-formed (section 9.3). It has no way to decide, and holds nothing of what was discarded.
type Fallback struct {
	diagnostic string // one line, or ""
	payload    []Shown
}

// FallBack returns the ordinary content of a tool's result, as the texts of its parts. cause is the
// error of [envelope.Parse] if an envelope was discarded, and nil if there was none. Showing it
// fails for no content: an interaction does not end because an envelope could not be rendered
// (ENV-100).
func FallBack(payload []string, cause error) Fallback {
	f := Fallback{}
	for _, part := range payload {
		f.payload = append(f.payload, ShowLines(strings.TrimRight(part, "\r\n")))
	}
	if len(f.payload) == 0 {
		f.payload = []Shown{wordNothing}
	}
	if cause != nil {
		f.diagnostic = "A decision that came with this result was discarded: " + reason(cause) + "."
	}
	return f
}

// reason says why an envelope was discarded, in words that repeat nothing of it.
func reason(cause error) string {
	if fault := (*envelope.Error)(nil); errors.As(cause, &fault) {
		return strings.TrimPrefix(fault.Error(), "envelope: ")
	}
	return "it is no well-formed envelope (ENV-010)"
}

// Diagnostic returns the one line that says why an envelope was discarded, without a line end; ""
// if none was.
func (f Fallback) Diagnostic() string { return f.diagnostic }

// Text returns the content, indented, and below it the diagnostic, which begins in the first column
// with an exclamation mark.
func (f Fallback) Text(columns int) string {
	s := newSheet(columns)
	for _, part := range f.payload {
		s.put(inset, part)
	}
	if f.diagnostic != "" {
		s.line("! " + f.diagnostic)
	}
	return s.String()
}

// Notification returns the content as body.
func (f Fallback) Notification() Notification {
	whole := f.Text(unbroken)
	return Notification{Title: wordResult, Body: whole, Whole: whole}
}
