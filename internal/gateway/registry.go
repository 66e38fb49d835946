package gateway

import (
	"context"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
)

// A Registry admits bound calls and keeps the log. [Executions] makes one of an [execution.Registry],
// whose methods say what each of these promises.
type Registry interface {
	Admit(ctx context.Context, c execution.Call) (Permit, *execution.Record, error)
	Note(e audit.Entry)
	Refuse(ctx context.Context, e audit.Entry) error
}

// A Permit is an [execution.Permit].
type Permit interface {
	CallID() string
	Record() *execution.Record
	Start() error
	Follow(ctx context.Context, taskID string) error
	Finish(ctx context.Context, o execution.Outcome) (*execution.Record, error)
	Suspend(ctx context.Context, answer []byte, stateSHA256 string) (*execution.Record, error)
	Close()
}

// Executions makes a Registry of r.
func Executions(r *execution.Registry) Registry { return executions{r} }

type executions struct{ *execution.Registry }

func (e executions) Admit(ctx context.Context, c execution.Call) (Permit, *execution.Record, error) {
	p, rec, err := e.Registry.Admit(ctx, c)
	if p == nil { // not a Permit that holds nil
		return nil, rec, err
	}
	return p, rec, err
}
