// Signatures, verified with npm's jose; the arithmetic of s is our own.
import { createPrivateKey, createPublicKey } from "node:crypto";

import { calculateJwkThumbprint, compactVerify, decodeProtectedHeader, importJWK } from "jose";

import { parseCanonical } from "./hashes.mjs";
import { ensure, same } from "./report.mjs";

// The order of P-256's group (FIPS 186-5).
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** A JWK reduced to its public point, so that nothing else in it is relied upon. */
export const point = ({ kty, crv, x, y }) => ({ kty, crv, x, y });

/** RFC 7638 SHA-256 thumbprint. */
export const thumbprint = (jwk) => calculateJwkThumbprint(point(jwk), "sha256");

/** The public JWK of a private key in PEM. */
export const publicOfPem = (pem) => point(createPublicKey(createPrivateKey(pem)).export({ format: "jwk" }));

/** The key of that thumbprint among jwks, whatever they call themselves. */
export async function keyOf(kid, jwks) {
  for (const jwk of jwks) {
    if ((await thumbprint(jwk)) === kid) return point(jwk);
  }
  ensure(false, "no key has the kid of the header");
}

/**
 * Verifies a compact JWS as Bindery writes them: a header of alg, kid and typ alone, low
 * s, and a twin with high s that verifies too (design M2, M3). Returns the payload's text.
 */
export async function verifyCompact(jws, jwk, typ) {
  const header = decodeProtectedHeader(jws);
  same(Object.keys(header).sort().join(), "alg,kid,typ", "header members");
  same(header.alg, "ES256", "alg");
  same(header.typ, typ, "typ");
  same(header.kid, await thumbprint(jwk), "kid");
  const key = await importJWK(point(jwk), "ES256");
  const verified = await verifies(jws, key);
  ensure(verified, "the signature does not verify");
  ensure(isLow(jws), "the signature has high s");
  ensure(await verifies(twin(jws), key), "the twin with high s does not verify");
  return Buffer.from(verified.payload).toString("utf8");
}

/** Verifies a statement of an authority and reads its payload, which must be canonical. */
export async function verifyStatement(jws, jwk, typ) {
  return parseCanonical(await verifyCompact(jws, jwk, typ), "the payload");
}

async function verifies(jws, key) {
  try {
    return await compactVerify(jws, key, { algorithms: ["ES256"] });
  } catch (err) {
    if (err?.code === "ERR_JWS_SIGNATURE_VERIFICATION_FAILED") return undefined;
    throw err;
  }
}

const halves = (jws) => {
  const raw = Buffer.from(jws.split(".")[2], "base64url");
  ensure(raw.length === 64, "the signature is not 64 bytes");
  return [raw.subarray(0, 32), BigInt(`0x${raw.subarray(32).toString("hex")}`)];
};

/** Whether s is in the lower half of the group. */
export const isLow = (jws) => halves(jws)[1] <= N / 2n;

/** The same signature with n − s for s: as valid, other bytes. */
export function twin(jws) {
  const [r, s] = halves(jws);
  const other = Buffer.from((N - s).toString(16).padStart(64, "0"), "hex");
  const [header, payload] = jws.split(".");
  return `${header}.${payload}.${Buffer.concat([r, other]).toString("base64url")}`;
}
