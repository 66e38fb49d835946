package registry

import (
	"errors"

	"github.com/bindery/bindery/api"
)

// An Observer is told what a Registry refuses, for metrics. It must return at once and may
// be called concurrently. What a Registry does is told by its Store.
type Observer interface {
	// Refused is called once a refused call. operation is a word of this package, code an
	// api.Code constant or a name of §3.7.4.
	Refused(operation, code string)
}

// What a call is for, for an [Observer]. Every call of the office has one word.
const (
	callEnrol          = "enrol"
	callRegisterOpen   = "register_open"
	callRegisterClosed = "register_closed"
	callConsume        = "consume"
	callBurn           = "burn"
	callHold           = "hold"
	callConfirm        = "confirm"
	callRelease        = "release"
	callRevoke         = "revoke"
	callStatus         = "status"
	callAdmit          = "admit"
	callOffice         = "office"
)

// observe tells the observer of a call that has ended with err. Errors that are no
// refusals have decided nothing, and are the edge's to log.
func (r *Registry) observe(operation string, err *error) {
	if r.cfg.Observer == nil {
		return
	}
	if refused, ok := errors.AsType[*api.Error](*err); ok {
		r.cfg.Observer.Refused(operation, refused.Code)
	}
}
