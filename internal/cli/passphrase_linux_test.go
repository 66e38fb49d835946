package cli_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A session is a bindery at a terminal of its own. What the terminal shows, its echo among
// it, is apart from what the command prints.
type session struct {
	*process
	t      *testing.T
	master *os.File
	shown  *lockedText
}

func atTerminal(t *testing.T, args ...string) *session {
	t.Helper()
	bin, err := crashBinary() // without the race detector, under which scrypt takes ten times as long
	if err != nil {
		t.Fatal(err)
	}
	master, slave := terminal(t)
	defer slave.Close()
	s := &session{
		process: &process{cmd: exec.Command(bin, args...), stdout: &lockedText{}, stderr: &lockedText{}, ended: make(chan struct{})},
		t:       t, master: master, shown: &lockedText{},
	}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, s.stdout, s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	go func() { _, _ = io.Copy(s.shown, master) }()
	t.Cleanup(s.kill)
	return s
}

// answer types a line when the prompt has come and the terminal shows nothing of what is
// typed.
func (s *session) answer(prompt, line string) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for !strings.HasSuffix(s.stderr.String(), prompt) || s.echoes() {
		if time.Now().After(deadline) {
			s.t.Fatalf("it does not ask %q in secret:\n%s", prompt, s.stderr)
		}
		time.Sleep(2 * time.Millisecond)
	}
	if _, err := s.master.WriteString(line); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) echoes() bool {
	var state syscall.Termios
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, s.master.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&state)))
	return errno == 0 && state.Lflag&syscall.ECHO != 0
}

func (s *session) wants(code int, text string) {
	s.t.Helper()
	if got := s.code(s.t); got != code || !strings.Contains(s.stderr.String(), text) {
		s.t.Errorf("%v ends with %d, want %d and %q:\n%s", s.cmd.Args[1:], got, code, text, s.stderr)
	}
	if code == 2 && strings.Count(s.stderr.String(), "bindery: ") != 1 {
		s.t.Errorf("not one line:\n%s", s.stderr)
	}
}

const (
	firstPass  = "correct horse battery"
	secondPass = "staple of another kind"
)

// TestPassphrase: where there is a terminal, a passphrase opens the keys. It is asked twice
// when it is chosen and once in each process that signs, and is shown nowhere.
func TestPassphrase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "B")
	open := []string{"mandate", "open", "--dir", dir, "--class", "irreversible", "--limit", "3", "--act", "engagement_code_issuance", "--counterparty", "*"}
	ask := "Passphrase of " + dir + ": "

	s := atTerminal(t, "init", "--dir", dir, "--principal", "urn:anax:principal:globex")
	s.answer("New passphrase for the keys of "+dir+" (none: a key file): ", firstPass+"\n")
	s.answer("Again: ", firstPass+"\n")
	s.wants(0, "the passphrase opens them, and nothing else does")
	all := []*session{s}
	if list, err := filepath.Glob(filepath.Join(dir, "keys", "*")); err != nil || len(list) != 6 {
		t.Errorf("%q, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "age.key")); err == nil {
		t.Error("there is a key file too")
	}
	locked, err := os.ReadFile(filepath.Join(dir, "keys", "identity.age"))
	if header, _, _ := strings.Cut(string(locked), "---"); err != nil || !strings.Contains(header, "-> scrypt ") || !strings.HasSuffix(strings.SplitN(header, "\n", 3)[1], " 18") {
		t.Errorf("the identity is not locked by scrypt with work factor 18: %q, %v", header, err)
	}
	before := snapshot(t, dir)

	// What signs nothing asks nobody; what signs needs somebody to ask.
	must(t, "mandate", "list", "--dir", dir)
	p := run(t, "", open...)
	if code := p.code(t); code != 2 || !strings.Contains(p.stderr.String(), "there is no terminal to ask for it") {
		t.Errorf("without a terminal it ends with %d:\n%s", code, p.stderr)
	}
	s = atTerminal(t, open...)
	s.answer(ask, secondPass+"\n")
	s.wants(2, "the passphrase of "+dir+" is another; run it again")
	if after := snapshot(t, dir); after != before {
		t.Error("a wrong passphrase has changed the directory")
	}
	all = append(all, s)

	s = atTerminal(t, open...)
	s.answer(ask, "\x03") // Ctrl-C
	s.wants(3, "")
	if !s.echoes() {
		t.Error("the terminal stays silent")
	}

	s = atTerminal(t, "serve", "--dir", dir, "--addr", freePort(t), "--admin-addr", freePort(t))
	s.answer(ask, firstPass+"\n")
	if _, err := served(dir, s.ended); err != nil {
		t.Fatalf("%v\n%s", err, s.stderr)
	}
	must(t, "enrol", "--dir", dir)
	if n := strings.Count(s.stderr.String(), ask); n != 1 {
		t.Errorf("it has asked %d times", n)
	}
	s.kill()
	all = append(all, s)

	s = atTerminal(t, "keys", "passwd", "--dir", dir)
	s.answer(ask, firstPass+"\n")
	s.answer("New passphrase for the keys of "+dir+": ", secondPass+"\n")
	s.answer("Again: ", secondPass+"\n")
	s.wants(0, "")
	all = append(all, s)
	s = atTerminal(t, open...)
	s.answer(ask, firstPass+"\n")
	s.wants(2, "is another")
	s = atTerminal(t, "keys", "passwd", "--dir", dir, "--key-file", filepath.Join(dir, "age.key"))
	s.answer(ask, secondPass+"\n")
	s.wants(0, filepath.Join(dir, "age.key")+" opens them")
	all = append(all, s)
	must(t, open...)
	if _, err := os.Stat(filepath.Join(dir, "keys", "identity.age")); err == nil {
		t.Error("the passphrase's file stays")
	}
	for _, s := range all {
		for _, text := range []string{s.stdout.String(), s.stderr.String(), s.shown.String(), snapshot(t, dir)} {
			if strings.Contains(text, firstPass) || strings.Contains(text, secondPass) {
				t.Errorf("%v shows the passphrase", s.cmd.Args[1:])
			}
		}
	}
}

// snapshot is all that is in a directory but for its database, which a reader may tidy up.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"*.json", "*.key", "keys/*"} {
		list, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range list {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString(path + "\n" + string(b) + "\n")
		}
	}
	return all.String()
}

// TestPassphraseNotChosen: two that differ make nothing; none is a key file.
func TestPassphraseNotChosen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "B")
	prompt := "New passphrase for the keys of " + dir + " (none: a key file): "
	s := atTerminal(t, "init", "--dir", dir, "--principal", "urn:anax:principal:globex")
	s.answer(prompt, firstPass+"\n")
	s.answer("Again: ", secondPass+"\n")
	s.wants(2, "the two passphrases are not the same; run it again")
	if snapshot(t, dir) != "" {
		t.Errorf("something was made: %s", snapshot(t, dir))
	}
	s = atTerminal(t, "init", "--dir", dir, "--principal", "urn:anax:principal:globex", "--key-file", filepath.Join(dir, "..", "stick.key"))
	s.wants(0, "stick.key opens them") // it asks nothing
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s = atTerminal(t, "init", "--dir", dir, "--principal", "urn:anax:principal:globex")
	s.answer(prompt, "\n")
	s.wants(0, filepath.Join(dir, "age.key")+" opens them")
}
