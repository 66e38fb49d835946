package commitment

import (
	"crypto/sha256"
	_ "embed" // the built-in vocabulary
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	maxProfileSize = 64 << 10
	maxActs        = 1000
	maxActLength   = 64
	maxPathLength  = 128
)

//go:embed acts.txt
var actsFile string

var (
	errProfileSize  = errors.New("commitment: profile larger than 64 KiB")
	errProfileEmpty = errors.New("commitment: profile without acts")
)

// Profile is an act vocabulary: which acts may be sealed, and the lowest class under which each
// may be declared (decision C8, GC-364). It is immutable. The zero Profile knows no act.
type Profile struct {
	acts []act // sorted by name
}

type act struct {
	name  string
	floor Class
	path  string
}

// Builtin returns the vocabulary of commitment/acts.txt.
func Builtin() Profile {
	p, err := ParseProfile([]byte(actsFile))
	if err != nil {
		panic("commitment: the embedded acts.txt is broken: " + err.Error())
	}
	return p
}

// ParseProfile reads a vocabulary: one act a line, "act floor" or "act floor path", separated by
// white space; empty lines and what follows a # are skipped. An act is 1 to 64 bytes of [a-z0-9_].
// A floor is a class above observe, since no record of class observe seals at all. The path names
// the code that performs the act, 1 to 128 bytes of [a-zA-Z0-9_.:/-].
//
// Refused, with the number of the line where there is one: more than 64 KiB, more than 1000 acts,
// no act at all, an act listed twice, and any line of another shape.
func ParseProfile(src []byte) (Profile, error) {
	if len(src) > maxProfileSize {
		return Profile{}, errProfileSize
	}
	var p Profile
	number := 0
	for line := range strings.Lines(string(src)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		a, fault := parseAct(fields)
		if fault == "" {
			fault = p.insert(a)
		}
		if fault != "" {
			return Profile{}, fmt.Errorf("commitment: profile line %d: %s", number, fault)
		}
	}
	if len(p.acts) == 0 {
		return Profile{}, errProfileEmpty
	}
	return p, nil
}

func parseAct(fields []string) (a act, fault string) {
	if len(fields) != 2 && len(fields) != 3 {
		return act{}, "not act, floor and path"
	}
	if !consistsOf(fields[0], maxActLength, "_") || strings.ToLower(fields[0]) != fields[0] {
		return act{}, "act is not 1 to 64 of a-z, 0-9 and _"
	}
	floor, err := ParseClass(fields[1])
	if err != nil || floor == Observe {
		return act{}, "floor is not a class above observe"
	}
	a = act{name: fields[0], floor: floor}
	if len(fields) == 3 {
		if a.path = fields[2]; !consistsOf(a.path, maxPathLength, "_.:/-") {
			return act{}, "path is not 1 to 128 of letters, digits and _.:/-"
		}
	}
	return a, ""
}

// consistsOf reports whether s is 1 to limit ASCII letters, digits and bytes of extra.
func consistsOf(s string, limit int, extra string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return 0 < len(s) && len(s) <= limit
}

func (p *Profile) insert(a act) (fault string) {
	i, found := p.find(a.name)
	if found {
		return "act listed twice"
	}
	if len(p.acts) == maxActs {
		return "more than 1000 acts"
	}
	p.acts = slices.Insert(p.acts, i, a)
	return ""
}

func (p Profile) find(name string) (int, bool) {
	return slices.BinarySearchFunc(p.acts, name, func(a act, name string) int {
		return strings.Compare(a.name, name)
	})
}

// Floor returns the lowest class under which an act may be declared; ok is false for an act that
// is not in the vocabulary, which is refused at the seal and counts as [Binding] until then (L-3,
// GC-177, GC-180).
func (p Profile) Floor(act string) (c Class, ok bool) {
	i, found := p.find(act)
	if !found {
		return 0, false
	}
	return p.acts[i].floor, true
}

// Acts returns the acts in byte order. The caller owns the slice.
func (p Profile) Acts() []string {
	names := make([]string, len(p.acts))
	for i, a := range p.acts {
		names[i] = a.name
	}
	return names
}

// Path returns the code path that performs an act, "" if the act or its path is not listed.
func (p Profile) Path(act string) string {
	i, found := p.find(act)
	if !found {
		return ""
	}
	return p.acts[i].path
}

// Digest returns the SHA-256, in 64 lower-case hexadecimal digits, over one line "act floor\n" per
// act in byte order. Paths and comments do not count: two parties compare what may be sealed, not
// how. It stands on the card and in P1 as act_profile.
func (p Profile) Digest() string {
	h := sha256.New()
	for _, a := range p.acts {
		fmt.Fprintf(h, "%s %s\n", a.name, a.floor)
	}
	return hex.EncodeToString(h.Sum(nil))
}
