// Package interoptest holds tests against the code of others: the programs of the folder
// interop, which run on Node and share no line with this module; most use npm's
// canonicalize, jose and @sd-jwt/core.
//
// One program recomputes what two parties and their authorities say of a crossing (§3.7,
// §4.4-6), over HTTP, from its crossing_id alone:
//
//	$ node interop/recompute.mjs DIR 599cbb01-3b8f-43de-b4f3-862251028d0c
//	ok initiator/ra_jwks
//	…
//	ok 599cbb01/both/record
//
// Another issues mandates (§4.1), which package mandate has to accept. The tests also
// alter what a party or an authority has stored, and require that the recomputation says so.
//
// A third, in interop/canon, is the profile of package jcs written a second time: it says of
// JSON documents whether they are accepted, where their first fault lies and what their
// canonical form is, of documents that are new on each run:
//
//	$ echo 7b2262223a312e302c2261223a307d | node interop/canon/oracle.mjs
//	ok 7b2261223a302c2262223a317d
//
// Without Node or its packages the tests are left out, with a line that begins "not run:".
// Under BINDERY_TEST_ALL=1 they fetch the packages, and being left out is a failure.
//
// Room: tests. Processes, network on loopback, files under temporary directories.
package interoptest
