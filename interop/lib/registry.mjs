// What the Registration Authorities state of a crossing, under their pinned keys.
import { canonical, chainId, openHash, signedHash, tokenHash } from "./hashes.mjs";
import { getJSON, postJSON } from "./owners.mjs";
import { entry, held, ROLES } from "./party.mjs";
import { ensure, same } from "./report.mjs";
import { thumbprint, verifyStatement } from "./signatures.mjs";

/** Checks that an authority publishes the key that its users have pinned. */
export async function checkKeys(report, name, { url, key }) {
  await report.check(name, async () => {
    const { keys } = await getJSON(`${url}/.well-known/jwks.json`);
    const names = await Promise.all(keys.map(thumbprint));
    ensure(names.includes(await thumbprint(key)), "the pinned key is not published");
    same(keys.map((k) => k.kid).join(), names.join(), "kids");
    ensure(keys.every((k) => k.d === undefined), "a private key is published");
  });
}

/** Fetches the RA's record of the owner's Principal, checks it and returns it. */
export async function checkPrincipal(report, owner, record) {
  return report.check("principal", async () => {
    const { statement } = await getJSON(`${owner.ra.url}/v1/ra/principals/${encodeURIComponent(owner.principal)}`);
    const principal = await verifyStatement(statement, owner.ra.key, "bindery-principal+jwt");
    const now = Date.now() / 1000;
    same(principal.principal_id, owner.principal, "principal_id");
    ensure(principal.active, "the principal is not active");
    ensure(principal.at <= now + 5 && now < principal.exp, "the record is not current");
    const said = entry(record, owner.role);
    for (const name of ["clearance_id_hash", "trust_basis", "agc_level"]) same(principal[name], said[name], name);
    return principal;
  });
}

/** Checks the RA's receipt for a role's Closed, which stands for the withheld limit. */
export async function checkReceipt(report, owner, view) {
  await report.check("receipt", async () => {
    const { closed_mandate: closed, open_mandate: open, receipt } = held(view, owner.role);
    const { at, ...registration } = await verifyStatement(receipt, owner.ra.key, "bindery-registration+jwt");
    const [own, other] = [owner.role, ROLES.find((r) => r !== owner.role)].map((role) => entry(view.record, role));
    const wanted = {
      token_sha256: tokenHash(closed),
      signed_sha256: signedHash(closed),
      open_mandate_hash: openHash(open),
      variant: "closed",
      principal_id: own.principal_id,
      agent_id: own.agent_id,
      counterparty_agent: other.agent_id,
      chain_id: chainId(own.agent_id, other.agent_id),
      crossing_id: view.crossing_id,
    };
    for (const [name, value] of Object.entries(wanted)) same(registration[name], value, name);
    same(canonical(registration), canonical(wanted), "the registration");
    ensure(at <= Date.parse(view.record.timestamps.sealed_at) / 1000 + 60, "it was registered after the seal");
  });
}

/**
 * Asks the responder's RA for its spend receipt: a confirm of what is spent already is
 * answered with the stored one. Without an anchor nothing is asked, since there a confirm
 * might spend: an anchor is written only beside a stored confirm.
 */
export async function checkSpent(report, owner, view) {
  await report.check("spend_receipt", async () => {
    ensure(view.link, "there is no anchor");
    const triple = { crossing_id: view.crossing_id };
    for (const role of ROLES) triple[`${role}_token_sha256`] = tokenHash(held(view, role).closed_mandate);
    const { statement } = await postJSON(`${owner.ra.url}/v1/ra/confirms`, triple, owner.secrets.effector_credential);
    const { at, ...receipt } = await verifyStatement(statement, owner.ra.key, "bindery-spend+jwt");
    same(canonical(receipt), canonical({ ...triple, effector: owner.principal, state: "spent" }), "the receipt");
    ensure(Number.isInteger(at), "at is not a time");
  });
}
