// Reads a status list and a registration with nothing of Bindery's own code.
//
//   node status.mjs LIST REGISTRATION JWK
//
// Both tokens are verified under the JWK. @sd-jwt/jwt-status-list finds in the registration
// which bit of which list is its Open's, and decodes the list. One JSON object on stdout:
// what the list's header and payload say, uri and index of the reference, the status there,
// and how many entries there are, and how many of them are VALID (0).
import { decodeProtectedHeader } from "jose";
import { getListFromStatusListJWT, getStatusListFromJWT } from "@sd-jwt/jwt-status-list";

import { verifyCompact } from "./lib/signatures.mjs";

async function main(args) {
  if (args.length !== 3) {
    console.error("usage: node status.mjs LIST REGISTRATION JWK");
    return 2;
  }
  const [list, registration] = args;
  const jwk = JSON.parse(args[2]);
  await verifyCompact(list, jwk, "statuslist+jwt");
  await verifyCompact(registration, jwk, "bindery-registration+jwt");
  const payload = JSON.parse(Buffer.from(list.split(".")[1], "base64url"));
  const reference = getStatusListFromJWT(registration);
  const decoded = getListFromStatusListJWT(list);
  console.log(JSON.stringify({
    typ: decodeProtectedHeader(list).typ, sub: payload.sub, iat: payload.iat, exp: payload.exp, ttl: payload.ttl,
    bits: decoded.getBitsPerStatus(), uri: reference.uri, index: reference.idx, status: decoded.getStatus(reference.idx),
    entries: decoded.statusList.length, valid: decoded.statusList.filter((s) => s === 0).length,
  }));
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
