// Documents that are JSON, or nearly: values written in many spellings, with a liking for
// the places at which readers of JSON part ways. Nothing here decides what is right.
//
// A document is made as a text of bytes: each character is one byte, so that UTF-8 can be
// taken apart and spoilt like everything else.

/** The bytes of a text in UTF-8. */
const utf8 = (text) => Buffer.from(text, "utf8").toString("latin1");

// First and last of the ranges that UTF-16 orders otherwise than UTF-8 does, or that take
// another number of bytes, and one from within each.
const BORDERS = [
  "\u007f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uefff", "\uf000", "\uff61", "\ufffe", "\uffff",
  "\u{10000}", "\u{1f600}", "\u{3ffff}", "\u{40000}", "\u{fffff}", "\u{10ffff}",
];

// What a scan for the end of a string must not pass over, or must not stop at.
const SPECIALS = [
  '"', "\\", "/", "\b", "\t", "\n", "\f", "\r", "\u0000", "\u0001", "\u001f", " ", "!", "#", "[", "]", "~", "\u00e9",
  "\u20ac", "\u2028", "\ufeff", "\ufdd0", ...BORDERS,
];

const SHORT_NAMES = [
  "", "a", "b", "aa", "ab", "A", "a/b", "a\u0000", "\u0000", "\n", "\u001f", "\u0010", "[", '"', "\\", "\u007f",
  "amount", "Amount", "__proto__", "constructor", "toJSON", "1", "10", "2", "e\u0301", "\u00e9",
];

// Within the integer profile.
const INTEGERS = [
  "0", "1", "-1", "7", "10", "42", "100", "1.0", "1.00", "-0", "-0.0", "0.0", "0e0", "0E+5", "0e-5", "0.000e99999",
  "1e0", "1e1", "1E2", "1e+3", "10e-1", "1000e-3", "1.5e1", "12.50e1", "0.1e1", "0.001e3", "-2E0", "123456789",
  "9007199254740991", "-9007199254740991", "9007199254740990", "9007199254740991.0", "900719925474099.1e1",
  "90071992547409910e-1", "0.9007199254740991e16", "9e15", "1e15", "1000000000000000", "4503599627370496",
  "12345678", "123456781234567", "1.0000000000000000000000000",
];

// Beyond it, or at the border of what a double can hold.
const OTHERS = [
  "0.5", "-0.5", "1.5", "1e-1", "0.1", "4.50", "2e-3", "9007199254740992", "-9007199254740992", "9007199254740993",
  "9007199254740991.4", "9007199254740991.5", "1.00000000000000000001", "0.99999999999999999999", "1e16", "1e20", "1e21",
  "1e22", "1e23", "1E30", "999999999999999900000", "123456789012345678901234567890", "9223372036854775807",
  "18446744073709551616", "1e-6", "1e-7", "0.000001", "0.0000001", "333333333.33333329", "5e-324", "2e-324", "3e-324",
  "2.4703282292062327e-324", "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308",
  "1.7976931348623158e308", "1.7976931348623159e308", "1e308", "1e309", "-1e309", "1e400", "1e-400", "1e99999999999999999999",
  "1e-99999999999999999999", "0.30000000000000004", "-1.5e-10", "1e-99", "1e100",
];

const SPACES = {
  none: () => "",
  blank: () => " ",
  lines: (draw) => draw.one(["\n", "\n  ", "\n\t", "\r\n    "]),
  mixed: (draw) => (draw.chance(50) ? "" : Array.from({ length: draw.between(1, 4) }, () => draw.one(" \t\n\r")).join("")),
};

/** A document of about so many bytes; a few are as deep or as wide as none of that length. */
export function document(draw, length) {
  return new Writer(draw, length).document();
}

class Writer {
  constructor(draw, length) {
    this.draw = draw;
    this.left = draw.between(8, 2 * length); // bytes to spend
    this.canonical = draw.chance(30); // spelled and ordered as the canonical form is
    this.clean = draw.chance(75); // only numbers of the integer profile
    this.repeats = draw.chance(15); // names may come twice in an object
    this.halves = draw.chance(12); // a pair of surrogates may be torn apart
    this.escapes = draw.one([0, 0, 15, 60]); // percent of the characters that need none
    this.blank = SPACES[this.canonical ? "none" : draw.weighted({ none: 40, blank: 10, lines: 15, mixed: 35 })];
  }

