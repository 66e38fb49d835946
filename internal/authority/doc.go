// Package authority is the Verification Authority: it takes the parties' projections of
// their seals, signs and keeps them, and answers crossing:verify for anyone
// (§3.7.3, §6.2; design V1, V4).
//
// # Publication
//
// POST /v1/projections brings an [api.Publication] under a publisher's credential. Each
// rule has its own refusal:
//
//	unauthenticated       the credential is unknown here
//	malformed_request     a shape, seal_id, time, genesis or state is wrong; at /projection/chain_id
//	                      it is not the two agents'; at /projection/verify_url it leads elsewhere;
//	                      at /responder_agent both agents are one; at /signature it is not the
//	                      publisher's signature over this projection; at /receipts/0 it is no spent
//	                      receipt of this crossing under a pinned RA; at /receipts the responder
//	                      brings none, or two for different mandates, or what it brings is not
//	                      both mandates' by the RAs of their parties
//	ROLE_MISMATCH         a receipt names another effector than the responder, or names the
//	                      initiator, or one principal plays both roles
//	predecessor_missing   the responder's projection, or the publisher's position before this
//	                      one, has not arrived; come back
//	conflict              (crossing_id, role), the seal_id or the chain position is taken by other
//	                      bytes, or the initiator's seal is not the responder's
//
// The first writer of (crossing_id, role) wins. Equal bytes get the stored answer again;
// a conflict is final and alone leaves a row of its own. A prev_hash that is not the
// anchor held for the position before is taken and shown as chain_consistent:false: the
// seal stands, the chain does not.
//
// # Resolution
//
// [Authority.Verify] never fails for an identifier, whatever it is (E-2, GC-122). What is
// not known, and what cannot be an identifier at all, gets these bytes and no others:
//
//	{"checks":{"basis_present":null,"chain_consistent":null,"chain_position_valid":null,
//	 "not_superseded":null,"resolves":false,"seal_matches":null},"verified_by":"VA-001"}
//
// A known one gets the stored projection's members with checks, verified_by and
// projection_jws, all equal on every replica, and evidence, which holds all that moves.
// It is always the responder's projection; the initiator's is there for its chain.
//
// # Mandates
//
// [Authority.Status] passes on what a pinned Registration Authority says and signs about a
// mandate, by open_mandate_hash (R5). Of its own it only says that none could be asked:
// registry_unreachable.
//
// Pinned Registration Authorities are trusted alike, but for those that a counterparty has
// brought to the RA over the same store: each of them speaks for the principal that it came
// with, grants nobody else, and is never believed about both mandates. Any other that signs a
// false spent receipt can make its own principal seem a responder. The authority cannot see
// mandates.
//
// Room: roles. A clock, a signer and a Store; no network, no SQL, no HTTP.
package authority
