// Lines in and out of the programs of this folder, at the pace of whoever reads them.
import { once } from "node:events";

/** Yields the lines of stdin as lists, one for each piece in which they arrive, so that an
 * answer can be written before more is asked for. A last line needs no newline. */
export async function* arriving() {
  let rest = "";
  process.stdin.setEncoding("latin1");
  for await (const piece of process.stdin) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    yield lines;
  }
  if (rest !== "") yield [rest];
}

// Whoever has read enough may close the pipe: there is nobody left to tell.
process.stdout.on("error", (err) => process.exit(err.code === "EPIPE" ? 0 : 1));

/** Writes lines to stdout and waits until there is room for more. */
export async function print(lines) {
  if (lines.length === 0) return;
  if (!process.stdout.write(`${lines.join("\n")}\n`)) await once(process.stdout, "drain");
}

/** Takes --name VALUE and --name from a command line, by the kinds of a table: "number",
 * "flag", or a list of words. Returns undefined where it is wrong. */
export function options(args, table) {
  const given = {};
  for (let i = 0; i < args.length; i++) {
    const name = args[i].replace(/^--/, "");
    const kind = args[i].startsWith("--") ? table[name] : undefined;
    if (kind === undefined) return undefined;
    if (kind === "flag") {
      given[name] = true;
      continue;
    }
    const value = args[++i] ?? "";
    if (kind === "number" ? !/^\d{1,15}$/.test(value) : !kind.includes(value)) return undefined;
    given[name] = kind === "number" ? Number(value) : value;
  }
  return given;
}

/** A document as it stands in a line: hexadecimal, or "-" if it has no bytes. */
export const toHex = (bytes) => (bytes.length === 0 ? "-" : Buffer.from(bytes).toString("hex"));

/** The bytes of such a line; undefined if it is none. */
export function fromHex(line) {
  if (line === "-") return Buffer.alloc(0);
  return /^(?:[0-9a-f]{2})+$/.test(line) ? Buffer.from(line, "hex") : undefined;
}
