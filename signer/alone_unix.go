//go:build unix

package signer

import (
	"os/exec"
	"syscall"
)

// alone gives the program a process group of its own, so that what it has started ends
// with it.
func alone(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
