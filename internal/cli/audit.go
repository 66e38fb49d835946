package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// auditEvery is how often a serving RA signs the head of its audit log.
const auditEvery = time.Minute

func (a *app) audit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Export the audit log of this directory's RA or gateway, and verify an export without anybody's help",
		Example: "  bindery audit export --of ra --dir B > audit.jsonl\n" +
			"  bindery audit verify --of ra audit.jsonl --dir A\n" +
			"  bindery audit join monday.jsonl tuesday.jsonl --dir B",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.auditExport(), a.auditVerify(), a.auditJoin())
	return cmd
}

// auditOf adds the flag that says whose log is meant.
func auditOf(cmd *cobra.Command) (of func() (string, error)) {
	flag := cmd.Flags().String("of", audit.LogRA, "whose log: "+audit.LogRA+" or "+audit.LogGateway)
	return func() (string, error) {
		if *flag != audit.LogRA && *flag != audit.LogGateway {
			return "", usagef("there are: --of "+audit.LogRA+", --of "+audit.LogGateway, "there is no audit log of %q", *flag)
		}
		return *flag, nil
	}
}

// auditOwner is how a person calls the owner of a log.
func auditOwner(of string) string {
	if of == audit.LogGateway {
		return "gateway"
	}
	return "RA"
}

func (a *app) auditExport() *cobra.Command {
	var from int64
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the audit log of this directory's RA or gateway, and a head that its key signs over it",
		Long: "Print the audit log of this directory's RA or gateway, one row a line, and as the last\n" +
			"line a head that its key signs over them. No row holds a token, a limit, a clearance_id,\n" +
			"or the arguments or the answer of a call. A log that was changed is printed up to the row\n" +
			"that does not hold, without a head.",
		Example: "  bindery audit export --of ra --dir B > audit.jsonl\n" +
			"  bindery audit export --of gateway --dir B --from 1201 > later.jsonl",
		Args: cobra.NoArgs,
	}
	whose := auditOf(cmd)
	cmd.RunE = func(c *cobra.Command, _ []string) error {
		of, err := whose()
		if err != nil {
			return err
		}
		if of == audit.LogGateway {
			return a.exportGatewayAudit(c.Context(), from)
		}
		h, err := a.home()
		if err != nil {
			return err
		}
		if !h.RA.Own {
			return usage("this directory has no RA of its own", "run it in the directory of the RA; a gateway's log is had with --of gateway")
		}
		n, err := openNode(c.Context(), h, nodeOptions{})
		if err != nil {
			return err
		}
		defer n.Close()
		return a.exportAudit(c.Context(), n, from)
	}
	cmd.Flags().Int64Var(&from, "from", 1, "the first row, by its seq")
	return cmd
}

func (a *app) exportAudit(ctx context.Context, n *node, from int64) error {
	return a.printExport(audit.LogRA, from, func(write func([]byte) error) error {
		err := n.registry.ExportAudit(ctx, registry.Actor{Role: api.RoleOperator}, from, write)
		if errors.Is(err, &api.Error{Code: api.CodeMalformed}) {
			return audit.ErrNoRow
		}
		return err
	})
}

// printExport prints the lines that an export writes, and what ends it.
func (a *app) printExport(of string, from int64, export func(write func(line []byte) error) error) error {
	out := bufio.NewWriterSize(a.out, 64<<10)
	err := export(func(line []byte) error {
		_, err := fmt.Fprintf(out, "%s\n", line)
		return err
	})
	flushed := out.Flush()
	var fault *audit.Fault
	switch {
	case errors.As(err, &fault):
		return a.auditBroken(of, "", fault)
	case errors.Is(err, audit.ErrNoRow):
		return usagef("leave --from out for the whole log", "this log has no row %d", from)
	}
	return errors.Join(err, flushed)
}

