package cli

import (
	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/jcs"
)

// auditCode is what audit prints of a log that does not hold.
const auditCode = "AUDIT_BROKEN"

// explainCode says what a refusal of an RA or a VA means that is none of the
// specification's, if code is one.
func (a *app) explainCode(code string) (known bool) {
	fix := codeFix(code)
	if fix == "" {
		return false
	}
	message := (&api.Error{Code: code}).Message()
	if code == auditCode {
		message = "the audit log is not as the RA has written it"
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
	case auditCode:
		return "keep both the log and the directory as they are, compare with an older export, and ask who could write to the database."
	}
	return ""
}
