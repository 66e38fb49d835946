// Package agentauth says which agent a request to the gateway comes from.
//
// The agent's identity is half of the key under which an execution is reserved, and the
// agent_id of the action binding (EXA-012, EXA-020, EXA-045; AX-15). So it comes from a
// credential that the gateway has checked, and never from what a client can write freely:
// no parameter, no header but Authorization, no name in a message.
//
// # Three kinds of credentials
//
//   - A registered key, "bnk_" and 43 characters of base64url, 256 random bits. It is shown
//     once; the gateway keeps its SHA-256. The agent is "key:" and the name under which
//     the key was registered.
//   - A bearer token, a JWT (RFC 7519, RFC 9068) of the one issuer whose keys are known. The
//     agent is "jwt:", the issuer, "#", the claim that names the agent, "=" and its value.
//   - A client certificate whose chain the TLS listener has verified, with one SPIFFE ID. The
//     agent is that ID, until the certificate expires, however long the connection lasts.
//
// For example, these are three agents:
//
//	key:billing
//	jwt:https://login.example#client_id=billing
//	spiffe://example.org/billing
//
// No two agents have one ID: the prefixes are distinct; in the parts of a jwt: ID every byte
// outside 0x21 to 0x7E, "%" and "#" is written as "%" and two upper-case hexadecimal digits;
// and the claim is a part of the ID, since a sub that somebody chose to spell like a client_id
// is another agent (RFC 9068 §5). An ID has at most [MaxID] bytes of 0x21 to 0x7E.
//
// # A token
//
// The signature is by RS256, PS256, ES256, ES384 or EdDSA (Ed25519), by the key of the
// issuer's set that the header's kid names and that fits the algorithm; without a kid, by the
// only key that fits. jwk, jku, x5u and x5c in a header have no effect. Then typ (absent,
// "JWT" or "at+jwt"), iss, an aud of exactly the one audience, exp, nbf and iat are checked.
// A token that its issuer has bound to a certificate (cnf with x5t#S256, RFC 8705) is taken
// with that certificate alone, and one that is bound to another key is refused, since here
// nobody has to prove that he holds it. That the signature of a token has verified is
// remembered, for some two thousand tokens, as long as its key is the same; all else is judged
// with each request.
//
// The keys come with the configuration, or from a URL: https, or http on loopback; at most
// 256 KiB; redirected within its origin at most. They are asked for again after ten minutes,
// and for an unknown kid at most every 30 seconds; while the URL does not answer the
// last ones are used, for an hour.
//
// # What is refused
//
// A missing credential, two of one kind, two kinds that name different agents, and whatever
// breaks a rule above: with an [*Error], whose text is constant for the rule and holds nothing
// of the credential. With no kind configured there is nothing to check: every request is
// anonymous, and may not name an execution.
//
// Room: adapters. Asks the issuer for its keys; reads the clock of its Config. Reads no file
// and no environment: whoever configures it does.
package agentauth
