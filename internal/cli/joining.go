package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/failpoint"
	"github.com/bindery/bindery/jcs"
)

// joiningFile is what init has in a directory from before an enrolment code is used until
// config.json is there: a code works once, and for the same request again, which only the
// same keys and credentials make.
const joiningFile = "joining.json"

// joining is joiningFile.
type joining struct {
	Config  config     `json:"config"`
	Secrets secrets    `json:"secrets"`
	Join    string     `json:"join"`
	OwnRA   string     `json:"own_ra"`
	Code    jcs.Hex256 `json:"code_sha256"`
}

func (h *home) noteJoin(o initOptions) error {
	return writeJSON(filepath.Join(h.dir, joiningFile), joining{h.config, h.secrets, o.join, o.ownRA, codeHash(o.code)})
}

func codeHash(code string) jcs.Hex256 { return jcs.HexOf([]byte(strings.TrimSpace(code))) }

// useCode makes the one request that uses the code up. Only a refusal says that it did not.
func (h *home) useCode(request func() error) error {
	h.begun = true
	err := request()
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code != api.CodeUnavailable {
		h.begun = false
	}
	if err == nil {
		failpoint.Hit("init-joined")
	}
	return err
}

// finishJoin joins, and makes the directory a party's.
func (h *home) finishJoin(ctx context.Context, o initOptions) error {
	if err := h.join(ctx, o); err != nil {
		return err
	}
	if err := h.keep(ctx); err != nil {
		return err
	}
	return os.Remove(filepath.Join(h.dir, joiningFile))
}

// resumeJoin goes on with an init that was cut short after it had begun to join: it makes the
// same request, which gets the same answer.
func resumeJoin(ctx context.Context, dir string, o initOptions) (*home, error) {
	path := filepath.Join(dir, joiningFile)
	var j joining
	if err := readJSON(path, &j); err != nil {
		return nil, usagef("restore it, or choose another --dir", "%s cannot be read: %v", path, err)
	}
	if j.Config.Principal != o.principal || j.Join != o.join || j.OwnRA != o.ownRA || j.Code != codeHash(o.code) {
		return nil, usagef("run it again as it was, or remove the directory if its code was not used",
			"an init in %s was cut short while %s joined %s", dir, j.Config.Principal, j.Join)
	}
	h := &home{dir: dir, ring: newRing(o.ask), config: j.Config, secrets: j.Secrets}
	if fileExists(filepath.Join(dir, configFile)) { // all was done but for this
		return h, h.resumed(os.Remove(path))
	}
	for _, name := range []string{storeFile, storeFile + "-wal", storeFile + "-shm"} { // nothing but this party is in it
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	if err := h.finishJoin(ctx, o); err != nil {
		return nil, cutShort(o.join, err)
	}
	return h, nil
}

// resumed reads what the finished init has written.
func (h *home) resumed(err error) error {
	if err != nil {
		return err
	}
	now, err := openHome(h.dir)
	if err == nil {
		h.config, h.secrets = now.config, now.secrets
	}
	return err
}

// cutShort tells of a failure after which the directory stays.
func cutShort(join string, err error) error {
	return usagef("run the same command again, with the same code: it goes on from there",
		"%s may have taken the code, and then this failed: %v", join, err)
}
