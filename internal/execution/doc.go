// Package execution keeps, for each operation that an agent names with an execution_id, one
// state that decides whether its call may be sent to the upstream (design X2 to X4; the
// contract "Execution Action Binding v1", section "Correlation, replay, and comparison
// semantics", with its companion on execution correlation).
//
// The key is the authenticated agent and its execution_id; beside it stands the action
// binding, compared as a whole. A first call is reserved, then dispatched, then sent, then
// settled; each step is one durable transaction with its audit entry, and the next begins
// after it:
//
//	Admit           reserved     binding, owner and epoch of this replica
//	                dispatched   by compare-and-swap, with the call_id, if the epoch is alive
//	Permit.Start    -            if the last heartbeat is young
//	                             the call goes out
//	Permit.Finish   succeeded, failed or outcome_unknown
//
// What a process leaves behind when it ends at one of the five gaps:
//
//	before reserved             nothing: the same call again is a first call
//	reserved                    the next repeat takes it over; unrepeated for ten minutes it is refused
//	dispatched, nothing sent    outcome_unknown, as soon as the epoch is declared dead
//	answered, nothing stored    outcome_unknown
//	stored, no reply            the repeat gets the stored answer
//
// A repeat with the same binding joins what is under way and is answered from the stored
// row; after a terminal state it is refused, with the recorded answer while that is kept. A
// terminal state is left by nothing, and no id is ever free again. So the upstream is called
// at most once for an execution, and once more for each requestState with which it asks for
// input. That is all that is promised: a row says what this gateway has seen, never what has
// happened at the upstream, and outcome_unknown says that it does not know.
//
// Replicas share the store and watch each other by heartbeats on the database's clock. An
// epoch without one for 15 s is declared dead, for good, and a sweep takes what it owned;
// a replica that wakes late finds its swaps lost, and sends nothing. An operator, or a
// tool's own status query, may record a finding on an outcome_unknown: signed, with its
// evidence's digest, and without reopening anything.
//
// Refused, with a name and what is safe to do next: another binding or algorithm for the
// id (EXECUTION_COLLISION), a repeat after the end (EXECUTION_REPLAY), one that has waited
// long enough (EXECUTION_PENDING), one whose reservation came to nothing, and a call without
// an authenticated agent (EXECUTION_REFUSED), a continuation of something else
// (EXECUTION_CONTINUATION_MISMATCH), and everything while the store, this replica's epoch or
// the self-test does not hold (EXECUTION_UNAVAILABLE).
//
// Room: roles. Writes through its Store, reads the clock of its Config, draws names from
// crypto/rand, logs. No network.
package execution
