package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/jcs"
)

func (a *app) keys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "The private keys of a directory: list them, encrypt them, change what opens them",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.keysList(), a.keysEncrypt(), a.keysPasswd())
	return cmd
}

func (a *app) keysList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the keys: name, thumbprint, and where the private half is",
		Example: "  bindery keys list --dir A",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := a.home()
			if err != nil {
				return err
			}
			return a.listKeys(h)
		},
	}
}

func (a *app) listKeys(h *home) error {
	var items [][]byte
	for _, name := range slices.Sorted(maps.Keys(h.Keys)) {
		public, err := h.Keys[name].public()
		if err != nil {
			return usagef("restore it", "%s has no public key %s", filepath.Join(h.dir, configFile), name)
		}
		where := h.where(name)
		items = append(items, jcs.Object(
			jcs.Member{Name: "name", Value: jcs.String(name)},
			jcs.Member{Name: "thumbprint", Value: jcs.String(public.ID)},
			jcs.Member{Name: "private", Value: jcs.String(where)},
		))
		if !a.json {
			a.line("%-10s %s  %s", name, public.ID, where)
		}
	}
	switch {
	case a.json:
		a.print(jcs.Array(items...))
	case len(items) == 0:
		a.say("its keys are not encrypted; try: bindery keys encrypt --dir %s", h.dir)
	}
	return nil
}

// where says in words where the private half of a key is.
func (h *home) where(name string) string {
	switch {
	case h.Keys[name].Signer != nil:
		return "in the program " + strings.Join(h.Keys[name].Signer.Exec, " ")
	case h.Throwaway != "":
		return "in clear, in a demo's directory"
	case fileExists(h.keyPath(name, clearKey)):
		return "in clear; bindery keys encrypt encrypts it"
	case h.Passphrase:
		return "encrypted; a passphrase opens it"
	}
	return "encrypted; " + h.keyFilePath() + " opens it"
}

func (a *app) keysEncrypt() *cobra.Command {
	var p protection
	cmd := &cobra.Command{
		Use:   "encrypt",
		Short: "Encrypt the private keys of a directory that are in clear",
		Long: "Encrypt the private keys of a directory that are in clear. They are opened by a\n" +
			"passphrase that is asked at the terminal, or by a key file: --key-file, else age.key\n" +
			"in the directory where there is no terminal. It can be interrupted and run again.",
		Example: "  bindery keys encrypt --dir A\n  bindery keys encrypt --dir A --key-file /media/stick/a.key",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := a.home()
			if err != nil {
				return err
			}
			p.ask = a.asker(c.Context())
			names, err := h.encrypt(p)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				a.say("no key of %s is in clear", h.dir)
			} else {
				a.say("encrypted: %s", strings.Join(names, ", "))
				a.sayOpener(h)
			}
			a.printKeys(h, names)
			return nil
		},
	}
	cmd.Flags().StringVar(&p.keyFile, "key-file", "", "an age identity that opens them; made if it is not there")
	return cmd
}

func (a *app) keysPasswd() *cobra.Command {
	var p protection
	cmd := &cobra.Command{
		Use:   "passwd",
		Short: "Change what opens the private keys: another passphrase, or a key file",
		Long: "Change what opens the private keys: to a passphrase that is asked at the terminal, or,\n" +
			"with --key-file, to a file. What opened them before opens them no more. It can be\n" +
			"interrupted and run again.",
		Example: "  bindery keys passwd --dir A\n  bindery keys passwd --dir A --key-file /media/stick/a.key",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := a.home()
			if err != nil {
				return err
			}
			p.ask = a.asker(c.Context())
			names, err := h.reopen(p)
			if err != nil {
				return err
			}
			a.sayOpener(h)
			a.printKeys(h, names)
			return nil
		},
	}
	cmd.Flags().StringVar(&p.keyFile, "key-file", "", "an age identity that is to open them; made if it is not there")
	return cmd
}

// sayOpener tells what opens the keys from now on.
func (a *app) sayOpener(h *home) {
	switch {
	case h.Throwaway != "":
	case h.Passphrase:
		a.say("its keys are encrypted; the passphrase opens them, and nothing else does")
	default:
		a.say("its keys are encrypted; %s opens them: whoever has it has the keys", h.keyFilePath())
	}
}

func (a *app) printKeys(h *home, names []string) {
	if !a.json {
		return
	}
	var items [][]byte
	for _, name := range names {
		items = append(items, jcs.String(name))
	}
	a.print(jcs.Object(
		jcs.Member{Name: "dir", Value: jcs.String(h.dir)},
		jcs.Member{Name: "keys", Value: jcs.Array(items...)},
	))
}
