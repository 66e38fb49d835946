package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
	"github.com/bindery/bindery/jcs"
)

// envelopeSurface are the flags of render.
type envelopeSurface struct {
	as, link, action, stylesheet string
	columns                      int
}

func (a *app) envelopeRender() *cobra.Command {
	var f envelopeSurface
	cmd := &cobra.Command{
		Use:   "render FILE|- [--as text|html|css|notification]",
		Short: "Show an envelope as a surface does",
		Long: "Print an envelope as the one who is asked sees it: as text, as an HTML page, or as a\n" +
			"notification. All say the same words; the text says by which flag of resolve each answer\n" +
			"is given. What the lints say of the wording is shown below the briefing. Characters that\n" +
			"do not show, or that change what does, are written as marks such as ⟨U+202E⟩. The page\n" +
			"holds no style: css prints the sheet that it asks for at --stylesheet, and its forms are\n" +
			"posted to --action. What is malformed is not shown.",
		Example: "  bindery envelope render decision.json\n" +
			"  bindery envelope render decision.json --columns 40\n" +
			"  bindery envelope render decision.json --as html --action /decide > page.html",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeDocument,
		RunE:              func(c *cobra.Command, args []string) error { return a.rendered(c.Context(), args[0], f) },
	}
	cmd.Flags().StringVar(&f.as, "as", "text", "text, html, css or notification")
	cmd.Flags().IntVar(&f.columns, "columns", 80, "how wide the text is, 24 to 400")
	cmd.Flags().StringVar(&f.link, "link", "", "URL where the whole can be seen")
	cmd.Flags().StringVar(&f.action, "action", "/resolve", "path that the forms of the page are sent to")
	cmd.Flags().StringVar(&f.stylesheet, "stylesheet", "/style.css", "path of the style sheet of the page")
	// It fails for a flag that is not there, or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{"text", "html", "css", "notification"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) rendered(ctx context.Context, arg string, f envelopeSurface) error {
	if f.columns < 24 || f.columns > 400 {
		return usagef("give 24 to 400", "--columns %d is no width for a text", f.columns)
	}
	if !strings.Contains(" text html css notification ", " "+f.as+" ") || f.as == "" {
		return usagef("give text, html, css or notification", "--as %q is no surface", f.as)
	}
	e, err := a.readEnvelope(ctx, arg)
	if err != nil {
		return err
	}
	v, err := render.New(e, render.Reader{Link: f.link, Remarks: envelope.Lint(e), Invoke: flagOf})
	if err != nil {
		return usagef("give --link as the absolute https URL of a page", "%s", strings.TrimPrefix(oneLine(err), "render: "))
	}
	switch f.as {
	case "text":
		a.shown("text", v.Text(f.columns))
	case "css":
		a.shown("css", render.Stylesheet())
	case "html":
		page, err := v.Page(render.Page{Action: f.action, Stylesheet: f.stylesheet})
		if err != nil {
			return usagef("give --action and --stylesheet as paths that begin with /", "%s", strings.TrimPrefix(oneLine(err), "render: "))
		}
		a.shown("html", page)
	case "notification":
		a.notified(v.Notification())
	}
	return nil
}

// shown prints what package render made, which is fit for a terminal.
func (a *app) shown(member, text string) {
	if a.json {
		a.print(jcs.Object(said(member, text)))
		return
	}
	_, _ = a.out.Write([]byte(text)) // a.out keeps the error
}

func (a *app) notified(n render.Notification) {
	if a.json {
		a.print(jcs.Object(said("title", n.Title), said("body", n.Body), said("link", n.Link), said("whole", n.Whole)))
		return
	}
	a.print([]byte(n.Title + "\n\n" + strings.TrimRight(n.Body, "\n")))
}

// flagOf is by which flag of resolve a way is taken.
func flagOf(w render.Way) string {
	switch w.Kind {
	case envelope.KindOption:
		return "--option " + w.Key
	case envelope.KindAnswer:
		return "--answer TEXT"
	}
	return "--reopen"
}

