// Spoils documents: texts of bytes, as grammar.mjs makes them.

// Bytes on which a reader may stumble, wherever they come to stand.
const BYTES = [
  "\xef\xbb\xbf", "\xff", "\xfe\xff", "\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
  "\xed\xa0\x80", "\xed\xbf\xbf", "\xed\xa0\xbd\xed\xb8\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x98", "\xc3",
  "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xe2\x80\xa8", "\xc2\xa0", "\x00", "\x1f", "\x7f", "\t", "\n", "\x0b", "\x0c",
];

const ESCAPES = [
  "\\u", "\\u0", "\\u00", "\\u00e", "\\u000G", "\\uD800", "\\udbff", "\\uDC00", "\\udfff", "\\ud83d\\ude00", "\\ude00\\ud83d",
  "\\ud800\\u0041", "\\ud800\\n", "\\ud800\\", "\\x", "\\U0041", "\\'", "\\", "\\\\", '\\"',
];

const TOKENS = [
  '"', "'", ",", ",,", ":", "{", "}", "[", "]",
  "[]", "{}", "[[", "]]", " ", "  ", "0", "00", "01", "-", "--1", "+1", "1.", ".5", "1.e1", "1e", "1e+", "1e-", ".0", "e0", "E400", "0x1", "1_0",
  "1.5", "1e400", "9007199254740992", "tru", "true", "nul", "nulll", "False", "NaN", "Infinity", "-Infinity", "//", "/**/", "#",
  '"a":1,', ',"a":1', '"":0,', '"a":1,"a":2', '"a":1,"\\u0061":2', '"\xff":1', ',"b":[',
];

const HOSTILE = [...BYTES, ...ESCAPES, ...TOKENS];
const IN_STRINGS = [...BYTES, ...ESCAPES];

const MUTATIONS = {
  flip: (draw, text, at) => replaced(text, at, 1, String.fromCharCode(text.charCodeAt(at) ^ (1 << draw.below(8)))),
  change: (draw, text, at) => replaced(text, at, 1, draw.one('"\\{}[],:-+.eE0123456789 tfnu/\x00\x1f\x7f\x80\xbf\xc2\xe2\xed\xf0\xff')),
  insert: (draw, text, at) => replaced(text, at, 0, draw.one(HOSTILE)),
  overwrite: (draw, text, at) => replaced(text, at, draw.between(1, 4), draw.one(HOSTILE)),
  remove: (draw, text, at) => replaced(text, at, draw.one([1, 1, 2, 5]), ""),
  truncate: (draw, text, at) => text.slice(0, at),
  repeat: (draw, text, at) => replaced(text, at, 0, text.substr(draw.below(text.length), draw.between(1, 16))),
  inside: (draw, text, at) => replaced(text, text.indexOf('"', at) + 1, 0, draw.one(IN_STRINGS)),
  append: (draw, text) => text + draw.one(HOSTILE),
};

const replaced = (text, at, length, by) => text.slice(0, at) + by + text.slice(at + length);

/** The text with up to three things done to it, anywhere. */
export function mutated(draw, text) {
  for (let n = draw.one([1, 1, 1, 2, 3]); n > 0 && text !== ""; n--) {
    const kind = draw.weighted({ flip: 4, change: 4, insert: 7, overwrite: 3, remove: 4, truncate: 3, repeat: 2, inside: 8, append: 1 });
    text = MUTATIONS[kind](draw, text, draw.below(text.length));
  }
  return text;
}
