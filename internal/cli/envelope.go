package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// The names of what the envelope commands refuse, besides those of a resolution.
const (
	envelopeMalformed = "ENVELOPE_MALFORMED"
	evidenceMalformed = "EVIDENCE_MALFORMED"
	evidenceMissing   = "EVIDENCE_MISSING"
	envelopeBlocked   = "ENVELOPE_BLOCKED"
)

const (
	maxEnvelope       = envelope.MaxText
	maxEvidenceRecord = 1 << 20
	maxDocuments      = 1024
	maxContextText    = 1 << 20
	maxShownPath      = 200 // bytes of a member's path, whose names are the document's
)

const tryEnvelope = "give the file of one envelope, the value of binding_moment, or - for standard input"

func (a *app) envelope() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "envelope",
		Short: "Check, lint, show and resolve a briefing-and-binding envelope",
		Long: "An envelope puts one decision to one person: the value of binding_moment in the result of\n" +
			"an MCP tool. These commands work on one file, or with - on standard input, and need no\n" +
			"directory. One that is malformed has exit code 1, nothing on stdout, and on stderr the\n" +
			"file, the member, the rule and the row of the register.",
		Example: "  bindery envelope check decision.json\n" +
			"  bindery envelope render decision.json\n" +
			"  bindery envelope resolve decision.json --option A",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.envelopeCheck(), a.envelopeLint(), a.envelopeDigest(), a.envelopeRender(), a.envelopeResolve(), a.envelopeSchema())
	return cmd
}

// readEnvelope reads one envelope. What is longer than its limit is for its parser to refuse.
func (a *app) readEnvelope(ctx context.Context, arg string) (envelope.Envelope, error) {
	text, err := a.readArg(ctx, arg, maxEnvelope+1)
	if err != nil {
		return envelope.Envelope{}, usagef(tryEnvelope, "%s cannot be read", inputName(arg))
	}
	e, err := envelope.Parse(text)
	var fault *envelope.Error
	if errors.As(err, &fault) {
		err := a.malformed(arg, envelopeMalformed, fault.Path, fault.Rule, fault.Row)
		if slices.Contains([]string{"/_meta", "/binding_moment", "/content", "/id", "/jsonrpc"}, fault.Path) {
			a.say("bindery: this looks like the result of a tool; give the value of its member binding_moment")
		}
		return e, err
	}
	return e, err
}

// oneStdin refuses standard input for two inputs: the second would be empty.
func oneStdin(inputs ...string) error {
	if i := slices.Index(inputs, "-"); i >= 0 && slices.Contains(inputs[i+1:], "-") {
		return usagef("put the others into files", "standard input cannot be read twice")
	}
	return nil
}

// malformed tells which member of which file broke which rule.
func (a *app) malformed(arg, name, path, rule, row string) error {
	file := "stdin"
	if arg != "-" {
		file = shownName(arg)
	}
	path = shownPath(path)
	at := path
	if at == "" {
		at = "the whole"
	}
	a.say("%s: %s: %s (%s)", file, at, rule, row)
	a.rowError(name, path, rule, row)
	return errVerdict
}

// rowError is [app.jsonError] with the row of the register.
func (a *app) rowError(name, path, rule, row string) {
	if !a.json {
		return
	}
	a.print(jcs.Object(jcs.Member{Name: "error", Value: jcs.Object(
		said("error", name), said("member", path), said("message", rule), said("row", row),
	)}))
}

// shownPath is a pointer into a document that need not be anybody's friend: short, and UTF-8.
func shownPath(path string) string {
	if len(path) > maxShownPath {
		path = path[:maxShownPath] + "…"
	}
	return strings.ToValidUTF8(path, "\uFFFD")
}

func (a *app) envelopeDigest() *cobra.Command {
	return &cobra.Command{
		Use:   "digest FILE|-",
		Short: "Print the digest of an envelope, and nothing else",
		Long: "Print the digest by which a resolution names an envelope: the SHA-256 of its canonical\n" +
			"bytes. A malformed envelope has none: nothing is on stdout then, and the exit code is 1.",
		Example:           "  bindery envelope digest decision.json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeDocument,
		RunE: func(c *cobra.Command, args []string) error {
			e, err := a.readEnvelope(c.Context(), args[0])
			if err != nil {
				return err
			}
			_, _ = a.out.Write(a.digestLine(e.Digest().String(), false)) // a.out keeps the error
			return nil
		},
	}
}

