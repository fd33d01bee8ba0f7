package tileiras_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tileiras"
	"tileiras/runtime/executor"
)

func kernel(t testing.TB, name string) []byte {
	src, err := os.ReadFile(filepath.Join("tests/corpus", name, "kernel.tileirbc"))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// chain is a kernel of n dependent operations.
func chain(n int) []byte {
	var b strings.Builder
	b.WriteString("entry @chain(%p: tile<ptr<i32>>, %x: tile<i32>) {\n  %v0 = addi %x, %x : tile<i32>\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "  %%v%d = xori %%v%d, %%v%d : tile<i32>\n", i, i-1, max(0, i-7))
	}
	fmt.Fprintf(&b, "  %%t = store_ptr_tko weak %%p, %%v%d : tile<ptr<i32>>, tile<i32> -> token\n  return\n}\n", n-1)
	return []byte(b.String())
}

func TestOptionsAreValidated(t *testing.T) {
	src := chain(3)
	for _, c := range []struct {
		o    tileiras.Options
		want string
	}{
		{tileiras.Options{GPU: "sm_80", Emit: "sass"}, `Options.Emit = "sass": it is one of cudatile bytecode tileaa llvm ptx cubin`},
		{tileiras.Options{GPU: "sm_80", ABI: "c"}, `Options.ABI = "c": it is one of cuda tile`},
		{tileiras.Options{GPU: "sm_80", Opt: 9}, `Options.Opt = 9: it is one of O0 O1 O2 O3`},
		{tileiras.Options{GPU: "H100"}, `Options.GPU = "H100": H100 is written sm_90; names are sm_75 `},
		{tileiras.Options{Emit: tileiras.Cubin}, `a cubin is for one of these: give Options.GPU with sm_75 `},
		{tileiras.Options{GPU: "sm_80", Emit: tileiras.PTX, StopAfter: "cse"}, `a compile that stops after cse gives tileaa, not ptx: leave out Options.StopAfter or Options.Emit`},
		{tileiras.Options{GPU: "sm_80", Emit: tileiras.Bytecode, BytecodeVersion: "14.0"}, `Options.BytecodeVersion = "14.0": it is one of 13.1 13.2`},
		{tileiras.Options{GPU: "sm_80", TimeLimit: -1}, `Options.TimeLimit = -1ns: it is a time`},
		{tileiras.Options{GPU: "sm_80", MemoryLimit: -1}, `Options.MemoryLimit = -1: it is a number of bytes`},
		{tileiras.Options{GPU: "sm_80", Roles: "all"}, `Options.Roles = "all": it is one of auto on off`},
		{tileiras.Options{GPU: "sm_80", TF32: "cut"}, `Options.TF32 = "cut": it is one of rounded truncated`},
		{tileiras.Options{GPU: "sm_80", SlicesK: 3}, `Options.SlicesK = 3: it is 1, 2 or 4`},
		{tileiras.Options{GPU: "sm_80", MaxShared: -1}, `Options.MaxShared = -1: it is a number of bytes, or 0 for what the GPU has`},
		{tileiras.Options{GPU: "sm_80", MaxPTX: "new"}, `Options.MaxPTX = "new": a version of PTX is written 8.4`},
		{tileiras.Options{GPU: "sm_80", StopAfter: "optimise"}, `Options.StopAfter: there is no pass named 'optimise'`},
		{tileiras.Options{GPU: "sm_80", PrintAfter: []string{"x"}}, `Options.PrintAfter: there is no pass named 'x'`},
	} {
		res, err := tileiras.Compile(t.Context(), src, c.o)
		var e *tileiras.Error
		if res != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: result %v, error %v; want %s", c.o, res, err, c.want)
			continue
		}
		if len(e.Diagnostics) != 1 || e.Diagnostics[0].Kind != "option" || e.Code != 1 && e.Code != 2 {
			t.Errorf("%+v: diagnostics %+v, code %d; want one of options", c.o, e.Diagnostics, e.Code)
		}
	}
	// What is said later speaks of options, too.
	multicast, err := os.ReadFile("tests/lit/emit-ptx/multimem.tileir")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src  []byte
		o    tileiras.Options
		want string
	}{
		{src, tileiras.Options{GPU: "sm_80", Emit: tileiras.Cubin, Ptxas: "/nowhere/ptxas"}, "the ptxas that Options.Ptxas names"},
		{multicast, tileiras.Options{}, "no Options.GPU was given, so this was compiled for sm_80"},
	} {
		if _, err := tileiras.Compile(t.Context(), c.src, c.o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "--") {
			t.Errorf("%+v: %v; want %s", c.o, err, c.want)
		}
	}
	// Dumps without a Log go nowhere.
	if _, err := tileiras.Compile(t.Context(), src, tileiras.Options{GPU: "sm_80", PrintAfterAll: true, PrintChanged: true, PrintFacts: true}); err != nil {
		t.Errorf("a nil Log: %v", err)
	}
}

