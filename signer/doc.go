// Package signer lets a private key live elsewhere: in a KMS, in an HSM, in another
// process. Whoever implements [Backend] gives mandates a signer that never sees the key.
//
// It serves the seed's §4.1.1: ES256 and a non-deterministic scheme. [New] asks a backend
// twice for a signature over one digest and refuses one that answers alike, since such a
// scheme gives equal statements equal signatures. After that every signature is verified
// under the backend's own key, and brought to the low s, before it leaves; each has to
// come within a time limit.
//
// [NewExec] is a backend over a program, which is started for each request. The request is
// one line of canonical JSON (RFC 8785) and a line feed on its standard input, the answer
// one such line on its standard output, after which it ends with status 0. Asked for its
// key, here one of the examples of RFC 7515 §A.3:
//
//	{"op":"key","v":1}
//	{"key":{"crv":"P-256","kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},"v":1}
//
// and for a signature, where digest is SHA-256 in hex, kid the key's RFC 7638 thumbprint,
// and signature the ASN.1 DER of (r, s) in base64url without padding:
//
//	{"digest":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","kid":"oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U","op":"sign","v":1}
//	{"signature":"MEUCIBQNZ5YXZzQj3EDtjN_BPOKAnpMEtX1hZ3Q8kjcJ6ANZAiEA0j3krQ0oh_ixoxdp85vjQ9Itwzao6UdCFrDBHsO_T10","v":1}
//
// A program that cannot, says why in at most 200 printable ASCII characters; they are
// shown to the operator:
//
//	{"error":"the token is locked","v":1}
//
// No shell is involved. Of the environment the program gets PATH and HOME; its standard
// error is not read. What is refused: another status than 0, an answer of more than 4096
// bytes, of another shape, not canonical, or too late, upon which the program is killed.
// testdata/openssl.sh is such a program in shell.
//
// Room: speakers. It starts the program that it is given, and has no other effect.
package signer
