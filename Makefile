# Godwit. Needs Go and make; `make deps` installs what else a target needs.

GO      ?= go
PKG     := ./...
BUILD   := build
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
TOOL    := $(GO) tool -modfile=tools/go.mod

# How long each fuzz target runs: briefly in `make test`, longer in `make fuzz`.
FUZZTIME_TEST ?= 2s
FUZZTIME      ?= 2m

.DEFAULT_GOAL := help
.PHONY: help build web web-check install-libgodwit godwit sandbox examples sequential-examples parallel-examples yield capture libgodwit install uninstall man test first check fmt fmt-check deadcode lint unit race race-all \
	fuzz-short fuzz mutants soak soak-files soak-kills soak-malleable test-versions kills attack gpu-test bench demo experiments run-experiments deps clean

.PHONY: install-srs apps soak-srs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: examples yield capture libgodwit ## build godwit, godwit-sandbox, libgodwit and the example programs
	@GO='$(GO)' MAKE='$(MAKE)' sh scripts/build.sh $(BUILD)/godwit-sandbox godwit

# Always, since the go command knows best what has changed. It carries along those of the
# libraries for MPI programs that have been compiled before.
godwit: ## build the program alone, build/godwit
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -buildvcs=false -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BUILD)/godwit ./cmd/godwit

# Programs of one process, with their size as argument.
KERNELS := $(addprefix examples/apps/build/,matmul fft sort stencil nbody)

# The same, for nothing but to check models that were made without them.
HELDOUT := $(addprefix examples/apps/build/,matvec scan join floyd poisson gauss match)

# Programs with MPI.
PARALLEL := $(addprefix examples/apps/build/,ring pi bt cg is lu mg)

# Programs with MPI that change their size while they run.
MALLEABLE := $(addprefix examples/apps/build/,heat bodies)

# Programs with MPI that are stopped and continued on another number of processes.
SRSAPPS := $(addprefix examples/apps/build/srs/,heat cg bodies)

# The same with ScaLAPACK, where that is there.
SCALAPACK := $(addprefix examples/apps/build/srs/,qr lu)

# The example programs that are not scripts; without a C compiler there are none.
examples: ## compile the example programs
	@if command -v cc >/dev/null; then $(MAKE) --no-print-directory sequential-examples; \
	else echo "no C compiler: examples/jobs/burn is not built (make deps)"; fi
	@if command -v mpicc >/dev/null; then $(MAKE) --no-print-directory parallel-examples; \
	else echo "no mpicc: examples/apps are not built (make deps)"; fi

# They say nothing where nothing is to be done.
sequential-examples: examples/jobs/burn $(KERNELS) $(HELDOUT)
	@:
parallel-examples: $(PARALLEL) $(MALLEABLE) $(SRSAPPS)
	@if [ -n "$$(ls /usr/lib/*/libscalapack-openmpi.so /usr/lib/libscalapack-openmpi.so 2>/dev/null)" ]; then \
	$(MAKE) --no-print-directory $(SCALAPACK); \
	else echo "no ScaLAPACK: examples/apps/srs/qr and lu are not built (make deps)"; fi

apps: examples ## the same as examples

$(KERNELS): # They are linked with the library as its sources: nothing has to be installed.
SRSLIB := program/c/srs.c program/c/srs_layout.c program/c/srs_map.c program/c/srs_part.c program/c/godwit.c
SRSHEADERS := program/c/srs.h program/c/srs_parts.h program/c/godwit.h

$(SRSAPPS): examples/apps/build/srs/%: examples/apps/srs/%.c examples/apps/srs/rows.h examples/apps/srs/wait.h $(SRSLIB) $(SRSHEADERS)
	@mkdir -p $(@D)
	mpicc -O2 -Wall -Wextra -Iprogram/c -o $@ $< $(SRSLIB) -lm

$(SCALAPACK): examples/apps/build/srs/%: examples/apps/srs/%.c examples/apps/srs/matrix.h examples/apps/srs/wait.h $(SRSLIB) $(SRSHEADERS)
	@mkdir -p $(@D)
	mpicc -O2 -Wall -Wextra -Iprogram/c -o $@ $< $(SRSLIB) -lscalapack-openmpi -lm

