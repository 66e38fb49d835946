// Package gatewaytest is what stands around a gateway in a test: an MCP server that counts
// its effects durably and misbehaves on demand, and a client that sends bytes as they are
// and can go away at any moment.
//
// The server has three tools. Of "pay" each call is one effect, which is on disk before the
// answer leaves; "status" tells how many effects a key has; "echo" returns its arguments
// byte for byte and has no effect. What "pay" does besides is its argument plan, words with
// a space between:
//
//	{"key":"invoice-7","plan":"delay:20 reset"}    one effect, 20 ms, then a broken connection
//
// The words are those of [Plan]. It speaks MCP 2025-11-25, with sessions where [Config] asks
// for them, and 2026-07-28, over HTTP ([Upstream.ServeHTTP]) and over stdio
// ([Upstream.ServeStdio], and the program in countingserver).
//
// The tests of the package put real servers and the public conformance suite behind a
// gateway. They take Node and the packages of interop/gateway; without these they are left
// out, with a line that begins "not run:", and under BINDERY_TEST_ALL=1 they fetch the
// packages, and being left out is a failure.
//
// Room: tests. Processes, network on loopback, files under temporary directories.
package gatewaytest
