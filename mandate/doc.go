// Package mandate is the one Mandate primitive of the project: Open and Closed
// Agreement Mandates, and what the Registration Authority states about them.
//
// It implements §4.1 of the Governed Crossing specification (rows GC-141 … GC-173,
// GC-209 … GC-211; readings AG-01 … AG-21) with the project's decisions M1 … M6. An Open
// is the Principal's standing grant to one agent, a Closed is what that agent (T1) or an
// authorised human (T2) signs for one agreement under it.
//
// Bytes become a [PresentedOpen] or [PresentedClosed] by parsing, which establishes no
// trust, and an [Open] or [Closed] only by their Verify. There is no other way to make
// one that permits anything.
//
// # Form
//
// Both are SD-JWTs in the compact form (RFC 9901 §4), of at most 64 KiB:
//
//	<header>.<payload>.<signature>~            with nothing disclosed
//	<header>.<payload>.<signature>~<limit>~    an Open with its magnitude_limit disclosed
//
// Each of the words is base64url without padding in its one spelling. The header is an
// object of alg, which is "ES256", kid, 1 to 128 bytes, and at most typ, "dc+sd-jwt" or
// "mandate+sd-jwt"; the signature is r ‖ s, 64 bytes, over header and payload as they are
// spelled; no key-binding JWT follows. Payload and disclosure are strict JSON in the
// integer profile of package jcs, no deeper than 16. The disclosure is
// [salt, "magnitude_limit", value], and its digest is alone in "_sd". No other claim of an
// Open, and none of a Closed, may hide.
//
// # Claims
//
//	claim                     Open                           Closed
//	vct                       "mandate.agreement.open.1"     "mandate.agreement.closed.1"
//	iss                       the Principal                  sub, or the human who signs
//	sub                       the agent                      the agent
//	aud                       not looked at                  a Principal, or an array of one
//	exp, iat                  seconds since 1970, whole      the same
//	nbf                       optional, not after iat        the same
//	cnf                       optional: {"jwk": agent's key} –
//	commitment_class          one of five                    one of five
//	commitment_act            optional: an act or 1 to 256   an act
//	magnitude_limit           0 to 2^53−1, or withheld       optional: the draw, else what is asserted
//	magnitude_asserted        –                              0 to 2^53−1
//	currency                  ISO 4217, beside financial     the same
//	permitted_counterparties  "*" or up to 1000 Principals   –
//	agreement_hash            –                              64 hex digits, of the terms
//	open_mandate_hash         –                              64 hex digits, of the Open
//	sd_hash                   –                              optional: of the Open as presented
//	governance_basis          –                              {"pack_id":"…","pack_version":"…"}
//	crossing_id               –                              a lower-case UUID
//	nonce                     –                              1 to 128 printable characters
//	signer_role               –                              "agent" or "human"
//
// Principals, agents and humans are urn:anax:principal:…, urn:anax:agent:… and
// urn:anax:human:…, or any URI outside urn:anax:; see [ValidPrincipalID]. Other claims are
// ignored. cnf's key has kty "EC", crv "P-256", x and y of 32 bytes, and at most kid, alg
// "ES256" and use "sig". Three that may be absent are not forgiven but left to the caller, who has a name
// for each: a silent permitted_counterparties permits nobody, a Closed without act is not
// the party's, an Open without cnf lets only a human close.
//
// # Signatures
//
//	mandate              verifies under
//	Open                 the Principal's key of that kid, out of the keys that iss resolves to
//	Closed by an agent   the key in the Open's cnf, whatever the kid
//	Closed by a human    the key of that kid, out of those registered for the human of iss
//	                     under the Open's Principal, and never a key of an agent
//
// A Closed must name its Open by hash, and have the same sub.
//
// # Identity
//
// A mandate is known by the hex SHA-256 of exact bytes: of the whole string with its last
// tilde (token_sha256, closed_mandate_hash), of the Open without disclosures but with one
// tilde (open_mandate_hash), which stays the same whether the limit is disclosed or not,
// and of header and payload with the dot between them (signed_sha256). One signature has
// one spelling, but that (r, n−s) is valid whenever (r, s) is: both are accepted here, and
// only the one with the low s is registered.
//
// # An Open in bytes
//
// This Open, its lines joined,
//
//	eyJhbGciOiJFUzI1NiIsImtpZCI6IlBOcHBsaE5faUtXcTlwQXFXdG1YMF9wR2hKdFF5WDFacXMx
//	RVlKSnU5dVUiLCJ0eXAiOiJkYytzZC1qd3QifQ.eyJfc2QiOlsieWVKLWZtSUUzY2ZXQ1EzdjdnM
//	lhJeFdVNGVFYllhUnVZWnNIZ3RNN0djQSJdLCJfc2RfYWxnIjoic2hhLTI1NiIsImF1ZCI6InVyb
//	jphbmF4OnZhOjAwMSIsImNuZiI6eyJqd2siOnsiY3J2IjoiUC0yNTYiLCJrdHkiOiJFQyIsIngiO
//	iJWd1E3WXduSlhyRXJqRUVaUldhTWo0SHBtVkhHUTNWS1dFRTRRaFY4U1NNIiwieSI6IkNaUWVNQ
//	kdPcjk1U0ZiQ2lfVjRodjVxb0wwMU81SVNvQ1N2MDN0Rjl2YzQifX0sImNvbW1pdG1lbnRfYWN0I
//	jpbImVuZ2FnZW1lbnRfY29kZV9pc3N1YW5jZSJdLCJjb21taXRtZW50X2NsYXNzIjoiaXJyZXZlc
//	nNpYmxlIiwiZXhwIjoxNzg2MDg2NDAwLCJpYXQiOjE3ODYwMDAwMDAsImlzcyI6InVybjphbmF4O
//	nByaW5jaXBhbDphY21lIiwicGVybWl0dGVkX2NvdW50ZXJwYXJ0aWVzIjoiKiIsInN1YiI6InVyb
//	jphbmF4OmFnZW50OmZyb250LTAxIiwidmN0IjoibWFuZGF0ZS5hZ3JlZW1lbnQub3Blbi4xIn0.F
//	ahBD-Qk8xBppdCBeCo64MhkwcPMwMNAn26F5iLGLP4QGLNL_6A7ynV5KejjWDHCwZdUriXe6OwUk
//	RtLHFXxxw~
//
// verifies under the key
//
//	{"crv":"P-256","kty":"EC","x":"rPfCRFECTNWTqBGq7fQommSlnBZuu5KeWcrbfZATMwY",
//	 "y":"uGAFXv6pxPzAU6jrdBZgYQwI8qCiSRMuHrrNnGik44M"}
//
// whose thumbprint is its kid. The payload is
//
//	{"_sd":["yeJ-fmIE3cfWCQ3v7g2XIxWU4eEbYaRuYZsHgtM7GcA"],"_sd_alg":"sha-256",
//	 "aud":"urn:anax:va:001","cnf":{"jwk":{"crv":"P-256","kty":"EC",
//	 "x":"VwQ7YwnJXrErjEEZRWaMj4HpmVHGQ3VKWEE4QhV8SSM",
//	 "y":"CZQeMBGOr95SFbCi_V4hv5qoL01O5ISoCSv03tF9vc4"}},
//	 "commitment_act":["engagement_code_issuance"],"commitment_class":"irreversible",
//	 "exp":1786086400,"iat":1786000000,"iss":"urn:anax:principal:acme",
//	 "permitted_counterparties":"*","sub":"urn:anax:agent:front-01",
//	 "vct":"mandate.agreement.open.1"}
//
// and the limit that it withholds is 5, in the disclosure
//
//	WyJVak9nUF82Q1pZeVN6Y3kwY2h4YURnIiwibWFnbml0dWRlX2xpbWl0Iiw1XQ
//
// Its hashes are
//
//	open_mandate_hash            6e73646e05e435d8e845def9747e101793f252206c9eca5089c5b17bc34cfb73
//	signed_sha256                2fcd323256c935b28df3929c12d9c2ae9031acd3c2d3568f21dfc4bc476a7b67
//	token_sha256, limit told     8180c2b5cd90eddd220722b346847443be245e6300f7df9912a87416683d0795
//
// By default the limit is never told: the RA's receipt that a Closed is registered stands
// for it, since a draw above the limit is never registered.
//
// # What is refused
//
// Whatever is not as said above, with a [Fault] that names claim and rule: of kind Invalid
// for form, signature and missing claims, of kind Malformed where class, magnitude or
// currency are read ([Open.Amount], [Closed.Amounts]) or a magnitude is a number that is no
// integer. So are a repeated member at any depth, any other member of the header (crit, b64,
// jwk, jku, x5c) or of cnf's key (above all its private part), a point off the curve, and a
// digest that stands for no claim that may hide. Narrowing, audience, nonce reuse and revocation are
// not judged here, and expiry only when asked ([Open.Expired]): clock, record and registry
// are the caller's.
//
// Room: values. No I/O and no clock; times come in as arguments. Signing draws from
// crypto/rand, through package jose.
package mandate
