package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// A fileLedger is an [envelope.Ledger] in one file, a line for each thing that happened, on disk
// before it is answered for. What is in it is kept in memory too, and it is for one process.
type fileLedger struct {
	*envelope.Memory
	mu       sync.Mutex // guards all below, and the order of lines
	file     *os.File
	broken   bool // a line may be half written: nothing more is recorded, so nothing more is done
	discards *discards
}

const (
	maxLedger = 256 << 20
	maxLine   = 2 << 20
)

var errLedger = errors.New("the ledger cannot be written; nothing was done")

// openLedger reads what happened before. A last line that a crash cut off did not happen: it was
// never answered for.
func openLedger(path string) (*fileLedger, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.New("the ledger cannot be opened")
	}
	l := &fileLedger{Memory: envelope.NewMemory(), file: f}
	l.discards, err = openDiscards(filepath.Dir(path))
	// A new file is on disk once its folder is.
	if err := errors.Join(err, l.replay(), syncDir(filepath.Dir(path))); err != nil {
		_ = l.close()
		return nil, err
	}
	return l, nil
}

func (l *fileLedger) close() error {
	err := l.file.Close()
	if l.discards != nil {
		err = errors.Join(err, l.discards.file.Close())
	}
	return err
}

func (l *fileLedger) replay() error {
	text, err := io.ReadAll(io.LimitReader(l.file, maxLedger+1))
	if err != nil || len(text) > maxLedger {
		return errors.New("the ledger cannot be read, or is too large")
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	for line := range bytes.Lines(text[:end]) {
		if err := l.again(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return errors.New("the ledger is damaged: " + err.Error())
		}
	}
	if err := l.file.Truncate(int64(end)); err != nil {
		return errLedger
	}
	_, err = l.file.Seek(int64(end), io.SeekStart)
	return err
}

// again does in memory what a line says.
func (l *fileLedger) again(line []byte) error {
	v, err := jcs.Profile{MaxSize: maxLine}.Parse(line)
	if err != nil {
		return err
	}
	r := jcs.NewReader(v)
	switch kind := r.Text("kind"); kind {
	case "emitted":
		env, sidecar := r.Text("envelope"), r.Text("sidecar")
		if err := r.Close(); err != nil {
			return err
		}
		e, err := envelope.ParseEmission([]byte(env), []byte(sidecar))
		if err != nil {
			return err
		}
		return l.Memory.Emit(context.Background(), e)
	case "taken":
		t := envelope.Taking{
			Kind: envelope.Kind(r.Text("resolution_kind")), OptionIdx: int(r.Int("option_idx")), Answer: jcs.Digest(r.Text("answer")),
			By: r.Text("by"), Assurance: envelope.Assurance(r.Text("assurance")), At: time.UnixMilli(r.Int("at")).UTC(),
		}
		of, resolution := r.Text("envelope"), r.Text("resolution")
		if err := r.Close(); err != nil {
			return err
		}
		if t.Envelope, err = envelope.ParseDigest(of); err != nil {
			return err
		}
		if t.Resolution, err = envelope.ParseDigest(resolution); err != nil {
			return err
		}
		_, err = l.Memory.Take(context.Background(), t)
		return err
	case "discarded":
		return nil // for whoever reads the file; it was here once, and is in a file of its own now
	default:
		return errors.New("a line of another kind")
	}
}

// put writes one line.
func (l *fileLedger) put(members ...jcs.Member) error {
	line := append(jcs.Object(members...), '\n')
	if _, err := l.file.Write(line); err != nil || l.file.Sync() != nil {
		l.broken = true
		return errLedger
	}
	return nil
}

// Emit implements [envelope.Ledger].
func (l *fileLedger) Emit(ctx context.Context, e envelope.Emission) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return errLedger
	}
	if err := l.Memory.Emit(ctx, e); err != nil {
		return err
	}
	return l.put(
		jcs.Member{Name: "kind", Value: jcs.String("emitted")},
		jcs.Member{Name: "envelope", Value: jcs.String(string(e.Envelope.JSON()))},
		jcs.Member{Name: "sidecar", Value: jcs.String(string(e.Sidecar()))},
	)
}

// Take implements [envelope.Ledger].
func (l *fileLedger) Take(ctx context.Context, t envelope.Taking) (envelope.Emission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return envelope.Emission{}, errLedger
	}
	e, err := l.Memory.Take(ctx, t)
	if err != nil {
		return e, err
	}
	return e, l.put(
		jcs.Member{Name: "kind", Value: jcs.String("taken")},
		jcs.Member{Name: "answer", Value: jcs.String(string(t.Answer))},
		jcs.Member{Name: "assurance", Value: jcs.String(string(t.Assurance))},
		jcs.Member{Name: "at", Value: jcs.Int(t.At.UnixMilli())},
		jcs.Member{Name: "by", Value: jcs.String(t.By)},
		jcs.Member{Name: "envelope", Value: jcs.String(t.Envelope.String())},
		jcs.Member{Name: "option_idx", Value: jcs.Int(int64(t.OptionIdx))},
		jcs.Member{Name: "resolution", Value: jcs.String(t.Resolution.String())},
		jcs.Member{Name: "resolution_kind", Value: jcs.String(string(t.Kind))},
	)
}

// Discard implements [envelope.Ledger]. What was refused is no part of what happened: it goes into
// files of its own, which do not grow.
func (l *fileLedger) Discard(ctx context.Context, d envelope.Discarded) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return errLedger
	}
	if err := l.Memory.Discard(ctx, d); err != nil {
		return err
	}
	return l.discards.put(d)
}
