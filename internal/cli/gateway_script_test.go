package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// gatewayCommands are those of the scripts about gateways:
//
//	answering URL              wait until something answers there, whatever it says
//	gatewaywith DIR FILE       the member gateway of DIR's configuration is what FILE says
//	configure DIR ADDR         the member gateway is one upstream, at ADDR, of a DIR that is served
func gatewayCommands(all map[string]func(*testscript.TestScript, bool, []string)) map[string]func(*testscript.TestScript, bool, []string) {
	all["answering"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: answering URL")
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			resp, err := http.Get(args[0])
			if err == nil {
				_ = resp.Body.Close()
				return
			}
			if time.Now().After(deadline) {
				ts.Fatalf("nobody answers: %v", err)
			}
		}
	}
	all["gatewaywith"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: gatewaywith DIR FILE")
		}
		gatewayWith(ts, args[0], ts.ReadFile(args[1]))
	}
	all["configure"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: configure DIR ADDR")
		}
		serving(ts, args[0]) // so that it is seen to wait first
		gatewayWith(ts, args[0], fmt.Sprintf(`{"addr":%q,"upstreams":[{"name":"bank","command":["counting"]}]}`, args[1]))
	}
	return all
}

// serving waits until the private listener of a directory answers.
func serving(ts *testscript.TestScript, dir string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		c, err := readConfig(ts.MkAbs(dir))
		if err == nil {
			var resp *http.Response
			if resp, err = http.Get("http://" + c.AdminAddr + "/metrics"); err == nil {
				_ = resp.Body.Close()
				return
			}
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s is not served: %v", dir, err)
		}
	}
}

func gatewayWith(ts *testscript.TestScript, dir, text string) {
	path := filepath.Join(ts.MkAbs(dir), "config.json")
	var c map[string]json.RawMessage
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(path)), &c))
	c["gateway"] = json.RawMessage(strings.TrimSpace(text))
	b, err := json.Marshal(c)
	ts.Check(err)
	ts.Check(os.WriteFile(path+".new", b, 0o600))
	ts.Check(os.Rename(path+".new", path))
}
