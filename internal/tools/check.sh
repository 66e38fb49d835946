#!/bin/sh
# Usage: check.sh STAGE...    format vet staticcheck tidy test
#
# Runs the checks of this repository, each with its time. All stages run, even after one
# has failed; the last line says what failed. A part that cannot run here is named by a
# line "not run: WHAT (WHY)", which fails the run under BINDERY_TEST_ALL=1.
set -u
cd "$(dirname "$0")/../.." || exit 2
# No version stamp: git refuses to speak of a checkout that somebody else owns.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"

tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
left=$tmp/left
: >"$left"

not_run() {
	echo "not run: $1"
	echo "$1" >>"$left"
}

format() {
	unformatted=$("$(go env GOROOT)/bin/gofmt" -l .) || return 1
	[ -z "$unformatted" ] && return 0
	printf 'not as gofmt writes it:\n%s\n' "$unformatted"
	return 1
}

vet() {
	go vet ./... && go vet -tags failpoint ./internal/...
}

staticcheck() {
	go tool staticcheck ./...
}

# tidy tells a difference from a module cache that does not hold what go mod tidy asks
# for, which says nothing about this repository.
tidy() {
	if go mod tidy -diff >"$tmp/tidy" 2>"$tmp/tidy.err"; then
		return 0
	fi
	if [ -s "$tmp/tidy" ]; then
		cat "$tmp/tidy"
		return 1
	fi
	cat "$tmp/tidy.err"
	not_run "go mod tidy -diff (no way to the modules that it asks for)"
}

# A C compiler alone is not enough for the race detector: it links against the C library.
race() {
	[ "$(go env CGO_ENABLED)" = 1 ] || return 1
	printf '#include <pthread.h>\n#include <stdlib.h>\nint main(void) { return 0; }\n' >"$tmp/probe.c"
	$(go env CC) -o "$tmp/probe" "$tmp/probe.c" -lpthread 2>/dev/null
}

tests() {
	detector=-race
	if ! race; then
		detector=
		not_run "race detector (no C compiler)"
	fi
	# $detector is one word or none. With it comes a check of each pointer; those of SQLite, which
	# is translated from C, take a third of the time of some packages, and are not what is tested here.
	{
		go test -json $detector ${detector:+-gcflags=modernc.org/...=-d=checkptr=0} -shuffle=on -count=1 -timeout 15m ./...
		echo $? >"$tmp/status"
	} | awk -v left="$left" -f internal/tools/gotest.awk
	[ "$(cat "$tmp/status")" = 0 ]
}

failed=
stage() {
	echo "== $1"
	begin=$(date +%s)
	"$2" || failed="$failed $1"
	echo "== $1: $(($(date +%s) - begin)) s"
}

for name in "$@"; do
	case $name in
	format | vet | staticcheck | tidy) stage "$name" "$name" ;;
	test) stage test tests ;;
	*)
		echo "check.sh: no stage $name" >&2
		exit 2
		;;
	esac
done

if [ "${BINDERY_TEST_ALL:-}" = 1 ] && [ -s "$left" ]; then
	failed="$failed not-run"
fi
if [ -n "$failed" ]; then
	echo "FAILED:$failed"
	exit 1
fi
