package cli_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestDemoTerminal runs the demo as a person does: on a terminal it stays up after the
// crossing until Ctrl-C, which the terminal sends to the children too, and then all of
// it ends with exit code 0.
func TestDemoTerminal(t *testing.T) {
	t.Parallel()
	master, slave := terminal(t)
	tmp := t.TempDir()
	cmd := exec.Command("bindery", "demo")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	said := &lockedText{}
	go func() { _, _ = io.Copy(said, master) }()
	deadline := time.Now().Add(patience)
	for !strings.Contains(said.String(), "Ctrl-C ends them") && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	if n := len(processes(tmp)); n != 3 {
		t.Errorf("%d processes are up, want 3:\n%s", n, said.String())
	}
	if _, err := master.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%v\n%s", err, said.String())
		}
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		t.Errorf("it does not end:\n%s", said.String())
	}
	if left := naming(tmp); left != "" {
		t.Errorf("these stay: %s", left)
	}
	if strings.ContainsRune(said.String(), '\x1b') {
		t.Error("an escape code was printed")
	}
}

// terminal opens a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		notRun(t, "no pseudo-terminal: "+err.Error())
	}
	t.Cleanup(func() { _ = master.Close() })
	var unlock, n int32
	for _, request := range []struct {
		number uintptr
		value  *int32
	}{{syscall.TIOCSPTLCK, &unlock}, {syscall.TIOCGPTN, &n}} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request.number, uintptr(unsafe.Pointer(request.value))); errno != 0 {
			notRun(t, "no pseudo-terminal: "+errno.Error())
		}
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		notRun(t, "no pseudo-terminal: "+err.Error())
	}
	return master, slave
}
