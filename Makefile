# "make" alone lists the targets.

FUZZTIME ?= 30s
BENCH    ?= .
SOAK     ?= 10m

# As in a release, and the same everywhere, so that all modules, releases and clones share what they compile. With cgo,
# kustomize's plugins make each program a third larger, which takes time to link. Programs of tests do not have the
# commit in them, so that results are kept after it; go vet runs by itself, once for each module.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -buildvcs=false -vet=off)
# The race detector needs a C compiler; without one the tests run without it.
RACE := $(if $(filter 1,$(shell env -u CGO_ENABLED go env CGO_ENABLED)),-race)
# Sets what the race detector needs.
WITH_RACE := $(if $(RACE),CGO_ENABLED=1)
TOOL := go tool -modfile=internal/tools/go.mod
# Where tests look for a Prometheus that is not installed.
PROMETHEUS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agentry-test/prometheus
# Where the tests of pages look for axe-core.
AXE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agentry-test/axe
# Where the end-to-end suites keep the programs they run.
E2E := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/agentry-test/e2e
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

.DEFAULT_GOAL := help
# Some targets install programs, which two cannot do at once.
.NOTPARALLEL:
.PHONY: help build docs docs-build docs-test diagrams pictures release release-test pin-images test test-all race prometheus chart agentcheck operator argocd-plugin promoter browser e2e test-deps prometheus-deps browser-deps e2e-deps lint modules generate demo bench bench-deps bench-go bench-sd soak soak-model soak-sd fuzz clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/agentry
	go build -buildvcs=auto -o bin/ ./cmd/...

docs: ## Show the manual at http://127.0.0.1:8000, with search (ADDRESS=127.0.0.1:9000)
	go -C internal/tools/manual run . -root ../../.. -serve $(or $(ADDRESS),127.0.0.1:8000)

docs-build: ## Write the manual to bin/manual, as a site that needs no server
	go -C internal/tools/manual run . -root ../../.. -out ../../../bin/manual

# Results depend on pages, which Go does not know of: they are not kept.
docs-test: ## Check the pages, links and anchors of the manual, and that its diagrams are current
	cd internal/tools/manual && go vet ./... && go test -count=1 ./...

diagrams: ## Draw the diagrams of the manual: docs/diagrams/*.svg from the texts beside them
	go -C internal/tools/manual run ./diagrams -folder ../../../docs/diagrams

pictures: browser-deps ## Take the pictures of the console for the manual: docs/pictures/*.png
	cd test/browser && go test -count=1 -run '^TestPicturesOfTheManual$$' . -pictures $(abspath docs/pictures)

# Go writes the version into the programs, from Git: build what others install from a tag.
release: ## Build bin/release: archives, packages, SBOMs, a Homebrew formula and checksums (PLATFORMS=linux/amd64,...)
	go -C internal/tools/release run . -root ../../.. $(if $(PLATFORMS),-platforms $(PLATFORMS))

# Results depend on git and on the programs of agentry, which Go does not know of: they are not kept. Linux only.
release-test: test-deps ## Make a release for this machine, unpack it, install it as CI jobs do, and make it again
	cd internal/tools/release && go vet ./... && go test -count=1 ./...

# Asks the registries, so it needs docker and network.
pin-images: ## Write the digests that the tags of the Dockerfile's images have now into the Dockerfile
	@sed -n 's/^ARG [A-Z]*_IMAGE=\([^@]*\).*/\1/p' Dockerfile | while read -r image; do \
		digest=$$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$$image") || exit 1; \
		sed -i "s|=$$image\(@.*\)\{0,1\}$$|=$$image@$$digest|" Dockerfile; echo "$$image@$$digest"; done

# Memory for time: compilers, linters and tests collect their garbage less often.
lint test: export GOGC := 400

# Many tests wait for something, so two packages for each processor run at once.
BESIDE = -p $$((2 * $$(getconf _NPROCESSORS_ONLN)))

# What takes longer than a few seconds says so, and is left to race.
test: test-deps lint ## Check a change: lint, which vets too, and the tests that are quick
	TMPDIR=$$(test/tmpdir.sh) go test -short $(BESIDE) -timeout 10m ./...
	go -C internal/tools/manual test -count=1 .

# What the stages install comes first, for some of them run side by side.
test-all: test-deps prometheus-deps browser-deps ## Run every test and print how long each part took; CI runs this
	@test/stages.sh lint race docs-test release-test+prometheus agentcheck+browser chart+operator+argocd-plugin+promoter e2e

