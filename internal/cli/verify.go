package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
)

// errVerdict ends a command whose verdict, printed already, is not a yes.
var errVerdict = errors.New("not verified")

func (a *app) verify() *cobra.Command {
	var vaURL, recordFile string
	cmd := &cobra.Command{
		Use:   "verify SEAL_OR_CROSSING_ID",
		Short: "Resolve a seal at the Verification Authority and apply the checks of §6.2",
		Long: "Resolve a seal at the Verification Authority and apply the checks of §6.2. With the\n" +
			"record, from this directory or --record, the seal is recomputed and compared.\n" +
			"A seal that does not resolve is a commitment that was not made.",
		Example: "  bindery verify canal-mf2k3x1a-0123456789ab --dir A\n" +
			"  bindery verify canal-mf2k3x1a-0123456789ab --va http://127.0.0.1:7410",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			v, err := a.verifier(c.Context(), vaURL)
			if err != nil {
				return err
			}
			defer v.close()
			if recordFile != "" {
				if v.record, err = readRecord(c.Context(), recordFile); err != nil {
					return err
				}
			}
			result, err := v.verdict(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printVerdict(result, v.pinned)
		},
	}
	cmd.Flags().StringVar(&vaURL, "va", "", "ask this Verification Authority, for this call")
	cmd.Flags().StringVar(&recordFile, "record", "", "compare with the record in this JSON file")
	return cmd
}

// verifier asks one authority.
type verifier struct {
	va     centre.Verifier
	node   *node // nil without a directory
	pinned bool  // the authority's key is pinned
	record jcs.Value
}

func (v *verifier) close() {
	if v.node != nil {
		_ = v.node.Close()
	}
}

// verifier takes the authority that the directory has pinned, or the one that the user
// names (design V5).
func (a *app) verifier(ctx context.Context, vaURL string) (*verifier, error) {
	h, homeErr := a.home()
	if homeErr != nil && a.dir != "" {
		return nil, homeErr // the directory was named, so it is meant
	}
	if vaURL == "" && homeErr != nil {
		return nil, usage("no Verification Authority is known here", "name one with --va URL, or a party's directory with --dir")
	}
	v := &verifier{}
	if homeErr == nil {
		n, err := openNode(ctx, h, nodeOptions{})
		if err != nil {
			return nil, err
		}
		if v.node = n; n.centre == nil && vaURL == "" {
			vaURL = "http://" + h.Addr
		}
	}
	if vaURL == "" {
		v.va, v.pinned = v.node.va, true
		return v, nil
	}
	var err error
	if v.va, err = named(ctx, vaURL); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// named is an authority that only the user's word points to: its key is the one that it
// publishes itself, so its signature shows no more than that its answers belong together.
func named(ctx context.Context, vaURL string) (centre.Verifier, error) {
	c, err := client.New(client.Config{BaseURL: vaURL})
	if err != nil {
		return nil, usagef("give a URL such as https://verify.example", "--va: %v", err)
	}
	keys, err := c.Authority().JWKS(ctx)
	if err != nil {
		return nil, &unknownError{vaURL + " gives no answer", "is a Verification Authority serving there?"}
	}
	if c, err = client.New(client.Config{BaseURL: vaURL, Keys: keys}); err != nil {
		return nil, err
	}
	return remoteVA{c.Authority()}, nil
}

// verdict resolves an identifier, and asks again with the record if this party holds it.
func (v *verifier) verdict(ctx context.Context, id string) (jcs.Value, error) {
	req := api.VerifyRequest{SealID: id, Record: v.record}
	if crossing.ValidCrossingID(id) {
		req.SealID, req.CrossingID = "", id
	}
	result, err := v.ask(ctx, req)
	if err != nil || v.record.Type() != jcs.Absent || v.node == nil || v.node.centre == nil {
		return result, err
	}
	crossingID, _ := result.Get("crossing_id").Text()
	record, _, err := v.node.centre.Holds(ctx, crossingID)
	if errors.Is(err, centre.ErrNone) {
		return result, nil
	}
	if err != nil {
		return jcs.Value{}, err
	}
	if req.Record, err = jcs.Parse(record); err != nil {
		return jcs.Value{}, err
	}
	return v.ask(ctx, req)
}

func (v *verifier) ask(ctx context.Context, req api.VerifyRequest) (jcs.Value, error) {
	b, err := v.va.Verify(ctx, req)
	if err != nil {
		return jcs.Value{}, err
	}
	return jcs.Parse(b)
}

func readRecord(ctx context.Context, path string) (jcs.Value, error) {
	b, err := await(ctx, func() ([]byte, error) { return readLimited(path, crossing.MaxRecord+1) })
	if err != nil {
		return jcs.Value{}, usagef("give a JSON file with --record", "%s cannot be read", shownName(path))
	}
	v, err := jcs.Parse(b)
	if err != nil || v.Type() != jcs.ObjectType {
		return jcs.Value{}, crossing.Refuse(crossing.RecordMalformed)
	}
	return v, nil
}

// checkNames are those of §6.2 in the order of the specification.
var checkNames = [...]string{"resolves", "seal_matches", "chain_consistent", "basis_present", "not_superseded"}

// verified reports whether every check that could be made holds.
func verified(result jcs.Value) bool {
	for _, name := range checkNames {
		check := result.Get("checks").Get(name)
		if ok, _ := check.Bool(); !ok && check.Type() != jcs.NullType {
			return false
		}
	}
	ok, _ := result.Get("checks").Get("resolves").Bool()
	return ok
}

func (a *app) printVerdict(result jcs.Value, pinned bool) error {
	if a.json {
		a.print(withDeviations(result))
	} else {
		a.verdictText(result, pinned)
	}
	if !verified(result) {
		return errVerdict
	}
	return nil
}

// withDeviations adds the member deviations to a resolved verdict (design V5).
func withDeviations(result jcs.Value) []byte {
	var m []jcs.Member
	for name, v := range result.Members() {
		m = append(m, jcs.Member{Name: name, Value: v.Bytes()})
	}
	if url, ok := result.Get("verify_url").Text(); ok {
		var items [][]byte
		for _, row := range centre.Deviations(url) {
			items = append(items, jcs.String(row))
		}
		m = append(m, jcs.Member{Name: "deviations", Value: jcs.Array(items...)})
	}
	return jcs.Object(m...)
}

func (a *app) verdictText(result jcs.Value, pinned bool) {
	text := func(name string) string { s, _ := result.Get(name).Text(); return s }
	if ok, _ := result.Get("checks").Get("resolves").Bool(); !ok {
		a.line("does not resolve: a seal that does not resolve is a commitment that was not made")
		return
	}
	word := map[bool]string{true: "verified", false: "NOT verified"}[verified(result)]
	a.line("%s by %s", word, text("verified_by"))
	for _, name := range [...]string{"seal_id", "crossing_id", "seal", "sealed_at", "pack_id", "pack_version"} {
		a.line("  %-18s %s", name, text(name))
	}
	for _, name := range checkNames {
		answer := "not checked: no record was supplied"
		if ok, is := result.Get("checks").Get(name).Bool(); is {
			answer = map[bool]string{true: "yes", false: "NO"}[ok]
		}
		a.line("  %-18s %s", name, answer)
	}
	if !pinned {
		a.line("  the authority's key is not pinned here: it is the one that the authority itself publishes")
	}
	if rows := centre.Deviations(text("verify_url")); len(rows) > 0 {
		a.line("  deviations         %s", strings.Join(rows, ", "))
	}
}
