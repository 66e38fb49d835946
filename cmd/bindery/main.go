// Command bindery makes what an AI agent does binding and checkable. See package
// internal/cli for its commands.
//
// Room: the command line. The one place that ends the process.
package main

import (
	"os"

	"github.com/bindery/bindery/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
