// Recomputes crossings of two parties with nothing of Bindery's own code.
//
//   node recompute.mjs DIR CROSSING_ID...
//
// DIR is the directory of `bindery demo --dir DIR`, whose three processes are being
// served. Of a crossing, its id alone is taken as given. Everything else is asked for over
// HTTP, under the credentials that each owner keeps in DIR/initiator and DIR/responder: both
// parties' views, the RA's principal records, receipts and keys, the VA's verdicts. Seals,
// anchors and hashes are then computed anew, every signature is verified, and what the two
// parties hold is compared. Crossings of one pair are given in the order of their chain.
//
// One line a check on stdout, "ok NAME" or "FAIL NAME why". Exit code 0: all hold; 1: one
// does not; 2: the command line or DIR is wrong.
import { checkAuthority } from "./lib/authority.mjs";
import { checkMandates } from "./lib/mandates.mjs";
import { openOwner, view } from "./lib/owners.mjs";
import { checkAgreement, checkParty, ROLES } from "./lib/party.mjs";
import { checkKeys, checkPrincipal, checkReceipt, checkSpent } from "./lib/registry.mjs";
import { Report } from "./lib/report.mjs";

async function main([dir, ...ids]) {
  if (dir === undefined || ids.length === 0) {
    console.error("usage: node recompute.mjs DIR CROSSING_ID...");
    return 2;
  }
  let owners;
  try {
    owners = { initiator: await openOwner(dir, "initiator"), responder: await openOwner(dir, "responder") };
  } catch (err) {
    console.error(`recompute: ${dir} is not the directory of a demo: ${err.code ?? err.name}`);
    return 2;
  }
  const report = new Report();
  for (const role of ROLES) {
    await checkKeys(report.under(role), "ra_jwks", owners[role].ra);
    await checkKeys(report.under(role), "va_jwks", owners[role].va);
  }
  let before = {};
  for (const id of ids) before = await recompute(report.under(id.slice(0, 8)), owners, { id, before });
  const { ok, failed } = report.counts;
  console.error(`${ok} ok, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Recomputes one crossing and returns both parties' views, for the next one's chain. */
async function recompute(report, owners, { id, before }) {
  const views = {};
  for (const role of ROLES) {
    views[role] = await report.check(`${role}/view`, () => view(owners[role], id));
  }
  for (const role of ROLES) {
    if (!views[role]) continue;
    const [own, owner] = [report.under(role), owners[role]];
    await checkParty(own, owner, views[role], { id, before: before[role] });
    const principal = await checkPrincipal(own, owner, views[role].record);
    await checkMandates(own, views[role], role, principal);
    await checkReceipt(own, owner, views[role]);
  }
  if (views.initiator && views.responder) {
    await checkAgreement(report.under("both"), views);
    await checkSpent(report, owners.responder, views.responder);
    for (const role of ROLES) {
      await checkAuthority(report.under(`${role}/va`), owners[role], views[role], owners.responder.publisher);
    }
  }
  return views;
}

process.exitCode = await main(process.argv.slice(2));
