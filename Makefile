# For people, and for .ci/run. Needs Go, GNU make and a POSIX shell; what needs more says
# "not run: …" where it is missing.
#
#   BINDERY_TEST_ALL=1   such a line fails make test
#   BINDERY_SOAK=N       rounds at each crash point of make soak, 200 by default
#   BIN=PATH             where make build puts the command
#   ARGS=…               flags for make demo, make mutants and make bench
#   BENCH=Crossing       which benchmarks; of record: ARGS='-benchtime 10000x'
#   BINDERY_CALLS=N      calls of the benchmark of the gateway's memory, 10⁵ by default

BIN   ?= bin/bindery
ARGS  ?=
BENCH ?= .

.NOTPARALLEL:
.PHONY: help demo build test lint bench soak mutants coverage

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: build ## run one real crossing between two organisations on this machine
	@"$(BIN)" demo $(ARGS)

build: ## build the command, as bin/bindery
	@go build -buildvcs=false -o "$(BIN)" ./cmd/bindery

test: ## run every check: lint, and all tests with the race detector
	@sh internal/tools/check.sh format vet staticcheck tidy test

lint: ## run gofmt, go vet, staticcheck and go mod tidy
	@sh internal/tools/check.sh format vet staticcheck tidy

bench: ## measure: each rate beside its bound, memory at rest and after work
	go test -run '^$$' -bench '$(BENCH)' -timeout 30m $(ARGS) ./...

soak: ## kill the processes of a crossing, and a gateway, at every point, many times, on both stores
	@begin=$$(date +%s); \
	BINDERY_SOAK="$${BINDERY_SOAK:-200}" go test -run '^TestCrash' -count=1 -v -timeout 3h ./internal/cli && \
	BINDERY_SOAK=1 go test -run '^TestEveryCharacter' -count=1 ./mandate; \
	status=$$?; echo "soak: $$(($$(date +%s) - begin)) s"; exit $$status

mutants: ## take out each guard in turn: its test must notice
	go run ./internal/tools/mutants $(ARGS)

coverage: ## write docs/requirements/coverage.md: which rows a test names
	go run ./internal/tools/coverage
