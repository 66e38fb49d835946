package commitment_test

import (
	"testing"

	"github.com/bindery/bindery/commitment"
)

var ladder = []commitment.Class{
	commitment.Observe, commitment.Reversible, commitment.Irreversible, commitment.Financial, commitment.Binding,
}

// covers GC-174, GC-179, GC-205
func TestParseClass(t *testing.T) {
	for i, s := range []string{"observe", "reversible", "irreversible", "financial", "binding"} {
		c, err := commitment.ParseClass(s)
		if err != nil || c != ladder[i] || c.String() != s {
			t.Errorf("ParseClass(%q) = %v, %v", s, c, err)
		}
	}
	for _, s := range []string{
		"finance",                                                                                             // CM-5
		"", "Financial", "FINANCIAL", " financial", "financial ", "financial\n", "financial\x00", "finаncial", // Cyrillic а
		"fi\u00adnancial", "none", "invalid", "0", "1", "observe,binding",
	} {
		if c, err := commitment.ParseClass(s); err == nil || c != 0 {
			t.Errorf("ParseClass(%q) = %v, %v", s, c, err)
		}
	}
	if got := commitment.Class(0).String(); got != "invalid" {
		t.Errorf("zero Class = %q", got)
	}
	if got := commitment.Class(6).String(); got != "invalid" {
		t.Errorf("Class(6) = %q", got)
	}
}

// permits is rule L-1 written out: the row is the mandate's class, the column the action's.
var permits = [5][5]bool{
	{true, false, false, false, false},
	{true, true, false, false, false}, // CM-2: reversible does not permit irreversible
	{true, true, true, false, false},
	{true, true, true, true, false},
	{true, true, true, true, true},
}

// covers GC-174, GC-175, GC-178, GC-202
func TestPermits(t *testing.T) {
	for i, mandate := range ladder {
		for j, action := range ladder {
			if got := mandate.Permits(action); got != permits[i][j] {
				t.Errorf("%v.Permits(%v) = %t", mandate, action, got)
			}
		}
	}
	for _, c := range append(ladder, 0, 6, 255) {
		for _, no := range []commitment.Class{0, 6, 255} {
			if c.Permits(no) || no.Permits(c) {
				t.Errorf("no class %d permits or is permitted with %v", no, c)
			}
		}
	}
}
