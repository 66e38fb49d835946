package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// write puts a file where none or another was, so that after a crash it is there as a whole or not at
// all. With fresh, none may have been there.
func write(path string, text []byte, fresh bool) error {
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return errors.New("a file cannot be made")
	}
	defer os.Remove(f.Name()) // of no effect once it is renamed
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.New("a file cannot be written")
	}
	if fresh { // a link fails where a rename would replace
		err = os.Link(f.Name(), path)
	} else {
		err = os.Rename(f.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return errors.New("a file of that name is there already")
	}
	if err != nil {
		return errors.New("a file cannot be put in its place")
	}
	return syncDir(dir)
}

// makeDir makes a folder and those above it, each of them on disk: a file is no safer than its folder.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return errors.New("a folder cannot be made")
	}
	return syncDir(parent)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return errors.New("a folder cannot be read")
	}
	defer d.Close()
	if d.Sync() != nil {
		return errors.New("a folder cannot be written")
	}
	return nil
}

// read returns a file, nil if there is none.
func read(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New("a file cannot be read")
	}
	return text, nil
}
