package bindery_test

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// documents are all of the repository's Markdown.
func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for p, text := range repoFiles(t) {
		if path.Ext(p) == ".md" {
			docs[p] = text
		}
	}
	if len(docs) < 5 {
		t.Fatalf("only %d documents are found", len(docs))
	}
	return docs
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// blocks are the fenced blocks of a language in a document.
func blocks(t *testing.T, document, language string) []string {
	t.Helper()
	var list []string
	for _, m := range fence.FindAllStringSubmatch(repoFiles(t)[document], -1) {
		if m[1] == language {
			list = append(list, m[2])
		}
	}
	return list
}

var codeSpan = regexp.MustCompile("`([^`\n]+)`")

// spans are the code spans of a document outside its fenced blocks.
func spans(text string) []string {
	var list []string
	for _, m := range codeSpan.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		list = append(list, m[1])
	}
	return list
}

// A span names a path if it looks like a source or document file, or begins with one of
// the repository's folders.
var (
	pathShape = regexp.MustCompile(`^\.?[\w-]+(/[\w.-]+)*/?$|^[\w.-]+\.[a-z]+$`)
	fileShape = regexp.MustCompile(`\.(go|md|sh|awk|sql|txt|mod|sum|svg)$`)
)

// TestDocPaths looks at every document but the registers, which speak of other people's
// repositories too.
func TestDocPaths(t *testing.T) {
	files := repoFiles(t)
	folders, names := map[string]bool{}, map[string]bool{}
	for p := range files {
		names[path.Base(p)] = true
		if first, _, below := strings.Cut(p, "/"); below {
			folders[first] = true
		}
	}
	found := 0
	for doc, text := range documents(t) {
		if strings.HasPrefix(doc, "docs/requirements/") {
			continue
		}
		for _, s := range spans(text) {
			first, _, below := strings.Cut(s, "/")
			switch {
			case !pathShape.MatchString(s):
				continue
			case !below && fileShape.MatchString(s): // a kind of file, or one in the root
				if !names[s] {
					t.Errorf("%s names %s; no file is called so", doc, s)
				}
			case below && (folders[first] || fileShape.MatchString(s)):
				if _, err := os.Stat(s); err != nil {
					t.Errorf("%s names %s, which does not exist", doc, s)
				}
			default:
				continue
			}
			found++
		}
	}
	if found < 100 {
		t.Errorf("only %d paths were looked at", found)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

func TestDocLinks(t *testing.T) {
	docs := documents(t)
	for doc, text := range docs {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				if !strings.HasPrefix(target, "https://") {
					t.Errorf("%s links to %s, which is not https", doc, target)
				}
				continue
			}
			to := doc
			if target != "" {
				to = path.Join(path.Dir(doc), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", doc, m[1])
			} else if anchor != "" && !slices.Contains(anchors(docs[to]), anchor) {
				t.Errorf("%s links to %s, which has no such heading", doc, m[1])
			}
		}
	}
}

// anchors are the headings of a document as fragments.
func anchors(text string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		keep := func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_':
				return r
			}
			return -1
		}
		list = append(list, strings.Map(keep, strings.ToLower(m[1])))
	}
	return list
}

// commands runs the binary's help, all the way down: flags by command.
func commands(t *testing.T, bin string, path ...string) map[string][]string {
	t.Helper()
	out, err := exec.Command(bin, append(path, "--help")...).Output()
	if err != nil {
		t.Fatalf("bindery %s --help: %v", strings.Join(path, " "), err)
	}
	all := map[string][]string{}
	var flags []string
	section, both := "", false // a command that has others below it, and takes arguments itself
	for line := range strings.Lines(string(out)) {
		if strings.HasSuffix(line, ":\n") && !strings.HasPrefix(line, " ") {
			section = line
			continue
		}
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case section == "Usage:\n":
			own := strings.TrimPrefix(strings.TrimSpace(line), strings.Join(append([]string{"bindery"}, path...), " "))
			both = both || own != " [flags]" && own != " [command]"
		case section == "Available Commands:\n" && words[0] != "help":
			maps.Copy(all, commands(t, bin, append(slices.Clone(path), words[0])...))
		case section == "Flags:\n", section == "Global Flags:\n":
			flags = append(flags, flagWords(line)[0])
		}
	}
	if len(path) == 0 || len(all) == 0 || both {
		all[strings.Join(path, " ")] = flags
	}
	return all
}

