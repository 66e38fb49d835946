// Judges envelopes and resolutions with nothing of Bindery's own code, and computes their digests.
//
//   node envelope.mjs VECTORS ENVELOPE_SCHEMA RESOLUTION_SCHEMA
//
// VECTORS is envelope/testdata/vectors.json, the other two the schemas beside it. Each text goes
// through the strict reading of canon/profile.mjs, then through the grammar below, which was
// written from the memo; its digest is taken over what the npm package canonicalize makes of the
// parsed value. ajv is asked what the schemas say.
//
// One line a vector on stdout, "ok NAME" or "FAIL NAME why". Exit code 0: all hold; 1: one does
// not; 2: the command line, or a file cannot be read.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import Ajv from "ajv/dist/2020.js";
import canonicalize from "canonicalize";
import { canonicalize as strict } from "./canon/profile.mjs";
import { ensure, Report } from "./lib/report.mjs";

const MAX_TEXT = 64 * 1024;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
const closed = (v, required, optional = []) =>
  isObject(v) && required.every((name) => Object.hasOwn(v, name)) && Object.keys(v).every((name) => required.includes(name) || optional.includes(name));
const isText = (max) => (v) => typeof v === "string" && [...v].length <= max;
const listOf = (item, low, high) => (v) => Array.isArray(v) && v.length >= low && v.length <= high && v.every(item);
const absentOr = (check, v, name) => !Object.hasOwn(v, name) || check(v[name]);

const isOption = (v) => closed(v, ["label", "reasoning"]) && isText(512)(v.label) && isText(2048)(v.reasoning);
const isMeta = (v) =>
  closed(v, [], ["decision_class", "calibration_note"]) && absentOr(isText(128), v, "decision_class") && absentOr(isText(2048), v, "calibration_note");
const isQuestion = (v) =>
  closed(v, ["stem", "options", "recommended_idx", "hatches"]) &&
  isText(2048)(v.stem) &&
  listOf(isOption, 2, 4)(v.options) &&
  Number.isInteger(v.recommended_idx) && v.recommended_idx >= 0 && v.recommended_idx < v.options.length &&
  closed(v.hatches, ["free_text", "dialogue"]) && Object.values(v.hatches).every((h) => typeof h === "boolean");

const isEnvelope = (v) =>
  closed(v, ["synopsis", "findings", "recommendations", "offer", "question"], ["meta"]) &&
  isText(2048)(v.synopsis) &&
  listOf(isText(4096), 0, 64)(v.findings) &&
  listOf(isText(2048), 0, 64)(v.recommendations) &&
  isText(1024)(v.offer) &&
  isQuestion(v.question) &&
  absentOr(isMeta, v, "meta");

const isBlank = (s) => /^[\p{Z}\p{Cc}\p{Cf}]*$/u.test(s);
const forms = {
  option: (v) => closed(v, ["envelope_digest", "resolution", "option_idx"]) && Number.isInteger(v.option_idx) && v.option_idx >= 0,
  answer: (v) => closed(v, ["envelope_digest", "resolution", "answer"]) && isText(16384)(v.answer) && !isBlank(v.answer),
  question: (v) => closed(v, ["envelope_digest", "resolution"]),
};
const isResolution = (v) =>
  isObject(v) && typeof v.envelope_digest === "string" && DIGEST.test(v.envelope_digest) &&
  typeof v.resolution === "string" && Object.hasOwn(forms, v.resolution) && forms[v.resolution](v);

const grammars = { envelope: isEnvelope, resolution: isResolution };

/** The digest of a text that is accepted, else undefined. */
function judge(kind, input) {
  const { text } = strict(Buffer.from(input, "utf8"), { size: MAX_TEXT });
  if (text === undefined) return undefined;
  const value = JSON.parse(input);
  if (!grammars[kind](value)) return undefined;
  const canonical = canonicalize(value);
  ensure(canonical === text, "two canonical forms");
  return `sha256:${createHash("sha256").update(canonical, "utf8").digest("hex")}`;
}

function check(vector, schemas) {
  const { kind, input, digest } = vector;
  const wellFormed = input.isWellFormed();
  ensure(wellFormed, "the vector's text is no text");
  const got = judge(kind, input);
  ensure(got === digest, digest === undefined ? "is accepted" : got === undefined ? "is refused" : `has the digest ${got}`);
  if (vector.schema === "cannot be asked") return;
  const says = schemas[kind](JSON.parse(input));
  const want = digest !== undefined || vector.schema === "accepts";
  ensure(says === want, `the schema ${says ? "accepts" : "refuses"} it`);
}

function main(args) {
  if (args.length !== 3) {
    console.error("usage: node envelope.mjs VECTORS ENVELOPE_SCHEMA RESOLUTION_SCHEMA");
    return 2;
  }
  let vectors, schemas;
  try {
    const [list, envelope, resolution] = args.map((file) => JSON.parse(readFileSync(file, "utf8")));
    const ajv = new Ajv({ strict: true, strictRequired: false, strictTypes: false });
    vectors = list.vectors;
    schemas = { envelope: ajv.compile(envelope), resolution: ajv.compile(resolution) };
  } catch (err) {
    console.error(`envelope: ${err.code ?? err.message}`);
    return 2;
  }
  const report = new Report();
  for (const vector of vectors) report.check(vector.id, () => check(vector, schemas));
  return report.counts.failed === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
