package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/jcs"
)

// maxDocument is all that is read of a document: the profile's 16 MiB, and the one byte
// that shows that there is more.
const maxDocument = 16<<20 + 1

// refusalHelp is what canon and digest say of a document that they refuse.
const refusalHelp = "The integer profile prints as RFC 8785 does, and accepts less: unique names, integers up\n" +
	"to 2^53-1 in any spelling and no other numbers, at most 64 levels and 16 MiB. What it\n" +
	"refuses has exit code 1, nothing on stdout, and on stderr the one line\n\n" +
	"  FILE:OFFSET (LINE:COLUMN): KIND: rule\n\n" +
	"OFFSET counts bytes from 0. LINE and COLUMN count from 1: lines by their line feeds,\n" +
	"columns in bytes. KIND is syntax, utf8, surrogate, duplicate, number, depth or size.\n" +
	"Without FILE, or with -, the document is standard input, and FILE is stdin."

func (a *app) canon() *cobra.Command {
	return &cobra.Command{
		Use:   "canon [FILE|-]",
		Short: "Print the canonical bytes of a JSON document under the integer profile",
		Long:  "Print the canonical bytes of one JSON document, and no line feed after them.\n\n" + refusalHelp,
		Example: "  bindery canon terms.json > terms.canonical.json\n" +
			"  echo '{\"b\": 1.0, \"a\": [true]}' | bindery canon\n" +
			"  bindery canon terms.json | cmp - terms.json && echo canonical",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeDocument,
		RunE: func(c *cobra.Command, args []string) error {
			return a.answer(c.Context(), args, func(document []byte) ([]byte, error) {
				return jcs.Append(nil, document)
			})
		},
	}
}

func (a *app) digest() *cobra.Command {
	var alg string
	var bare bool
	cmd := &cobra.Command{
		Use:   "digest [FILE|-]",
		Short: "Print the digest of a JSON document's canonical bytes",
		Long: "Print the digest of the canonical bytes of one JSON document, as sha256: or sha384: and\n" +
			"lower-case hex digits. Two spellings of one document have one digest.\n\n" + refusalHelp,
		Example: "  bindery digest terms.json\n" +
			"  bindery digest --bare terms.json\n" +
			"  bindery canon terms.json | bindery digest --alg sha384",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeDocument,
		RunE: func(c *cobra.Command, args []string) error {
			sum, ok := digester(alg)
			if !ok {
				return usagef("give sha256 or sha384", "--alg %q is no algorithm of a digest", alg)
			}
			return a.answer(c.Context(), args, func(document []byte) ([]byte, error) {
				d, err := sum(document)
				if err != nil {
					return nil, err
				}
				return a.digestLine(string(d), bare), nil
			})
		},
	}
	cmd.Flags().StringVar(&alg, "alg", "sha256", "sha256 or sha384")
	cmd.Flags().BoolVar(&bare, "bare", false, "print the hex digits alone, as the crossing spells a digest")
	// It fails for a flag that is not there, or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc("alg", cobra.FixedCompletions([]string{"sha256", "sha384"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func digester(alg string) (sum func([]byte) (jcs.Digest, error), ok bool) {
	switch alg {
	case "sha256":
		return jcs.Digest256, true
	case "sha384":
		return jcs.Digest384, true
	}
	return nil, false
}

func (a *app) digestLine(digest string, bare bool) []byte {
	if bare {
		_, digest, _ = strings.Cut(digest, ":")
	}
	if a.json {
		digest = string(jcs.Object(jcs.Member{Name: "digest", Value: jcs.String(digest)}))
	}
	return []byte(digest + "\n")
}

// completeDocument completes one file name, and nothing after it.
func completeDocument(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// answer reads the one document that args name and writes what compute makes of it. The
// whole of it is read first: of several faults the profile reports the one of size before
// any other, so none is known earlier than the end of the input or its first byte too many.
func (a *app) answer(ctx context.Context, args []string, compute func(document []byte) ([]byte, error)) error {
	arg := "-"
	if len(args) > 0 {
		arg = args[0]
	}
	document, err := a.readArg(ctx, arg, maxDocument)
	if err != nil {
		return usagef("give a JSON file, or - for standard input", "%s cannot be read", inputName(arg))
	}
	result, err := compute(document)
	var fault *jcs.Error
	switch {
	case errors.As(err, &fault):
		return a.faulty(arg, document, fault)
	case err != nil:
		return err
	}
	_, _ = a.out.Write(result) // a.out keeps the error
	return nil
}

// faulty tells a refusal as compilers do, so that an editor can jump to it. Nothing of the
// document is in it: what stands there may be a secret, or write to a terminal.
func (a *app) faulty(arg string, document []byte, fault *jcs.Error) error {
	name := "stdin"
	if arg != "-" {
		name = shownName(arg)
	}
	line, column := position(document, fault.Offset)
	a.say("%s:%d (%d:%d): %s: %s", name, fault.Offset, line, column, fault.Kind, fault.Rule)
	if a.json {
		a.print(jcs.Object(jcs.Member{Name: "error", Value: jcs.Object(
			jcs.Member{Name: "error", Value: jcs.String(fault.Kind.String())},
			jcs.Member{Name: "message", Value: jcs.String(fault.Rule)},
			jcs.Member{Name: "offset", Value: jcs.Int(int64(fault.Offset))},
			jcs.Member{Name: "line", Value: jcs.Int(int64(line))},
			jcs.Member{Name: "column", Value: jcs.Int(int64(column))},
		)}))
	}
	return errVerdict
}

// position is the line and the column, both from 1, of the byte at offset: lines by their
// line feeds, so that CR LF ends one line, and columns in bytes.
func position(document []byte, offset int) (line, column int) {
	before := document[:min(offset, len(document))]
	return 1 + bytes.Count(before, []byte{'\n'}), len(before) - bytes.LastIndexByte(before, '\n')
}
