package gateway_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is the command line of a server on standard input and output: this test binary again.
func program(kind string, args ...string) []string {
	return append([]string{os.Args[0], "-test.run=^TestProgram$", "--", kind}, args...)
}

// TestProgram is the server itself, where program has started it.
func TestProgram(*testing.T) {
	switch flag.Arg(0) {
	case "raw":
		rawServer()
		os.Exit(0)
	case "deaf": // reads nothing, and does not end when it is asked to
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("{}")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
}

// rawServer answers with bytes that no library writes, and says what it got in them. A tools/call has
// its effect, a line in the file that is its argument "file", and goes on as its "plan" says.
func rawServer() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var m rawMessage
		_ = json.Unmarshal([]byte(line), &m)
		m.got, _ = json.Marshal(strings.TrimSuffix(line, "\n"))
		m.answer()
	}
}

type rawMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments struct{ File, Plan string }
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	got []byte
}

func (m *rawMessage) result(members string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{%s}}`+"\n", m.ID, members)
}

func (m *rawMessage) answer() {
	switch {
	case m.ID == nil:
		fmt.Printf(`{"method" : "notifications/got","jsonrpc":"2.0", "params":{"got":%s,"got":1e400}}`+"\n", m.got)
	case m.Method == "environ":
		all, _ := json.Marshal(os.Environ())
		m.result(`"environ":` + string(all))
	case m.Method == "pid", m.Method == "initialize":
		m.result(fmt.Sprintf(`"protocolVersion":"2025-11-25","pid":%d`, os.Getpid()))
	case m.Method == "twice":
		m.result(`"n":1`)
		m.result(`"n":2`)
	case m.Method == "respelled", m.Method == "tools/call" && m.Params.Arguments.Plan == "respelled":
		var id any
		_ = json.Unmarshal(m.ID, &id)
		m.ID, _ = json.Marshal(id)
		m.result(`"content":[]`)
	case m.Method == "silent":
	case m.Method == "die":
		os.Exit(7)
	case m.Method == "sly": // answers that a careless reader takes for something else
		fmt.Printf(`{"jsonrpc":"2.0","\u0069d":%s,"result":{"sly":1}}`+"\n"+`{"jsonrpc":"2.0","ID":%s,"RESULT":{"sly":2}}`+"\n", m.ID, m.ID)
		m.result(`"sly":0`)
	case m.Method == "steps":
		time.Sleep(30 * time.Millisecond) // others have asked by then
		fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":%s}}`+"\n", m.Params.Meta.ProgressToken)
		m.result(`"id":` + string(m.ID))
	case m.Method == "tools/call":
		m.call()
	default:
		fmt.Printf(`{ "result":{"got":%s,"x":1.0,"x":1e400,"z":"\u00e9\/"}, "jsonrpc":"2.0","id": %s }`+"\n", m.got, m.ID)
	}
}

func (m *rawMessage) call() {
	args := m.Params.Arguments
	if f, err := os.OpenFile(args.File, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		_, _ = fmt.Fprintln(f, "effect")
		_ = f.Close()
	}
	switch args.Plan {
	case "die":
		os.Exit(7)
	case "cut":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"res`, m.ID)
		os.Exit(0)
	case "long":
		fmt.Print(`{"jsonrpc":"2.0","id":1,"result":{"long":"`)
		for range 17 << 10 {
			fmt.Print(strings.Repeat("x", 1<<10))
		}
		fmt.Println(`"}}`)
	case "twice":
		m.result(`"content":[],"n":1`)
		m.result(`"content":[],"n":2`)
	default:
		m.result(`"content":[],"got":` + string(m.got))
	}
}
