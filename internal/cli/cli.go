// Package cli is the bindery command.
//
// Results go to stdout, everything else to stderr. With --json the result is one JSON
// value. A command that ends without a result then prints an object instead, and the
// exit code says of what kind it is:
//
//	0  done, or verified
//	1  refused; the name of the refusal, or a verdict that is not a yes
//	2  USAGE: the command line, a file or a directory is wrong
//	3  UNKNOWN: it could not be told, or its result not be written; nothing may be concluded
//
// For example, after an Open has been drawn to its limit:
//
//	{"error":{"error":"MAGNITUDE_EXHAUSTED","failure_path":"§4.1.3 M-4","message":"the mandate does not cover this magnitude, or is spent"}}
//
// The message is for people: what it says of a refusal is constant for its name, and
// that of USAGE says what is wrong and what to try. Neither holds a secret.
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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

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
	in   io.Reader
	out  *results
	err  io.Writer
	dir  string
	json bool
	ask  asker // for what opens a directory; nil: there is nobody to ask

	drain time.Duration // that a gateway on standard input and output leaves to its calls
}

// Main runs the command line and returns its exit code.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	return run(args, in, out, errOut, gatewayDrain)
}

func run(args []string, in io.Reader, out, errOut io.Writer, drain time.Duration) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{in: in, out: newResults(ctx, out), err: errOut, drain: drain}
	a.ask = a.asker(ctx, errOut)
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(a.out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil {
		err = interrupted(err)
	}
	if failed := a.out.failed(); failed != nil && (err == nil || errors.Is(err, a.out.err)) {
		err = failed
	}
	if err != nil && slices.Contains(args, "--json") {
		a.json = true // the fault may stand before the flag, where parsing ended
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
		Long: "Bindery makes what an AI agent does binding and checkable. Agents of two organisations\n" +
			"agree and seal one record of it, which anyone can verify; a gateway passes a tool call on\n" +
			"at most once; an envelope puts a decision to a person, whose answer is taken once.\n\nExit codes: 0 done or verified, 1 refused, 2 usage, 3 could not tell.",
		Example:       "  bindery demo",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true // ours is one command with the shell as its argument
	root.PersistentFlags().StringVar(&a.dir, "dir", "", "the directory of a party or a gateway (else BINDERY_DIR, else the user's data folder)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print the result as JSON")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		what := err.Error()
		if _, ok := errors.AsType[*strconv.NumError](err); ok { // which speaks of Go's functions
			what, _, _ = strings.Cut(what, " flag: ")
		}
		return usage(what, "see: "+c.CommandPath()+" --help")
	})
	root.AddCommand(a.demo(), a.initialise(), a.enrol(), a.keys(), a.serve(), a.mandate(), a.cross(), a.verify(), a.inspect(), a.chain(), a.canon(), a.digest(), a.bind(), a.envelope(), a.refusals(), a.revoke(), a.office(), a.audit(), a.gateway(), a.executions(), a.explain(), a.version(), a.completion())
	sayUsage(root)
	return root
}

// sayUsage has wrong arguments of every command told as its usage.
func sayUsage(c *cobra.Command) {
	check := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if check(c, args) == nil {
			return nil
		}
		if c.HasSubCommands() {
			try := "see: " + c.CommandPath() + " --help"
			c.SuggestionsMinimumDistance = 2
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				try = "did you mean: " + c.CommandPath() + " " + near[0]
			}
			return usagef(try, "%q is no command of %s", args[0], c.CommandPath())
		}
		try := "usage: " + c.UseLine()
		if len(args) == 0 {
			return usagef(try, "%s needs an argument", c.CommandPath())
		}
		return usagef(try, "%s does not take %q", c.CommandPath(), args)
	}
	for _, sub := range c.Commands() {
		sayUsage(sub)
	}
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
		a.jsonError("USAGE", "", "", visible(wrong.what+"; "+wrong.try))
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
	}
	a.unknown(err)
	return exitUnknown
}

// complain prints one line: what is wrong and what to try.
func (a *app) complain(what, try string) {
	if try != "" {
		what += "; " + try
	}
	a.say("bindery: %s", what)
}

func (a *app) unknown(err error) {
	what, try := strings.TrimPrefix(oneLine(err), centre.ErrUnknown.Error()+": "), ""
	var u *unknownError
	switch {
	case errors.As(err, &u):
		what, try = u.what, u.try
	case what == context.Canceled.Error():
		what = "interrupted"
	}
	a.complain("could not tell: "+what, try)
	a.jsonError("UNKNOWN", "", "", visible(what))
}

func (a *app) refused(r *crossing.Refusal) {
	who := "refused"
	if r.Peer {
		who = "refused by the counterparty"
	}
	a.say("bindery: %s: %s", who, r.Error())
	if r.Name == crossing.MandateExpired && !r.Peer {
		a.say("  mend it:  bindery mandate open --dir %s --class CLASS --limit N --act ACT --counterparty ID", a.shownDir())
	}
	row, _ := crossing.RowOf(r.Name)
	a.jsonError(string(r.Name), r.Path, r.Member, row.Message)
}

func (a *app) refusedBy(e *api.Error) {
	message := e.Message()
	if row, ok := crossing.RowOf(crossing.Name(e.Code)); ok {
		message = row.Message
	}
	a.say("bindery: refused: %s (%s)", oneLine(e), message)
	a.jsonError(e.Code, "", e.Pointer, message)
}

// jsonError prints {"error":{…}} instead of a result. Members without a value are left
// out.
func (a *app) jsonError(name, path, member, message string) {
	if !a.json {
		return
	}
	m := []jcs.Member{{Name: "error", Value: jcs.String(name)}}
	for _, f := range [][2]string{{"failure_path", path}, {"member", member}, {"message", message}} {
		if f[1] != "" {
			m = append(m, jcs.Member{Name: f[0], Value: jcs.String(f[1])})
		}
	}
	a.print(jcs.Object(jcs.Member{Name: "error", Value: jcs.Object(m...)}))
}

// print writes one result and a line feed to stdout.
func (a *app) print(b []byte) {
	_, _ = fmt.Fprintf(a.out, "%s\n", b) // a.out keeps the error
}

// say writes a line for a person to stderr. What it repeats of others' texts does not get at
// the terminal.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintln(a.err, visible(fmt.Sprintf(format, args...)))
}

// oneLine flattens joined errors.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", ": ") }