func (a *app) auditVerify() *cobra.Command {
	var key, thumbprint, head string
	cmd := &cobra.Command{
		Use:   "verify FILE|-",
		Short: "Walk an exported audit log: a changed, removed, added or moved row is named",
		Long: "Walk an exported audit log, without its owner and in any size. The first row that does\n" +
			"not hold is named, and a missing end, or a head that the owner's key has not signed. The\n" +
			"key is the one that --dir knows (the RA that it has pinned, its own gateway), or is given.\n\n" +
			"A log that its owner itself has written anew cannot be told from the export alone: give the\n" +
			"entry_sha256 of a row that you know from an older export with --head.",
		Example: "  bindery audit verify --of ra audit.jsonl --dir A\n" +
			"  bindery audit verify --of ra - --thumbprint 8Tq1dl6PlRb-Gv1fzZZP1gbBl1Q5QUHmXo1M3iLsCq0 < audit.jsonl",
		Args: cobra.ExactArgs(1),
	}
	whose := auditOf(cmd)
	cmd.RunE = func(c *cobra.Command, args []string) error {
		of, err := whose()
		if err != nil {
			return err
		}
		pin, err := a.auditKey(of, key, thumbprint)
		if err != nil {
			return err
		}
		v := audit.NewVerifier(of, pin)
		if head != "" {
			known, err := jcs.ParseHex256(head)
			if err != nil {
				return usagef("it is an entry_sha256, 64 lower-case hex digits", "--head %q is no entry", head)
			}
			v.Known(known)
		}
		return a.verifyAudit(c.Context(), v, of, args[0])
	}
	cmd.Flags().StringVar(&key, "key", "", "the owner's public key: a JWK, or a file that holds it")
	cmd.Flags().StringVar(&thumbprint, "thumbprint", "", "the owner's public key, by its RFC 7638 thumbprint")
	cmd.Flags().StringVar(&head, "head", "", "the entry_sha256 of a row that you know of; it must be there")
	return cmd
}

// auditKey is the thumbprint of the key that must have signed.
func (a *app) auditKey(of, key, thumbprint string) (string, error) {
	switch {
	case thumbprint != "" && key != "":
		return "", usage("--key and --thumbprint name the same thing", "give one of them")
	case thumbprint != "":
		return thumbprint, auditThumbprint(thumbprint)
	case key != "":
		return keyThumbprint(key)
	}
	h, err := a.home()
	if err != nil {
		return "", usage("nothing says whose log this must be", "give --dir of a directory that knows the "+auditOwner(of)+", or --key, or --thumbprint")
	}
	if of == audit.LogGateway {
		k, err := h.Keys[gatewayKey].public()
		if err != nil {
			return "", usagef("give --key or --thumbprint", "%s has no gateway's key", h.dir)
		}
		return k.ID, nil
	}
	keys, err := h.RA.pinned()
	if err != nil || len(keys.Keys()) == 0 {
		return "", usagef("give --key or --thumbprint; a gateway's log is verified with --of gateway", "%s has no RA's key pinned", h.dir)
	}
	return keys.Keys()[0].ID, nil
}

func auditThumbprint(thumbprint string) error {
	if b, err := jose.DecodeBase64(thumbprint); err != nil || len(b) != 32 {
		return usagef("it is the base64url of 32 bytes", "--thumbprint %q is none", thumbprint)
	}
	return nil
}

// keyThumbprint is the thumbprint of a JWK, or of a file that holds one.
func keyThumbprint(key string) (string, error) {
	b := []byte(key)
	if !strings.HasPrefix(key, "{") {
		var err error
		if b, err = readLimited(key, 16<<10); err != nil {
			return "", usagef("give a JWK, or a file that holds one", "--key %q cannot be read", key)
		}
	}
	v, err := jcs.Parse(b)
	if err != nil {
		return "", usage("--key is no JWK", "give a public key on P-256 as a JWK")
	}
	k, err := jose.ParseJWK(v)
	if err != nil {
		return "", usage("--key is no JWK", "give a public key on P-256 as a JWK")
	}
	return k.ID, nil
}

func (a *app) verifyAudit(ctx context.Context, v *audit.Verifier, of, arg string) error {
	gaps := int64(0)
	v.Entries(func(e audit.Entry) error {
		if e.Event == audit.EventLost {
			gaps++
		}
		return nil
	})
	head, err := a.walkAudit(ctx, v, of, arg, "")
	if err != nil {
		return err
	}
	if a.json {
		m := append(headMembers(head, v.Key()), jcs.Member{Name: "integrity", Value: jcs.Bool(true)})
		if of == audit.LogGateway {
			m = append(m, jcs.Member{Name: "gaps", Value: jcs.Int(gaps)})
		}
		a.print(jcs.Object(m...))
		return nil
	}
	a.line("the audit log of the %s holds: rows %d to %d, head %s", auditOwner(of), head.From, head.Seq, head.Entry)
	a.line("signed %s by the key %s", head.At.Format(time.RFC3339), v.Key().ID)
	if gaps > 0 {
		a.line("the gateway itself says at %d rows that entries of unbound calls could not be written", gaps)
	}
	return nil
}