func (a *app) envelopeCheck() *cobra.Command {
	var record string
	var evidence []string
	cmd := &cobra.Command{
		Use:   "check FILE|- [--record FILE --evidence FILE…]",
		Short: "Say whether an envelope is well-formed, and whether its evidence is what the agent saw",
		Long: "Say whether an envelope is well-formed, and print its digest. With --record, the digests\n" +
			"that its emitter keeps beside it, each file of --evidence is hashed anew: the command\n" +
			"succeeds when every digest of the record is that of a file. It does not show that a\n" +
			"finding follows from its evidence. The record has the form\n\n" +
			"  {\"envelope_digest\":\"sha256:…\",\"findings\":{\"0\":[\"sha256:…\"]}}\n\n" +
			"where \"0\" is the first finding.",
		Example: "  bindery envelope check decision.json\n" +
			"  bindery envelope check decision.json --record evidence.json --evidence scan.pdf --evidence mail.eml",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeDocument,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(evidence) > 0 && record == "":
				return usagef("give the emitter's record with --record", "--evidence has nothing to be held against")
			case len(evidence) > maxDocuments:
				return usagef("check fewer at once", "there are more than %d files of evidence", maxDocuments)
			}
			if err := oneStdin(append([]string{args[0], record}, evidence...)...); err != nil {
				return err
			}
			e, err := a.readEnvelope(c.Context(), args[0])
			if err != nil {
				return err
			}
			if record == "" {
				a.wellFormed(e, nil)
				return nil
			}
			return a.checkEvidence(c.Context(), e, record, evidence)
		},
	}
	cmd.Flags().StringVar(&record, "record", "", "the digests of the evidence, as the emitter keeps them")
	cmd.Flags().StringArrayVar(&evidence, "evidence", nil, "a document that a finding rests on; may be given again")
	return cmd
}

