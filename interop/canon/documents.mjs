// The documents that the Go side and the oracle are given.
import { Draw } from "./draw.mjs";
import { document } from "./grammar.mjs";
import { mutated } from "./mutate.mjs";

/** The document of a number under a seed, about so many bytes long on average. Three in four
 * are JSON, though some have a name twice, a number beyond the profile or a level too many;
 * one in four is spoilt. */
export function generate(seed, number, length) {
  const draw = new Draw(seed, number);
  const text = document(draw, length);
  return Buffer.from(draw.chance(25) ? mutated(draw, text) : text, "latin1");
}
