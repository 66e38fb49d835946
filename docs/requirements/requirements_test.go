package requirements_test

import (
	"fmt"
	"testing"

	"github.com/bindery/bindery/docs/requirements"
)

func TestFind(t *testing.T) {
	for _, want := range []requirements.Row{
		{ID: "GC-092", Level: "MUST†", Clause: "§3.7.3", Role: "VA"},
		{ID: "GC-257", Label: "4.4.2-2", Level: "MUST†", Clause: "§4.4.2", Role: "each party"},
		{ID: "ENV-003", Level: "MUST†", Clause: "§3", Role: "agent"},
		{ID: "EXA-001", Level: "MUST", Clause: "Contract", Role: "adapter / gateway"}, // a heading without a number
		{ID: "GC-142", Level: "MUST", Clause: "§4.1.1", Role: "issuer, agent"},
	} {
		got, ok := requirements.Find(want.ID)
		if !ok || got.Requirement == "" || got.Test == "" {
			t.Fatalf("%s: %+v, %v", want.ID, got, ok)
		}
		got.Requirement, got.Test = "", ""
		if got != want {
			t.Errorf("%s: got %+v, want %+v", want.ID, got, want)
		}
	}
	for _, id := range []string{"", "GC-", "GC-999", "gc-092", "| GC-092", "AG-01"} {
		if row, ok := requirements.Find(id); ok {
			t.Errorf("%q found: %+v", id, row)
		}
	}
}

// TestFindAll: every row that the registers' own counts promise is found, under its id.
func TestFindAll(t *testing.T) {
	for register, rows := range map[string]int{"GC": 372, "ENV": 121, "EXA": 78} {
		for n := range rows {
			id := fmt.Sprintf("%s-%03d", register, n+1)
			if row, ok := requirements.Find(id); !ok || row.ID != id || row.Requirement == "" || row.Clause == "" {
				t.Errorf("%s: %+v, %v", id, row, ok)
			}
		}
		if row, ok := requirements.Find(fmt.Sprintf("%s-%03d", register, rows+1)); ok {
			t.Errorf("more rows than %s has: %+v", register, row)
		}
	}
}
