// What one party holds of a crossing, checked against itself (§4.2, §4.3.2, §4.4).
import { anchor, canonical, jointSeal, openHash, sha256, tokenHash } from "./hashes.mjs";
import { ensure, same } from "./report.mjs";

export const ROLES = ["initiator", "responder"];

/** The entry of a role in a record. */
export const entry = (record, role) => record.parties[ROLES.indexOf(role)];

/** What the view says of a role: own is the viewer's, peer the other's. */
export const held = (view, role) => (view.role === role ? view.own : view.peer);

/** Checks a view as far as it goes by itself. before is the party's link before this one. */
export async function checkParty(report, owner, view, { id, before }) {
  const { role } = owner;
  const { record } = view;
  await report.check("crossing", () => {
    same(view.crossing_id, id, "crossing_id");
    same(record.crossing_id, id, "crossing_id of the record");
    same(view.role, role, "role");
    same(view.state, "committed", "state");
    same(record.record, "anax-bilateral-crossing-v1", "record");
    same(record.parties.map((p) => p.role).join(), ROLES.join(), "roles of the parties");
    same(entry(record, role).principal_id, owner.principal, "principal_id");
  });
  await report.check("joint_seal", () => same(view.joint_seal, jointSeal(record), "joint_seal"));
  await report.check("agreement_hash", () => {
    same(view.agreement_hash, record.agreement_hash, "agreement_hash");
    same(record.agreement_hash, sha256(canonical(view.terms)), "agreement_hash of the terms");
  });
  await report.check("clearance_id_hash", () =>
    same(entry(record, role).clearance_id_hash, sha256(owner.secrets.clearance_id), "clearance_id_hash"));
  for (const which of ROLES) await checkHashes(report, view, which);
  await report.check("artifact_block", () => checkBlock(owner, view));
  await report.check("anchor", () => {
    same(view.link.prev_hash === null, view.link.chain_seq === 0, "genesis");
    same(view.link.anchor, anchor(jointSeal(record), view.link), "anchor");
  });
  if (before) {
    await report.check("chain", () => {
      same(view.link.prev_hash, anchor(jointSeal(before.record), before.link), "prev_hash");
      same(view.link.chain_seq, before.link.chain_seq + 1, "chain_seq");
    });
  }
}

async function checkHashes(report, view, role) {
  const { open_mandate, closed_mandate, agent_id, principal_id } = held(view, role);
  const said = entry(view.record, role);
  await report.check(`hashes_of_${role}`, () => {
    same(said.open_mandate_hash, openHash(open_mandate), "open_mandate_hash");
    same(said.closed_mandate_hash, tokenHash(closed_mandate), "closed_mandate_hash");
    same(said.agent_id, agent_id, "agent_id");
    same(said.principal_id, principal_id, "principal_id");
  });
}

// canal-<milliseconds in base 36>-<48 random bits in hex> (§7.6).
const SEAL_ID = /^canal-([0-9a-z]+)-[0-9a-f]{12}$/;

function checkBlock(owner, view) {
  const block = view.artifact_block;
  const basis = entry(view.record, "responder").governance_basis;
  same(block.seal, jointSeal(view.record), "seal");
  same(block.crossing_state, "committed", "crossing_state");
  same(block.outcome, "CLEARED", "outcome");
  same(block.seal_version, 3, "seal_version");
  same(block.sealed_at, view.record.timestamps.sealed_at, "sealed_at");
  same(block.pack_id, basis.pack_id, "pack_id");
  same(block.pack_version, basis.pack_version, "pack_version");
  same(block.is_genesis, block.prev_hash === null && block.chain_seq === 0, "is_genesis");
  same(block.verify_url, `${owner.va.url}/?id=${block.seal_id}`, "verify_url");
  const form = SEAL_ID.exec(block.seal_id);
  ensure(form, "seal_id has another form");
  const apart = Math.abs(parseInt(form[1], 36) - Date.parse(block.sealed_at));
  ensure(apart < 600_000, "the moment in seal_id is not that of sealed_at");
  if (view.role === "responder") { // the block shows the responder's own position
    same(block.prev_hash, view.link.prev_hash, "prev_hash");
    same(block.chain_seq, view.link.chain_seq, "chain_seq");
  }
}

/** Checks that both parties hold the same, byte for byte. */
export async function checkAgreement(report, views) {
  const [a, b] = ROLES.map((role) => views[role]);
  await report.check("record", () => same(canonical(a.record), canonical(b.record), "the records"));
  await report.check("joint_seal", () => {
    same(a.joint_seal, b.joint_seal, "joint_seal");
    same(jointSeal(a.record), jointSeal(b.record), "joint_seal of the records");
  });
  await report.check("agreement_hash", () => same(a.agreement_hash, b.agreement_hash, "agreement_hash"));
  await report.check("artifact_block", () =>
    same(canonical(a.artifact_block), canonical(b.artifact_block), "the blocks"));
  await report.check("terms", () => same(canonical(a.terms), canonical(b.terms), "the terms"));
  for (const role of ROLES) {
    await report.check(`mandates_of_${role}`, () => {
      for (const name of ["principal_id", "agent_id", "open_mandate", "closed_mandate", "receipt"]) {
        same(held(a, role)[name], held(b, role)[name], name);
      }
    });
  }
}
