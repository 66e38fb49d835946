//go:build unix

package cli

import (
	"os"
	"syscall"
)

// lockDir has commands that change a directory's configuration come one after the other. A
// process that ends leaves no lock.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	// A file system without locks is no reason to refuse: nobody but an operator is here.
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	return func() { _ = f.Close() }, nil
}
