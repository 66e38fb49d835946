// Package chain links the crossings that two agents have sealed, one chain for each pair.
//
// It implements §4.4 requirement 4 and §4.4.2 of the Governed Crossing (rows GC-241 to GC-243,
// GC-255 to GC-258 and GC-338; vectors AN-1 and AN-2).
//
// Both parties seal the same record and so hold the same joint seal. Each then writes an anchor
// into its own chain for the pair. An anchor commits to one seal and to its place; it is
//
//	SHA-256(joint_seal | prev_hash or the word genesis | chain_seq)
//
// over UTF-8 text, where | is the byte 0x7C and chain_seq is decimal without padding. Joint seal and
// prev_hash are 64 lower-case hexadecimal digits, and prev_hash is the previous anchor of the same
// chain. For the joint seal of vector AN-1
//
//	e2cd3bbdb71cbf699b3b554a7081c7a24e695c923437906b55fbc67aba30f270
//
// the first anchor of a chain is the SHA-256 of that text followed by "|genesis|0"
//
//	0389b62946981d1155cb6ab1b70ad99f15f3f9b66cccdbdb477976948842d85e
//
// A chain is named by the SHA-256 of the two agent identifiers, the lesser first, with | between.
// It says nothing of other pairs, because no anchor of theirs is ever hashed into it.
//
// # What is refused
//
// [Position.Validate] refuses places that no chain has: null beyond 0, a prev_hash at 0, a number
// outside 0 … 2^53−1. [Verify] walks an exported chain and refuses the first link that was altered,
// removed, inserted, moved or taken from another chain.
//
// An anchor is not the name of a commitment; the joint seal is. Heads change only inside a party's
// commit, so this package has no store.
//
// Room: values. No I/O, no clock, no state between calls.
package chain
