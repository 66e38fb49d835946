// Issues an Open and a Closed Mandate with nothing of Bindery's own code.
//
//   node issue.mjs [any|low|high]
//
// The argument says in which half of the group s of both signatures lies; "any", as the
// signer leaves it, is the default. One JSON object on stdout: the public keys jwk (the
// Principal's) and agent_jwk, the moment at, in Unix seconds, open as it is presented, the
// disclosure of its limit apart from it, closed, and the hashes of both, computed here.
import { generateKeyPairSync, randomUUID } from "node:crypto";

import { openHash, sha256, signedHash, tokenHash } from "./lib/hashes.mjs";
import { issueMandate } from "./lib/sdjwt.mjs";
import { point, thumbprint } from "./lib/signatures.mjs";

const PRINCIPAL = "urn:anax:principal:acme";
const AGENT = "urn:anax:agent:front-01";
const ACT = "engagement_code_issuance";

async function newKey() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = point(publicKey.export({ format: "jwk" }));
  return { jwk, key: privateKey, kid: await thumbprint(jwk) };
}

async function main([spelling = "any"]) {
  if (!["any", "low", "high"].includes(spelling)) {
    console.error("usage: node issue.mjs [any|low|high]");
    return 2;
  }
  const principal = await newKey();
  const agent = await newKey();
  const iat = Math.floor(Date.now() / 1000);
  const presented = await issueMandate({
    vct: "mandate.agreement.open.1", iss: PRINCIPAL, sub: AGENT, aud: "urn:anax:va:001",
    iat, exp: iat + 86400, cnf: { jwk: agent.jwk }, commitment_act: [ACT],
    commitment_class: "irreversible", magnitude_limit: 5, permitted_counterparties: "*",
  }, { ...principal, spelling, withheld: ["magnitude_limit"] });
  const [jwt, disclosure] = presented.split("~");
  const open = `${jwt}~`;
  const closed = await issueMandate({
    vct: "mandate.agreement.closed.1", iss: AGENT, sub: AGENT, aud: "urn:anax:principal:globex",
    iat, exp: iat + 600, nonce: randomUUID(), signer_role: "agent", crossing_id: randomUUID(),
    agreement_hash: sha256("{}"), open_mandate_hash: openHash(open), commitment_act: ACT,
    commitment_class: "irreversible", magnitude_limit: 2, magnitude_asserted: 1,
    governance_basis: { pack_id: "acme-pack", pack_version: "1.0.0" },
  }, { ...agent, spelling });
  console.log(JSON.stringify({
    jwk: principal.jwk, agent_jwk: agent.jwk, at: iat, open, disclosure, closed,
    open_mandate_hash: openHash(open), closed_mandate_hash: tokenHash(closed), signed_sha256: signedHash(closed),
  }));
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
