// Package audit is the log of an authority or a gateway as a chain of hashes that anyone can
// check without its owner.
//
// It is what design R2 asks for beside every state change of an RA, and design X3 beside
// every state of an execution, in a form that shows a row that was changed, removed, added
// or moved. An export is text, one canonical JSON value and a line feed per line: the rows
// in order, then one line with the signed head.
//
// # The log of an RA
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
//	{"head":"<compact ES256 signature>","key":<the owner's public JWK>}
//
// # The log of a gateway
//
// An entry is one event of a call ([Entry]). Its members are always there, and null where
// they do not apply: the four identities session_id, workflow_id, call_id and execution_id
// are members of their own, of which none stands for another (EXA-043, EXA-046). The log of a
// call without an execution_id, of a reservation and of its dispatch is, without the last
// one's,
//
//	{"agent_id":"key:ops","at":1786000000000,"binding":null,"call_id":"c-1","digest":null,
//	 "entry_sha256":"ecee1a6c882333d2bd8976b29056afbc0e8705c088042ae32d844620dbcbb7ce",
//	 "event":"call","execution_id":null,
//	 "prev":"0000000000000000000000000000000000000000000000000000000000000000",
//	 "reason":null,"seq":1,"session_id":null,"tool":"read_file","upstream":"files",
//	 "workflow_id":null}
//	{"agent_id":"key:ops","at":1786000000123,
//	 "binding":"sha256:305b05b249b159fa9dea8cbbfaa0c19b71aa867a6da718693c1c7d4b83f52fe4",
//	 "call_id":null,"digest":null,
//	 "entry_sha256":"7404b7bd6941a99bea619f04bd5b5f9ff5f0edf1653158c2f1b3f66873bcf921",
//	 "event":"reserved","execution_id":"pay-0042",
//	 "prev":"ecee1a6c882333d2bd8976b29056afbc0e8705c088042ae32d844620dbcbb7ce",
//	 "reason":null,"seq":2,
//	 "session_id":"sha256:84097828fc31a8c8d29210df48901a85de7fd013f686b17be77d1be29cb7a98b",
//	 "tool":"transfer","upstream":"bank","workflow_id":"März 🧾"}
//
// A session_id is the SHA-256 of the Mcp-Session-Id, which lets its bearer in. Arguments and
// answers are never there; digest is of the answer, of a rejected id, or of evidence.
//
// # The head
//
// The head is signed by the owner under the type bindery-audit+jwt. It says which log
// it ends, from which row the export begins, and what its last row is:
//
//	{"at":1786000000200,
//	 "entry_sha256":"4d509df01ab18825ac72b0ad94692ef2d1f8af5a37ad6989c5ac5f03b5c06c30",
//	 "from":1,"of":"ra","seq":2}
//
// The key stands there for whoever knows the owner by its thumbprint alone; nothing is
// believed that another key has signed.
//
// A [Verifier] takes the lines one at a time and keeps none. It refuses with a [Fault] that
// names the first row that does not hold: a line that is not canonical JSON of these
// members and no others, or longer than [MaxLine]; a seq that does not follow; a prev that
// is not the entry before; an entry_sha256 that is not the row's; a head of another log or
// key; a last row, or a first one, that is not the head's; anything after the head.
//
// A [Ledger] signs and exports a log that is stored, by the same rules, and a [Join] puts
// together what several verified logs of gateways say of one execution_id: which attempts bear one
// binding, and never that anything happened (EXA-025, EXA-054).
//
// What a Verifier cannot see: a log that its owner itself has written anew. Two exports of one
// log agree row by row, so whoever keeps an entry of an old one can ask for it in a newer
// one ([Verifier.Known]).
//
// Room: values.
package audit
