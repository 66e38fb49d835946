// Package cli is the bindery command.
//
// Results go to stdout, everything else to stderr; --json makes the result one JSON
// object or, for a refusal, {"error":{…}}. Exit codes:
//
//	0  done, or verified
//	1  refused
//	2  the command line, a file or a directory is wrong
//	3  it could not be told; nothing may be concluded
//
// Every command but demo works on a party's directory: --dir, else BINDERY_DIR, else the
// user's data folder. It may be the directory of a running serve: both use the same
// database file.
//
// Room: the command line. It knows every room, and no room knows it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
)

// Exit codes.
const (
	exitDone    = 0
	exitRefused = 1
	exitUsage   = 2
	exitUnknown = 3
)

// app is one run of the command.
type app struct {
	in       io.Reader
	out, err io.Writer
	dir      string
	json     bool
}

// Main runs the command line and returns its exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{in: in, out: out, err: errOut}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil {
		err = interrupted(err)
	}
	return a.code(err)
}

// interrupted keeps a signal from being blamed on a file or a counterparty: what fails
// after it says nothing about them. A refusal stays one.
func interrupted(err error) error {
	var wrong *usageError
	if errors.As(err, &wrong) {
		return context.Canceled
	}
	return err
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "bindery",
		Short: "Make what an AI agent does binding and checkable",
		Long: "Bindery lets two organisations' agents agree, seal one record of it together,\n" +
			"and lets anyone verify the seal.\n\nExit codes: 0 done or verified, 1 refused, 2 usage, 3 could not tell.",
		Example:       "  bindery demo",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVar(&a.dir, "dir", "", "the party's directory (else BINDERY_DIR, else the user's data folder)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result as JSON")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage(err.Error(), "see: "+c.CommandPath()+" --help")
	})
	root.AddCommand(a.demo(), a.initialise(), a.enrol(), a.serve(), a.mandate(), a.cross(), a.verify(), a.inspect(), a.chain(), a.refusals(), a.explain(), a.version())
	return root
}

// usageError is a wrong command line, file or directory: what it is and what to try.
type usageError struct{ what, try string }

func (u *usageError) Error() string { return u.what }

func usage(what, try string) error { return &usageError{what, try} }

func usagef(try, format string, args ...any) error { return usage(fmt.Sprintf(format, args...), try) }

// unknownError is an outcome that could not be told: why, and what to try.
type unknownError struct{ what, try string }

func (u *unknownError) Error() string { return u.what }

// code prints an error and says how the process ends.
func (a *app) code(err error) int {
	var wrong *usageError
	var refusal *crossing.Refusal
	var refused *api.Error
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errVerdict):
		return exitRefused // the verdict has been printed
	case errors.As(err, &wrong):
		a.complain(wrong.what, wrong.try)
		return exitUsage
	case errors.Is(err, centre.ErrUnknown), errors.Is(err, context.Canceled):
		a.unknown(err)
		return exitUnknown
	case errors.As(err, &refusal):
		a.refused(refusal)
		return exitRefused
	case errors.As(err, &refused) && refused.Code != api.CodeUnavailable:
		a.refusedBy(refused)
		return exitRefused
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "accepts "), strings.HasPrefix(err.Error(), "required flag"), strings.HasPrefix(err.Error(), "requires "):
		a.complain(oneLine(err), "see: bindery --help")
		return exitUsage
	}
	a.unknown(err)
	return exitUnknown
}

// complain prints one line: what is wrong and what to try.
func (a *app) complain(what, try string) {
	if try != "" {
		what += "; " + try
	}
	fmt.Fprintln(a.err, "bindery: "+what)
}

func (a *app) unknown(err error) {
	var u *unknownError
	if errors.As(err, &u) {
		a.complain("could not tell: "+u.what, u.try)
	} else {
		a.complain("could not tell: "+strings.TrimPrefix(oneLine(err), centre.ErrUnknown.Error()+": "), "")
	}
	a.jsonError("UNKNOWN", "", "")
}

func (a *app) refused(r *crossing.Refusal) {
	who := "refused"
	if r.Peer {
		who = "refused by the counterparty"
	}
	fmt.Fprintln(a.err, "bindery: "+who+": "+r.Error())
	if r.Name == crossing.MandateExpired && !r.Peer {
		fmt.Fprintln(a.err, "  mend it:  bindery mandate open --dir "+a.shownDir()+" --class CLASS --limit N --act ACT --counterparty ID")
	}
	a.jsonError(string(r.Name), r.Path, r.Member)
}

func (a *app) refusedBy(e *api.Error) {
	fmt.Fprintln(a.err, "bindery: refused: "+oneLine(e)+" ("+e.Message()+")")
	a.jsonError(e.Code, "", e.Pointer)
}

func (a *app) jsonError(name, path, member string) {
	if !a.json {
		return
	}
	m := []jcs.Member{{Name: "error", Value: jcs.String(name)}}
	if path != "" {
		m = append(m, jcs.Member{Name: "failure_path", Value: jcs.String(path)})
	}
	if member != "" {
		m = append(m, jcs.Member{Name: "member", Value: jcs.String(member)})
	}
	a.print(jcs.Object(jcs.Member{Name: "error", Value: jcs.Object(m...)}))
}

// print writes one result and a line feed to stdout.
func (a *app) print(b []byte) { fmt.Fprintf(a.out, "%s\n", b) }

// say writes a line for a person to stderr.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// oneLine flattens joined errors.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", ": ") }
