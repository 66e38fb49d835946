// A party's owner: who may ask its private listener, and whom it trusts.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { parseCanonical } from "./hashes.mjs";
import { ensure } from "./report.mjs";
import { publicOfPem } from "./signatures.mjs";

/** Opens DIR/role: addresses, pinned keys and the owner's credentials. */
export async function openOwner(dir, role) {
  const home = join(dir, role);
  const config = JSON.parse(await readFile(join(home, "config.json"), "utf8"));
  const secrets = JSON.parse(await readFile(join(home, "secrets.json"), "utf8"));
  const trusted = (t) => ({ url: t.own ? `http://${config.addr}` : t.url, key: t.key });
  return {
    role,
    principal: config.principal,
    admin: `http://${config.admin_addr}`,
    ra: trusted(config.ra),
    va: trusted(config.va),
    // The authority publishes no publisher's key: the owner takes it from its own file.
    publisher: publicOfPem(await readFile(join(home, "keys", "publisher.pem"), "utf8")),
    secrets,
  };
}

/** What the owner's private listener shows of a crossing. */
export const view = (owner, id) =>
  getJSON(`${owner.admin}/v1/crossings/${encodeURIComponent(id)}`, owner.secrets.operator_credential);

/** The answer to a GET, which must be 200 and canonical JSON. */
export const getJSON = (url, credential) => ask(url, { headers: bearer(credential) });

/** The answer to a POST of JSON, likewise. */
export const postJSON = (url, body, credential) =>
  ask(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(credential) },
    body: JSON.stringify(body),
  });

const bearer = (credential) => (credential ? { authorization: `Bearer ${credential}` } : {});

async function ask(url, init) {
  const path = new URL(url).pathname;
  const response = await fetch(url, { ...init, redirect: "error", signal: AbortSignal.timeout(60_000) });
  const text = await response.text();
  ensure(response.status === 200, `${path} answers ${response.status}`);
  return parseCanonical(text, `the answer of ${path}`);
}
