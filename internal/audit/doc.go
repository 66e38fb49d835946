// Package audit is the log of an authority's state changes as a chain of hashes that
// anyone can check without the authority.
//
// It is what design R2 asks for beside every state change, in a form that shows a row that
// was changed, removed, added or moved. An export is text, one canonical JSON value and a
// line feed per line: the rows in order, then one line with the signed head.
//
// A row names who did what: seq from 1 without gaps, at in milliseconds, role and
// principal_id of who did it, operation, subject, outcome. prev is the entry_sha256 of the
// row before, 64 zeros in the first, and entry_sha256 the SHA-256 of the row's canonical
// JSON without that member. So the log of one code and one enrolment is, with line breaks
// that are not there,
//
//	{"at":1786000000000,
//	 "entry_sha256":"895556a3dad6ce191faba8e49ab968c889295b75740e7b0d4c5e5ab5b330e007",
//	 "operation":"code","outcome":"issued",
//	 "prev":"0000000000000000000000000000000000000000000000000000000000000000",
//	 "principal_id":"","role":"operator","seq":1,
//	 "subject":"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"}
//	{"at":1786000000123,
//	 "entry_sha256":"4d509df01ab18825ac72b0ad94692ef2d1f8af5a37ad6989c5ac5f03b5c06c30",
//	 "operation":"enrol","outcome":"enrolled",
//	 "prev":"895556a3dad6ce191faba8e49ab968c889295b75740e7b0d4c5e5ab5b330e007",
//	 "principal_id":"urn:anax:principal:a","role":"principal","seq":2,
//	 "subject":"urn:anax:principal:a"}
//	{"head":"<compact ES256 signature>","key":<the authority's public JWK>}
//
// The head is signed by the authority under the type bindery-audit+jwt. It says which log
// it ends, from which row the export begins, and what its last row is:
//
//	{"at":1786000000200,
//	 "entry_sha256":"4d509df01ab18825ac72b0ad94692ef2d1f8af5a37ad6989c5ac5f03b5c06c30",
//	 "from":1,"of":"ra","seq":2}
//
// The key stands there for whoever knows the authority by its thumbprint alone; nothing is
// believed that another key has signed.
//
// A [Verifier] takes the lines one at a time and keeps none. It refuses with a [Fault] that
// names the first row that does not hold: a line that is not canonical JSON of these
// members and no others, or longer than [MaxLine]; a seq that does not follow; a prev that
// is not the entry before; an entry_sha256 that is not the row's; a head of another log or
// key; a last row, or a first one, that is not the head's; anything after the head.
//
// What it cannot see: a log that its authority itself has written anew. Two exports of one
// log agree row by row, so whoever keeps an entry of an old one can ask for it in a newer
// one ([Verifier.Known]).
//
// Room: values.
package audit
