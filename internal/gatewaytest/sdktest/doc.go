// Package sdktest puts the official SDK, as client and as server, on the two sides of the gateway,
// in each of the four combinations of standard input and output and HTTP, in both eras of MCP.
//
// Room: tests. Processes, network on loopback, files under temporary directories.
package sdktest
