package envelope_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/envelope"
)

// An agent asks, and the principal's resolution is taken once.
func Example() {
	ctx, ledger := context.Background(), envelope.NewMemory()
	draft := envelope.Draft{
		Synopsis:        "Release the fourth file alone.",
		Findings:        []string{"Three of the four files name patients.", "The board met in March.", "The channel is open since Tuesday."},
		Recommendations: []string{"Send the fourth file.", "Tell the board."},
		Stem:            "Which files go to the institute?",
		Options: []envelope.Option{
			{Label: "Send the fourth file", Reasoning: "It names nobody."},
			{Label: "Send nothing", Reasoning: "Keeps every file in the house."},
		},
	}
	e, err := draft.Build(envelope.Ready())
	if err != nil {
		fmt.Println(err)
		return
	}
	emission := draft.Emission(e)
	emission.Agent, emission.Principal, emission.At = "agent:files", "~dana", time.Unix(1_786_000_000, 0)
	if err := ledger.Emit(ctx, emission); err != nil {
		fmt.Println(err)
		return
	}

	// … the envelope is shown, and this comes back:
	resolution := fmt.Appendf(nil, `{"envelope_digest":%q,"resolution":"option","option_idx":1}`, e.Digest())
	from := envelope.Arrival{Agent: "agent:files", By: "~dana", At: time.Unix(1_786_000_060, 0)}
	for range 2 {
		decision, err := envelope.Settle(ctx, ledger, resolution, from)
		if errors.Is(err, envelope.ErrTaken) {
			fmt.Println(err)
			continue
		}
		idx, _ := decision.Resolution.OptionIdx()
		fmt.Println(e.Options()[idx].Label)
	}
	// Output:
	// Send nothing
	// RESOLUTION_TAKEN: /envelope_digest: is the digest of an envelope that is resolved (ENV-079)
}

// A hedged synopsis builds nothing, and says what to do.
func ExampleDraft_Build() {
	draft := envelope.Draft{
		Synopsis: "It depends on the board.",
		Stem:     "Which files go to the institute?",
		Options:  []envelope.Option{{Label: "Send one", Reasoning: "It names nobody."}, {Label: "Send none", Reasoning: "Keeps them here."}},
	}
	_, err := draft.Build(envelope.Ready())
	fmt.Println(err)
	// Output:
	// envelope: /synopsis: hedge: the synopsis balances or softens instead of taking a position; say what you would do, and put the doubt among the findings; if you cannot, return a deliberation instead (ENV-017)
}
