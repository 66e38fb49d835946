package cli

import (
	"io"
	"time"
)

// PatientMain is Main with a gateway that leaves its calls a minute where it is stopped.
func PatientMain(args []string, in io.Reader, out, errOut io.Writer) int {
	return run(args, in, out, errOut, time.Minute)
}