var flagWord = regexp.MustCompile(`(?:^|[\s|(])(--[a-z][a-z-]*)`)

func flagWords(s string) []string {
	var list []string
	for _, m := range flagWord.FindAllStringSubmatch(s, -1) {
		list = append(list, m[1])
	}
	return list
}

// A use is one naming of the command in a document: its words and flags, up to whatever
// ends a command in a shell.
var use = regexp.MustCompile(`\bbindery((?: [a-z]+)+)([^|>)\n]*)`)

func TestDocCommands(t *testing.T) {
	known := commands(t, binary(t))
	any := slices.Concat(slices.Collect(maps.Values(known))...)
	uses := 0
	for doc, text := range documents(t) {
		code := spans(text)
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			code = append(code, strings.Split(m[2], "\n")...)
		}
		for _, s := range code {
			if fields := strings.Fields(s); len(fields) > 0 && strings.HasPrefix(fields[0], "--") {
				known := any
				if strings.HasPrefix(doc, "examples/") {
					known = exampleFlags(t, path.Dir(doc))
				}
				for _, flag := range flagWords(s) {
					if !slices.Contains(known, flag) {
						t.Errorf("%s names the flag %s, which no command has", doc, flag)
					}
				}
			}
			for _, m := range use.FindAllStringSubmatch(s, -1) {
				uses++
				name, ok := commandOf(known, strings.Fields(m[1]))
				if !ok {
					t.Errorf("%s: %q names no command", doc, s)
				}
				for _, flag := range flagWords(m[2]) {
					if !slices.Contains(known[name], flag) {
						t.Errorf("%s: %q: bindery %s has no flag %s", doc, s, name, flag)
					}
				}
			}
		}
	}
	if uses < 20 {
		t.Errorf("only %d uses were looked at", uses)
	}
}

var flagVar = regexp.MustCompile(`Var\(&[^,]+, "([a-z-]+)"`)