func TestDiagnosticsAreValues(t *testing.T) {
	bytecode := kernel(t, "cases/abs_i32")
	multicast, err := os.ReadFile("tests/lit/emit-ptx/multimem.tileir")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src   string
		kind  tileiras.Kind
		code  int
		place tileiras.Place
		text  string
		notes int
	}{
		{"entry @k() {\n  %0 = addi %x, %x : tile<i32>\n  return\n}", "text", 3, tileiras.Place{File: "k.tileir", Line: 2, Column: 13}, "", 0},
		{"entry @k(%x: tile<4xi32>) {\n  return\n}", "verify", 3, tileiras.Place{File: "k.tileir", Line: 1, Column: 1}, "", 0},
		{string(multicast), "unsupported", 5, tileiras.Place{File: "k.tileir", Line: 16, Column: 8}, "not supported yet", 0},
		{"", "bytecode", 3, tileiras.Place{}, "input does not correspond to Tile IR bytecode", 0},
		{string(bytecode[:len(bytecode)/2]), "bytecode", 3, tileiras.Place{}, "offset", 2},
	} {
		_, err := tileiras.Compile(t.Context(), []byte(c.src), tileiras.Options{Name: "k.tileir", GPU: "sm_80"})
		var e *tileiras.Error
		if !errors.As(err, &e) || len(e.Diagnostics) == 0 {
			t.Errorf("%.40q: error %v, want an *Error with diagnostics", c.src, err)
			continue
		}
		d := e.Diagnostics[0]
		if d.Kind != c.kind || e.Code != c.code || d.Place != c.place || d.Severity != tileiras.SeverityError || !strings.Contains(d.Message, c.text) || len(d.Notes) != c.notes {
			t.Errorf("%.40q: %+v, code %d; want %+v", c.src, d, e.Code, c)
		}
	}
}

