// Package keyring keeps private keys on disk, encrypted with age
// (https://age-encryption.org/v1).
//
// One X25519 identity opens all keys of a directory. The identity itself is in a key file,
// which is in clear and for its owner alone, or in a file that a passphrase opens, by
// scrypt with work factor 18:
//
//	AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX
//
// So a passphrase is asked and worked upon once for all keys, and changing how keys are
// opened is one rename. A key file may have comments, as age-keygen writes them; more than
// one identity is refused.
//
// A key is one age file, whose content is a line with its name and a PEM block (PKCS #8):
//
//	Bindery key agent
//	-----BEGIN PRIVATE KEY-----
//	…
//	-----END PRIVATE KEY-----
//
// It can be read with the age command too. The name keeps two files from being exchanged;
// since the identity's public half stands nowhere in clear, nobody without the identity
// can make a file that it opens.
//
// Refused, each with an error of its own: a wrong passphrase, a file that another identity
// opens, one that was cut or altered or holds another key, a key file that others than its
// owner may read or write, one that is no regular file. A work factor above 18 is refused
// unworked: nobody's altered file takes more memory than ours.
//
// Room: adapters. It reads and writes the files that it is given.
package keyring
