// The Bindery profile of RFC 8785, written a second time: in another language, by another
// method, and without a line of package jcs. What that package's doc says in words is said
// here as a program that tries to be plain rather than fast: it descends recursively over
// the bytes, keeps each object's names in a Set, and leaves to the language what RFC 8785
// has from there: the order of strings, JSON.stringify for strings, String for numbers.
//
//   canonicalize(bytes)  →  { text }            the canonical form, a JavaScript string
//                        →  { kind, offset }    the rule that is broken, and at which byte
//
// A text is read once, from its first byte to its last, and the first rule that is seen to
// be broken ends it. That is the fault with the lowest offset, because no rule is seen to
// be broken later than it has to be: a number after its last byte, a repeated name after
// its closing quote, and neither of these lets another fault pass before it.

/** The profile that is meant where none is given. */
export const DEFAULTS = {
  numbers: "integer", // or "double": see number below
  tokenStrict: false, // refuse a number that is not spelled as it would be printed
  depth: 64, // containers within containers; the outermost counts 1
  size: 16 * 1024 * 1024, // bytes of input
};

/** More levels than this, and recursion could come to its end before the rule does. */
export const MAX_DEPTH = 1000;

/** Reads a document, a Uint8Array, under a profile; members left out are those above. */
export function canonicalize(bytes, profile = {}) {
  const rules = { ...DEFAULTS, ...profile };
  // Size comes before everything: a longer document is not read at all.
  if (bytes.length > rules.size) return { kind: "size", offset: rules.size };
  try {
    return { text: new Reader(bytes, rules).document() };
  } catch (fault) {
    if (fault instanceof Fault) return { kind: fault.kind, offset: fault.offset };
    throw fault;
  }
}

class Fault {
  constructor(kind, offset) {
    this.kind = kind;
    this.offset = offset;
  }
}

const code = (character) => character.charCodeAt(0);
const QUOTE = code('"');
const BACKSLASH = code("\\");
const SPACES = [" ", "\t", "\n", "\r"].map(code);

// What stands after a backslash, and what it means.
const SHORT = new Map([
  ['"', '"'], ["\\", "\\"], ["/", "/"],
  ["b", "\b"], ["f", "\f"], ["n", "\n"], ["r", "\r"], ["t", "\t"],
].map(([letter, meaning]) => [code(letter), meaning]));

class Reader {
  constructor(bytes, rules) {
    this.bytes = bytes;
    this.rules = rules;
    this.at = 0; // the byte to be read next
    this.depth = 0; // containers that are open
  }

  // Every method below takes what its name says from the input and returns its canonical
  // form, unless its comment says otherwise.

  document() {
    this.space();
    const text = this.value();
    this.space();
    if (this.at < this.bytes.length) this.stop();
    return text;
  }

  value() {
    const c = this.next();
    if (c === "{") return this.object();
    if (c === "[") return this.array();
    if (c === '"') return JSON.stringify(this.string());
    if (c === "-" || isDigit(c)) return this.number();
    if (c === "t") return this.word("true");
    if (c === "f") return this.word("false");
    if (c === "n") return this.word("null");
    return this.stop(); // also at a byte order mark
  }

  object() {
    this.enter();
    const members = [];
    const names = new Set();
    this.space();
    if (this.next() !== "}") {
      do {
        this.space();
        const quote = this.at;
        if (this.next() !== '"') this.stop();
        // Names are compared as they read, not as they are spelled.
        const name = this.string();
        if (names.has(name)) throw new Fault("duplicate", quote);
        names.add(name);
        this.space();
        if (!this.skip(":")) this.stop();
        this.space();
        members.push([name, this.value()]);
        this.space();
      } while (this.skip(","));
    }
    this.leave("}");
    // < compares strings by their UTF-16 code units, which is the order of RFC 8785 §3.2.3.
    members.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
  }

  array() {
    this.enter();
    const items = [];
    this.space();
    if (this.next() !== "]") {
      do {
        this.space();
        items.push(this.value());
        this.space();
      } while (this.skip(","));
    }
    this.leave("]");
    return `[${items.join(",")}]`;
  }

  // enter and leave take the brackets. One level too many is a fault of the opening one.
  enter() {
    if (this.depth === this.rules.depth) throw new Fault("depth", this.at);
    this.depth++;
    this.at++;
  }

  leave(bracket) {
    if (!this.skip(bracket)) this.stop();
    this.depth--;
  }

