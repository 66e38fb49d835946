//go:build !unix

package main

import "os"

// lock does nothing where the system has no such lock: run one process on one folder.
func lock(*os.File) error { return nil }
