// Writes documents on which readers of JSON may disagree, one a line, in hexadecimal; "-"
// is the one without bytes.
//
//   node generate.mjs [--seed N] [--count N] [--from N] [--length N]
//
// Documents are numbered from 0 on. A seed (0 by default, at most fifteen digits) and a
// number give the same document on every machine, whatever else is asked for: --from K
// --count 1 repeats one of many. --count is 1000 by default; --length, about how many bytes
// a document has on average, is 70. Exit code 2: the command line is wrong.
import { generate } from "./documents.mjs";
import { options, print, toHex } from "./lines.mjs";

const USAGE = "usage: node generate.mjs [--seed N] [--count N] [--from N] [--length N]";
const BATCH = 256;

async function main(args) {
  const given = options(args, { seed: "number", count: "number", from: "number", length: "number" });
  if (given === undefined) {
    console.error(USAGE);
    return 2;
  }
  const { seed = 0, count = 1000, from = 0, length = 70 } = given;
  for (let i = from; i < from + count; i += BATCH) {
    const lines = [];
    for (let k = i; k < Math.min(i + BATCH, from + count); k++) lines.push(toHex(generate(seed, k, length)));
    await print(lines);
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