// headMembers are a head and the key that has signed it.
func headMembers(head audit.Head, key jose.Key) []jcs.Member {
	return []jcs.Member{
		{Name: "of", Value: jcs.String(head.Of)},
		{Name: "from", Value: jcs.Int(head.From)},
		{Name: "seq", Value: jcs.Int(head.Seq)},
		{Name: "entry_sha256", Value: jcs.String(string(head.Entry))},
		{Name: "at", Value: jcs.String(head.At.Format(time.RFC3339Nano))},
		{Name: "key", Value: jcs.String(key.ID)},
	}
}

// walkAudit gives an export to v. A verdict that it does not hold is printed; it names the
// file if there are several.
func (a *app) walkAudit(ctx context.Context, v *audit.Verifier, of, arg, file string) (audit.Head, error) {
	head, err := await(ctx, func() (audit.Head, error) {
		if arg == "-" {
			return verifyLines(v, a.in)
		}
		f, err := os.Open(arg)
		if err != nil {
			return audit.Head{}, err
		}
		defer f.Close()
		return verifyLines(v, f)
	})
	var fault *audit.Fault
	switch {
	case errors.As(err, &fault):
		return head, a.auditBroken(of, file, fault)
	case errors.Is(err, audit.ErrJoinLimit):
		return head, err
	case err != nil:
		return head, usagef("give an export, or - for standard input", "%s cannot be read", inputName(arg))
	}
	return head, nil
}

// verifyLines gives v each line of in, and keeps none. Any error that is no [*audit.Fault]
// is in's.
func verifyLines(v *audit.Verifier, in io.Reader) (audit.Head, error) {
	r := bufio.NewReaderSize(in, audit.MaxLine+2)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err == nil:
			line = line[:len(line)-1]
		case errors.Is(err, io.EOF) && len(line) == 0:
			return v.End()
		case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
			line = append(line, '\n') // no line has one: it was cut, or is too long
		default:
			return audit.Head{}, err
		}
		if err := v.Line(line); err != nil {
			return audit.Head{}, err
		}
	}
}

// auditBroken prints the verdict on a log that does not hold.
func (a *app) auditBroken(of, file string, f *audit.Fault) error {
	place := fmt.Sprintf("row %d does not hold (line %d)", f.Seq, f.Line)
	if f.Seq == 0 {
		place = fmt.Sprintf("line %d does not hold", f.Line)
	}
	if file != "" {
		place = shownName(file) + ": " + place
	}
	what := place + ": " + auditRule(f.Rule, auditOwner(of))
	a.say("bindery: %s", what)
	a.jsonError(auditCode, "audit "+f.Rule, "", visible(what))
	return errVerdict
}

// auditRule says a rule of package audit in words, of a log of this owner.
func auditRule(rule, owner string) string {
	switch rule {
	case audit.RuleForm:
		return "form: it is no line of an export as it was written"
	case audit.RuleSequence:
		return "sequence: another row stands in its place"
	case audit.RulePrevious:
		return "previous: it does not follow the row before it"
	case audit.RuleEntry:
		return "entry: its hash is not that of what it says"
	case audit.RuleKey:
		return "key: the head bears another key than the " + owner + "'s"
	case audit.RuleSignature:
		return "signature: the " + owner + "'s key has not signed this head of its log"
	case audit.RuleMissing:
		return "missing: the head covers it, and it is not there"
	case audit.RuleUncovered:
		return "uncovered: the head covers no such row, or another in its place"
	case audit.RuleEnd:
		return "end: there is no head, so the end is missing"
	case audit.RuleAfter:
		return "after: it stands after the head"
	case audit.RuleKnown:
		return "known: the entry that you know is not in this log"
	}
	return rule
}
