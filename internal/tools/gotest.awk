# Reads the events of `go test -json` and prints what a person needs: one line for each
# package, the output of the tests that failed, and the parts that were left out. A test
# leaves a part out by skipping or logging with "not run: WHAT (WHY)".
#
# Variable: left, a file to which each "not run" line is added.

# field takes a JSON string member from the event. The names in an event are fixed and
# never stand inside another string unescaped.
function field(name,    start, i, c, out) {
	start = index($0, "\"" name "\":\"")
	if (!start) return ""
	out = ""
	for (i = start + length(name) + 4; (c = substr($0, i, 1)) != "\"" && c != ""; i++) {
		if (c == "\\") {
			c = substr($0, ++i, 1)
			if (c == "n") c = "\n"
			else if (c == "t") c = "\t"
			else if (c == "r") c = ""
			else if (c == "u") {
				c = substr($0, i + 1, 4)
				i += 4
				if (c == "003c") c = "<"
				else if (c == "003e") c = ">"
				else if (c == "0026") c = "&"
				else c = "\\u" c
			}
		}
		out = out c
	}
	return out
}

function elapsed() {
	return match($0, /"Elapsed":[0-9.]+/) ? sprintf("%.1f s", substr($0, RSTART + 10, RLENGTH - 10)) : ""
}

function note(line) {
	sub(/^.*not run: /, "", line)
	sub(/\n$/, "", line)
	if (line in noted) return
	noted[line] = 1
	print "not run: " line
	print line >> left
}

!/^{/ { print; next }

{
	action = field("Action"); pkg = field("Package"); test = field("Test")
}

action == "output" {
	text = field("Output")
	if (text ~ /not run: /) note(text)
	if (text !~ /^=== / && text !~ /^ *--- (PASS|SKIP)/ && text !~ /^(FAIL|ok  )\t/ && text !~ /^(FAIL|PASS)\n/) kept[pkg SUBSEP test] = kept[pkg SUBSEP test] text
	next
}

action == "build-output" { printf "%s", field("Output"); next }

test != "" && (action == "pass" || action == "skip") { delete kept[pkg SUBSEP test]; next }
test != "" && action == "fail" { printf "%s", kept[pkg SUBSEP test]; delete kept[pkg SUBSEP test]; next }

test == "" && action == "pass" { print "ok    " pkg "  " elapsed(); fflush() }
test == "" && action == "fail" {
	for (k in kept) if (index(k, pkg SUBSEP) == 1) printf "%s", kept[k] # a panic or a timeout ends no test
	print "FAIL  " pkg "  " elapsed(); fflush()
}
test == "" && (action == "pass" || action == "fail" || action == "skip") {
	for (k in kept) if (index(k, pkg SUBSEP) == 1) delete kept[k]
}
