// Package stages_test shows that every stage of the way down is a text that stands for itself: it parses back and continues to the
// same PTX, byte for byte, source locations included.
package stages_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llir/llvm/asm"
	llvm "github.com/llir/llvm/ir"

	"tileiras/internal/driver"
	"tileiras/passes"
)

// kernels that show loops, dots, reductions, masks, conversions through shared memory and atomics.
var kernels = []string{
	"../../examples/attention/kernel.tileirbc",
	"../corpus/perf/attention_f16_d64_128x64/kernel.tileirbc",
	"../corpus/perf/gemm_f16_4096_128x128x64/kernel.tileirbc",
	"../corpus/perf/reduce_sum_f32_64m/kernel.tileirbc",
	"../corpus/perf/transpose_f16_8192/kernel.tileirbc",
}

const (
	gpu         = "sm_80"
	lowerToLLVM = "lower-to-llvm"
	emitPTX     = "emit-ptx"
)

func TestEveryStageContinuesToTheSamePTX(t *testing.T) {
	for _, file := range kernels {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimSuffix(file, "/kernel.tileirbc"), "../")
		for _, debug := range []bool{false, true} {
			kind := map[bool]string{false: "plain", true: "debug info"}[debug]
			t.Run(name+"/"+kind, func(t *testing.T) { continues(t, src, debug) })
		}
	}
}

// continues runs the pipeline up to each place, prints, parses and runs the rest.
func continues(t *testing.T, src []byte, debug bool) {
	o := driver.Options{GPU: gpu, Code: driver.Code{Opt: 3, LineInfo: debug}, DebugInfo: debug, ReproducerDir: t.TempDir()}
	run := func(src []byte, names []string) string {
		t.Helper()
		res, err := driver.RunPasses(context.Background(), "kernel", src, o, names)
		if err != nil {
			t.Fatalf("passes %s: %v", strings.Join(names, ","), err)
		}
		return string(res.Output)
	}
	names := passNames()
	all := slices.Concat(names, []string{lowerToLLVM, emitPTX})
	want := run(src, all)
	if direct := compile(t, src, o); direct != want {
		t.Fatalf("the passes one by one do not give what a compile gives: %s", difference(direct, want))
	}
	if loc := strings.Contains(want, ".loc"); loc != debug {
		t.Errorf("the PTX has line information: %v, asked for: %v", loc, debug)
	}
	for i := range len(names) + 1 {
		after := "the reader"
		if i > 0 {
			after = names[i-1]
		}
		text := run(src, names[:i])
		if again := run([]byte(text), nil); again != text {
			t.Errorf("after %s the text does not print as it was parsed: %s", after, difference(again, text))
		}
		if got := run([]byte(text), all[i:]); got != want {
			t.Errorf("after %s the text continues to another PTX: %s", after, difference(got, want))
		}
		if i == 0 {
			continue
		}
		o := o
		o.StopAfter = after
		stopped := compile(t, src, o)
		if again := run([]byte(stopped), nil); again != stopped {
			t.Errorf("the text of a compile that stops after %s does not print as it was parsed: %s", after, difference(again, stopped))
		}
		o.StopAfter = ""
		if got := compile(t, []byte(stopped), o); got != want {
			t.Errorf("a compile that stops after %s and goes on gives another PTX: %s", after, difference(got, want))
		}
	}
	if got := fromLLVM(t, run(src, all[:len(names)+1]), o); got != want {
		t.Errorf("the LLVM IR continues to another PTX: %s", difference(got, want))
	}
}

func passNames() []string {
	var names []string
	for _, p := range passes.Pipeline() {
		names = append(names, p.Name)
	}
	return names
}

func compile(t *testing.T, src []byte, o driver.Options) string {
	if o.StopAfter == "" {
		o.Emit = driver.EmitPTX
	}
	res, err := driver.Compile(context.Background(), "kernel", src, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(res.Output)
}

// fromLLVM runs tile-opt on LLVM IR text.
func fromLLVM(t *testing.T, text string, o driver.Options) string {
	opt := driver.TileOpt(func(name, text string) (*llvm.Module, error) { return asm.ParseString(name, text) })
	args := []string{"--from=llvm", "--passes=" + emitPTX, "--gpu-name", gpu, "-"}
	if o.LineInfo {
		args = append([]string{"--lineinfo"}, args...)
	}
	var out, errs bytes.Buffer
	if code := opt(args, strings.NewReader(text), &out, &errs); code != 0 {
		t.Fatalf("tile-opt %s: exit code %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// difference shows the first line in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			return "it ends before: " + w[i]
		case i >= len(w):
			return "it goes on with: " + g[i]
		case g[i] != w[i]:
			return "\n  got  " + g[i] + "\n  want " + w[i]
		}
	}
	return "nothing differs"
}
