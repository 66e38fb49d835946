package cli_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bindery/bindery/internal/store/pgtest"
)

// password is one that the server does not ask for, and nobody may see.
const password = "s3cr3t-and-long"

// TestPostgresScripts runs the command line on PostgreSQL. Beside the commands of
// TestScripts a script has the variables STORE_A, STORE_B and STORE_C, the URLs of empty
// databases; STORE_B has a password. AWAY and NOWHERE are a server and a database that are
// not there.
//
// covers GC-098, GC-105, GC-216, GC-217, GC-233
func TestPostgresScripts(t *testing.T) {
	with := func(change func(*url.URL)) string {
		u, err := url.Parse(pgtest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	plain := func(*url.URL) {}
	variables := map[string]string{
		"STORE_A": with(plain), "STORE_C": with(plain), "PASSWORD": password,
		"STORE_B": with(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), password) }),
		"NOWHERE": with(func(u *url.URL) { u.Path = "/elsewhere" }),
		"AWAY":    "postgres://bindery:" + password + "@127.0.0.1:1/bindery",
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/postgres",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			for name, value := range variables {
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: commands(),
	})
}
