// Package pgtest starts a throw-away PostgreSQL for a test binary.
//
// [Store] gives a new database with Bindery's schema on a server that all tests of the binary
// share, [URL] an empty one there; [New] gives a server of one's own, to stop and start. A server is made by initdb and postgres
// of the machine, from PATH or where Debian puts them, and listens on a socket in its own
// temporary folder alone. PostgreSQL refuses to run as root: there everything belongs to the
// user postgres of Debian's package.
//
// The server writes at each commit and does not wait for the disk: that outlives the end of
// any process, the server's own too, and only a crash of the machine would show the
// difference, which no test provokes. [Durable] waits, for benchmarks.
//
//	db, err := postgres.Open(t.Context(), pgtest.Store(t))
//
// The migrations run once for all databases of [Store]: to make the schema takes the server ten
// times as long as to copy it. Tests of the migrations, and of init, begin with an empty one.
//
// A shell watches over a pipe that ends with the test binary, however that ends, and then
// stops the server and removes the folder.
//
// Where there are no binaries the test is left out with a line that begins "not run:", and
// fails under BINDERY_TEST_ALL=1.
//
// Room: tests.
package pgtest
