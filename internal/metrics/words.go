package metrics

import (
	"slices"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
)

// What each label may say.
var (
	// operations are the RA's, as its audit rows name them.
	operations = [...]string{
		"code", "enrol", "add", "pin", "unpin", "set_status", "withdraw", "register_issuer", "retire", "decide_human", "prove_domain",
		"register_open", "register_closed", "revoke_open", "revoke_closed", "revoke_key", "revoke_human", "revoke_principal", "status_list",
		"consume", "burn", "hold", "confirm", "release", "lapse",
	}
	// calls are the RA's, as package registry names them.
	calls = [...]string{
		"enrol", "register_open", "register_closed", "consume", "burn", "hold", "confirm", "release", "revoke", "status", "admit", "office",
	}
	verdicts = [...]string{"verified", "not_verified", "unknown", "refused"}
	roles    = [...]string{string(crossing.Initiator), string(crossing.Responder)}
	states   = [...]string{
		string(crossing.MandatesPending), string(crossing.TermsProposed), string(crossing.Sealing),
		string(crossing.Committed), string(crossing.Refused), string(crossing.FailedUnsealed),
	}
	codes = [...]string{
		api.CodeMalformed, api.CodeUnauthenticated, api.CodeNotFound, api.CodeEnrolment, api.CodeEnrolmentMismatch, api.CodeUnproved, api.CodeConflict, api.CodePredecessorMissing,
		api.CodeTooLarge, api.CodeRegistryUnreachable, api.CodeUnavailable, api.CodeDomainUnreachable, api.CodeDomainMalformed, api.CodeDomainMismatch,
	}
)

const (
	other        = "other"
	acknowledged = "acknowledged"
)

// names are those of the specification's table and the codes beside it.
func names() []string {
	list := slices.Clone(codes[:])
	for _, row := range crossing.Table() {
		list = append(list, string(row.Name))
	}
	return list
}

// known is a word of the list, or other: no label takes a value that is not foreseen.
func known(word string, list []string) string {
	if slices.Contains(list, word) {
		return word
	}
	return other
}
