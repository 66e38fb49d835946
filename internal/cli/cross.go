package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
)

// crossOptions are the flags of cross.
type crossOptions struct {
	to, terms  string
	act, class string
	magnitude  int64
	currency   string
	crossingID string
	disclose   bool
}

func (a *app) cross() *cobra.Command {
	var o crossOptions
	cmd := &cobra.Command{
		Use:   "cross --to URL --terms FILE --act ACT --class CLASS --magnitude N",
		Short: "Agree terms with a counterparty's agent and seal them jointly",
		Long: "Agree terms with a counterparty's agent and seal them jointly. If the command is\n" +
			"interrupted, run it again with --crossing-id: it takes up where it was, and never\n" +
			"seals a second time.",
		Example: "  bindery cross --dir A --to http://127.0.0.1:7410 --terms mydeal.json --act engagement_code_issuance --class irreversible --magnitude 1\n" +
			"  bindery cross --dir A --crossing-id 0b9f5bd2-7a3e-4c55-9d0e-3f1f0a3a6c11",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			report, err := a.runCross(c.Context(), o)
			if err != nil {
				return err
			}
			return a.printReport(report)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "the counterparty's URL")
	f.StringVar(&o.terms, "terms", "", "the Terms Document, a JSON file, or - for standard input")
	f.StringVar(&o.act, "act", "", "the act that is committed to")
	f.StringVar(&o.class, "class", "", "its commitment class")
	f.Int64Var(&o.magnitude, "magnitude", -1, "how much, in the class's unit")
	f.StringVar(&o.currency, "currency", "", "ISO 4217 code, for class financial")
	f.StringVar(&o.crossingID, "crossing-id", "", "resume this crossing")
	f.BoolVar(&o.disclose, "disclose-limit", false, "show the counterparty the limit of the Open")
	return cmd
}

func (a *app) runCross(ctx context.Context, o crossOptions) ([]byte, error) {
	h, err := a.home()
	if err != nil {
		return nil, err
	}
	deal, err := a.deal(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := h.unlock(); err != nil {
		return nil, err
	}
	n, err := openNode(ctx, h, nodeOptions{})
	if err != nil {
		return nil, err
	}
	defer n.Close()
	if n.centre == nil {
		return nil, usage("this directory is no party of crossings", "use the directory of a party, with --dir")
	}
	if o.crossingID != "" {
		report, err := n.centre.Resume(ctx, o.crossingID, dial, a.tell)
		if errors.Is(err, centre.ErrNone) {
			return nil, usagef("the id is the one that cross printed; is --dir the party that began it?", "this party has begun no crossing %s", o.crossingID)
		}
		return report, err
	}
	begun := ""
	report, err := n.centre.Cross(ctx, *deal, dial, func(id string) {
		begun = id
		a.say("crossing %s", id)
	}, a.tell)
	if err != nil && begun != "" && (errors.Is(err, centre.ErrUnknown) || errors.Is(err, context.Canceled)) {
		a.say("resume it with: bindery cross --dir %s --crossing-id %s", a.shownDir(), begun)
	}
	if errors.Is(err, a2acrossing.ErrUnreachable) && begun == "" {
		return nil, usagef("is the counterparty serving there?", "%s gives no answer", o.to)
	}
	return report, err
}

// deal checks the flags and reads the terms, before any message leaves.
func (a *app) deal(ctx context.Context, o crossOptions) (*centre.Deal, error) {
	if o.crossingID != "" {
		if o.to != "" || o.terms != "" {
			return nil, usage("--crossing-id resumes a crossing as it was begun", "leave out the other flags")
		}
		if !crossing.ValidCrossingID(o.crossingID) {
			return nil, usagef("it is a lower-case UUID", "%q is no crossing id", o.crossingID)
		}
		return nil, nil
	}
	for _, f := range [][2]string{{"--to", o.to}, {"--terms", o.terms}, {"--act", o.act}, {"--class", o.class}} {
		if f[1] == "" {
			return nil, usage("cross needs "+f[0], "see: bindery cross --help")
		}
	}
	amount, err := parseAmount(o.class, o.magnitude, o.currency, "--magnitude")
	if err != nil {
		return nil, err
	}
	if _, ok := commitment.Builtin().Floor(o.act); !ok {
		return nil, usagef("one of "+strings.Join(commitment.Builtin().Acts(), ", "), "--act %q is not in the act vocabulary", o.act)
	}
	terms, err := a.readTerms(ctx, o.terms)
	if err != nil {
		return nil, err
	}
	return &centre.Deal{URL: strings.TrimSuffix(o.to, "/"), Terms: terms, Act: o.act, Amount: amount, Disclose: o.disclose}, nil
}

func (a *app) readTerms(ctx context.Context, path string) (*crossing.Terms, error) {
	b, err := a.readArg(ctx, path, crossing.MaxTerms+1)
	if err != nil {
		return nil, usagef("give a JSON file with --terms", "%s cannot be read", inputName(path))
	}
	terms, refusal := crossing.ParseTerms(b)
	if refusal != nil {
		return nil, refusal
	}
	return terms, nil
}

// dial is P0.
func dial(ctx context.Context, url string) (centre.Counterparty, error) {
	peer, err := a2acrossing.Discover(ctx, a2acrossing.PeerConfig{}, url)
	var refusal *crossing.Refusal
	switch {
	case err == nil:
		return peer, nil
	case errors.Is(err, a2acrossing.ErrUnreachable), errors.As(err, &refusal):
		return nil, err
	}
	return nil, usagef("give a URL such as https://partner.example with --to", "%s", strings.TrimPrefix(oneLine(err), "a2acrossing: "))
}

// tell prints one phase to stderr.
func (a *app) tell(e centre.Event) {
	a.say("%s  %-20s %4d ms  %s", e.Phase, e.Name, e.Took.Milliseconds(), strings.Join(e.Facts, "; "))
}

func (a *app) printReport(report []byte) error {
	if a.json {
		a.print(report)
		return nil
	}
	v, err := jcs.Parse(report)
	if err != nil {
		return err
	}
	text := func(name string) string { s, _ := v.Get(name).Text(); return s }
	a.say("committed: the seal resolves at the Verification Authority")
	for _, name := range []string{"seal_id", "crossing_id", "joint_seal", "sealed_at", "verify_url"} {
		a.line("%-11s %s", name, text(name))
	}
	return nil
}
