// Pseudo-random draws that come out the same wherever they are made.

/** A stream of draws for each pair of a seed (an integer from 0 to 2^53−1) and a number
 * below 2^32. It is the generator sfc32: a counter and 96 bits of state, mixed by additions,
 * shifts and rotations of 32-bit words, so that every engine computes the same. */
export class Draw {
  #a;
  #b;
  #c;
  #counter = 1;

  constructor(seed, number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32);
    this.#c = number >>> 0;
    for (let i = 0; i < 15; i++) this.#word(); // until every bit has reached every other
  }

  #word() {
    const out = (this.#a + this.#b + this.#counter++) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + out) >>> 0;
    return out;
  }

  /** An integer from 0 to n−1. */
  below(n) {
    return Math.floor((this.#word() / 2 ** 32) * n);
  }

  /** An integer from low to high, both included. */
  between(low, high) {
    return low + this.below(high - low + 1);
  }

  /** True in so many cases of a hundred. */
  chance(percent) {
    return this.below(100) < percent;
  }

  /** One of a list, or one character of an ASCII text. */
  one(list) {
    return list[this.below(list.length)];
  }

  /** One of the keys of a table, as often as its weight says. */
  weighted(table) {
    const entries = Object.entries(table);
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [key, weight] of entries) if ((left -= weight) < 0) return key;
  }

  /** So many decimal digits, the first of them not zero. */
  digits(n) {
    let text = String(this.between(1, 9));
    while (text.length < n) text += this.below(10);
    return text;
  }
}