// wellFormed prints the verdict, with what became of the evidence if that was asked for.
func (a *app) wellFormed(e envelope.Envelope, report []jcs.Member) {
	if a.json {
		a.print(jcs.Object(append([]jcs.Member{said("digest", e.Digest().String()), {Name: "well_formed", Value: jcs.Bool(true)}}, report...)...))
		return
	}
	a.line("%s", e.Digest())
	a.line("well-formed: %s, %s, %d options, %s", counted(len(e.Findings()), "finding"), counted(len(e.Recommendations()), "recommendation"),
		len(e.Options()), hatchWords(e.Hatches()))
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func hatchWords(h envelope.Hatches) string {
	switch {
	case h.FreeText && h.Dialogue:
		return "both hatches open"
	case h.FreeText:
		return "dialogue closed"
	case h.Dialogue:
		return "free_text closed"
	}
	return "both hatches closed"
}

func (a *app) checkEvidence(ctx context.Context, e envelope.Envelope, record string, files []string) error {
	text, err := a.read(ctx, record, maxEvidenceRecord, "give the record of the evidence with --record")
	if err != nil {
		return err
	}
	ev, err := envelope.ParseEvidence(e, text)
	if err != nil {
		a.say("bindery: refused: %s: %s", evidenceMalformed, strings.TrimPrefix(oneLine(err), "envelope: "))
		a.jsonError(evidenceMalformed, "", "", strings.TrimPrefix(oneLine(err), "envelope: "))
		return errVerdict
	}
	documents := make([]jcs.Digest, 0, len(files))
	for _, file := range files {
		document, err := a.read(ctx, file, maxEvidence, "give the documents that the findings rest on")
		if err != nil {
			return err
		}
		documents = append(documents, envelope.EvidenceDigest(document))
	}
	report, err := ev.Check(e, documents...)
	if err != nil {
		return err
	}
	return a.evidenceVerdict(e, ev, report)
}

// evidenceVerdict prints what holds and what is missing. A finding without evidence and a document
// that no finding rests on are told, and are no fault.
func (a *app) evidenceVerdict(e envelope.Envelope, ev envelope.Evidence, report envelope.EvidenceReport) error {
	var missing, unlinked, unused [][]byte
	for _, finding := range ev.Findings() {
		for _, d := range report.Missing[finding] {
			a.say("finding %d: no file has its evidence %s", finding, d)
			missing = append(missing, jcs.Object(jcs.Member{Name: "finding", Value: jcs.Int(int64(finding))}, said("digest", string(d))))
		}
	}
	for _, finding := range report.Unlinked {
		a.say("finding %d: nothing is recorded that it rests on", finding)
		unlinked = append(unlinked, jcs.Int(int64(finding)))
	}
	for _, d := range report.Unused {
		a.say("no finding rests on the file of %s", d)
		unused = append(unused, jcs.String(string(d)))
	}
	a.wellFormed(e, []jcs.Member{{Name: "evidence", Value: jcs.Object(
		jcs.Member{Name: "holds", Value: jcs.Bool(report.Holds())},
		jcs.Member{Name: "missing", Value: jcs.Array(missing...)},
		jcs.Member{Name: "unlinked", Value: jcs.Array(unlinked...)},
		jcs.Member{Name: "unused", Value: jcs.Array(unused...)},
	)}})
	if !report.Holds() {
		if !a.json {
			a.line("evidence: %s", evidenceMissing)
		}
		return errVerdict
	}
	if !a.json {
		a.line("evidence: %s, each with every document recorded for it", counted(len(ev.Findings()), "finding"))
	}
	return nil
}

func (a *app) envelopeLint() *cobra.Command {
	var input, subject []string
	cmd := &cobra.Command{
		Use:   "lint FILE|-",
		Short: "Say what is wrong with the wording of an envelope",
		Long: "Print a line for each thing in the wording of a well-formed envelope that section 5 of the\n" +
			"memo forbids or advises against: what, why, and what to do. What is told as block keeps\n" +
			"a builder from emitting it, and the exit code is 1 then; warn has exit code 0. The lints\n" +
			"know English and patterns, not meaning: a surface never refuses an envelope for them.",
		Example: "  bindery envelope lint decision.json\n" +
			"  bindery envelope lint decision.json --input request.txt --subject contract.txt",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeDocument,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneStdin(slices.Concat(args, input, subject)...); err != nil {
				return err
			}
			e, err := a.readEnvelope(c.Context(), args[0])
			if err != nil {
				return err
			}
			var about envelope.Context
			for _, of := range []struct {
				files []string
				texts *[]string
			}{{input, &about.Input}, {subject, &about.Subject}} {
				for _, file := range of.files {
					text, err := a.read(c.Context(), file, maxContextText, "give a text that the envelope is compared with")
					if err != nil {
						return err
					}
					*of.texts = append(*of.texts, strings.ToValidUTF8(string(text), "\uFFFD"))
				}
			}
			return a.linted(e, envelope.LintIn(e, about))
		},
	}
	cmd.Flags().StringArrayVar(&input, "input", nil, "what the principal said before, which findings do not repeat; may be given again")
	cmd.Flags().StringArrayVar(&subject, "subject", nil, "the material of the decision, beyond which findings name nobody; may be given again")
	return cmd
}

func (a *app) linted(e envelope.Envelope, found []envelope.Finding) error {
	var items [][]byte
	for _, f := range found {
		if !a.json {
			a.line("%-5s  %s  %s: %s; %s (%s)", f.Severity, f.Path, f.Rule, f.Reason, f.Fix, f.Row)
		}
		items = append(items, jcs.Object(
			said("severity", string(f.Severity)), said("path", f.Path), said("rule", f.Rule),
			said("reason", f.Reason), said("fix", f.Fix), said("row", f.Row),
		))
	}
	if a.json {
		a.print(jcs.Object(
			said("digest", e.Digest().String()),
			jcs.Member{Name: "blocks", Value: jcs.Bool(envelope.Blocks(found))},
			jcs.Member{Name: "findings", Value: jcs.Array(items...)},
		))
	}
	if envelope.Blocks(found) {
		a.say("bindery: refused: %s: a builder would not emit this wording", envelopeBlocked)
		return errVerdict
	}
	return nil
}

func (a *app) envelopeSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [envelope|resolution]",
		Short: "Print the JSON Schema of an envelope or of a resolution",
		Long: "Print the JSON Schema (2020-12) of an envelope, or of a resolution. Neither can say all:\n" +
			"a document that a schema accepts may still repeat a member, or mark an option that is\n" +
			"not there. bindery envelope check is what decides.",
		Example:   "  bindery envelope schema resolution",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"envelope", "resolution"},
		RunE: func(_ *cobra.Command, args []string) error {
			switch strings.Join(args, "") {
			case "", "envelope":
				a.print(envelope.EnvelopeSchema())
			case "resolution":
				a.print(envelope.ResolutionSchema())
			default:
				return usagef("give envelope or resolution", "%q has no schema", args[0])
			}
			return nil
		},
	}
}