# The race detector makes tests many times slower, and finds nothing in a package that starts no goroutine, nor in a
# program that a test starts. Those run without it, and so does what makes many cases that run alike: stories, random
# fixtures, random charts, and large numbers of files. internal/cli takes longest, so it begins first.
UNRACED := ^Test(Stories|AnIndexNeedsNoMoreMemory|TenThousandOverlays|DependenciesAreThoseThatHelmBuilds)$$
race: test-deps ## Run all tests of the main module, with the race detector where goroutines are, and 1,000 random histories of edits
	@all=$$(go list -f '{{.Dir}}' ./...) && \
	racy=$$(for d in $$all; do ! grep -qE --exclude='bench*' '^\s*go (func|[a-zA-Z.]+\()|\.Go\(|panics\.Each\(' $$d/*.go || echo $$d; done | \
		grep -vE '/(generator|internal/cli|inputs/kustomize)$$') && \
	echo "with the race detector: $$(echo "$$racy" | wc -l) packages" && \
	$(WITH_RACE) go test $(RACE) $(BESIDE) -timeout 30m -skip '$(UNRACED)' $$racy && \
	$(WITH_RACE) go test $(RACE) $(BESIDE) -timeout 30m -run '^Test(Conformance|Serve)' ./generator ./internal/cli && \
	go test -timeout 30m ./internal/cli $$(printf '%s\n' $$all $$racy | sort | uniq -u | grep -v '/internal/cli$$')
	go test -run '$(UNRACED)' ./inputs ./inputs/chart
	GOGC=400 go test -timeout 30m -run '$(UNRACED)|^TestModel$$' ./gitsync -model.histories=1000

# Results depend on the clients, which Go does not know of: they are not kept.
prometheus: ## Let Prometheus's own code read the configurations, and its http_sd clients the targets that sd serves
	cd test/prometheus && go vet ./... && go test ./...
	@for m in . prometheus-current prometheus-2.48; do go -C test/prometheus/clients/$$m vet ./... || exit 1; done
	go vet -tags oracle ./test/sd/strict && go test -count=1 -tags oracle ./sd ./sd/merge ./test/sd/strict

# Results depend on agentry, and on files that Go does not know of: they are not kept.
agentcheck: prometheus-deps ## Load every rendered configuration with the agent's own code, and run some in real agents
	cd test/agentcheck && go vet -tags netgo,slicelabels ./... github.com/agentry-dev/agentry/test/fixtures && go test -count=1 -timeout 30m -tags netgo,slicelabels ./...

# A module of its own: the Prometheus Operator brings 900 packages.
operator: ## Compare mode current with the Prometheus Operator's own code, on random objects
	cd test/prometheus/operator && go vet ./... && go test -count=1 ./...

# In the module of Argo CD's programs, which brings 1,200 packages.
argocd-plugin: ## Let Argo CD's own plugin server ask agentry for manifests, and its notifications engine write reports for agentry
	cd test/e2e/tools/argocd && go vet ./plugin ./notifications && go test -count=1 ./plugin ./notifications

# A module of its own: gitops-promoter brings 800 packages.
promoter: ## Let gitops-promoter's own code read the branches that agentry proposes
	cd test/promoter && go vet ./... && go test -count=1 ./...

# Results depend on a program that Go does not know of: they are not kept.
browser: browser-deps ## Show the pages to a real Chromium (SCREENSHOTS=folder keeps pictures)
	cd test/browser && go vet ./... && go test -count=1 -timeout 20m ./... $(if $(SCREENSHOTS),-screenshots $(abspath $(SCREENSHOTS)))

# Rules are tested with promtool, which comes with Prometheus. Results depend on files that Go does not know of.
chart: prometheus-deps ## Check the Helm chart, and the rules and the dashboard in it
	cd test/chart && go vet ./... && go test -count=1 ./...

test-deps: ## Install what the tests run besides Go, if it is missing: git, gpg, an SSH server, curl, openssl and shells
	@test/programs.sh git gpg curl openssl sshd zsh fish shellcheck

# Each suite has an API server, in namespaces of the kernel's. What takes or waits longest begins first. Argo CD takes
# minutes more to build, so its suite has a build tag and runs only when SUITE names it.
e2e: test-deps prometheus-deps ## Run the end-to-end suites with a real API server, or one (SUITE=sd); Linux only. SUITE=argocd runs only by name
	cd test/e2e && go vet -tags argocd ./... && go test -count=1 -p 3 -v -timeout 90m $(if $(filter argocd,$(SUITE)),-tags argocd) ./$(or $(SUITE),adoption ./serve ./sd ./validity ./flux ./telemetry ./...)
	@du -sh $(E2E) "$$(go env GOCACHE)" "$$(go env GOMODCACHE)"

e2e-deps: prometheus-deps ## Build the servers that the end-to-end suites run
	cd test/e2e && go test -count=1 -p 1 -v -timeout 90m -run '^$$' ./...

# The package is unpacked, not installed, for that would start a service.
prometheus-deps: ## Fetch Prometheus, which agentcheck, chart and e2e run
	@if command -v prometheus >/dev/null || [ -x $(PROMETHEUS)/usr/bin/prometheus ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then echo "install Prometheus, which real agents send to in tests"; exit 1; fi; \
	echo "fetching Debian's Prometheus with apt-get, which tests run on loopback, to $(PROMETHEUS)"; \
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && chmod 755 "$$dir" && cd "$$dir" && \
	{ apt-get download -qq prometheus 2>/dev/null || { $(SUDO) apt-get update -qq && apt-get download -qq prometheus; }; } && \
	dpkg -x prometheus_*.deb root && mkdir -p $(dir $(PROMETHEUS)) && rm -rf $(PROMETHEUS) && mv root $(PROMETHEUS)

browser-deps: test-deps ## Install Chromium, which browser runs, and axe, which finds what people with disabilities cannot use
	@[ -f $(AXE)/axe.min.js ] || { echo "fetching axe from npm, which the tests of pages run, to $(AXE)" && mkdir -p $(AXE) && \
	curl -fsSL -o $(AXE)/axe.tgz https://registry.npmjs.org/axe-core/-/axe-core-4.14.1.tgz && \
	echo "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745  $(AXE)/axe.tgz" | sha256sum --check --quiet && \
	tar -xzf $(AXE)/axe.tgz -C $(AXE) --strip-components=1 package/axe.min.js && rm $(AXE)/axe.tgz; }
	@test/programs.sh chromium

lint: test-deps ## Check the formatting and the structure, and run go vet, staticcheck, actionlint and shellcheck
	@gofmt -l . | (! grep .) || { echo "not formatted: run gofmt -w on these files" >&2; exit 1; }
	go vet ./...
	$(TOOL) staticcheck ./...
	$(TOOL) actionlint
	shellcheck dist/ci/*.sh test/*.sh .ci/run internal/cli/completion/agentry.bash
	go test ./test/structure ./test/imports ./test/dependencies

# They break when what they import changes. agentcheck is not among them: its first build takes ten minutes.
modules: ## Run go vet in the modules below test/, for a change of names that they use
	@for m in browser chart e2e fixtures promoter prometheus prometheus/operator; do go -C test/$$m vet ./... || { echo "test/$$m does not compile; perhaps: go -C test/$$m mod tidy" >&2; exit 1; }; done

generate: ## Regenerate CRDs and the generated pages of docs/
	go generate ./...

demo: ## Run agentry from input to output branch on examples/quickstart, in a temporary folder
	@go run ./test/demo

bench: bench-deps ## Measure the programs as users run them, against git and libyaml, in ten minutes (BENCH=regexp)
	TMPDIR=$$(test/tmpdir.sh) go test -run '^$$' -bench '$(BENCH)' -benchtime 1x -timeout 0 ./test/performance

bench-deps: ## Install what make bench compares with: git, and libyaml with Python
	@test/programs.sh git libyaml

bench-go: ## Run the benchmarks of the packages (BENCH=regexp)
	go test -run '^$$' -bench '$(BENCH)' -benchmem $$(go list ./... | grep -v /test/performance)

bench-sd: ## Compare the sd-aggregator with its goals, in about ten minutes
	go build -o bin/ ./cmd/sd-aggregator
	go run ./test/sd/bench

soak: ## Run replicas of agentry serve for SOAK (10m) while people edit and things fail; then check every branch
	go run ./test/soak -for $(SOAK)

soak-model: ## Compare 400,000 random histories of edits with a model, and print the progress
	go test -run '^TestModel$$' -timeout 0 -v ./gitsync -model.first=0 -model.histories=400000

soak-sd: ## Run the sd-aggregator for SOAK (10m) while pods change and fail, with the race detector
	$(WITH_RACE) go run $(RACE) ./test/sd/soak -for $(SOAK)

# On a busy machine Go may never finish making a failing input small, so its time is bounded.
fuzz: ## Run every fuzz test for FUZZTIME (30s)
	@grep -rno --include='*_test.go' 'func Fuzz[A-Za-z0-9_]*' . | sed 's/func //' | while IFS=: read -r file _ name; do \
		go test -tags oracle -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s "$$(dirname "$$file")" || exit 1; \
	done

clean: ## Remove what was built
	rm -rf bin