examples/apps/build/%: examples/apps/%.c
	@mkdir -p $(@D)
	cc -O2 -Wall -Wextra -o $@ $< -lm

$(HELDOUT): examples/apps/build/%: examples/apps/heldout/%.c
	@mkdir -p $(@D)
	cc -O2 -Wall -Wextra -o $@ $< -lm

$(MALLEABLE): examples/apps/build/%: examples/apps/%.c examples/apps/team.h program/c/godwit.c program/c/godwit.h
	@mkdir -p $(@D)
	mpicc -O2 -Wall -Wextra -Iprogram/c -o $@ $< program/c/godwit.c -lm

examples/apps/build/%: examples/apps/%.c
	@mkdir -p $(@D)
	mpicc -O2 -Wall -Wextra -o $@ $< -lm

# What lets waiting ranks of MPI programs sleep; the program carries it along.
yield: ## compile the library for MPI programs that godwit carries along
	@if command -v cc >/dev/null; then $(MAKE) --no-print-directory mpi/yield/built/yield.so; \
	else echo "no C compiler: waiting ranks of MPI programs will not sleep (make deps)"; fi

mpi/yield/built/yield.so: mpi/yield.c
	cc -O2 -Wall -Wextra -shared -fPIC -nostdlib -fvisibility=hidden -Wl,-s -o $@.part $< && mv $@.part $@

# What records MPI programs, and what runs their skeletons; the program carries both along.
CAPTURE := capture sequence capture_calls capture_collectives capture_fortran

capture: ## compile what captures MPI programs and runs their skeletons
	@if command -v mpicc >/dev/null; then $(MAKE) --no-print-directory mpi/capture/built/capture.so mpi/capture/built/skeleton; \
	else echo "no mpicc: MPI programs cannot be captured (make deps)"; fi

