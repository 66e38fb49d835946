// One of the TypeScript SDK's clients proposes a release to the example server and has it decided.
//
//   node client.mjs KIND CAN http URL
//   node client.mjs KIND CAN stdio COMMAND…
//
// KIND is v1 (the package sdk, 2025-11-25), v2 (the package client, 2025-11-25) or modern (the
// package client, 2026-07-28). CAN is what the client can do for its user:
//
//   renders   envelopes: the digest is computed here, the recommended option is chosen, twice
//   form      forms: the user leaves the first one empty and chooses the recommended option in the next
//   closes    forms: the user closes it
//   page      pages: the user opens it and sends its form of the recommended option
//   nothing   no more than tools
//
// The proposal is PROPOSAL, JSON, in the environment. Prints one line of JSON.
import { createHash } from 'node:crypto';
import process from 'node:process';
import canonicalize from 'canonicalize';

const [kind, can, over, ...where] = process.argv.slice(2);
const proposal = JSON.parse(process.env.PROPOSAL);
const said = { asked: [] };

const capabilities = {
  renders: { extensions: { 'bindery/binding-moment': {} } },
  form: { elicitation: { form: {} } },
  closes: { elicitation: { form: {} } },
  page: { elicitation: { form: {}, url: {} } },
  nothing: {},
}[can];

const info = { name: 'interop', version: '1' };
let client, http, stdio;
if (kind === 'v1') {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  ({ StreamableHTTPClientTransport: http } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js'));
  ({ StdioClientTransport: stdio } = await import('@modelcontextprotocol/sdk/client/stdio.js'));
  client = new Client(info, { capabilities });
  if (capabilities.elicitation) client.setRequestHandler(ElicitRequestSchema, (req) => answer(req.params));
} else {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  ({ StdioClientTransport: stdio } = await import('@modelcontextprotocol/client/stdio'));
  http = StreamableHTTPClientTransport;
  client = new Client(info, { capabilities, versionNegotiation: { mode: kind === 'modern' ? { pin: '2026-07-28' } : 'legacy' } });
  if (capabilities.elicitation) client.setRequestHandler('elicitation/create', (req) => answer(req.params));
}

// answer is what the user does with a question.
async function answer(params) {
  said.asked.push(params.mode ?? 'form');
  if (can === 'closes') return { action: 'cancel' };
  if (params.mode === 'url') {
    await page(params.url);
    return { action: 'accept' };
  }
  if (said.asked.length === 1) return { action: 'accept', content: {} };
  const choice = params.requestedSchema.properties.choice.oneOf.find((o) => o.title.includes('[recommended by the agent]'));
  return { action: 'accept', content: { choice: choice.const } };
}

// page opens a page as a browser would, and sends its first form with the recommended option.
async function page(url) {
  const origin = new URL(url).origin;
  const opened = await fetch(url);
  const html = await opened.text();
  const form = html.match(/<form method="post" action="([^"]+)">([\s\S]*?)<\/form>/);
  const fields = new URLSearchParams();
  for (const [, name, value] of form[2].matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)) fields.set(name, value);
  fields.set('option_idx', form[2].match(/<div class="option recommended">\s*<input[^>]*value="(\d)"/)[1]);
  const post = (headers) => fetch(origin + form[1], { method: 'POST', body: fields, headers });
  said.forged = (await post({ Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site' })).status;
  said.sent = (await post({ Origin: origin, 'Sec-Fetch-Site': 'same-origin' })).status;
  said.twice = (await post({ Origin: origin, 'Sec-Fetch-Site': 'same-origin' })).status;
  said.policy = opened.headers.get('content-security-policy');
}

const transport =
  over === 'http' ? new http(new URL(where[0])) : new stdio({ command: where[0], args: where.slice(1), env: process.env, stderr: 'inherit' });
await client.connect(transport);

const tool = (await client.listTools()).tools.find((t) => t.name === 'propose_release');
said.advertised = tool._meta?.['bindery/emits_binding_moment'] ?? false;
said.argument = 'binding_resolution' in tool.inputSchema.properties;

const call = async (args) => client.callTool({ name: 'propose_release', arguments: args });
const words = (result) => result.content.map((c) => c.text).join('\n');
const first = await call(proposal);
said.first = words(first);

const moment = first.binding_moment;
if (moment !== undefined) {
  const digest = (value) => 'sha256:' + createHash('sha256').update(canonicalize(value)).digest('hex');
  said.digest = digest(moment);
  said.mirror = digest(first._meta['bindery/binding_moment']);
  said.moment = canonicalize(moment);
}
if (moment !== undefined && can !== 'closes') {
  const binding_resolution = { resolution: 'option', option_idx: moment.question.recommended_idx, envelope_digest: said.digest };
  said.taken = words(await call({ binding_resolution }));
  const again = await call({ binding_resolution });
  said.again = { error: again.isError === true, name: again._meta?.['bindery/resolution_refused'], words: words(again) };
}
await client.close();
console.log(JSON.stringify(said));
process.exit(0);
