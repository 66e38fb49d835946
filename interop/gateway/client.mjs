// One of the TypeScript SDK's clients, on its own terms: it lists the tools of a counting
// server, has "echo" say something, and pays twice under one execution_id.
//
//   node client.mjs KIND http URL          the agent's key is in BINDERY_AGENT_KEY
//   node client.mjs KIND stdio COMMAND…
//
// KIND is v1 (the package sdk, 2025-11-25), v2 (the package client, 2025-11-25) or modern (the
// package client, 2026-07-28). Prints one line of JSON.
import process from 'node:process';

const [kind, over, ...where] = process.argv.slice(2);

const info = { name: 'interop', version: '1' };
let client, http, stdio;
if (kind === 'v1') {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  ({ StreamableHTTPClientTransport: http } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js'));
  ({ StdioClientTransport: stdio } = await import('@modelcontextprotocol/sdk/client/stdio.js'));
  client = new Client(info);
} else {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  ({ StdioClientTransport: stdio } = await import('@modelcontextprotocol/client/stdio'));
  http = StreamableHTTPClientTransport;
  client = new Client(info, { versionNegotiation: { mode: kind === 'modern' ? { pin: '2026-07-28' } : 'legacy' } });
}

const key = process.env.BINDERY_AGENT_KEY;
const transport =
  over === 'http'
    ? new http(new URL(where[0]), key ? { requestInit: { headers: { Authorization: `Bearer ${key}` } } } : undefined)
    : new stdio({ command: where[0], args: where.slice(1), env: process.env, stderr: 'inherit' });
await client.connect(transport);

const said = { tools: (await client.listTools()).tools.map((t) => t.name) };
said.echo = (await client.callTool({ name: 'echo', arguments: { s: 'grüß', x: 1.5 } })).content[0].text;
const pay = {
  name: 'pay',
  arguments: { key: `paid-by-${kind}-over-${over}` },
  _meta: { 'bindery/execution_id': `once-${kind}`, 'bindery/action_timestamp': '2026-11-30T12:00:00Z' },
};
const first = await client.callTool(pay);
said.first = first.content[0].text;
said.state = first._meta?.['bindery/execution']?.state;
try {
  said.again = (await client.callTool(pay)).content[0].text;
} catch (e) {
  said.refused = e.data?.error;
  said.recorded = e.data?.execution?.result?.content?.[0]?.text;
}
await client.close();
console.log(JSON.stringify(said));
process.exit(0);
