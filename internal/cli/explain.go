package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/docs/requirements"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/jcs"
)

func (a *app) explain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [NAME|ROW]",
		Short: "Say what an error name or a requirement row means, where it comes from, and the usual fix",
		Long: "Say what an error name or a row of the requirement registers means, where it comes from,\n" +
			"and what usually mends it; also of a code of an RA, a VA, the gateway or an\n" +
			"envelope. Without an argument, list the names of a crossing, the gateway and envelopes.",
		Example: "  bindery explain MAGNITUDE_EXHAUSTED\n" +
			"  bindery explain GC-134",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return explainable(strings.ToUpper(begun)), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				a.listNames()
				return nil
			}
			name := strings.ToUpper(args[0])
			if row, ok := crossing.RowOf(crossing.Name(name)); ok {
				return a.explainName(row)
			}
			if row, ok := requirements.Find(name); ok {
				return a.explainRow(row)
			}
			if row, ok := gateway.CodeOf(name); ok {
				return a.explainRefusal(row)
			}
			if a.explainEnvelope(name) {
				return nil
			}
			if a.explainCode(strings.ToLower(args[0])) || a.explainCode(name) {
				return nil
			}
			return usagef("list the names with: bindery explain; a row is named as GC-134", "%q is no error name and no requirement row", args[0])
		},
	}
}

// explainable are the names that begin so, in order.
func explainable(begun string) []string {
	var names []string
	for _, row := range crossing.Table() {
		if strings.HasPrefix(string(row.Name), begun) {
			names = append(names, string(row.Name))
		}
	}
	for _, c := range gateway.Codes() {
		if strings.HasPrefix(c.Name, begun) {
			names = append(names, c.Name)
		}
	}
	for _, n := range envelopeNames() {
		if strings.HasPrefix(n.name, begun) {
			names = append(names, n.name)
		}
	}
	slices.Sort(names)
	return names
}

// listNames prints the names of a crossing, of a gateway and of envelopes, each in its table's order.
func (a *app) listNames() {
	var items [][]byte
	list := func(name, message string) {
		if a.json {
			items = append(items, jcs.String(name))
			return
		}
		fmt.Fprintf(a.out, "%-31s %s\n", name, message)
	}
	for _, row := range crossing.Table() {
		list(string(row.Name), row.Message)
	}
	for _, c := range gateway.Codes() {
		list(c.Name, c.Meaning)
	}
	for _, n := range envelopeNames() {
		list(n.name, n.message)
	}
	if a.json {
		a.print(jcs.Array(items...))
	}
}

func (a *app) explainName(row crossing.Row) error {
	fix := usualFix(row.Name)
	if a.json {
		a.print(jcs.Object(
			jcs.Member{Name: "name", Value: jcs.String(string(row.Name))},
			jcs.Member{Name: "code", Value: jcs.Int(int64(row.Code))},
			jcs.Member{Name: "http", Value: jcs.Int(int64(row.HTTP))},
			jcs.Member{Name: "grpc", Value: jcs.String(row.GRPC)},
			jcs.Member{Name: "failure_path", Value: jcs.String(row.Path)},
			jcs.Member{Name: "message", Value: jcs.String(row.Message)},
			jcs.Member{Name: "fix", Value: jcs.String(fix)},
		))
		return nil
	}
	fmt.Fprintf(a.out, "%s: %s.\n\n", row.Name, row.Message)
	fmt.Fprintf(a.out, "clause   %s\ncode     %d\nHTTP     %d\ngRPC     %s\n\n", row.Path, row.Code, row.HTTP, row.GRPC)
	fmt.Fprintf(a.out, "Usual fix: %s\n", fix)
	return nil
}

