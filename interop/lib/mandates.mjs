// The mandates of one party: who signed them, and what they permit (§4.1, §5.4).
import { openHash } from "./hashes.mjs";
import { entry, held, ROLES } from "./party.mjs";
import { ensure, same } from "./report.mjs";
import { claimsOf, verifyMandate } from "./sdjwt.mjs";
import { keyOf, thumbprint } from "./signatures.mjs";
import { decodeProtectedHeader } from "jose";

const LADDER = ["observe", "reversible", "irreversible", "financial", "binding"];

/** Checks Open and Closed of a role. principal is the RA's record of its Principal. */
export async function checkMandates(report, view, role, principal) {
  const { open_mandate: open, closed_mandate: closed } = held(view, role);
  const context = { record: view.record, role, sealedAt: Date.parse(view.record.timestamps.sealed_at) / 1000 };
  await report.check("open", async () => {
    ensure(principal, "no record of the principal");
    const kid = decodeProtectedHeader(open.split("~", 1)[0]).kid;
    checkOpen(await verifyMandate(open, await keyOf(kid, principal.keys), context.sealedAt), context);
  });
  await report.check("open/cnf_is_the_agent", async () => {
    ensure(principal, "no record of the principal");
    const agent = entry(view.record, role).agent_id;
    const wanted = await thumbprint(claimsOf(open).cnf.jwk);
    const keys = await Promise.all(principal.agents.filter((a) => a.id === agent).map((a) => thumbprint(a.jwk)));
    ensure(keys.includes(wanted), "the RA knows the agent by another key");
  });
  await report.check("closed", async () => {
    const claims = await verifyMandate(closed, claimsOf(open).cnf.jwk, context.sealedAt);
    checkClosed(claims, { ...context, open });
  });
}

function checkOpen(claims, { record, role }) {
  const own = entry(record, role);
  const other = entry(record, otherOf(role));
  same(claims.vct, "mandate.agreement.open.1", "vct");
  same(claims.iss, own.principal_id, "iss");
  same(claims.sub, own.agent_id, "sub");
  ensure(LADDER.indexOf(claims.commitment_class) >= LADDER.indexOf(record.commitment_class), "the class is narrower than the record's");
  const permitted = claims.permitted_counterparties;
  ensure(permitted === "*" || permitted?.includes?.(other.principal_id), "the counterparty is not permitted");
  ensure([claims.commitment_act ?? record.commitment_act].flat().includes(record.commitment_act), "the act is not permitted");
  if (claims.magnitude_limit !== undefined) { // else the registration receipt stands for it
    ensure(claims.magnitude_limit >= record.magnitude_asserted, "the limit is below the magnitude");
  }
}

function checkClosed(claims, { record, role, open }) {
  const own = entry(record, role);
  const wanted = {
    vct: "mandate.agreement.closed.1",
    iss: own.agent_id,
    sub: own.agent_id,
    aud: entry(record, otherOf(role)).principal_id,
    signer_role: own.signer_role,
    crossing_id: record.crossing_id,
    agreement_hash: record.agreement_hash,
    open_mandate_hash: openHash(open),
    commitment_class: record.commitment_class,
    commitment_act: record.commitment_act,
    magnitude_asserted: record.magnitude_asserted,
    currency: record.currency,
  };
  for (const [name, value] of Object.entries(wanted)) same(claims[name], value, name);
  same(claims.governance_basis.pack_id, own.governance_basis.pack_id, "pack_id");
  same(claims.governance_basis.pack_version, own.governance_basis.pack_version, "pack_version");
  ensure((claims.magnitude_limit ?? claims.magnitude_asserted) >= claims.magnitude_asserted, "it draws less than it asserts");
  ensure(typeof claims.nonce === "string" && claims.nonce.length >= 16, "the nonce is short");
}

const otherOf = (role) => ROLES.find((r) => r !== role);
