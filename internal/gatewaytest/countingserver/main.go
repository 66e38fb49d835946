// Countingserver is the server of package gatewaytest as a program: over stdio, or with
// -addr over HTTP.
//
//	countingserver -ledger FILE
//
// Room: tests. A file, stdio, and the network on loopback.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/bindery/bindery/internal/gatewaytest"
)

func main() {
	path := flag.String("ledger", "", "the file of effects; in memory if there is none")
	addr := flag.String("addr", "", "serve HTTP at this address, not stdio")
	sse := flag.Bool("sse", false, "answer by event streams")
	sessions := flag.Bool("sessions", false, "have sessions in 2025-11-25")
	flag.Parse()
	if err := run(*path, *addr, gatewaytest.Config{SSE: *sse, Sessions: *sessions}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(path, addr string, cfg gatewaytest.Config) (err error) {
	if cfg.Ledger, err = gatewaytest.OpenLedger(path); err != nil {
		return err
	}
	u := gatewaytest.New(cfg)
	if addr != "" {
		return http.ListenAndServe(addr, u)
	}
	return u.ServeStdio(os.Stdin, os.Stdout)
}
