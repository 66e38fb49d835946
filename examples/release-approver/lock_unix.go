//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps a second process out of the folder; it ends with this one.
func lock(f *os.File) error {
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return errors.New("another process works on this --data folder")
	}
	return nil
}