# Not linked with MPI, and all that is missing is weak: it is loaded into whatever the
# command starts.
mpi/capture/built/capture.so: $(CAPTURE:%=mpi/%.c) mpi/capture.h mpi/capture_mpi.h mpi/spin.h
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	for f in $(CAPTURE); do mpicc -O2 -Wall -Wextra -fPIC -fvisibility=hidden -c -o $$dir/$$f.o mpi/$$f.c; \
	objcopy -w --weaken-symbol='PMPI_*' --weaken-symbol='pmpi_*' --weaken-symbol='ompi_*' --weaken-symbol='mpi_fortran_*' $$dir/$$f.o; done; \
	echo "mpicc -O2 -shared -o $@ $(CAPTURE:%=mpi/%.c)"; cc -shared -Wl,-s -o $@.part $$dir/*.o && mv $@.part $@

mpi/capture/built/skeleton: mpi/skeleton.c mpi/spin.h
	mpicc -O2 -Wall -Wextra -Wl,-s -o $@.part $< && mv $@.part $@

# By which programs in C and Fortran report their progress. Only godwit_ names are seen from outside.
LIBGODWIT := $(BUILD)/lib/libgodwit.a $(BUILD)/lib/libgodwit.so.1

# Pages of the dashboard: what web/src gives is committed, so that nobody needs npm to build or run godwit.
web: web/node_modules ## bundle the pages of the dashboard, web/src into web/dist (npm)
	$(GO) run -C tools ./webpages ../web

web-check: web/node_modules ## fail if web/dist is not what web/src gives
	$(GO) run -C tools ./webpages -check ../web

web/node_modules: web/package-lock.json
	npm ci --prefix web --no-audit --no-fund
	@touch $@

libgodwit: ## compile the library for programs that report their progress (C, Fortran)
	@if command -v cc >/dev/null; then $(MAKE) --no-print-directory $(LIBGODWIT); \
	else echo "no C compiler: libgodwit is not built (make deps)"; fi
	@if command -v mpicc >/dev/null; then $(MAKE) --no-print-directory $(LIBSRS); \
	else echo "no mpicc: libgodwit-srs is not built (make deps)"; fi

# SRS stands by itself: it is linked with the MPI that compiles it, and carries libgodwit along.
LIBSRS := $(BUILD)/lib/libgodwit-srs.a $(BUILD)/lib/libgodwit-srs.so.1
SRSPARTS := srs srs_layout srs_map srs_part srs_fortran

$(BUILD)/lib/libgodwit-srs.a: $(SRSPARTS:%=program/c/%.c) program/c/godwit.c $(wildcard program/c/*.h)
	@mkdir -p $(@D)/srs
	cd $(@D)/srs && mpicc -O2 -Wall -Wextra -fPIC -c $(addprefix $(CURDIR)/,$(SRSPARTS:%=program/c/%.c)) $(CURDIR)/program/c/godwit.c
	@rm -f $@.part
	ar rcs $@.part $(SRSPARTS:%=$(@D)/srs/%.o) $(@D)/srs/godwit.o && mv $@.part $@

$(BUILD)/lib/libgodwit-srs.so.1: $(BUILD)/lib/libgodwit-srs.a
	mpicc -shared -Wl,-s,-soname,libgodwit-srs.so.1 -o $@.part $(SRSPARTS:%=$(@D)/srs/%.o) $(@D)/srs/godwit.o && mv $@.part $@

$(BUILD)/lib/libgodwit.a: program/c/godwit.c program/c/godwit.h
	@mkdir -p $(@D)
	cc -O2 -Wall -Wextra -fPIC -c -o $(@D)/godwit.o $<
	@rm -f $@.part
	ar rcs $@.part $(@D)/godwit.o && mv $@.part $@

$(BUILD)/lib/libgodwit.so.1: program/c/godwit.c program/c/godwit.h
	@mkdir -p $(@D)
	cc -O2 -Wall -Wextra -fPIC -shared -Wl,-s,-soname,libgodwit.so.1 -o $@.part $< && mv $@.part $@

examples/jobs/burn: examples/jobs/burn.c
	cc -O2 -o $@ $<

# What moves the state of CUDA programs out of GPUs and back, carried along by the
# sandbox; without a C compiler it is left out, and GPU programs cannot be saved.
GPU_HELPER := $(if $(shell command -v cc),sandbox/built/cuda)

sandbox/built/cuda: sandbox/helper/cuda.c
	cc -O2 -Wall -Wextra -Wl,-s -o $@.part $< -ldl && mv $@.part $@

# gVisor's runsc, with a few lines changed (sandbox/patch.sh), and a little of
# ours, in a module of its own: its libraries are not ours. A minute or two the
# first time, nothing while nothing changed. The name appears only when the file
# is whole, so an interrupted build is begun again. Images are restored only by
# the version that wrote them: the pin is it.
sandbox: $(BUILD)/godwit-sandbox ## build the sandbox that saves and restores programs (gVisor)

$(BUILD)/godwit-sandbox: $(GPU_HELPER) $(wildcard sandbox/*.go) sandbox/go.mod sandbox/go.sum sandbox/patch.sh $(wildcard sandbox/*.go.in)
	@mkdir -p $(BUILD)
	@set -e; changed=$$(mktemp -d); trap 'rm -rf "$$changed"' EXIT; \
	GO='$(GO)' sh sandbox/patch.sh "$$changed/gvisor"; \
	version=$$($(GO) -C sandbox list -m -f '{{.Version}}' gvisor.dev/gvisor); \
	echo "building godwit-sandbox with gVisor $$version"; \
	CGO_ENABLED=0 $(GO) -C sandbox build $(BUILDFLAGS) -buildvcs=false -trimpath -modfile "$$changed/gvisor/go.mod" \
	  -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=$$version" -o ../$@.part .
	@mv $@.part $@

# Where things are installed; DESTDIR is put before it by who makes packages.
PREFIX   ?= /usr/local
BINDIR    = $(DESTDIR)$(PREFIX)/bin
SHARE     = $(DESTDIR)$(PREFIX)/share
LIBDIR    = $(DESTDIR)$(PREFIX)/lib
INCLUDE   = $(DESTDIR)$(PREFIX)/include
COMPLETED = $(SHARE)/bash-completion/completions/godwit $(SHARE)/zsh/site-functions/_godwit $(SHARE)/fish/vendor_completions.d/godwit.fish

install: build man ## install godwit, godwit-sandbox, libgodwit, man pages and completion below PREFIX (/usr/local)
	install -d $(BINDIR) $(SHARE)/man/man1 $(SHARE)/doc/godwit $(SHARE)/godwit/python $(dir $(COMPLETED))
	install -m 755 $(BUILD)/godwit $(BUILD)/godwit-sandbox $(BINDIR)
	install -m 644 $(BUILD)/man/*.1 $(SHARE)/man/man1
	install -m 644 LICENSE NOTICE THIRD_PARTY_LICENCES $(SHARE)/doc/godwit
	install -m 644 program/python/godwit.py $(SHARE)/godwit/python
	@if [ -e $(BUILD)/lib/libgodwit.a ]; then $(MAKE) --no-print-directory install-libgodwit; fi
	$(BUILD)/godwit completion bash > $(SHARE)/bash-completion/completions/godwit
	$(BUILD)/godwit completion zsh > $(SHARE)/zsh/site-functions/_godwit
	$(BUILD)/godwit completion fish > $(SHARE)/fish/vendor_completions.d/godwit.fish

# Where there was a C compiler.
install-libgodwit:
	install -d $(LIBDIR)/pkgconfig $(INCLUDE)
	install -m 644 $(BUILD)/lib/libgodwit.a $(LIBDIR)
	install -m 755 $(BUILD)/lib/libgodwit.so.1 $(LIBDIR)
	ln -sf libgodwit.so.1 $(LIBDIR)/libgodwit.so
	install -m 644 program/c/godwit.h $(INCLUDE)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' program/c/godwit.pc.in > $(LIBDIR)/pkgconfig/godwit.pc
	@if [ -e $(BUILD)/lib/libgodwit-srs.a ]; then $(MAKE) --no-print-directory install-srs; fi

install-srs:
	install -m 644 $(BUILD)/lib/libgodwit-srs.a $(LIBDIR)
	install -m 755 $(BUILD)/lib/libgodwit-srs.so.1 $(LIBDIR)
	ln -sf libgodwit-srs.so.1 $(LIBDIR)/libgodwit-srs.so
	install -m 644 program/c/srs.h $(INCLUDE)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' program/c/srs.pc.in > $(LIBDIR)/pkgconfig/godwit-srs.pc

uninstall: ## remove what install installed
	rm -f $(LIBDIR)/libgodwit-srs.a $(LIBDIR)/libgodwit-srs.so $(LIBDIR)/libgodwit-srs.so.1 $(LIBDIR)/pkgconfig/godwit-srs.pc $(INCLUDE)/srs.h
	rm -f $(LIBDIR)/libgodwit.a $(LIBDIR)/libgodwit.so $(LIBDIR)/libgodwit.so.1 $(LIBDIR)/pkgconfig/godwit.pc $(INCLUDE)/godwit.h
	rm -rf $(SHARE)/godwit
	rm -f $(BINDIR)/godwit $(BINDIR)/godwit-sandbox $(SHARE)/man/man1/godwit.1 $(SHARE)/man/man1/godwit-*.1 $(COMPLETED)
	rm -rf $(SHARE)/doc/godwit

man: godwit ## write the man pages to build/man
	@rm -rf $(BUILD)/man
	$(BUILD)/godwit man $(BUILD)/man

# One after the other even under -j, so that the output reads in order and the
# first failure is the last thing printed.
test: ## everything CI runs: check, then tests, race detector, short fuzzing, lint
	@$(MAKE) --no-print-directory first
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory race
	@$(MAKE) --no-print-directory fuzz-short
	@$(MAKE) --no-print-directory lint

# On a bare machine the first results are there before anything is installed or built.
first: ## tests that need nothing but Go
	$(GO) test ./internal/sched/core ./internal/sched/place ./internal/format/jobref

check: ## the fast part of test: formatting, build, functions that no program calls
	@$(MAKE) --no-print-directory fmt-check
	@$(MAKE) --no-print-directory build
	@$(MAKE) --no-print-directory deadcode
	@$(MAKE) --no-print-directory web-check

fmt: ## format all Go files
	gofmt -w .

fmt-check: ## fail if a Go file is not formatted
	@files=$$(gofmt -l .) || exit 1; \
	if [ -n "$$files" ]; then echo "not formatted (run: make fmt):"; echo "$$files"; exit 1; fi

deadcode: ## fail if there are functions that no program calls (scripts/deadcode.allow)
	@GO='$(GO)' sh scripts/deadcode.sh

# Run by the go command, which knows what has changed since the last time.
lint: ## the analyses of tools/lint: those of go vet, dropped errors, unused code, misuse of the standard library
	$(GO) -C tools build -o ../$(BUILD)/lint ./lint
	$(GO) vet -vettool=$(CURDIR)/$(BUILD)/lint $(PKG)

# Three packages at once even on two processors: many tests wait for batch systems. Those
# that take longest come first. What vet would say, lint says; symbols only take time to link.
# Nothing is repeated but a few tests that measure the machine (scripts/rerun names each,
# with its reason), once, and only if nothing else failed.
UNITFLAGS := -count=1 -vet=off -ldflags='-s -w' -timeout 30m

unit: $(BUILD)/godwit-sandbox yield capture examples ## all tests, never from the cache
	$(TOOL) gotestsum --format pkgname --jsonfile $(BUILD)/tests.json --packages './internal/live/daemon ./internal/e2e $(PKG)' -- -p 3 $(UNITFLAGS) || \
	  $(GO) run ./scripts/rerun $(BUILD)/tests.json $(UNITFLAGS)

# What needs hours, by hand on a machine that does nothing else: soak-files and soak-kills,
# fuzz (FUZZTIME for each target), attack (GODWIT_ATTACK_TIME, GODWIT_ATTACK_JOBS),
# experiments. Each recorded run has a line with its date in docs/benchmarks.md.
SOAK_JOBS  ?= 1000
SOAK_KILLS ?= 2000
SOAK_RESIZE_KILLS ?= 300

soak: ## what needs hours, one after the other: files, kills, long fuzzing, an attacker, the experiments
	@$(MAKE) --no-print-directory soak-files
	@$(MAKE) --no-print-directory soak-kills
	@$(MAKE) --no-print-directory soak-malleable
	@$(MAKE) --no-print-directory test-versions
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory attack
	@$(MAKE) --no-print-directory run-experiments

soak-files: $(BUILD)/godwit-sandbox ## SOAK_JOBS=1000 random jobs, cancelled, interrupted and restarted: every file comes home
	GODWIT_SOAK_JOBS=$(SOAK_JOBS) $(GO) test -tags soak ./internal/live/daemon -run TestEveryFileThatAProgramWroteComesHome -v -timeout 60m

soak-srs: ## five MPI programs with SRS are each stopped SRS_MOVES=30 times and continued on 1 to 8 processes
	GODWIT_SRS_MOVES=$${SRS_MOVES:-30} $(GO) test ./internal/host/checkpoint/native -count=1 -run TestProgramsWithSRS -v -timeout 6h

soak-kills: $(BUILD)/godwit-sandbox ## SOAK_KILLS=2000 brokers, agents and sandboxes are killed: every job ends once
	GODWIT_KILLS=$(SOAK_KILLS) $(GO) test ./internal/live/daemon -count=1 -run TestWhateverIsKilledEveryJobEndsOnce -v -timeout 6h

soak-malleable: $(BUILD)/godwit-sandbox ## SOAK_RESIZE_KILLS=300 deaths while jobs grow and shrink: program, broker and manager agree
	GODWIT_RESIZE_KILLS=$(SOAK_RESIZE_KILLS) $(GO) test ./internal/e2e -count=1 -run TestWhoeverIsKilledWhileJobsChangeTheirSizeAllAgreeAfterwards -v -timeout 6h

test-versions: $(BUILD)/godwit-sandbox ## agents of earlier commits (GODWIT_EARLIER), built from the history, under this broker
	$(GO) test -tags soak ./internal/live/daemon -count=1 -run TestAgentsOfEarlierBuildsRunOnUnderThisBroker -v -timeout 60m

# By hand: what it says stands in docs/SECURITY.md.
kills: $(BUILD)/godwit-sandbox ## kill brokers, agents and sandboxes at random for 10 minutes (GODWIT_KILL_TIME): no job is lost or doubled
	GODWIT_KILL_TIME=$${GODWIT_KILL_TIME:-10m} \
	  $(GO) test ./internal/live/daemon -count=1 -run TestWhateverIsKilledEveryJobEndsOnce -v -timeout 60m

# By hand: what it says stands in docs/SECURITY.md.
attack: $(BUILD)/godwit-sandbox ## one user of a shared broker attacks it for 30 minutes; the 500 jobs of another must not notice
	GODWIT_ATTACK_TIME=$${GODWIT_ATTACK_TIME:-30m} GODWIT_ATTACK_JOBS=$${GODWIT_ATTACK_JOBS:-500} \
	  $(GO) test -tags soak ./internal/live/daemon -run TestAnAttackerHarmsNobodyElse -v -timeout 90m

# By hand, on a machine with an NVIDIA GPU and PyTorch: what it says stands in docs/experiments/gpu.md.
gpu-test: build ## a training loop on a GPU is saved, moved and killed; another has the GPU in between
	sh scripts/gpu.sh
	GODWIT_SANDBOX=$(CURDIR)/$(BUILD)/godwit-sandbox $(GO) test -tags gpu ./internal/host/checkpoint/sandbox -count=1 -run 'Training' -v -timeout 30m

race: $(BUILD)/godwit-sandbox ## tests of the packages that start goroutines, under the race detector
	@GO='$(GO)' sh scripts/race.sh

race-all: $(BUILD)/godwit-sandbox ## the same for all packages that start goroutines
	@GO='$(GO)' sh scripts/race.sh all

fuzz-short: ## a twentieth of the fuzz targets, others each day, for a few seconds
	@GO='$(GO)' sh scripts/fuzz.sh $(FUZZTIME_TEST) 20

fuzz: ## every fuzz target for longer (FUZZTIME=2m)
	@GO='$(GO)' sh scripts/fuzz.sh $(FUZZTIME)

# By hand, after a fence was changed: what it says stands in docs/SECURITY.md.
mutants: ## take the fences away one by one and see that a test notices each
	$(GO) run ./scripts/mutants

# Not through a pipe: the exit code of go test must be the one that counts.
bench: ## run the benchmarks six times and summarise them
	@mkdir -p $(BUILD)
	$(GO) test -run='^$$' -bench=. -benchmem -count=6 $(PKG) > $(BUILD)/bench.txt || { cat $(BUILD)/bench.txt; exit 1; }
	$(TOOL) benchstat $(BUILD)/bench.txt

# It needs neither a C compiler nor MPI nor the example programs.
demo: ## a job with a deadline is migrated in time: the first thing to try (two or three minutes to build, less than one to run)
	@GO='$(GO)' MAKE='$(MAKE)' sh scripts/build.sh $(BUILD)/godwit-sandbox godwit
	@$(BUILD)/godwit demo --figure $(BUILD)/demo/deadline.svg

# No part of the product: it is neither installed nor in packages.
experiments: godwit ## build the experiments of the papers, build/godwit-experiments
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -buildvcs=false -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BUILD)/godwit-experiments ./cmd/godwit-experiments

run-experiments: build experiments ## run the experiments of the papers and write docs/experiments
	$(BUILD)/godwit-experiments koala
	$(BUILD)/godwit-experiments workflow
	$(BUILD)/godwit-experiments grads
	$(BUILD)/godwit-experiments adaptive
	$(BUILD)/godwit-experiments models

deps: ## install what is missing on a bare Debian (compilers, batch systems, MPI); needed for test, not for demo
	@sh scripts/deps.sh

clean: ## remove what the other targets built
	rm -rf $(BUILD) examples/jobs/burn examples/apps/build sandbox/built/cuda mpi/yield/built/yield.so mpi/capture/built/capture.so mpi/capture/built/skeleton