  /** Returns what the string means, not its canonical form. */
  string() {
    let meaning = "";
    for (this.at++; ; ) {
      const byte = this.bytes[this.at];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) {
        meaning += this.escape();
      } else if (byte >= 0x20) {
        meaning += this.character();
      } else {
        this.stop(); // a control character, or the end
      }
    }
    this.at++;
    return meaning;
  }

  /** Takes one character that stands for itself, and returns it. */
  character() {
    const [point, length] = this.decode(this.at);
    if (length === 0) this.stop();
    this.at += length;
    return String.fromCodePoint(point);
  }

  /** Takes an escape, or two that make a pair, and returns the character meant. Whatever
   * is wrong with it is a fault of its backslash. */
  escape() {
    const backslash = this.at;
    const meaning = SHORT.get(this.bytes[backslash + 1]);
    if (meaning !== undefined) {
      this.at += 2;
      return meaning;
    }
    const unit = this.unit(backslash);
    if (unit === undefined) throw new Fault("syntax", backslash);
    if (unit < 0xd800 || unit > 0xdfff) {
      this.at += 6;
      return String.fromCharCode(unit);
    }
    const low = this.unit(backslash + 6);
    if (unit > 0xdbff || !(low >= 0xdc00 && low <= 0xdfff)) throw new Fault("surrogate", backslash);
    this.at += 12;
    return String.fromCharCode(unit, low);
  }

  /** The number in the escape \uXXXX at an offset; undefined if there is no such escape. */
  unit(offset) {
    const escape = String.fromCharCode(...this.bytes.subarray(offset, offset + 6));
    return /^\\u[0-9A-Fa-f]{4}$/.test(escape) ? parseInt(escape.slice(2), 16) : undefined;
  }

  number() {
    const start = this.at;
    this.skip("-");
    if (this.skip("0")) {
      if (isDigit(this.next())) this.stop(); // a leading zero: its second digit is one too many
    } else {
      this.digits();
    }
    if (this.skip(".")) this.digits();
    if (this.skip("e") || this.skip("E")) {
      if (!this.skip("+")) this.skip("-");
      this.digits();
    }
    // Only a number that is one may be refused as a number, and it is so at its first byte.
    const token = String.fromCharCode(...this.bytes.subarray(start, this.at));
    const text = this.rules.numbers === "double" ? nearestDouble(token) : exactInteger(token);
    if (text === undefined || (this.rules.tokenStrict && text !== token)) throw new Fault("number", start);
    return text;
  }

  /** Takes one digit or more. */
  digits() {
    if (!isDigit(this.next())) this.stop();
    while (isDigit(this.next())) this.at++;
  }

  word(word) {
    for (const letter of word) if (!this.skip(letter)) this.stop();
    return word;
  }

  space() {
    while (SPACES.includes(this.bytes[this.at])) this.at++;
  }

  /** The next byte as a character; "" at the end, and no character of the grammar if it is
   * not ASCII. Takes nothing. */
  next() {
    return this.at < this.bytes.length ? String.fromCharCode(this.bytes[this.at]) : "";
  }

  /** Takes the character if it is the next one, and says whether it was. */
  skip(character) {
    if (this.next() !== character) return false;
    this.at++;
    return true;
  }

  /** Ends the reading at a byte with which the text cannot go on. That is a fault against
   * UTF-8 if no character begins there, and against the grammar otherwise, as it is where
   * the text breaks off. */
  stop() {
    const ended = this.at >= this.bytes.length;
    throw new Fault(ended || this.decode(this.at)[1] > 0 ? "syntax" : "utf8", this.at);
  }

  /** The code point that is encoded at an offset, and in how many bytes; no bytes if it is
   * not well encoded: broken off, longer than need be, a surrogate, or beyond U+10FFFF. */
  decode(offset) {
    const lead = this.bytes[offset];
    if (lead < 0x80) return [lead, 1];
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    const smallest = [0, 0, 0x80, 0x800, 0x10000][length];
    if (lead < 0xc0 || lead > 0xf7) return [0, 0];
    let point = lead & (0x7f >> length);
    for (let i = 1; i < length; i++) {
      const byte = this.bytes[offset + i];
      if (byte === undefined || byte >> 6 !== 0b10) return [0, 0];
      point = (point << 6) | (byte & 0x3f);
    }
    const surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < smallest || point > 0x10ffff || surrogate ? [0, 0] : [point, length];
  }
}

const isDigit = (c) => c >= "0" && c <= "9" && c.length === 1;

/** The canonical form of a number token in the integer profile: its exact decimal value, if
 * that is an integer of at most 2^53−1 in size, and undefined otherwise. No binary fraction
 * is involved, so 1.00000000000000000001 is not taken for 1. */
function exactInteger(token) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(token);
  let value = BigInt(whole + fraction); // times ten to the power
  let power = BigInt(exponent) - BigInt(fraction.length);
  if (value === 0n) return "0"; // minus zero too
  // A value of n digits has at most n−1 zeros to give, and with 17 digits it is too large.
  if (power < -BigInt(whole.length + fraction.length) || power > 16n) return undefined;
  if (power < 0n) {
    const unit = 10n ** -power;
    if (value % unit !== 0n) return undefined;
    value /= unit;
    power = 0n;
  }
  value *= 10n ** power;
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? sign + value : undefined;
}

/** The canonical form of a number token among doubles: the nearest one as ECMAScript prints
 * it (RFC 8785 §3.2.2.3), and undefined if that would be an infinity. */
function nearestDouble(token) {
  const value = Number(token);
  return Number.isFinite(value) ? String(value) : undefined; // String(-0) is "0"
}
