package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// maxTask is the largest task or artifact that is read.
const maxTask = 1 << 20

func (a *app) inspect() *cobra.Command {
	var vaURL string
	var resolve bool
	cmd := &cobra.Command{
		Use:   "inspect TASK.json",
		Short: "Read the Crossing Seal in an A2A task or artifact; it is unresolved until it is resolved",
		Long: "Read the Crossing Seal in an A2A task or artifact, among whatever other metadata is\n" +
			"there. A block proves nothing by itself: it is shown as unresolved, unless --resolve\n" +
			"or --va has it resolved.",
		Example: "  bindery inspect task.json\n  bindery inspect task.json --va http://127.0.0.1:7410",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			b, err := a.read(c.Context(), args[0], maxTask, "give a JSON file, or - for standard input")
			if err != nil {
				return err
			}
			v, err := (jcs.Profile{Numbers: jcs.DoubleNumbers}).Parse(b)
			if err != nil {
				return usagef("give the task as it was received", "%s is no strict JSON: %v", inputName(args[0]), err)
			}
			block, found := findBlock(v, 0)
			if !found {
				a.say("bindery: no Crossing Seal in it; the core task state says nothing about a commitment")
				if a.json {
					a.print(jcs.Object(jcs.Member{Name: "status", Value: jcs.String("no seal")}))
				}
				return errVerdict
			}
			if vaURL == "" && !resolve {
				return a.printBlock(block, "unresolved", jcs.Value{})
			}
			ask, err := a.verifier(c.Context(), vaURL)
			if err != nil {
				return err
			}
			defer ask.close()
			result, err := ask.verdict(c.Context(), block.SealID)
			if err != nil {
				return err
			}
			if seal, _ := result.Get("seal").Text(); !verified(result) || seal != string(block.Seal) {
				if err := a.printBlock(block, "not verified", result); err != nil {
					return err
				}
				return errVerdict
			}
			return a.printBlock(block, "verified", result)
		},
	}
	cmd.Flags().StringVar(&vaURL, "va", "", "resolve it at this Verification Authority")
	cmd.Flags().BoolVar(&resolve, "resolve", false, "resolve it at the authority that --dir has pinned")
	return cmd
}

// findBlock looks for the first well-formed block under the extension's URI: in a task,
// its artifacts, a JSON-RPC answer around it, or the block's own object.
func findBlock(v jcs.Value, depth int) (*crossing.Block, bool) {
	if depth > 16 {
		return nil, false
	}
	if v.Type() == jcs.ObjectType {
		if b, err := crossing.ParseBlock(v); err == nil {
			return b, true
		}
		for _, m := range v.Members() {
			if b, ok := findBlock(m, depth+1); ok {
				return b, true
			}
		}
	}
	if v.Type() == jcs.ArrayType {
		for item := range v.Items() {
			if b, ok := findBlock(item, depth+1); ok {
				return b, true
			}
		}
	}
	return nil, false
}

func (a *app) printBlock(b *crossing.Block, status string, verdict jcs.Value) error {
	if a.json {
		m := []jcs.Member{{Name: "status", Value: jcs.String(status)}, {Name: "block", Value: b.Bytes()}}
		if verdict.Type() != jcs.Absent {
			m = append(m, jcs.Member{Name: "verify", Value: verdict.Bytes()})
		}
		a.print(jcs.Object(m...))
		return nil
	}
	a.line("status       %s", status)
	for _, f := range [][2]string{
		{"seal_id", b.SealID}, {"seal", string(b.Seal)}, {"sealed_at", b.SealedAt.Format(time.RFC3339)},
		{"pack", b.Basis.PackID + " " + b.Basis.PackVersion}, {"verify_url", b.VerifyURL},
	} {
		a.line("%-12s %s", f[0], f[1])
	}
	if status == "unresolved" {
		a.line("A block is a pointer and proves nothing; resolve it with: bindery verify %s --va URL", b.SealID)
	}
	return nil
}
