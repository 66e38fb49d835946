// Package wiretest runs one complete responder over HTTP on loopback, and a scripted
// initiator against it. It is how the vectors WC-1 … WC-11 of the Governed Crossing
// specification (§3.7.7) are shown, and what surrounds them.
//
// [New] starts the responder: Registration Authority, Verification Authority, centre and
// A2A endpoint over one SQLite file, as `bindery serve` does, with a clock that the test
// moves and, by [Config], a hook at each step of a seal. [World.Party] enrols an honest
// organisation over the wire, with its keys and credentials.
//
// A [Script] is one crossing of such a party, one step at a time:
//
//	w := wiretest.New(t, wiretest.Config{})
//	s := w.Script(w.Party("acme"))
//	s.Edit.Record = func(d wiretest.Doc) { d["agreement_hash"] = wiretest.Hash("other terms") }
//	s.Through(wiretest.P3)
//	before := w.Rows()
//	a := s.Seal() // a.Name() is AGREEMENT_HASH_MISMATCH
//	w.Refused(before, "AGREEMENT_HASH_MISMATCH")
//
// Each step makes what an honest initiator would send, hands it to the one function of
// [Edits] that belongs to it, and sends it. What the script builds it builds by itself:
// messages and record as plain JSON, digests with crypto/sha256, signatures over claims as
// they stand. So a fault of ours is not on both sides of a test, and a test can send what
// our own types would refuse to hold.
//
// [World.Initiator] is an honest initiator instead, with a centre and a store of its own.
// [World.Liar] is a responder for it that lies at the points which [Lies] name.
//
// [Config].Registries puts the Registration Authority elsewhere, or gives the initiators one of
// their own, and [Config].Postgres keeps everything in PostgreSQL.
//
// [World.Rows] reads every row of every table, so that a test can say that nothing was
// written but the refusal.
//
// Nothing is refused here: what goes wrong in the fixture itself ends the test.
//
// Room: tests. Network on loopback, files under t.TempDir, randomness from crypto/rand.
package wiretest