  document() {
    let text;
    if (this.draw.chance(3)) {
      this.left = Math.min(this.left, 12);
      text = this.wrapped();
    } else if (this.draw.chance(4)) {
      text = this.wide();
    } else {
      text = this.value(this.draw.chance(85) ? 0 : 9);
    }
    return this.space() + text + this.space();
  }

  space() {
    return this.blank(this.draw);
  }

  /** A value; the more it is nested, the less will it be a container. */
  value(level) {
    const container = level === 0 ? 90 : level > 8 || this.left <= 0 ? 0 : 30;
    const kind = this.draw.weighted({ object: container * 2, array: container, string: 25, number: 35, word: 15 });
    return this[kind](level);
  }

  /** A value within a container, which may spend a part of what is left. */
  inner(level) {
    const { left } = this;
    this.left = Math.ceil(left * this.draw.one([0.1, 0.3, 0.8]));
    const text = this.value(level + 1);
    this.left = left - text.length;
    return text;
  }

  word() {
    return this.draw.one(["true", "false", "null"]);
  }

  array(level) {
    const items = [];
    const most = this.draw.one([0, 1, 2, 4, 8]);
    while (items.length < most && this.left > 0) {
      this.left -= 2;
      items.push(this.space() + this.inner(level) + this.space());
    }
    return `[${items.join(",") || this.space()}]`;
  }

  object(level) {
    const most = this.draw.one([0, 1, 2, 3, 4, 8, 16, 30]);
    return this.members(most, () => this.inner(level));
  }

  /** An object of many small members. */
  wide() {
    this.left = Math.max(this.left, 350);
    const small = () => (this.draw.chance(90) ? String(this.draw.below(10)) : this.draw.one(["[]", "{}", '""']));
    return this.members(this.draw.between(10, 31), small);
  }

