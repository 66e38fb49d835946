package execution

import "errors"

// MaxID is the longest execution_id, in bytes.
const MaxID = 200

// ErrID is the error of [ParseID].
var ErrID = errors.New("execution: an execution_id is 1 to 200 bytes from 0x21 to 0x7E")

// An ID is an execution_id that has the form of design X2. The zero ID is none; [ParseID] is
// the only way to another one, so whatever is stored and audited has passed it (EXA-053).
type ID struct{ text string }

// ParseID takes 1 to [MaxID] bytes, each from 0x21 to 0x7E. The error is [ErrID].
func ParseID(s string) (ID, error) {
	if s == "" || len(s) > MaxID {
		return ID{}, ErrID
	}
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7E {
			return ID{}, ErrID
		}
	}
	return ID{text: s}, nil
}

// String is the id as the caller wrote it.
func (id ID) String() string { return id.text }

// A Key is what an execution is found by: the authenticated agent and its id (EXA-020). One
// id under two agents is two executions (EXA-057).
type Key struct {
	Agent string
	ID    ID
}
