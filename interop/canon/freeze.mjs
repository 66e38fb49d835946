// Writes jcs/testdata/differential.txt: documents of one seed, each different from the
// others, and what profile.mjs makes of them under five profiles.
//
//   node canon/freeze.mjs > ../jcs/testdata/differential.txt
//
// Nobody has to run it again but who changes a program of this folder.
import { generate } from "./documents.mjs";
import { print, toHex } from "./lines.mjs";
import { canonicalize } from "./profile.mjs";

const [SEED, COUNT, LENGTH] = [1, 2000, 60];

const PROFILES = {
  integer: {},
  strict: { tokenStrict: true },
  double: { numbers: "double" },
  "double-strict": { numbers: "double", tokenStrict: true },
  small: { depth: 2, size: 128 },
};

const HEAD = `\
# Documents and what another implementation makes of them, written by interop/canon/freeze.mjs,
# which is JavaScript and shares no line with this package. One document a line: its bytes in
# hexadecimal (- is none) and what becomes of it in the integer profile: "=" if it is canonical
# already, else the canonical form in hexadecimal, or KIND@OFFSET. Where another profile gives
# something else, its name and that follow: strict is token-strict, double takes doubles,
# double-strict both, and small are integers with MaxDepth 2 and MaxSize 128.`;

function verdict(bytes, profile) {
  const { text, kind, offset } = canonicalize(bytes, profile);
  if (kind !== undefined) return `${kind}@${offset}`;
  const form = Buffer.from(text, "utf8");
  return form.equals(bytes) ? "=" : form.toString("hex");
}

function line(bytes) {
  const { integer, ...others } = PROFILES;
  const first = verdict(bytes, integer);
  const words = [toHex(bytes), first];
  for (const [name, profile] of Object.entries(others)) {
    const other = verdict(bytes, profile);
    if (other !== first) words.push(`${name}:${other}`);
  }
  return words.join(" ");
}

const lines = new Set();
for (let number = 0; lines.size < COUNT; number++) lines.add(line(generate(SEED, number, LENGTH)));
await print([HEAD, ...lines]);