  members(most, value) {
    const names = [];
    const members = [];
    const pick = this.nameKind();
    while (members.length < most && this.left > 0) {
      const name = this.freshName(pick, names);
      names.push(name);
      const spelled = this.spelled(name);
      this.left -= spelled.length + 2;
      members.push([name, `${this.space()}${spelled}${this.space()}:${this.space()}${value()}${this.space()}`]);
    }
    if (this.canonical) members.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([, text]) => text).join(",") || this.space()}}`;
  }

  freshName(pick, names) {
    for (let tries = 0; tries < 4; tries++) {
      const name = this.repeats && names.length > 0 && this.draw.chance(20) ? this.draw.one(names) : pick();
      if (this.repeats || !names.includes(name)) return name;
    }
    return `${pick()}${names.length}${this.draw.digits(6)}`;
  }

  /** How the names of one object come about; those with a prefix share it. */
  nameKind() {
    const { draw } = this;
    const tail = () => draw.one(["", "a", "b", "aa", "\n", "\u001f", "[", '"', ...BORDERS]);
    const prefix = this.prefix(draw.between(7, 17));
    switch (draw.weighted({ short: 35, border: 20, prefix: 30, special: 10, mixed: 5 })) {
      case "short": return () => draw.one(SHORT_NAMES);
      case "border": return () => draw.one(["", "a", "\u00e9"]) + draw.one(BORDERS) + draw.one(["", "", "a", ...BORDERS]);
      case "prefix": return () => prefix.slice(0, prefix.length - (draw.chance(15) ? 1 : 0)) + tail() + draw.one(["", "", "z"]);
      case "special": return () => this.meaning(draw.below(24));
      default: return () => draw.one([draw.one(SHORT_NAMES), draw.one(BORDERS), prefix + tail()]);
    }
  }

  /** A text of so many bytes in UTF-8, ASCII but perhaps for its end. */
  prefix(bytes) {
    const end = this.draw.one(["", "", "\u00e9", "\u20ac"]);
    return "abcdefghijklmnopq".slice(0, bytes - Buffer.byteLength(end)) + end;
  }

  /** What a string may mean: so many plain characters, and often a special one among them. */
  meaning(length) {
    const { draw } = this;
    const plain = draw.one(["x", "xyz0 ", "\u00e9", "ab\u20ac"]);
    let text = "";
    while (text.length < length) text += plain[draw.below(plain.length)];
    for (let n = draw.one([0, 1, 1, 1, 2]); n > 0; n--) {
      const at = draw.between(0, length); // no surrogates yet, unless a special one has come
      const special = draw.one(SPECIALS);
      if (!/[\ud800-\udfff]/.test(text)) text = text.slice(0, at) + special + text.slice(at);
    }
    return text;
  }

  string() {
    const length = this.draw.chance(70) ? this.draw.below(9) : this.draw.between(0, 40);
    return this.spelled(this.meaning(length));
  }

  /** A string in one of its spellings. */
  spelled(meaning) {
    if (this.canonical) return utf8(JSON.stringify(meaning));
    let text = "";
    for (const character of meaning) {
      const must = character < " " || character === '"' || character === "\\";
      text += must || this.draw.chance(this.escapes) ? this.escaped(character) : utf8(character);
    }
    return `"${text}"`;
  }

  escaped(character) {
    const short = { '"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t" }[character];
    if (short !== undefined && this.draw.chance(60)) return `\\${short}`;
    const units = character.split("").map((unit) => {
      const digits = unit.charCodeAt(0).toString(16).padStart(4, "0");
      return `\\u${this.draw.chance(50) ? digits : digits.toUpperCase()}`;
    });
    if (units.length === 2 && this.halves && this.draw.chance(40)) {
      const [high, low] = units;
      return this.draw.one([high, low, low + high, high + high, `${high}${low}${low}`, `${high}\\n`]);
    }
    return units.join("");
  }

  number() {
    if (this.canonical && this.clean) return this.draw.one(["0", "1", "-1", "9007199254740991", this.draw.digits(this.draw.between(1, 15))]);
    const kind = this.draw.weighted({ listed: 40, shifted: 30, other: this.clean ? 0 : 35, made: this.clean ? 0 : 35 });
    switch (kind) {
      case "listed": return this.draw.one(INTEGERS);
      case "shifted": return this.shifted();
      case "other": return this.draw.one(OTHERS);
      default: return this.decimal();
    }
  }

  /** An integer, its point moved by an exponent that moves it back. */
  shifted() {
    const { draw } = this;
    const border = draw.chance(25);
    const digits = border ? String(9007199254740991n - BigInt(draw.below(3)) + (this.clean ? 0n : 2n)) : draw.digits(draw.between(1, 15));
    const sign = draw.one(["", "", "-"]);
    const places = draw.between(1, 18);
    const [e, plus] = [draw.one("eE"), draw.one(["", "+"])];
    switch (draw.below(5)) {
      case 0: return sign + digits;
      case 1: return `${sign}${digits}.${"0".repeat(places)}`;
      case 2: return `${sign}${digits}${"0".repeat(places)}${e}-${places}`;
      case 3: return `${sign}0.${"0".repeat(places)}${digits}${e}${plus}${places + digits.length}`;
      default: {
        const point = draw.between(1, digits.length);
        const fraction = `${digits.slice(point)}${"0".repeat(draw.below(3))}` || "0";
        return `${sign}${digits.slice(0, point)}.${fraction}${e}${plus}${digits.length - point}`;
      }
    }
  }

  /** Any decimal number. */
  decimal() {
    const { draw } = this;
    const whole = draw.chance(30) ? "0" : draw.digits(draw.between(1, 22));
    const fraction = draw.chance(60) ? `.${"0".repeat(draw.below(8))}${draw.digits(draw.between(1, 20))}` : "";
    const exponent = draw.chance(60) ? `${draw.one("eE")}${draw.one(["", "+", "-"])}${draw.below(draw.one([4, 25, 25, 340]))}` : "";
    return draw.one(["", "-"]) + whole + fraction + exponent;
  }

  /** A value within containers to about the deepest level of the profile. */
  wrapped() {
    const style = this.draw.one(["array", "object", "either"]);
    let text = this.value(9);
    for (let level = this.draw.between(60, 68); level > 0; level--) {
      const object = style === "object" || (style === "either" && this.draw.chance(50));
      text = object ? `{"${this.draw.one("ab")}":${text}}` : `[${text}]`;
      if (this.draw.chance(3)) text = object ? `{"b":${text},"a":1}` : `[0,${text}]`;
    }
    return text;
  }
}
