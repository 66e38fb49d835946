// Says of JSON documents what the Bindery profile of RFC 8785 makes of them.
//
//   node oracle.mjs [--numbers integer|double] [--token-strict] [--depth N] [--size N]
//
// Reads documents from stdin, one a line, in hexadecimal; "-" is the one without bytes.
// Writes one line for each, in their order, as soon as it has come in: "ok" and the
// canonical form in hexadecimal, or the kind of the fault and its offset in bytes.
//
//   7b2262223a312e302c2261223a307d       {"b":1.0,"a":0}
//   ok 7b2261223a302c2262223a317d        {"a":0,"b":1}
//
// Exit code 0: every line is answered, whatever the answers say; 2: the command line, or a
// line that is not hexadecimal. The rules stand in profile.mjs.
import { arriving, fromHex, options, print } from "./lines.mjs";
import { canonicalize, MAX_DEPTH } from "./profile.mjs";

const USAGE = "usage: node oracle.mjs [--numbers integer|double] [--token-strict] [--depth N] [--size N]";

function profileOf(args) {
  const given = options(args, { numbers: ["integer", "double"], "token-strict": "flag", depth: "number", size: "number" });
  if (given === undefined || given.depth > MAX_DEPTH) return undefined;
  const { "token-strict": tokenStrict = false, ...rest } = given;
  return { tokenStrict, ...rest };
}

async function main(args) {
  const profile = profileOf(args);
  if (profile === undefined) {
    console.error(USAGE);
    return 2;
  }
  let count = 0;
  for await (const lines of arriving()) {
    const answers = [];
    for (const line of lines) {
      count++;
      const bytes = fromHex(line);
      if (bytes === undefined) {
        console.error(`line ${count} is not hexadecimal`);
        return 2;
      }
      const { text, kind, offset } = canonicalize(bytes, profile);
      answers.push(kind === undefined ? `ok ${Buffer.from(text, "utf8").toString("hex")}` : `${kind} ${offset}`);
    }
    await print(answers);
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
