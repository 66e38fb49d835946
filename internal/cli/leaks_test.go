package cli

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// secrets are what the three directories keep to themselves, by name.
func (s *stage) secrets() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for name, h := range s.homes {
		all[name+" clearance_id"] = h.secrets.ClearanceID
		for what, credential := range map[string]string{
			"principal": h.secrets.Principal, "agent": h.secrets.Agent, "effector": h.secrets.Effector,
			"publisher": h.secrets.Publisher, "operator": h.secrets.Operator,
		} {
			all[name+" credential "+what] = credential
		}
		keys, err := filepath.Glob(filepath.Join(h.dir, keysDir, "*.pem"))
		if err != nil || len(keys) < 3 {
			s.t.Fatalf("%s has the keys %v, %v", name, keys, err)
		}
		for _, path := range keys {
			b, err := os.ReadFile(path)
			if err != nil {
				s.t.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
				if !strings.HasPrefix(line, "-----") && len(line) > 16 {
					all[path+" line "+strconv.Itoa(i)] = line
				}
			}
		}
	}
	return all
}

var token = regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(?:~[A-Za-z0-9_-]+)*~?`)

// opened is a text with the parts of every token in it decoded beside it.
func opened(text string) string {
	for _, t := range token.FindAllString(text, -1) {
		for part := range strings.FieldsFuncSeq(t, func(r rune) bool { return r == '.' || r == '~' }) {
			if b, err := base64.RawURLEncoding.DecodeString(part); err == nil {
				text += "\n" + string(b)
			}
		}
	}
	return text
}

// mandates are the tokens of the exchange that are mandates, not receipts or statements.
func mandates(text string) []string {
	var list []string
	for _, t := range token.FindAllString(text, -1) {
		if strings.Contains(opened(t), `"vct":`) {
			list = append(list, t)
		}
	}
	return list
}

// carriers are the messages that carry mandates: registration at the RA, the hold, and
// the phases of the crossing.
var carriers = []string{"POST /v1/ra/opens", "POST /v1/ra/closeds", "POST /v1/ra/holds", "SendMessage", "anaxstandard.crossing/seal"}

// TestNothingLeaks captures every byte between the three processes of a demo, their logs
// at every level and what all commands print, and looks for what must not be there.
//
// covers GC-025, GC-027, GC-091, GC-232, GC-239, GC-282, GC-323
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.play()
	s.end()
	all := s.tap.exchanges(t)
	seen := map[string]int{}
	for _, x := range all {
		seen[x.name]++
	}
	for _, name := range slices.Concat(carriers, []string{"GET /.well-known/agent-card.json", "GetTask", "anaxstandard.crossing/verify",
		"POST /v1/crossing:verify", "POST /v1/projections", "POST /v1/ra/enrol", "POST /v1/ra/revocations", "POST /v1/ra/status"}) {
		if seen[name] == 0 {
			t.Errorf("the capture has no %s: %v", name, seen)
		}
	}
	s.checkWord(all)
	s.checkSecrets(all)
	s.checkLimits(all)
	s.checkMandates(all)
	checkWireNames(t, all)
	checkRefusals(t, all)
}

// checkWord looks for the word that §2.3 reserves, which stands nowhere here either.
func (s *stage) checkWord(all []exchange) {
	word := "pass" + "port"
	for _, x := range all {
		if strings.Contains(strings.ToLower(x.head+opened(x.request+"\n"+x.reply)), word) {
			s.t.Errorf("%s has the reserved word:\n%s\n%s", x.name, x.request, x.reply)
		}
	}
	for what, text := range map[string]string{"a log": s.logs.String(), "a command": s.console.String() + s.owner.String()} {
		if text == "" || strings.Contains(strings.ToLower(text), word) {
			s.t.Errorf("%s is empty or has the reserved word", what)
		}
	}
}

// checkSecrets: a credential travels in the Authorization alone; a clearance_id and a
// private key in nothing.
func (s *stage) checkSecrets(all []exchange) {
	authorised := 0
	for name, secret := range s.secrets() {
		for _, x := range all {
			if strings.Contains(x.head+opened(x.request+"\n"+x.reply), secret) {
				s.t.Errorf("%s: %s carries it", name, x.name)
			}
			if strings.Contains(x.authorization, secret) {
				authorised++
				if !strings.Contains(name, " credential ") {
					s.t.Errorf("%s: %s is authorised by it", name, x.name)
				}
			}
		}
		for what, text := range map[string]string{"a log": s.logs.String(), "a command": s.console.String() + s.owner.String()} {
			if strings.Contains(opened(text), secret) {
				s.t.Errorf("%s: %s shows it", name, what)
			}
		}
	}
	if authorised == 0 {
		s.t.Error("no request is authorised")
	}
	// Where an answer is public, the very name is not there; the card's member of that
	// name is fixed by §3.3 and holds the hash.
	public := 0
	for _, x := range all {
		switch x.name {
		case "GetTask", "POST /v1/crossing:verify", "anaxstandard.crossing/verify", "POST /v1/projections", "GET /":
			public++
			if strings.Contains(opened(x.request+"\n"+x.reply), "clearance_id\"") {
				s.t.Errorf("%s names the clearance_id: %s", x.name, x.reply)
			}
		}
	}
	if public < 5 {
		s.t.Errorf("only %d public answers were looked at", public)
	}
}

// checkLimits: the limit of an Open goes to its RA as a disclosure, and to nobody else
// in any form.
func (s *stage) checkLimits(all []exchange) {
	disclosures := 0
	for _, x := range all {
		text := opened(x.request + "\n" + x.reply)
		for _, limit := range []string{initiatorLimit, responderLimit} {
			if !strings.Contains(text, limit) {
				continue
			}
			if x.name != "POST /v1/ra/opens" || strings.Contains(opened(x.reply), limit) {
				s.t.Errorf("%s tells the limit %s", x.name, limit)
			}
			disclosures++
		}
	}
	if disclosures != 1 { // the responder registers its own within its process
		s.t.Errorf("%d limits are disclosed on the wire, want that of one registration", disclosures)
	}
	for what, text := range map[string]string{"a log": s.logs.String(), "a command": s.console.String()} {
		for _, limit := range []string{initiatorLimit, responderLimit} {
			if strings.Contains(opened(text), limit) {
				s.t.Errorf("%s tells the limit %s", what, limit)
			}
		}
	}
	if !strings.Contains(s.owner.String(), initiatorLimit) || !strings.Contains(s.owner.String(), responderLimit) {
		s.t.Error("the owners' own lists have no limits: nothing was looked for")
	}
}

// checkMandates: mandates are in the messages that carry them and in no log, projection,
// task, verdict or refusal.
func (s *stage) checkMandates(all []exchange) {
	tokens := map[string]bool{}
	for _, x := range all {
		found := mandates(x.request + "\n" + x.reply)
		for _, t := range found {
			tokens[t] = true
		}
		private := strings.HasPrefix(x.name, "GET /v1/crossings/") && x.authorization != "" // the owner's own listener
		if len(found) > 0 && !slices.Contains(carriers, x.name) && !private {
			s.t.Errorf("%s carries a mandate", x.name)
		}
		if n := len(mandates(x.reply)); n > 0 && x.name == "anaxstandard.crossing/seal" || n > 0 && strings.HasPrefix(x.name, "POST /v1/ra/") {
			s.t.Errorf("the answer of %s carries a mandate", x.name)
		}
		if strings.Contains(x.reply, "failure_path") && len(mandates(x.reply)) > 0 {
			s.t.Errorf("a refusal of %s carries a mandate", x.name)
		}
	}
	if len(tokens) < 6 {
		s.t.Errorf("only %d mandates are on the wire", len(tokens))
	}
	for t := range tokens {
		if strings.Contains(s.logs.String(), t) || strings.Contains(s.logs.String(), strings.Split(t, ".")[2]) {
			s.t.Error("a log has a mandate, or a signature of one")
		}
	}
}

// checkWireNames: card and artifact use the names of §2.3.
func checkWireNames(t *testing.T, all []exchange) {
	want := map[string]string{"GET /.well-known/agent-card.json": `"name":"Governed Crossing"`, "GetTask": `"name":"Crossing Seal"`}
	for _, x := range all {
		if name, ok := want[x.name]; ok && strings.Contains(x.reply, name) {
			delete(want, x.name)
		}
	}
	for where, name := range want {
		t.Errorf("no %s has %s", where, name)
	}
}

// checkRefusals: a magnitude one above what is left and one far above are refused in the
// same words.
func checkRefusals(t *testing.T, all []exchange) {
	refusals := map[string]int{}
	for _, x := range all {
		var v any
		if x.name != "SendMessage" || !strings.Contains(x.reply, "MAGNITUDE_EXHAUSTED") || json.Unmarshal([]byte(x.reply), &v) != nil {
			continue
		}
		blank(v)
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		refusals[string(b)]++
	}
	if len(refusals) != 1 || slices.Collect(maps.Values(refusals))[0] != 2 {
		t.Errorf("two refusals for magnitude, told in the words %v", refusals)
	}
}

// blank empties what names the crossing and the moment.
func blank(v any) {
	switch in := v.(type) {
	case map[string]any:
		for name, member := range in {
			if slices.Contains([]string{"id", "contextId", "taskId", "messageId", "crossing_id", "timestamp"}, name) {
				in[name] = ""
				continue
			}
			blank(member)
		}
	case []any:
		for _, item := range in {
			blank(item)
		}
	}
}
