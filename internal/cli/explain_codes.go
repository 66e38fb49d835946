package cli

import (
	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/jcs"
)

// auditCode is what audit prints of a log that does not hold.
const auditCode = "AUDIT_BROKEN"

// What executions reconcile answers where it records nothing.
const (
	findingNotUnknown = "FINDING_NOT_UNKNOWN"
	findingUnderWay   = "FINDING_UNDER_WAY"
	findingTooSoon    = "FINDING_TOO_SOON"
	findingsFull      = "FINDINGS_FULL"
)

// explainCode says what a refusal of an RA or a VA means that is none of the
// specification's, if code is one.
func (a *app) explainCode(code string) (known bool) {
	fix := codeFix(code)
	if fix == "" {
		return false
	}
	message := (&api.Error{Code: code}).Message()
	switch code {
	case auditCode:
		message = "the audit log is not as its owner has written it"
	case findingNotUnknown:
		message = "a finding is about an execution that is outcome_unknown"
	case findingUnderWay:
		message = "it did not happen cannot be said while the process that sent the call may still be at it"
	case findingTooSoon:
		message = "it did not happen cannot be said while the upstream may still act on the call"
	case findingsFull:
		message = "the execution has as many findings as one may have"
	}
	if a.json {
		a.print(jcs.Object(said("name", code), said("message", message), said("fix", fix)))
		return true
	}
	a.line("%s: %s.", code, message)
	a.line("")
	a.line("Usual fix: %s", fix)
	return true
}

// codeFix is what somebody who meets the code honestly does about it; "" for no code.
func codeFix(code string) string {
	switch code {
	case api.CodeMalformed:
		return "correct the value that is named beside it."
	case api.CodeUnauthenticated:
		return "use the directory that was enrolled there; for the RA's operator, work in the RA's directory or add --operator-credential FILE."
	case api.CodeNotFound:
		return "check the spelling, and whose it is: what belongs to somebody else looks like nothing."
	case api.CodeEnrolment:
		return "get a new code with bindery enrol; each works once, for 24 hours."
	case api.CodeEnrolmentMismatch:
		return "get a code with bindery enrol --for party, or --for ra to bring an RA along; with --principal it is for that one."
	case api.CodeUnproved:
		return "let bindery init make the request: each key signs that it is to be registered at this RA for this principal."
	case api.CodeConflict:
		return "look at what stands there with bindery office principal; a key, an agent or a credential belongs to one alone, and an RA's operator is neither suspended nor revoked there."
	case api.CodePredecessorMissing:
		return "wait: the other party's earlier publication comes first, and bindery serve sends it again."
	case api.CodeTooLarge:
		return "send less in one request."
	case api.CodeRegistryUnreachable:
		return "ask again when the RAs that this VA has pinned are served."
	case api.CodeUnavailable:
		return "ask again; the same request is answered as if it had come once."
	case api.CodeDomainUnreachable:
		return "serve https://DOMAIN/.well-known/jwt-vc-issuer to the public, without a redirect."
	case api.CodeDomainMalformed:
		return "publish one JSON object with issuer and jwks, as SD-JWT VC describes it."
	case api.CodeDomainMismatch:
		return "publish https://DOMAIN as issuer, and each key that bindery office key list shows and that is not retired."
	case findingNotUnknown:
		return "look at it with bindery executions show; what an upstream has answered needs no finding, and stays as it is."
	case findingUnderWay:
		return "wait until the gateway that sent it has ended the attempt, or, if that gateway is gone, until it is declared dead, 15 seconds after its last heartbeat."
	case findingTooSoon:
		return "wait: a minute beyond the upstream's timeout since the call was sent, then ask the upstream again and record its answer."
	case findingsFull:
		return "read the findings with bindery executions show; if they differ, the upstream has to say which one is true."
	case auditCode:
		return "keep both the log and the directory as they are, compare with an older export, and ask who could write to the database."
	}
	return ""
}
