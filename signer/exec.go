package signer

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

const (
	protocolVersion = 1
	maxAnswer       = 4096 // bytes, with the line feed
	maxComplaint    = 200  // characters of a plug-in's own error
	maxProcesses    = 8    // of one plug-in at a time; others wait
	maxCommand      = 64   // the program and its arguments
)

// ExecConfig says which program signs.
type ExecConfig struct {
	// Command is the program and its arguments: an absolute path, or a bare name that is
	// looked up on the PATH. At most 64 words.
	Command []string
	// Key is the key it signs with. The zero Key: the program is asked for it.
	Key jose.Key
}

// Exec is a [Backend] over a program. It is safe for concurrent use; at most 8 processes
// run at a time.
type Exec struct {
	path  string
	args  []string
	key   jose.Key
	slots chan struct{}
}

// NewExec finds the program and, if no key is given, asks for it. Only then is a process
// started.
func NewExec(ctx context.Context, cfg ExecConfig) (*Exec, error) {
	if n := len(cfg.Command); n == 0 || n > maxCommand || cfg.Command[0] == "" {
		return nil, errors.New("signer: no command, or one of more than 64 words")
	}
	name := cfg.Command[0]
	if !filepath.IsAbs(name) && filepath.Base(name) != name {
		return nil, errors.New("signer: the command is neither an absolute path nor a bare name")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, errors.New("signer: there is no such program")
	}
	e := &Exec{path: path, args: cfg.Command[1:], key: cfg.Key, slots: make(chan struct{}, maxProcesses)}
	if e.key.Public != nil {
		return e, nil
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	e.key, err = e.askKey(ctx)
	return e, err
}

// Key returns the key that the program signs with.
func (e *Exec) Key() jose.Key { return e.key }

// SignDigest starts the program and returns the signature that it answers with.
func (e *Exec) SignDigest(ctx context.Context, digest [32]byte) ([]byte, error) {
	r, err := e.ask(ctx,
		jcs.Member{Name: "digest", Value: jcs.String(hex.EncodeToString(digest[:]))},
		jcs.Member{Name: "kid", Value: jcs.String(e.key.ID)},
		jcs.Member{Name: "op", Value: jcs.String("sign")},
	)
	if err != nil {
		return nil, err
	}
	signature := r.Text("signature")
	if r.Close() != nil {
		return nil, errAnswer
	}
	der, err := jose.DecodeBase64(signature)
	if err != nil {
		return nil, errAnswer
	}
	return der, nil
}

func (e *Exec) askKey(ctx context.Context) (jose.Key, error) {
	r, err := e.ask(ctx, jcs.Member{Name: "op", Value: jcs.String("key")})
	if err != nil {
		return jose.Key{}, err
	}
	jwk := r.Value("key")
	if r.Close() != nil {
		return jose.Key{}, errAnswer
	}
	k, err := jose.ParseJWK(jwk)
	if err != nil || k.Kid != "" {
		return jose.Key{}, errAnswer
	}
	return k, nil
}

var (
	errAnswer = errors.New("the plug-in's answer is not of the protocol")
	errEnded  = errors.New("the plug-in failed, or said too much")
)

// ask runs the program once and returns its answer, of which v has been read.
func (e *Exec) ask(ctx context.Context, members ...jcs.Member) (*jcs.Reader, error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	request := jcs.Object(append(members, jcs.Member{Name: "v", Value: jcs.Int(protocolVersion)})...)
	answer, err := e.run(ctx, append(request, '\n'))
	if err != nil {
		return nil, err
	}
	return parseAnswer(answer)
}

func (e *Exec) run(ctx context.Context, request []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &limited{full: cancel}
	cmd := exec.CommandContext(ctx, e.path, e.args...)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(request), out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.WaitDelay = time.Second // for what it leaves behind on its pipes
	alone(cmd)
	err := cmd.Run()
	switch {
	case out.over:
		return nil, errEnded
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, errEnded
	}
	return out.b.Bytes(), nil
}

func parseAnswer(answer []byte) (*jcs.Reader, error) {
	line, ok := bytes.CutSuffix(answer, []byte("\n"))
	v, err := jcs.Parse(line)
	if !ok || err != nil || !bytes.Equal(v.Bytes(), line) {
		return nil, errAnswer
	}
	r := jcs.NewReader(v)
	if r.Int("v") != protocolVersion {
		return nil, errAnswer
	}
	complaint, failed := r.OptText("error")
	switch {
	case !failed:
		return r, nil
	case r.Close() != nil || !presentable(complaint):
		return nil, errAnswer
	}
	return nil, errors.New("the plug-in says: " + complaint)
}

// presentable keeps a plug-in from writing to the operator's terminal.
func presentable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7E {
			return false
		}
	}
	return s != "" && len(s) <= maxComplaint
}

// limited takes an answer and ends the program that says more.
type limited struct {
	b    bytes.Buffer
	over bool
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over || l.b.Len()+len(p) > maxAnswer {
		l.over = true
		l.full()
		return 0, io.ErrShortWrite
	}
	return l.b.Write(p)
}
