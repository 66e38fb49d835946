package gateway

import (
	"errors"

	"github.com/bindery/bindery/internal/toolaction"
)

// adaptFault is the refusal of a call of which no action can be made.
func adaptFault(err error) *refusal {
	var fault *toolaction.Error
	if !errors.As(err, &fault) {
		return &refusal{name: codeAction}
	}
	f := &refusal{name: fault.Name, detail: fault.Rule, next: fault.Try}
	if fault.Pointer != "" {
		f.pointer = "/params/arguments" + fault.Pointer
	}
	return f
}