// TestOptionsThatHaveNothingToDo: they are a warning under the name that the caller knows, also of a result from a cache.
func TestOptionsThatHaveNothingToDo(t *testing.T) {
	cache := t.TempDir()
	for _, cached := range []bool{false, true} {
		res, err := tileiras.Compile(t.Context(), []byte(double), tileiras.Options{Sanitize: true, Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, d := range res.Diagnostics {
			list = append(list, d.String())
		}
		if res.Cached != cached || len(list) != 1 || !strings.HasPrefix(list[0], "warning: Options.Sanitize has ptxas instrument a cubin, and ptx is written") {
			t.Errorf("cached: %v, %q", res.Cached, list)
		}
	}
}

// TestDiagnosticsSayWhatKind: the kind is that of the cause, whatever the exit code: an input that breaks a rule, options that the input has no room for,
// a tool that is not there.
func TestDiagnosticsSayWhatKind(t *testing.T) {
	const narrow = "cuda_tile.module @m {\n  entry @k(%x: tile<f8E8M0FNU>) {\n    return\n  }\n}\n" // a type of 13.2 and later
	const named = "cuda_tile.module @m {\n  entry @k(%x: tile<i32>) {\n    return\n  }\n}\n"
	for _, c := range []struct {
		src  string
		o    tileiras.Options
		kind tileiras.Kind
		code int
		line int
	}{
		{`tileaa.module @m attributes {after = "nonsense"} { }`, tileiras.Options{}, "verify", 3, 1},
		{"tileaa.module @m { }", tileiras.Options{Emit: tileiras.Bytecode}, "verify", 3, 1},
		{narrow, tileiras.Options{Emit: tileiras.Bytecode, BytecodeVersion: "13.1"}, "option", 2, 0}, // parameters have no place of their own
		{"tileaa.module @m { }", tileiras.Options{Emit: tileiras.Bytecode, BytecodeVersion: "13.1"}, "verify", 3, 1},
		{named, tileiras.Options{Emit: tileiras.Cubin, GPU: "sm_80", Ptxas: "/nowhere/ptxas"}, "tool", 5, 0},
		{named, tileiras.Options{Emit: tileiras.Cubin, GPU: "sm_80", Ptxas: "/bin/false"}, "tool", 5, 0},
	} {
		c.o.Name = "k.tileir"
		_, err := tileiras.Compile(t.Context(), []byte(c.src), c.o)
		var e *tileiras.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Diagnostics[0].Kind != c.kind || e.Diagnostics[0].Place.Line != c.line {
			t.Errorf("%s, %+v: %v\n%+v; want %s, code %d, line %d", c.src, c.o, err, e, c.kind, c.code, c.line)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: that is not what the compiler cannot do", c.src)
		}
	}
	if _, err := tileiras.Compile(t.Context(), []byte(narrow), tileiras.Options{Emit: tileiras.Bytecode}); err != nil {
		t.Errorf("the newest version has the type: %v", err)
	}
}

// expiring is a context that ends at its n-th look.
type expiring struct {
	context.Context
	looks, end int
	err        error
}

func (c *expiring) Err() error {
	if c.looks++; c.looks > c.end {
		return c.err
	}
	return nil
}

// TestCanceledCompile ends a compile at each of its looks at the context: whatever stage that is, the error is the context's, and
// nothing is made or left running.
func TestCanceledCompile(t *testing.T) {
	sources := map[string][]byte{"attention": kernel(t, "perf/attention_f16_d64_causal_128x64"), "chain": chain(3000)}
	for _, name := range []string{"attention", "chain"} {
		src := sources[name]
		whole := &expiring{Context: context.Background(), end: 1 << 30}
		if _, err := tileiras.Compile(whole, src, tileiras.Options{GPU: "sm_90"}); err != nil {
			t.Fatal(err)
		}
		if whole.looks < 50 {
			t.Errorf("%s: only %d looks at the context", name, whole.looks)
		}
		before := runtime.NumGoroutine()
		step := max(whole.looks/40, 1)
		for end := 0; end < whole.looks; end += step {
			reason := []error{context.Canceled, context.DeadlineExceeded}[end/step%2]
			ctx := &expiring{Context: context.Background(), end: end, err: reason}
			res, err := tileiras.Compile(ctx, src, tileiras.Options{GPU: "sm_90", ReproducerDir: t.TempDir()})
			if res != nil || !errors.Is(err, reason) {
				t.Fatalf("%s, look %d: result %v, error %v; want none and %v", name, end, res, err, reason)
			}
			kind := map[error]tileiras.Kind{context.Canceled: tileiras.KindCanceled, context.DeadlineExceeded: tileiras.KindDeadline}[reason]
			if e := err.(*tileiras.Error); e.Diagnostics[0].Kind != kind || e.Code != 5 {
				t.Fatalf("%s, look %d: %+v", name, end, e)
			}
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%s: %d goroutines before, %d after", name, before, after)
		}
	}
	if _, err := tileiras.Compile(t.Context(), chain(10_000), tileiras.Options{GPU: "sm_90", TimeLimit: time.Nanosecond}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a time limit of 1 ns: %v", err)
	}
}

// TestCanceledWithACause: the error of a context to which somebody gave a cause has both in its chain.
func TestCanceledWithACause(t *testing.T) {
	cause := errors.New("the disk is full")
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	late, stop := context.WithTimeoutCause(t.Context(), 0, cause)
	defer stop()
	for _, c := range []struct {
		ctx  context.Context
		kind tileiras.Kind
		want error
	}{{canceled, "canceled", context.Canceled}, {late, "deadline", context.DeadlineExceeded}} {
		_, err := tileiras.Compile(c.ctx, chain(3000), tileiras.Options{GPU: "sm_90"})
		var e *tileiras.Error
		if !errors.As(err, &e) || e.Diagnostics[0].Kind != c.kind || !errors.Is(err, c.want) || !errors.Is(err, cause) {
			t.Errorf("%v, want %v because %v", err, c.want, cause)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	const small, limit = 1000, 32 << 20
	if _, err := tileiras.Compile(t.Context(), chain(small), tileiras.Options{GPU: "sm_80", MemoryLimit: limit}); err != nil {
		t.Errorf("%d operations: %v", small, err)
	}
	for _, level := range []tileiras.Level{tileiras.CudaTile, tileiras.TileAA, tileiras.PTX} {
		_, err := tileiras.Compile(t.Context(), chain(50_000), tileiras.Options{GPU: "sm_80", Emit: level, MemoryLimit: limit})
		var e *tileiras.Error
		if !errors.Is(err, tileiras.ErrMemory) || !errors.As(err, &e) || e.Diagnostics[0].Kind != "memory" || !strings.Contains(err.Error(), "32 MB") {
			t.Errorf("50,000 operations to %s: %v, want %v", level, err, tileiras.ErrMemory)
		}
	}
	_, err := tileiras.Compile(t.Context(), chain(small), tileiras.Options{MemoryLimit: 20_000})
	if want := "memory limit exceeded: the compile would hold more than 20000 bytes"; fmt.Sprint(err) != want && fmt.Sprint(err) != "error: "+want {
		t.Errorf("%q, want %q", err, want)
	}
}

// weighing is a context that looks at the heap.
type weighing struct {
	context.Context
	looks int
	peak  uint64
}

func (c *weighing) Err() error {
	if c.looks++; c.looks%10 == 0 {
		c.peak = max(c.peak, heap())
	}
	return nil
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// joins is a kernel of few operations that have many operands: n stores, and n more that each come after width of them.
func joins(n, width int) []byte {
	var b strings.Builder
	b.WriteString("entry @joins(%p: tile<ptr<i32>>, %x: tile<i32>) {\n")
	for i := range n {
		fmt.Fprintf(&b, "  %%t%d = store_ptr_tko weak %%p, %%x : tile<ptr<i32>>, tile<i32> -> token\n", i)
	}
	for i := range n {
		fmt.Fprintf(&b, "  %%j%d = join_tokens %%t%d", i, i)
		for k := 1; k < width; k++ {
			fmt.Fprintf(&b, ", %%t%d", (i+k)%n)
		}
		fmt.Fprintf(&b, " : token\n  %%s%d = store_ptr_tko weak %%p, %%x token=%%j%d : tile<ptr<i32>>, tile<i32> -> token\n", i, i)
	}
	b.WriteString("  return\n}\n")
	return []byte(b.String())
}

// parameters is a kernel of one operation with n parameters.
func parameters(n int) []byte {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, ", %%p%d: tile<i32>", i)
	}
	return []byte("entry @parameters(" + list.String()[2:] + ") {\n  return\n}\n")
}

// constants is a kernel that stores uses constants of n elements, in bytecode.
func constants(t *testing.T, n, uses int) []byte {
	var elements, body strings.Builder
	for i := range n {
		fmt.Fprintf(&elements, ", %d.5", i%1000)
	}
	for i := range uses {
		fmt.Fprintf(&body, "  %%c%d = constant <f32: [%s]> : tile<%dxf32>\n  %%s%d = store_ptr_tko weak %%o, %%c%d : tile<%dxptr<f32>>, tile<%dxf32> -> token\n",
			i, elements.String()[2:], n, i, i, n, n)
	}
	text := fmt.Sprintf("entry @constants(%%p: tile<ptr<f32>>) {\n  %%q = reshape %%p : tile<ptr<f32>> -> tile<1xptr<f32>>\n  %%r = broadcast %%q : tile<1xptr<f32>> -> tile<%[1]dxptr<f32>>\n"+
		"  %%i = iota : tile<%[1]dxi32>\n  %%o = offset %%r, %%i : tile<%[1]dxptr<f32>>, tile<%[1]dxi32> -> tile<%[1]dxptr<f32>>\n%[2]s  return\n}\n", n, body.String())
	return bytecode(t, text)
}

func bytecode(t *testing.T, text string) []byte {
	t.Helper()
	res, err := tileiras.Compile(t.Context(), []byte(text), tileiras.Options{Emit: tileiras.Bytecode})
	if err != nil {
		t.Fatal(err)
	}
	return res.Output
}

// TestMemoryIsCountedAboutRight holds what a compile is said to hold, the lowest limit that lets it through, against the heap.
func TestMemoryIsCountedAboutRight(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	for _, c := range []struct {
		name  string
		src   []byte
		level tileiras.Level
	}{
		{"chain", chain(4000), tileiras.TileAA},
		{"chain", chain(4000), tileiras.PTX},
		{"joins", joins(400, 200), tileiras.CudaTile},
		{"joins", joins(400, 200), tileiras.TileAA},
		{"a constant", constants(t, 65536, 1), tileiras.PTX},
		{"uses of a constant", constants(t, 32768, 20), tileiras.CudaTile},
		{"a printed string", bytecode(t, `entry @k() { print_tko "`+strings.Repeat("abc", 200_000)+`" -> token return }`), tileiras.PTX},
	} {
		runtime.GC()
		before := heap()
		ctx := &weighing{Context: context.Background()}
		if _, err := tileiras.Compile(ctx, c.src, tileiras.Options{GPU: "sm_90", Emit: c.level}); err != nil {
			t.Fatal(err)
		}
		took := int64(ctx.peak - before)
		fails := func(limit int64) bool {
			_, err := tileiras.Compile(t.Context(), c.src, tileiras.Options{GPU: "sm_90", Emit: c.level, MemoryLimit: limit})
			return err != nil
		}
		if !fails(took/3) || fails(3*took) {
			t.Errorf("%s to %s: the heap grew by %d KB; a limit of a third lets it through: %v, three times as much stops it: %v", c.name, c.level, took>>10, !fails(took/3), fails(3*took))
		}
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("full") }

// TestLogPanics: a writer of the caller that panics is no fault of a pass.
func TestLogPanics(t *testing.T) {
	_, err := tileiras.Compile(t.Context(), chain(3), tileiras.Options{Log: panicking{}, PrintAfterAll: true, ReproducerDir: t.TempDir()})
	if err == nil || err.Error() != "error: Options.Log panics: full" {
		t.Errorf("%v", err)
	}
}

// TestOwnValues: results and errors that a program makes itself, as its tests do, can be asked for everything.
func TestOwnValues(t *testing.T) {
	r := &tileiras.Result{}
	if r.Metadata() != nil || r.Explain() != "" || len(r.RemarksYAML()) != 0 || strings.TrimSpace(string(r.RemarksJSON())) != "[]" {
		t.Errorf("of an empty result: %q, %q, %q, %q", r.Metadata(), r.Explain(), r.RemarksYAML(), r.RemarksJSON())
	}
	err := &tileiras.Error{Diagnostics: []tileiras.Diagnostic{{Severity: tileiras.SeverityError, Message: "no"}}}
	if err.Error() != "error: no" {
		t.Errorf("an error says %q", err)
	}
}

// TestCompileSideBySide compiles different kernels for different GPUs from 16 goroutines; under -race it shows that calls share
// nothing.
func TestCompileSideBySide(t *testing.T) {
	names := []string{"perf/attention_f16_d64_128x64", "perf/gather_rows_f16", "cases/abs_i32", "cases/argmax_f32"}
	gpus := []string{"sm_80", "sm_90", "sm_100", "sm_120"}
	want := make([][]byte, len(names)*len(gpus))
	for i := range want {
		res, err := tileiras.Compile(t.Context(), kernel(t, names[i/4]), tileiras.Options{GPU: gpus[i%4]})
		if err != nil {
			t.Fatal(err)
		}
		want[i] = res.Output
	}
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for n := range 4 {
				i := (g + 5*n) % len(want)
				res, err := tileiras.Compile(t.Context(), kernel(t, names[i/4]), tileiras.Options{GPU: gpus[i%4], Log: &bytes.Buffer{}, PrintAfterAll: n == 0})
				if err != nil || !bytes.Equal(res.Output, want[i]) {
					t.Errorf("goroutine %d: %s for %s: error %v, or another text", g, names[i/4], gpus[i%4], err)
				}
			}
		})
	}
	wg.Wait()
}

func TestListsAreCopies(t *testing.T) {
	tileiras.GPUs()[0], tileiras.BytecodeVersions()[0] = "", ""
	if !slices.Contains(tileiras.GPUs(), "sm_75") || !slices.Contains(tileiras.BytecodeVersions(), "13.1") {
		t.Error("a caller changed the lists of the library")
	}
}

// laborious is a context that counts the objects that were made between two looks at it.
type laborious struct {
	context.Context
	made [1]metrics.Sample
	most uint64
}

func (c *laborious) Err() error {
	before := c.made[0]
	c.made[0].Name = "/gc/heap/allocs:objects"
	metrics.Read(c.made[:])
	if before.Name != "" {
		c.most = max(c.most, c.made[0].Value.Uint64()-before.Value.Uint64())
	}
	return nil
}

// TestLooksAreNear bounds the work between two looks at the context, whatever is asked for: its measure is the objects that are made,
// of which every stage makes some for an operation. A stage that never looks makes more than there are operations.
func TestLooksAreNear(t *testing.T) {
	const n = 20_000
	src, wide := chain(n), parameters(n)
	for _, o := range []tileiras.Options{
		{Emit: tileiras.CudaTile}, {Emit: tileiras.CudaTile, DebugInfo: true}, {Emit: tileiras.Bytecode}, {Emit: tileiras.TileAA}, {Emit: tileiras.LLVM},
		{Emit: tileiras.PTX}, {Emit: tileiras.PTX, LineInfo: true, Remarks: true},
	} {
		ctx := &laborious{Context: context.Background()}
		if _, err := tileiras.Compile(ctx, src, o); err != nil {
			t.Fatal(err)
		}
		if o.Emit == tileiras.CudaTile || o.Emit == tileiras.Bytecode { // no kernel of PTX has so many parameters
			if _, err := tileiras.Compile(ctx, wide, o); err != nil {
				t.Fatal(err)
			}
		}
		if ctx.Err(); ctx.most > n/2 {
			t.Errorf("%s: %d objects were made between two looks at the context, of %d operations", o.Emit, ctx.most, n)
		} else {
			t.Logf("%s, remarks %v: at most %d objects between two looks", o.Emit, o.Remarks, ctx.most)
		}
	}
}

// BenchmarkLooks prints the longest time between two looks at the context, which is how late a compile notices that it must end.
func BenchmarkLooks(b *testing.B) {
	for _, c := range []struct {
		name string
		src  []byte
	}{
		{"attention", kernel(b, "perf/attention_f16_d128_causal_128x128")},
		{"chain-100k", chain(100_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			worst := time.Duration(0)
			for b.Loop() {
				ctx := &timing{Context: context.Background(), last: time.Now()}
				if _, err := tileiras.Compile(ctx, c.src, tileiras.Options{GPU: "sm_90"}); err != nil {
					b.Fatal(err)
				}
				worst = max(worst, ctx.worst)
			}
			b.ReportMetric(float64(worst.Microseconds())/1000, "ms-between-looks")
		})
	}
}

type timing struct {
	context.Context
	last  time.Time
	worst time.Duration
}

func (c *timing) Err() error {
	now := time.Now()
	c.worst = max(c.worst, now.Sub(c.last))
	c.last = now
	return nil
}

func TestBuildNamesTheBuild(t *testing.T) {
	if a, b := tileiras.Build(), tileiras.Build(); a == "" || a != b {
		t.Errorf("one build has the names %q and %q", a, b)
	}
}

// TestAKernelSaysWhereItStands: with a column where the source has one.
func TestAKernelSaysWhereItStands(t *testing.T) {
	res, err := tileiras.Compile(t.Context(), []byte("entry @k(%x: tile<i32>) { return }"), tileiras.Options{Name: "k.tileir"})
	if err != nil || len(res.Kernels) != 1 || res.Kernels[0].Place.String() != "k.tileir:1:1" {
		t.Errorf("%+v, %v", res, err)
	}
	if s := (tileiras.Place{File: "k.py", Line: 3}).String(); s != "k.py:3" {
		t.Errorf("a place without a column is %s", s)
	}
}

// TestTheExecutorRunsWhatTheLibraryCompiled: a program of another module needs no more than docs/nogpu.md says.
func TestTheExecutorRunsWhatTheLibraryCompiled(t *testing.T) {
	const source = "entry @k(%p: tile<ptr<i32>>, %x: tile<i32>) {\n  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token\n  return\n}"
	res, err := tileiras.Compile(t.Context(), []byte(source), tileiras.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := res.Kernels[0]
	prog, err := executor.LoadPTX(string(res.Output), k.Block, k.Cluster, k.SharedDynamic, executor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, 4)
	_, err = prog.Launch(t.Context(), &executor.Launch{Kernel: k.Name, Grid: [3]int{1, 1, 1},
		Params: [][]byte{{0, 0x10, 0, 0, 0, 0, 0, 0}, {7, 0, 0, 0}}, Memory: []executor.Region{{Name: "p", Address: 0x1000, Data: memory}}})
	if err != nil || memory[0] != 7 {
		t.Errorf("%v, %v", memory, err)
	}
	for kind, o := range map[tileiras.Kind]executor.Options{tileiras.KindMemory: {MemoryLimit: 1}, tileiras.KindOption: {Engine: "gpu"}} {
		var e *tileiras.Error
		_, err = executor.Load(t.Context(), []byte(source), o)
		if !errors.As(err, &e) || e.Diagnostics[0].Kind != kind || errors.Is(err, tileiras.ErrMemory) != (kind == tileiras.KindMemory) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
