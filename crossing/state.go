package crossing

// A State is the extension-scoped commitment state of §4.5, carried in Task.metadata
// under [URI]. It is never inferred from the core TaskState, nor that from it by a
// verifier: only a seal that resolves shows a commitment (GC-268).
type State string

// The six states.
const (
	MandatesPending State = "mandates_pending"
	TermsProposed   State = "terms_proposed"
	Sealing         State = "sealing"
	Committed       State = "committed"
	Refused         State = "refused"
	FailedUnsealed  State = "failed_unsealed"
)

// TaskState is the core state that a state is shown as (§4.5, GC-262…GC-267), in A2A
// 1.0 spelling.
func (s State) TaskState() string {
	switch s {
	case MandatesPending:
		return "TASK_STATE_AUTH_REQUIRED"
	case TermsProposed:
		return "TASK_STATE_INPUT_REQUIRED"
	case Sealing:
		return "TASK_STATE_WORKING"
	case Committed:
		return "TASK_STATE_COMPLETED"
	case Refused:
		return "TASK_STATE_REJECTED"
	case FailedUnsealed:
		return "TASK_STATE_FAILED"
	}
	return "TASK_STATE_UNSPECIFIED"
}

// Valid reports whether s is one of the six.
func (s State) Valid() bool { return s.TaskState() != "TASK_STATE_UNSPECIFIED" }

// Terminal reports whether no message can move s any more.
func (s State) Terminal() bool { return s == Committed || s == Refused || s == FailedUnsealed }