func (a *app) explainRow(row requirements.Row) error {
	if a.json {
		a.print(jcs.Object(
			jcs.Member{Name: "id", Value: jcs.String(row.ID)},
			jcs.Member{Name: "label", Value: jcs.String(row.Label)},
			jcs.Member{Name: "level", Value: jcs.String(row.Level)},
			jcs.Member{Name: "clause", Value: jcs.String(row.Clause)},
			jcs.Member{Name: "requirement", Value: jcs.String(row.Requirement)},
			jcs.Member{Name: "test", Value: jcs.String(row.Test)},
		))
		return nil
	}
	heading := row.ID + "  " + row.Level + "  " + row.Clause
	if row.Label != "" {
		heading += "  " + row.Label
	}
	fmt.Fprintf(a.out, "%s\n\n%s\n\nShown by: %s\n", heading, row.Requirement, row.Test)
	return nil
}

// usualFix is what somebody who meets the name honestly does about it.
func usualFix(n crossing.Name) string {
	switch n {
	case crossing.ExtNotActivated:
		return "send the header A2A-Extensions with exactly " + crossing.URI + ", and look for a gateway that strips it."
	case crossing.MandateInvalid:
		return "check that the mandate was registered at the RA that the counterparty knows, by the principal it names, and reached it unchanged: bindery mandate verify TOKEN."
	case crossing.MandateExpired:
		return "grant a new Open with bindery mandate open and begin a new crossing; a Closed lives ten minutes."
	case crossing.MandateAudience:
		return "draw the Closed for the counterparty that verifies it: its aud is that party's principal id."
	case crossing.MandateNonceReplay:
		return "sign a new Closed with a fresh nonce; only the very same bytes may be sent twice."
	case crossing.MandateRevoked:
		return "ask the principal why; a revoked mandate stays dead, so grant a new Open and begin a new crossing."
	case crossing.AgreementHashMismatch:
		return "make the terms one JSON object with a string terms_version, unique names and integers only (R-1, R-2, R-3, R-5), and give both parties the same document."
	case crossing.ClassExceeded:
		return "grant an Open of a class that covers the act, or propose a lower class."
	case crossing.ClassBelowFloor:
		return "propose at least the act's floor: bindery cross --class must not be under it."
	case crossing.MagnitudeExhausted:
		return "the principal grants a new Open; there is no override, and what was drawn comes back from no RA but one in release mode on."
	case crossing.NarrowingViolation:
		return "draw a Closed no wider than its Open, in class, act and magnitude."
	case crossing.CurrencyMismatch:
		return "use the currency of the Open; for another currency the principal grants another Open."
	case crossing.MalformedMandate:
		return "use one of the five class spellings, a listed act, an integer magnitude, and a currency exactly where the class is financial."
	case crossing.MagnitudeMismatch:
		return "let the record assert the same magnitude and class as both Closeds."
	case crossing.CounterpartyNotPermitted:
		return "name the counterparty's principal in permitted_counterparties of a new Open: bindery mandate open --counterparty ID."
	case crossing.RoleMismatch:
		return "use the credential of the role that the route is for; no credential has two."
	case crossing.ServiceHeldMandate:
		return "an effector never spends what a service holds in its own right; the service spends it itself."
	case crossing.MandatePartyMismatch:
		return "build the record from the mandates that were exchanged: hashes, agents, act and crossing_id must be theirs. Seal only after P3."
	case crossing.ChainPositionUnavailable:
		return "try again; if it stays, compare both chains: bindery chain verify."
	case crossing.SealMismatch:
		return "do not act on the agreement. Resolve the crossing_id at the authority, and compare the two records."
	case crossing.SealPending:
		return "nothing was refused: repeat the same call, or bindery cross --crossing-id ID."
	case crossing.RecordMalformed:
		return "the member named beside the error is missing, of another type, or not known in a closed object."
	case crossing.VerifyParams:
		return "name exactly one of seal_id and crossing_id, as a string."
	case crossing.RateLimited:
		return "wait a moment and ask again."
	}
	return "an unknown name is a refusal all the same."
}
