# Targets of tileiras. `make help` lists them.

GO       ?= go
BIN      := bin
TOOLS    := .tools
PACKAGES := ./...
SHELL    := /bin/bash

.PHONY: help build run quick test lint deadcode generate bless fuzz million random metamorphic corpus perf-small llvm nvidia nvidia-text frontends cubin-times triton speed bench slopes replay docs clean

help: ## Lists the targets.
	@awk -F':.*## ' '/^[a-z -]+:.*## / {sub(" .*", "", $$1); printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Builds the commands into bin/.
	@mkdir -p $(BIN)/linked
	CGO_ENABLED=0 $(GO) build -o $(BIN)/linked/ ./cmd/tile-opt ./cmd/tile-translate ./cmd/tileiras ./cmd/tileirdisasm ./cmd/tilerun
	@for f in $(BIN)/linked/*; do rm -f $(BIN)/$${f##*/} && dd if=$$f of=$(BIN)/$${f##*/} bs=64M status=none && chmod 755 $(BIN)/$${f##*/}; done # what is written at once starts sooner

run: build ## Compiles a real attention kernel to PTX, runs it in the emulator and compares the result.
	@examples/run.sh $(BIN)

quick: build ## The inner loop: text tests, completeness of tables, freshness of generated files, the corpus on the emulator.
	$(GO) test -short ./tests ./ir/... ./dialects/... ./passes/... ./codegen/... ./runtime/{emu,interp} ./internal/{driver,gen,opgen}
	$(BIN)/tilerun --quiet --on emu --gpu-name sm_80 tests/corpus/cases

test: lint deadcode ## Runs all tests that need only Go.
	$(GO) test -timeout 20m $(PACKAGES)

race: ## Runs the library and the cache under the race detector; needs a C compiler.
	$(GO) test -race -count=1 -run 'SideBySide|Cache|Writers|OneCache|Cancel' . ./internal/driver ./internal/cache

SOURCES := cmd codegen examples dialects internal ir passes runtime tests
lint: ## Checks formatting and the Go compiler's own warnings.
	@bad=$$(gofmt -l *.go $(SOURCES)); test -z "$$bad" || { echo "$$bad"; echo 'run gofmt -w on these files'; exit 1; }
	$(GO) vet $(PACKAGES)

deadcode: ## Finds functions that neither a command nor a test reaches, and declarations that nothing uses.
	@for tool in golang.org/x/tools/cmd/deadcode honnef.co/go/tools/cmd/staticcheck; do \
		$(GO) build -o /dev/null $$tool || { echo "skipped: $$tool is not here and could not be downloaded"; exit 0; }; done; \
	export CGO_ENABLED=0; packages=$$($(GO) list ./... | grep -v /libtileiras); \
	dead=$$($(GO) tool deadcode -test $$packages; $(GO) tool staticcheck -checks U1000 $$packages); test -z "$$dead" || { echo "$$dead"; exit 1; }

generate docs: ## Writes the typed operations and the generated documents (docs/ops.md, passes.md, flags.md, ...) again; make docs is the same.
	$(GO) run ./internal/opgen
	$(GO) run ./internal/gen

bless: ## Accepts the current output of all golden tests as expected; read the diff before you commit it.
	$(GO) test ./codegen/ptx -update

fuzz: ## Fuzzes the bytecode reader, verifier and printer and the text parsers, TIME=10m each (TIME=1h).
	$(GO) test ./tests/fuzz -run '^$$' -fuzz FuzzBytecode -fuzztime $(or $(TIME),10m)
	$(GO) test ./tests/fuzz -run '^$$' -fuzz FuzzText -fuzztime $(or $(TIME),10m)
	$(GO) test ./ir -run '^$$' -fuzz FuzzParse -fuzztime $(or $(TIME),10m)

million: ## Takes a million broken bytecode files and texts through reader, verifier and printer; prints time and memory.
	TILEIRAS_MUTATIONS=1_000_000 $(GO) test ./tests/fuzz -timeout 3h -count=1 -v -run 'Million|Mutated'
	TILEIRAS_MUTATIONS=100_000 $(GO) test ./tests/written -timeout 1h -count=1 -v

random: ## Holds N=5000 random modules on the emulator against the interpreter; counts operations and element types; judges the slots and barriers of as many products. KIND=products: each has a ragged product in a loop; KIND=big: each is attention, or a product with what is fused to it, with big tiles; KIND=rows: each has a loop over rows that are summed; KIND=tiles: each has a product whose tiles blocks share in a loop; KIND=programs: loops, branches, products and accesses to written memory nest at random, and the expected numbers are the generator's own, for one GPU each; KIND=control: ifs, fors and loops of every shape with jumps out of any of them, and numbers as of programs.
	TILEIRAS_RANDOM=$(or $(N),5000) TILEIRAS_RANDOM_KIND=$(KIND) $(GO) test -timeout 10h -count=1 -v -run 'RandomModules|EveryPair|RandomKernels' ./tests/random ./tests/sync

metamorphic: ## Rewrites N=5000 kernels of the corpus and of the regressions so that what they compute stays, each compiled in three of twelve ways, from seed FROM=0 on; KEEP=FOLDER gets those that fail. All rewritings that add no work must leave all performance kernels as good.
	TILEIRAS_METAMORPHIC=$(or $(N),5000) TILEIRAS_METAMORPHIC_FROM=$(or $(FROM),0) TILEIRAS_METAMORPHIC_KEEP=$(KEEP) $(GO) test -timeout 10h -count=1 -v ./tests/metamorphic

mutants: ## Plants N=160 mutants in dialects, passes, codegen, the interpreter and the emulator, one at a time, and prints those that no test notices.
	TILEIRAS_MUTANTS=$(or $(N),160) $(GO) test -timeout 10h -count=1 -v -run Noticed ./tests/mutants

.PHONY: mutants three
three: ## Holds interpreter, our PTX and NVIDIA's PTX of N=5000 random modules (KIND=products, KIND=big, KIND=rows, KIND=tiles, KIND=programs as of `make random`) and of all lit kernels against each other, for sm_80, sm_89, sm_90 and sm_100.
	@mkdir -p $(TOOLS) && scripts/nvidia-tools.sh $(TOOLS) > $(TOOLS)/path || { echo "skipped: NVIDIA's tools are not here and could not be installed"; cat $(TOOLS)/setup.log; exit 0; }; \
	TILEIRAS_THREE=$(or $(N),5000) TILEIRAS_THREE_KIND=$(KIND) TILEIRAS_NVIDIA_BIN=$$(cat $(TOOLS)/path) $(GO) test -timeout 10h -count=1 -v -run Three ./tests/random

corpus: build ## Runs every corpus case on the interpreter and, compiled for sm_80, on the emulator.
	-$(BIN)/tilerun --quiet --on interp tests/corpus/cases
	-$(BIN)/tilerun --quiet --on emu --gpu-name sm_80 tests/corpus/cases

perf-small: ## Runs the performance kernels at shrunken extents on the emulator and compares with the interpreter; GPUS=sm_120,sm_100.
	TILEIRAS_PERF_SMALL=1 TILEIRAS_PERF_SMALL_GPUS=$(GPUS) $(GO) test -count=1 -timeout 60m -v -run 'TestPerfSmall|TestLoops' ./tests/perfsmall

.PHONY: gpu
gpu: build ## Runs the corpus on the GPU of this machine, then the performance kernels, with the rates that they reach (RUNS=20); make speed predicts them.
	$(BIN)/tilerun --quiet --on gpu -j 1 tests/corpus/cases
	$(BIN)/tilerun --on gpu --runs $(or $(RUNS),20) tests/corpus/perf

.PHONY: gpu-pack gpu-peers
gpu-pack: build ## Compiles the performance kernels, by ours and NVIDIA's compiler, into build/gpu, for gpu-peers on a machine with a GPU (AS=90,80 ARCH=90).
	@mkdir -p $(TOOLS) && scripts/nvidia-tools.sh $(TOOLS) > $(TOOLS)/path || { cat $(TOOLS)/setup.log; exit 1; }
	$(GO) run ./tests/gpu pack -nvidia "$$(cat $(TOOLS)/path)" -arch $(or $(ARCH),90) -as $(or $(AS),90,80) -roles on -tma -out build/gpu
	CGO_ENABLED=0 $(GO) build -o build/gpu/gpu ./tests/gpu

gpu-peers: ## Measures on the GPU of this machine what gpu-pack has compiled; results of NVIDIA's code say whether ours are right (docs/gpu.md).
	@until build/gpu/gpu run build/gpu -log build/gpu.jsonl; do [ $$? -eq 3 ] || exit 1; done
	build/gpu/gpu table build/gpu.jsonl

llvm: ## Holds LLVM's back end against ours over the corpus; needs the Debian packages llvm-14 and llvm-16.
	@for tool in llvm-as-14 llc-16; do command -v $$tool > /dev/null || { echo "$$tool is missing: apt-get install llvm-14 llvm-16"; exit 1; }; done
	TILEIRAS_LLVM=1 $(GO) test -timeout 30m -count=1 -v ./tests/llvm

nvidia-text: ## Installs NVIDIA's tileirdisasm from PyPI and compares our text and messages with its, byte for byte.
	@mkdir -p $(TOOLS) && scripts/nvidia-tools.sh $(TOOLS) > $(TOOLS)/path || { cat $(TOOLS)/setup.log; exit 1; }
	TILEIRAS_NVIDIA_BIN=$$(cat $(TOOLS)/path) $(GO) test -timeout 20m -count=1 -v -run 'Tileirdisasm' ./tests/nvidia

nvidia: ## Installs NVIDIA's tools from PyPI into .tools and runs the tests that need them (ptxas, NVIDIA's own PTX).
	@mkdir -p $(TOOLS) && scripts/nvidia-tools.sh $(TOOLS) > $(TOOLS)/path || { cat $(TOOLS)/setup.log; exit 1; }
	TILEIRAS_NVIDIA_BIN=$$(cat $(TOOLS)/path) $(GO) test -timeout 60m -v ./tests/nvidia ./codegen/ptxop ./codegen/ptx

triton: ## Installs Triton from PyPI into .tools, compiles its kernels for six targets and runs them in the emulator.
	@mkdir -p $(TOOLS) && scripts/triton.sh $(TOOLS) > $(TOOLS)/triton.path || { cat $(TOOLS)/triton/setup.log; exit 1; }
	TILEIRAS_TRITON=$$(cat $(TOOLS)/triton.path) $(GO) test -timeout 60m -count=1 -v ./tests/triton

.PHONY: mpmath accuracy
mpmath: ## Makes the table of function values that runtime/exact is held against again; needs Python.
	python3 -m venv $(TOOLS)/mpmath && $(TOOLS)/mpmath/bin/pip install -q mpmath gmpy2
	$(TOOLS)/mpmath/bin/python runtime/exact/testdata/generate.py > runtime/exact/testdata/mpmath.txt

accuracy: ## Measures the error of every function over 10^7 points and writes docs/accuracy.md; takes an hour.
	TILEIRAS_ACCURACY=$(or $(N),10000000) $(GO) test -timeout 4h -count=1 -v -run Promises ./tests/accuracy

.PHONY: lib race wheel nogpu
WHEEL_OS = $(or $(GOOS),$(shell $(GO) env GOOS))
WHEEL = build/wheel-$(WHEEL_OS)-$(or $(GOARCH),$(shell $(GO) env GOARCH))
SONAME_linux = -extldflags=-Wl,-soname,libtileiras.so
wheel: ## Builds the Python package into build/; needs Python and a C compiler for the platform (GOARCH=arm64 CC=aarch64-linux-gnu-gcc).
	$(if $(filter linux darwin,$(WHEEL_OS)),,$(error the package is for Linux and macOS, not for $(WHEEL_OS)))
	@rm -rf $(WHEEL)
	CGO_ENABLED=1 $(GO) build -ldflags '-s -w $(SONAME_$(WHEEL_OS))' -buildmode=c-shared -o $(WHEEL)/libtileiras.$(if $(filter darwin,$(WHEEL_OS)),dylib,so) ./cmd/libtileiras
	CGO_ENABLED=0 $(GO) build -ldflags '-s -w' -o $(WHEEL)/ ./cmd/tileiras ./cmd/tileirdisasm ./cmd/tilerun
	python3 python/wheel.py $(WHEEL) build

nogpu: build lib ## Runs the tests in the folder SUITE, of cuTile Python or of TileGym, without a GPU, on both engines (ENGINES=interp); installs what they need into .tools.
	@mkdir -p $(TOOLS)
	python/suites/run.sh $(BIN) $(TOOLS) $(or $(SUITE),$(error say SUITE=FOLDER, a checkout of NVIDIA/cutile-python or NVIDIA/TileGym))

lib: ## Builds the C library into bin/, with its header; needs a C compiler.
	@mkdir -p $(BIN)
	$(GO) build -ldflags '$(SONAME_$(WHEEL_OS))' -buildmode=c-shared -o $(BIN)/libtileiras.so ./cmd/libtileiras
	cp cmd/libtileiras/tileiras.h $(BIN)/ && rm -f $(BIN)/libtileiras.h

frontends: build ## Installs cuTile Python from PyPI and compiles its kernels through our tileiras, for four GPUs.
	@mkdir -p $(TOOLS)
	tests/frontends/run.sh $(BIN) $(TOOLS)

cubin-times: build ## Pairs bytecode to cubin, ptxas included, with NVIDIA's tileiras over the performance kernels (RUNS=5, FLAGS='-rotate -kernels PATTERNS').
	@mkdir -p $(TOOLS) && scripts/nvidia-tools.sh $(TOOLS) > $(TOOLS)/path || { cat $(TOOLS)/setup.log; exit 1; }
	TILEIRAS_NVIDIA_BIN=$$(cat $(TOOLS)/path) $(GO) run ./tests/bench/cubins -bin $(BIN) -runs $(or $(RUNS),5) $(FLAGS)

SM ?= 80,120
speed: build ## Predicts the speed of our code beside NVIDIA's and Triton's, from PyPI (NVIDIA=FOLDER, TRITON=FOLDER, SM=80,120, FLAGS='-max-ratio 1.10 -max-geomean 1.00').
	@mkdir -p $(TOOLS); nvidia='$(NVIDIA)'; [ -n "$$nvidia" ] || nvidia=$$(scripts/nvidia-tools.sh $(TOOLS)) || { cat $(TOOLS)/setup.log; exit 1; }; \
	triton='$(TRITON)'; [ -n "$$triton" ] || triton=$$(scripts/triton.sh $(TOOLS)) || { cat $(TOOLS)/triton/setup.log; exit 1; }; \
	$(GO) run ./tests/speed -bin $(BIN) -nvidia "$$nvidia" -triton "$$triton" -sm $(SM) -cache $(TOOLS)/speed $(FLAGS)

.PHONY: sweep
sweep: build ## Predicts the speed of 278 kernels of many kinds and shapes beside NVIDIA's code, with cuTile Python from PyPI (SM=80,120, ONLY='attention gelu').
	@mkdir -p $(TOOLS); rm -rf $(TOOLS)/sweep; nvidia=$$(scripts/nvidia-tools.sh $(TOOLS)) && python=$$(scripts/cutile.sh $(TOOLS)) || { cat $(TOOLS)/setup.log $(TOOLS)/frontends/setup.log; exit 1; }; \
	$$python tests/corpus/src/sweep.py $(TOOLS)/sweep $(ONLY) > $(TOOLS)/sweep.log || { cat $(TOOLS)/sweep.log; exit 1; }; \
	$(GO) run ./tests/speed -bin $(BIN) -corpus $(TOOLS)/sweep -nvidia "$$nvidia" -sm $(SM) -cache $(TOOLS)/speed $(FLAGS)

.PHONY: tilegym
tilegym: build ## Predicts the speed of the kernels of NVIDIA's TileGym beside NVIDIA's code, with tilegym and torch from PyPI, 5 GB (SM=80,120, ONLY='matmul softmax').
	@mkdir -p $(TOOLS); rm -rf $(TOOLS)/tilegym-kernels; nvidia=$$(scripts/nvidia-tools.sh $(TOOLS)) && python=$$(scripts/tilegym.sh $(TOOLS)) || { cat $(TOOLS)/setup.log $(TOOLS)/tilegym/setup.log; exit 1; }; \
	$$python tests/corpus/src/tilegym_kernels.py $(TOOLS)/tilegym-kernels $(ONLY) > $(TOOLS)/tilegym.log 2>&1 || { cat $(TOOLS)/tilegym.log; exit 1; }; \
	$(GO) run ./tests/speed -bin $(BIN) -corpus $(TOOLS)/tilegym-kernels -nvidia "$$nvidia" -sm $(SM) -cache $(TOOLS)/speed $(FLAGS)

.PHONY: sweep-check
sweep-check: build ## Runs kernels of the sweep on small arrays, on the emulator, against numpy (GPUS=sm_80,sm_120, ONLY='attention gemm_w4').
	@mkdir -p $(TOOLS); rm -rf $(TOOLS)/sweep; python=$$(scripts/cutile.sh $(TOOLS)) || { cat $(TOOLS)/frontends/setup.log; exit 1; }; \
	$$python tests/corpus/src/sweep.py $(TOOLS)/sweep $(ONLY) > $(TOOLS)/sweep.log || { cat $(TOOLS)/sweep.log; exit 1; }; \
	gpus="$(GPUS)"; $$python tests/corpus/src/sweep_check.py $(TOOLS)/sweep $(BIN)/tilerun "$${gpus:-sm_75,sm_80,sm_90,sm_100,sm_120}" $(ONLY)

bench: build ## Prints the median and 10th percentile of compile time per kernel, whole process and per pass (FLAGS='-table -nvidia FOLDER': a row a kernel).
	$(GO) run ./tests/bench -bin $(BIN) $(FLAGS)

replay: ## Compares the PTX of the whole corpus with that of BASE=COMMIT, byte for byte; FLAGS='-sm 80 -keep DIR'.
	scripts/replay.sh $(or $(BASE),$(error say BASE=COMMIT)) $(FLAGS)

slopes: build ## Prints how compile time and memory grow with the size of generated programs, family by family.
	$(GO) run ./tests/slopes -bin $(BIN)

clean: ## Removes what the other targets built; what they installed stays in .tools.
	rm -rf $(BIN) build
