package mcp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/mcp"
)

// The name of a tool is as long as MaxName says, and no longer: it stands in every entry of the log.
func TestLongNames(t *testing.T) {
	named := func(n int) error {
		m := read(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+strings.Repeat("x", n)+`"}}`)
		_, err := m.Call()
		return err
	}
	if err := named(mcp.MaxName); err != nil {
		t.Error(err)
	}
	var f *mcp.Fault
	if err := named(mcp.MaxName + 1); !errors.As(err, &f) || f.Name != mcp.Invalid || string(f.ID) != "1" {
		t.Error(err)
	}
}
