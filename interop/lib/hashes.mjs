// Digests of the Governed Crossing, computed with somebody else's RFC 8785.
import { createHash } from "node:crypto";

import canonicalize from "canonicalize";

import { ensure } from "./report.mjs";

/** Lower-case hex SHA-256 of a text's UTF-8. */
export const sha256 = (text) => createHash("sha256").update(text, "utf8").digest("hex");

/** The RFC 8785 form of a value. */
export const canonical = (value) => canonicalize(value);

/**
 * Reads JSON that must be its own RFC 8785 form. JSON.parse would take the last of two
 * members of one name; their canonical form is then another text, and is refused.
 */
export function parseCanonical(text, what) {
  const value = JSON.parse(text);
  ensure(canonical(value) === text, `${what} is not in RFC 8785 form`);
  return value;
}

/** joint_seal = SHA-256(JCS(record without chain position)), §4.4-4. */
export function jointSeal(record) {
  const { prev_hash: _, chain_seq: __, ...bare } = record;
  return sha256(canonical(bare));
}

/** anchor = SHA-256(joint_seal "|" (prev_hash or "genesis") "|" chain_seq), §4.4-4. */
export const anchor = (seal, { prev_hash, chain_seq }) => sha256(`${seal}|${prev_hash ?? "genesis"}|${chain_seq}`);

/** chain_id = SHA-256(lesser agent_id "|" greater), by the bytes of their UTF-8, §4.4.2-1. */
export function chainId(a, b) {
  const [lesser, greater] = [a, b].map((s) => Buffer.from(s, "utf8")).sort(Buffer.compare);
  return sha256(`${lesser}|${greater}`);
}

/** open_mandate_hash: of the issuer-signed JWT with one tilde, whatever is disclosed. */
export const openHash = (token) => sha256(`${token.split("~", 1)[0]}~`);

/** closed_mandate_hash, token_sha256: of the exact string with its last tilde. */
export const tokenHash = (token) => sha256(token);

/** signed_sha256: of the signing input alone. */
export const signedHash = (token) => sha256(token.split("~", 1)[0].split(".").slice(0, 2).join("."));
