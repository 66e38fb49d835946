//go:build !unix

package gateway

import "os/exec"

// alone does nothing here: what the process has started may outlive it.
func alone(*exec.Cmd) {}

// terminate ends the process: there is no asking here.
func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// kill ends it.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
