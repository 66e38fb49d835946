package registry

import (
	"context"
	"time"

	"github.com/bindery/bindery/api"
)

// Keyring keeps when a principal's keys may sign, which humans' keys wait for an operator,
// and which domain has published the keys (design R6).
type Keyring interface {
	// Retire gives a key its last moment. ErrNotFound: no such key, or not of
	// q.PrincipalID. ErrExists: it has an earlier one. The same moment again changes
	// nothing.
	Retire(ctx context.Context, q Retirement) error
	// HumanRequests returns at most limit humans' keys that are not registered, the oldest
	// first: of one principal the pending and the rejected ones, and with principalID ""
	// the pending ones of all.
	HumanRequests(ctx context.Context, principalID string, limit int) ([]api.HumanRequest, error)
	// DecideHuman registers a pending key or rejects it for ever. A repeat of the decision
	// changes nothing. ErrNotFound: the principal has not asked for it. ErrExists: it was
	// decided otherwise, or the key is registered with another use or owner. ErrFull as in
	// Directory.Add.
	DecideHuman(ctx context.Context, d HumanDecision) error
	// ProveDomain stores that a domain has published keys. ErrNotFound: no such principal.
	// ErrExists: the principal has an issuer key, not retired at d.At, that is not among
	// them.
	ProveDomain(ctx context.Context, d DomainProof) error
	// Domains returns at most limit active principals with a domain that was not proved at
	// or after before, by principal_id, from the first above after.
	Domains(ctx context.Context, before time.Time, after string, limit int) ([]api.DomainProof, error)
}

// A Retirement ends a key.
type Retirement struct {
	PrincipalID string
	Key         string // thumbprint
	NotAfter    time.Time
	By          Actor // for the audit row
	At          time.Time
}

// A HumanDecision is an operator's.
type HumanDecision struct {
	PrincipalID string
	Key         string // thumbprint
	Approve     bool
	By          Actor // for the audit row
	At          time.Time
}

// A DomainProof is what a domain was seen to publish.
type DomainProof struct {
	PrincipalID string
	Domain      string
	Keys        []string // thumbprints
	By          Actor    // for the audit row
	At          time.Time
}

// MaxRequests is how many humans' keys a principal may have asked for in all, rejected
// ones included.
const MaxRequests = 512
