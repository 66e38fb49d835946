// Recomputes, from what demo --json prints, every hash that both parties rely on, with
// nothing of Bindery: this file and the language's own library.
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");

// The members here have ASCII names and integers only, where this is RFC 8785.
const canonical = (v) =>
  Array.isArray(v) ? "[" + v.map(canonical).join(",") + "]"
  : v !== null && typeof v === "object"
    ? "{" + Object.keys(v).sort().map((k) => JSON.stringify(k) + ":" + canonical(v[k])).join(",") + "}"
    : JSON.stringify(v);
const sha256 = (s) => createHash("sha256").update(s, "utf8").digest("hex");

const demo = JSON.parse(readFileSync(0, "utf8"));
const { prev_hash, chain_seq, ...record } = demo.record;
const seal = sha256(canonical(record));
const agents = [demo.initiator.agent_id, demo.responder.agent_id].sort();
const result = {
  joint_seal: seal,
  agreement_hash: sha256(canonical(demo.terms)),
  chain_id: sha256(agents.join("|")),
};
for (const role of ["initiator", "responder"]) {
  const p = demo[role];
  result[role + "_anchor"] = sha256(`${seal}|${p.prev_hash ?? "genesis"}|${p.chain_seq}`);
  result[role + "_closed"] = sha256(p.closed_mandate);
  result[role + "_open"] = sha256(p.open_mandate.split("~")[0] + "~");
}
console.log(JSON.stringify(result));
