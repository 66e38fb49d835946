//go:build unix

package gateway

import (
	"os/exec"
	"syscall"
)

// alone gives a process a group of its own: a signal of the terminal does not reach it before
// the gateway has ended its calls, and what it has started ends with it.
func alone(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the process, and what it has started, to end.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends them.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
