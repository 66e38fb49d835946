// What the Verification Authority answers about a seal (§3.7.3, §6.2).
import { canonical, chainId, jointSeal, sha256 } from "./hashes.mjs";
import { getJSON, postJSON } from "./owners.mjs";
import { ROLES, entry } from "./party.mjs";
import { ensure, same } from "./report.mjs";
import { verifyCompact, verifyStatement } from "./signatures.mjs";

/** Checks the verdict on a crossing in each form in which one may ask for it. */
export async function checkAuthority(report, owner, view, publisher) {
  const { record, crossing_id, artifact_block: block } = view;
  const { seal_id } = block;
  const base = owner.va.url;
  const bare = await report.check("verify", () => ask(base, { seal_id }));
  if (!bare) return;
  const withRecord = await report.check("verify_with_record", () => ask(base, { crossing_id, record }));
  await report.check("checks", () => {
    checkChecks(bare, null);
    checkChecks(withRecord, true);
  });
  await report.check("other_record", async () => {
    const other = { ...record, magnitude_asserted: record.magnitude_asserted + 1 };
    ensure(jointSeal(other) !== jointSeal(record), "another record has the same seal");
    checkChecks(await ask(base, { seal_id, record: other }), false);
  });
  for (const [name, question] of [
    ["crossing_id", () => ask(base, { crossing_id })],
    ["canal", () => getJSON(`${base}/canal/verify/${seal_id}`)],
    ["portal", () => getJSON(`${base}/?id=${seal_id}`)],
    ["portal_crossing_id", () => getJSON(`${base}/?id=${crossing_id}`)],
  ]) {
    await report.check(`same_by_${name}`, async () => same(fixed(await question()), fixed(bare), "the answers"));
  }
  await report.check("unknown", async () => {
    // An anchor names no commitment (§4.4-4), and of a seal_id each digit counts.
    const near = seal_id.slice(0, -1) + (seal_id.endsWith("0") ? "1" : "0");
    const wanted = canonical({ verified_by: bare.verified_by, checks: UNKNOWN });
    same(canonical(await ask(base, { seal_id: near })), wanted, "the answer for an unknown seal_id");
    same(canonical(await getJSON(`${base}/?id=${view.link.anchor}`)), wanted, "the answer for an anchor");
  });
  await report.check("projection", () => {
    const agents = ROLES.map((role) => entry(record, role).agent_id);
    const wanted = { ...block, crossing_id, chain_id: chainId(...agents) };
    same(canonical(projectionOf(bare)), canonical(wanted), "the projection");
    same(bare.seal, jointSeal(record), "seal");
  });
  await report.check("projection_jws", async () => {
    const payload = await verifyCompact(bare.projection_jws, owner.va.key, "bindery-projection+jwt");
    same(payload, canonical(projectionOf(bare)), "what the authority signed");
  });
  await report.check("publisher_jws", async () => {
    const statement = await verifyStatement(bare.evidence.publisher_jws, publisher, "bindery-publication+jwt");
    const wanted = { role: "responder", crossing_id, projection_sha256: sha256(canonical(projectionOf(bare))) };
    same(canonical(statement), canonical(wanted), "what the responder signed");
  });
  await report.check("nothing_private", () => {
    const said = canonical(bare).toLowerCase();
    ensure(!said.includes("clearance"), "a clearance is in the answer");
    for (const role of ROLES) ensure(!said.includes(entry(record, role).agent_id), "an agent is in the answer");
  });
}

const ask = (base, question) => postJSON(`${base}/v1/crossing:verify`, question);

function projectionOf({ verified_by: _, checks: __, projection_jws: ___, evidence: ____, ...projection }) {
  return projection;
}

// All that may differ from one answer to the next is in evidence (design V1).
const fixed = ({ evidence: _, ...rest }) => canonical(rest);

const UNKNOWN = {
  resolves: false,
  seal_matches: null,
  chain_consistent: null,
  basis_present: null,
  not_superseded: null,
  chain_position_valid: null,
};

function checkChecks({ checks }, sealMatches) {
  const wanted = {
    resolves: true,
    seal_matches: sealMatches,
    chain_consistent: true,
    basis_present: true,
    not_superseded: true,
    chain_position_valid: true,
  };
  same(canonical(checks), canonical(wanted), "checks");
}
