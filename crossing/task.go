package crossing

import (
	"errors"
	"time"
)

// ErrNoTask is returned for a task id that is not this party's, or takes no messages
// any more; the two look alike to whoever asks (design C2).
var ErrNoTask = errors.New("crossing: no such task")

// A Task is a crossing as its A2A task shows it. It is computed at each call from the
// party's own rows; mandates appear only in the answer to the message that they answer.
type Task struct {
	ID        string
	ContextID string
	State     State
	Answer    []byte // metadata of the status message under [URI]; nil when there is none
	// ArtifactID and Block are set once the seal resolves (§4.3.1); Block is the
	// artifact's metadata under [URI], echoed into the task's.
	ArtifactID string
	Block      []byte
	UpdatedAt  time.Time
}
