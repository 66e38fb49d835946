// One line for each check: "ok NAME", or "FAIL NAME why". A check never stops the others.

/** Thrown by a check that does not hold. Other errors are faults of the check itself. */
export class Mismatch extends Error {}

/** Fails the running check unless the condition holds. */
export function ensure(condition, why) {
  if (!condition) throw new Mismatch(why);
}

/** Fails the running check unless both are equal; digests are shown, nothing else is. */
export function same(got, want, what) {
  if (got === want) return;
  throw new Mismatch(`${what}: ${shown(got)} is not ${shown(want)}`);
}

// A text may be a mandate or a credential: only a digest is fit to be printed.
const shown = (v) =>
  typeof v === "string" && /^[0-9a-f]{64}$/.test(v) ? v
  : v === null || v === undefined ? String(v)
  : `a ${typeof v}`;

export class Report {
  #prefix;
  #counts;
  #print;

  constructor(print = console.log, prefix = "", counts = { ok: 0, failed: 0 }) {
    this.#print = print;
    this.#prefix = prefix;
    this.#counts = counts;
  }

  /** A report whose names begin with name and a slash; it counts into this one. */
  under(name) {
    return new Report(this.#print, `${this.#prefix}${name}/`, this.#counts);
  }

  /** Runs a check and prints its line. It returns what the check returns, or undefined. */
  async check(name, run) {
    try {
      const value = await run();
      this.#counts.ok++;
      this.#print(`ok ${this.#prefix}${name}`);
      return value;
    } catch (err) {
      this.#counts.failed++;
      const why = err instanceof Mismatch ? err.message : `cannot be checked: ${oneLine(err)}`;
      this.#print(`FAIL ${this.#prefix}${name} ${why}`);
      return undefined;
    }
  }

  get counts() {
    return { ...this.#counts };
  }
}

// The message of a SyntaxError quotes the text that it stumbled over.
const oneLine = (err) => (err instanceof SyntaxError ? "not JSON" : String(err?.message ?? err).split("\n", 1)[0]);
