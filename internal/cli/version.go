package cli

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and the specification it implements",
		Example: "  bindery version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				a.print(jcs.Object(
					jcs.Member{Name: "version", Value: jcs.String(versionString())},
					jcs.Member{Name: "extension", Value: jcs.String(crossing.URI)},
				))
				return nil
			}
			a.print([]byte("bindery " + versionString() + ", Governed Crossing v0.4.4 (" + crossing.URI + ")"))
			return nil
		},
	}
}

// versionString is the module's version, or "devel" for a build from a work tree.
func versionString() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
