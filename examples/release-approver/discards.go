package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

const (
	discardsNow    = "discarded.jsonl"
	discardsBefore = "discarded.1.jsonl"
	keptDiscards   = 1024 // at least, of the latest; at most twice as many
	maxDiscards    = 16 << 20
)

// discards are the refused resolutions in two files, a line for each: once the first is full it takes
// the place of the second. Whoever sends nothing but wrong resolutions fills no disk with them, and
// nothing that a server reads when it starts.
type discards struct {
	dir   string
	file  *os.File
	lines int
	keep  int // lines of a file
}

var errDiscards = errors.New("what was refused cannot be recorded")

// openDiscards goes on with the first file. A last line that a crash cut off is taken away.
func openDiscards(dir string) (*discards, error) {
	f, err := os.OpenFile(filepath.Join(dir, discardsNow), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errDiscards
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDiscards))
	end := int64(bytes.LastIndexByte(text, '\n') + 1)
	_, seek := f.Seek(end, io.SeekStart)
	if err := errors.Join(err, f.Truncate(end), seek); err != nil {
		_ = f.Close()
		return nil, errDiscards
	}
	return &discards{dir: dir, file: f, lines: bytes.Count(text, []byte("\n")), keep: keptDiscards}, nil
}

// put records one, on disk before it is answered for.
func (l *discards) put(d envelope.Discarded) error {
	if l.lines >= l.keep {
		if err := l.turn(); err != nil {
			return err
		}
	}
	line := append(jcs.Object(
		jcs.Member{Name: "at", Value: jcs.Int(d.At.UnixMilli())},
		jcs.Member{Name: "by", Value: jcs.String(d.By)},
		jcs.Member{Name: "envelope", Value: jcs.String(d.Envelope.String())},
		jcs.Member{Name: "kind", Value: jcs.String("discarded")},
		jcs.Member{Name: "name", Value: jcs.String(d.Name)},
		jcs.Member{Name: "text_sha256", Value: jcs.String(string(d.Text))},
	), '\n')
	l.lines++
	if _, err := l.file.Write(line); err != nil || l.file.Sync() != nil {
		return errDiscards
	}
	return nil
}

// turn begins a new file.
func (l *discards) turn() error {
	now := filepath.Join(l.dir, discardsNow)
	if err := os.Rename(now, filepath.Join(l.dir, discardsBefore)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errDiscards
	}
	f, err := os.OpenFile(now, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errDiscards
	}
	_ = l.file.Close()
	l.file, l.lines = f, 0
	return syncDir(l.dir)
}