// exampleFlags are the flags that an example defines, of which its own document speaks.
func exampleFlags(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(path.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range flagVar.FindAllStringSubmatch(string(text), -1) {
		list = append(list, "--"+m[1])
	}
	return list
}

// commandOf finds the longest command that the words begin with; what is left is an
// argument, which a command with subcommands does not take.
func commandOf(known map[string][]string, words []string) (name string, ok bool) {
	for n := len(words); n > 0; n-- {
		if name = strings.Join(words[:n], " "); known[name] != nil {
			return name, true
		}
	}
	return "", false
}

// The README's table is the list of commands: none is missing, none is invented.
func TestReadmeCommandTable(t *testing.T) {
	known := commands(t, binary(t))
	delete(known, "")
	var rows []string
	for _, row := range table(t, "README.md", "| Command |") {
		rows = append(rows, strings.TrimPrefix(strings.Trim(row[0], "`"), "bindery "))
	}
	slices.Sort(rows)
	if want := slices.Sorted(maps.Keys(known)); !slices.Equal(rows, want) {
		t.Errorf("the table has %q, the binary has %q", rows, want)
	}
}

// table are the cells of the table whose header row begins so, below its header. Tables
// with the same header are one.
func table(t *testing.T, doc, header string) [][]string {
	t.Helper()
	var rows [][]string
	inside := false
	for line := range strings.Lines(repoFiles(t)[doc]) {
		switch {
		case strings.HasPrefix(line, header):
			inside = true
		case !strings.HasPrefix(line, "|"):
			inside = false
		case inside && !strings.HasPrefix(line, "|---"):
			cells := strings.Split(strings.Trim(line, "|\n"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table %s", doc, header)
	}
	return rows
}

// The rooms of the page are those of arch_test.go, and of the same kind.
func TestRoomsTable(t *testing.T) {
	shown := map[string]string{}
	for _, row := range table(t, "docs/architecture.md", "| Room |") {
		shown[strings.Trim(row[0], "`")] = row[1]
	}
	for name, r := range rooms {
		if shown[name] != r.kind {
			t.Errorf("docs/architecture.md shows %s as %q, arch_test.go has %q", name, shown[name], r.kind)
		}
		delete(shown, name)
	}
	for name := range shown {
		t.Errorf("docs/architecture.md shows the room %s, which does not exist", name)
	}
}

// clauses of §3 to §6 of the specification, v0.4.4, in its own labels. "a…b" is a range.
const clauses = `
§3.1 §3.2 §3.3 §3.4 §3.5 §3.5.1 §3.5.2-1…4 §3.6 T-1…4 §3.7 §3.7.1 §3.7.2 §3.7.2-1…3 §3.7.3 §3.7.4 E-1…3
§3.7.5 §3.7.6 §3.7.7 WC-1…11 WC-8b
§4.1 §4.1.1 §4.1.2 §4.1.3 L-1…5 M-1…5 M-4a M-4b CM-1…6 §4.1.4 §4.1.5 §4.2 §4.2-1…3 R-1…5 TD-1…5
§4.3 §4.3.1 §4.3.2 §4.4 §4.4-1…7 AN-1…2 §4.4.1 §4.4.2-1…4 §4.5
§5.1 §5.2 §5.2-1…7 §5.3 §5.3-1…4 §5.4 §5.4-1…9 §5.5 §5.5-1…5 §5.6 §5.6-1…3 §5.7 F1…7 §5.8
§6.1 §6.2 §6.2-1…5 §6.3`

var labelRange = regexp.MustCompile(`^(.*?)(\d+)…(\d+)$`)

// expand writes a range of labels out.
func expand(t *testing.T, label string) []string {
	t.Helper()
	m := labelRange.FindStringSubmatch(label)
	if m == nil {
		return []string{label}
	}
	from, err := strconv.Atoi(m[2])
	if err != nil {
		t.Fatal(err)
	}
	to, err := strconv.Atoi(m[3])
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for n := from; n <= to; n++ {
		list = append(list, m[1]+strconv.Itoa(n))
	}
	return list
}

// Whoever reads the page can say where each clause lives.
func TestEveryClauseHasAPlace(t *testing.T) {
	placed := map[string]bool{}
	for _, row := range table(t, "docs/architecture.md", "| Clause |") {
		if len(row) != 3 || !strings.Contains(row[2], ".go`") {
			t.Errorf("the row of %s names no file", row[0])
			continue
		}
		for label := range strings.SplitSeq(row[0], ", ") {
			for _, one := range expand(t, label) {
				placed[one] = true
			}
		}
	}
	for label := range strings.FieldsSeq(clauses) {
		for _, one := range expand(t, label) {
			if !placed[one] {
				t.Errorf("docs/architecture.md does not say where %s lives", one)
			}
		}
	}
}

// Each direct dependency and each tool has its reason, and nothing else has.
func TestDependencies(t *testing.T) {
	direct := map[string]bool{}
	block := false
	for line := range strings.Lines(repoFiles(t)["go.mod"]) {
		line = strings.TrimSpace(line)
		switch {
		case line == "require (":
			block = true
		case line == ")":
			block = false
		case strings.HasPrefix(line, "tool "):
			tool := strings.TrimPrefix(line, "tool ")
			root, _, _ := strings.Cut(tool, "/cmd/")
			direct[root] = true
		case (block || strings.HasPrefix(line, "require ")) && !strings.HasSuffix(line, "// indirect"):
			direct[strings.Fields(strings.TrimPrefix(line, "require "))[0]] = true
		}
	}
	for _, row := range table(t, "docs/dependencies.md", "| Module |") {
		name := strings.Trim(row[0], "`")
		if !direct[name] {
			t.Errorf("docs/dependencies.md lists %s, which go.mod does not require directly", name)
		}
		if len(row) != 2 || !strings.HasSuffix(row[1], ".") || strings.Count(row[1], ". ") > 0 {
			t.Errorf("docs/dependencies.md gives no one sentence of reason for %s", name)
		}
		delete(direct, name)
	}
	for name := range direct {
		t.Errorf("docs/dependencies.md has no reason for %s", name)
	}
}

var makeUse = regexp.MustCompile(`^make ([a-z]+)`)

// A make target that a document names exists, and every target has its line of help.
func TestMakeTargets(t *testing.T) {
	text := repoFiles(t)["Makefile"]
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+):.*$`).FindAllStringSubmatch(text, -1) {
		targets[m[1]] = true
		if !strings.Contains(m[0], " ## ") {
			t.Errorf("make %s has no help", m[1])
		}
	}
	for doc, text := range documents(t) {
		code := spans(text)
		for _, m := range fence.FindAllStringSubmatch(text, -1) {
			code = append(code, strings.Split(m[2], "\n")...)
		}
		for _, s := range code {
			if m := makeUse.FindStringSubmatch(s); m != nil && !targets[m[1]] {
				t.Errorf("%s names make %s, which does not exist", doc, m[1])
			}
		}
	}
}