func (a *app) envelopeResolve() *cobra.Command {
	var option, answer string
	var reopen bool
	cmd := &cobra.Command{
		Use:   "resolve FILE|- --option N | --answer TEXT|- | --reopen",
		Short: "Print the resolution that gives an answer to an envelope",
		Long: "Print the resolution by which an envelope is answered: one of its options, an answer in\n" +
			"one's own words, or no answer, which declines the question and reopens the matter. An\n" +
			"option is named by its letter, or by its index from 0, as on the wire. --answer - reads\n" +
			"standard input, without the line end after the last line.\n\n" +
			"It is printed and sent nowhere. It proves no human: whoever has the envelope can make\n" +
			"one. Whether it is taken, the agent's ledger decides, once.",
		Example: "  bindery envelope resolve decision.json --option A\n" +
			"  bindery envelope resolve decision.json --answer 'The fourth, without page 2.'\n" +
			"  bindery envelope resolve decision.json --reopen",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeDocument,
		RunE: func(c *cobra.Command, args []string) error {
			given := 0
			for _, name := range []string{"option", "answer", "reopen"} {
				if c.Flags().Changed(name) {
					given++
				}
			}
			way, ok := wayOf(c.Flags().Changed("option"), option, c.Flags().Changed("answer"))
			switch {
			case given != 1 || c.Flags().Changed("reopen") && !reopen:
				return usagef("see: bindery envelope resolve --help", "give exactly one of --option, --answer and --reopen")
			case !ok:
				return usagef("give its letter, or its index from 0", "--option %q names no option", option)
			}
			if err := oneStdin(args[0], answer); err != nil {
				return err
			}
			return a.resolved(c.Context(), args[0], way, answer)
		},
	}
	cmd.Flags().StringVar(&option, "option", "", "choose an option, by its letter or its index from 0")
	cmd.Flags().StringVar(&answer, "answer", "", "answer in your own words; - reads standard input")
	cmd.Flags().BoolVar(&reopen, "reopen", false, "decline the question")
	return cmd
}

// wayOf reads which answer was meant. Whether the envelope has it is for the envelope to say.
func wayOf(chooses bool, option string, answers bool) (w render.Way, ok bool) {
	switch {
	case answers:
		return render.Way{Kind: envelope.KindAnswer}, true
	case !chooses:
		return render.Way{Kind: envelope.KindQuestion}, true
	}
	w.Kind = envelope.KindOption
	if len(option) == 1 {
		if i := strings.Index("ABCDEFGHIJKLMNOPQRSTUVWXYZ", strings.ToUpper(option)); i >= 0 {
			w.Index = i
			return w, true
		}
	}
	idx, err := strconv.ParseInt(option, 10, 32)
	w.Index = int(idx)
	return w, err == nil && strconv.Itoa(w.Index) == option
}

func (a *app) resolved(ctx context.Context, arg string, w render.Way, answer string) error {
	e, err := a.readEnvelope(ctx, arg)
	if err != nil {
		return err
	}
	if answer == "-" {
		text, err := a.read(ctx, "-", 4*envelope.MaxAnswer+2, "answer in fewer words")
		if err != nil {
			return err
		}
		answer = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	}
	r, err := resolution(e, w, answer)
	var refusal *envelope.Refusal
	switch {
	case errors.As(err, &refusal):
		a.say("bindery: refused: %s: %s (%s)", refusal.Name, refusal.Rule, refusal.Row)
		a.rowError(refusal.Name, refusal.Path, refusal.Rule, refusal.Row)
		return errVerdict
	case err != nil:
		return err
	}
	a.print(r.JSON())
	return nil
}

// resolution is what the other surfaces make of the same intent, or why there is none.
func resolution(e envelope.Envelope, w render.Way, answer string) (envelope.Resolution, error) {
	v, err := render.New(e, render.Reader{})
	if err != nil {
		return envelope.Resolution{}, err
	}
	r, err := v.Resolve(w, answer)
	if !errors.Is(err, render.ErrUnclear) {
		return r, err
	}
	switch w.Kind { // the envelope does not have it, and says why
	case envelope.KindOption:
		return envelope.Choose(e, w.Index)
	case envelope.KindAnswer:
		return envelope.Answer(e, answer)
	}
	return envelope.Reopen(e)
}
