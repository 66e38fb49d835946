// Mandates as SD-JWTs, through @sd-jwt/core; keys and hashes come from node:crypto.
import { createHash, createPublicKey, randomBytes, sign, verify } from "node:crypto";

import { SDJwtInstance } from "@sd-jwt/core";

import { twin, isLow, verifyCompact } from "./signatures.mjs";

/** The typ of a mandate's header (design M2). */
export const TYP = "dc+sd-jwt";

const common = {
  hashAlg: "sha-256",
  hasher: (data, alg) => new Uint8Array(createHash(alg.replace("-", "")).update(typeof data === "string" ? data : Buffer.from(data)).digest()),
  saltGenerator: (length) => randomBytes(length).toString("base64url"),
};

/**
 * Verifies an SD-JWT under jwk, as of a moment in Unix seconds, by two libraries: jose
 * for the issuer's JWS, @sd-jwt/core for the whole. Returns its claims, disclosed ones
 * included.
 */
export async function verifyMandate(token, jwk, at) {
  await verifyCompact(token.split("~", 1)[0], jwk, TYP);
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const verifier = (data, signature) =>
    verify("sha256", Buffer.from(data), { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
  const { payload } = await new SDJwtInstance({ ...common, verifier }).verify(token, { currentDate: at });
  return payload;
}

/** Reads the claims of a token that is not verified. */
export const claimsOf = (token) => JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString("utf8"));

/**
 * Issues an SD-JWT under a private KeyObject. Claims named in withheld go into
 * disclosures of their own. spelling is the half in which s lies: "low", "high" or "any".
 */
export function issueMandate(claims, { key, kid, spelling = "any", withheld = [] }) {
  const signer = (data) => {
    const raw = sign("sha256", Buffer.from(data), { key, dsaEncoding: "ieee-p1363" });
    const jws = `${data}.${raw.toString("base64url")}`;
    const wanted = spelling === "any" || isLow(jws) === (spelling === "low") ? jws : twin(jws);
    return wanted.split(".")[2];
  };
  const frame = withheld.length > 0 ? { _sd: withheld } : undefined;
  return new SDJwtInstance({ ...common, signer, signAlg: "ES256" }).issue(claims, frame, { header: { typ: TYP, kid } });
}
