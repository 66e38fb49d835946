package agentauth

// The names of refusals. They are part of the gateway's registry of names (EXA-077).
const (
	// Unauthenticated: no credential came.
	Unauthenticated = "AGENT_UNAUTHENTICATED"
	// CredentialInvalid: the credential is not one that this gateway takes.
	CredentialInvalid = "AGENT_CREDENTIAL_INVALID"
	// TokenExpired: the token was good once. Another one may be asked for.
	TokenExpired = "AGENT_TOKEN_EXPIRED"
	// CredentialConflict: several credentials came, and they do not name one agent.
	CredentialConflict = "AGENT_CREDENTIAL_CONFLICT"
	// KeysUnavailable: the issuer's keys cannot be had, so it cannot be told whether the token is
	// good. It is no fault of the client's, who may try again.
	KeysUnavailable = "AGENT_KEYS_UNAVAILABLE"
)

// An Error says why a request has no agent. It holds nothing of a credential.
type Error struct {
	Name string // one of the names above
	Rule string // what was broken, in a few constant words
}

// Error returns, for example, "agentauth: AGENT_CREDENTIAL_INVALID: aud is not this gateway".
func (e *Error) Error() string { return "agentauth: " + e.Name + ": " + e.Rule }

func invalid(rule string) error { return &Error{CredentialInvalid, rule} }

// Challenge returns the value of WWW-Authenticate for the answer 401 (RFC 6750 §3, RFC 9728
// §5.1). metadata is the URL of the resource's metadata, "" if there is none; it must be a
// URL that the caller has made.
func (e *Error) Challenge(metadata string) string {
	value := `Bearer realm="bindery"`
	if e.Name != Unauthenticated { // RFC 6750 §3.1: without a credential no error code
		value += `, error="invalid_token", error_description="` + e.Rule + `"`
	}
	if metadata != "" {
		value += `, resource_metadata="` + metadata + `"`
	}
	return value
}
