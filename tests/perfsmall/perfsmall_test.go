// Package perfsmall_test runs the performance kernels at shrunken extents, where every path of a schedule is still taken: no, one
// and several steps along K, ragged ends, one to four tile blocks. The emulator, which runs our PTX with all checks on, must
// agree with the interpreter: bit for bit where the interpreter's value is exact, within a tolerance where approximations are on
// the way. A quick part always runs, and all counters of loops; TILEIRAS_PERF_SMALL=1 runs all sizes, each under every schedule of the emulator.
package perfsmall_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/runtime/interp"
)

const perf = "../corpus/perf"

// gpus are tried in order: the first on which the element types of a kernel exist is the one that it is compiled for.
// TILEIRAS_PERF_SMALL_GPUS names others, with commas. The environment is asked while a test runs: before that, go test does not notice that its
// cached result depends on it.
func gpus() []string {
	return strings.Split(cmp.Or(os.Getenv("TILEIRAS_PERF_SMALL_GPUS"), "sm_80,sm_89,sm_90,sm_100"), ",")
}

func TestPerfSmall(t *testing.T) {
	all := os.Getenv("TILEIRAS_PERF_SMALL") != ""
	names, err := cases.List(perf)
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]bool{}
	var missing []string
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			c, err := cases.Load(filepath.Join(perf, name))
			if err != nil {
				t.Fatal(err)
			}
			res, gpu, err := compile(c)
			if err != nil {
				missing = append(missing, fmt.Sprintf("%s: %v", name, err))
				if strings.Contains(err.Error(), "not supported yet") && !slices.Contains(mustCompile, name) {
					t.Skip(err)
				}
				t.Fatal(err)
			}
			compiled[name] = true
			runSizes(t, c, gpu, all, func(ctx context.Context, schedules []emu.Schedule) (bool, error) {
				return runAll(ctx, c, gpu, res, schedules)
			})
		})
	}
	t.Logf("%d of %d kernels compile", len(compiled), len(names))
	for _, m := range missing {
		t.Log(m)
	}
}

// TestEveryKernelThatMustCompileExists keeps the list honest.
func TestEveryKernelThatMustCompileExists(t *testing.T) {
	names, err := cases.List(perf)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mustCompile {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not in the corpus", name)
		}
	}
}

// compile makes PTX for the first GPU that has the kernel's types.
func compile(c *cases.Case) (res *driver.Result, gpu string, err error) {
	for _, gpu = range gpus() {
		if res, err = compileFor(c, gpu, options.Code{}); err == nil {
			return res, gpu, nil
		}
		if !strings.Contains(err.Error(), "Incompatibility with architecture") {
			break
		}
	}
	return nil, gpu, err
}

func compileFor(c *cases.Case, gpu string, code options.Code) (*driver.Result, error) {
	code.Opt = 3
	return driver.Compile(context.Background(), c.Name, c.Bytecode, driver.Options{GPU: gpu, Code: code, Emit: driver.EmitPTX})
}

// runSizes shrinks a case to each size of its kind and runs it.
func runSizes(t *testing.T, c *cases.Case, gpu string, all bool, run func(ctx context.Context, schedules []emu.Schedule) (changed bool, err error)) {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.op == c.Op })
	if at < 0 {
		t.Fatalf("no kind says how op %q becomes small", c.Op)
	}
	k := &kinds[at]
	arrays, err := arraysOf(c, k)
	if err != nil {
		t.Fatal(err)
	}
	tiles := tilesOf(arrays)
	for i, text := range k.sizes {
		s, err := parseSize(text, tiles)
		if err != nil {
			t.Fatal(err)
		}
		if !all && !s.always {
			continue
		}
		t.Run(s.text, func(t *testing.T) {
			if err := shrink(c, k, arrays, s, tiles); err != nil {
				t.Fatal(err)
			}
			schedules := emu.Schedules
			if !all {
				schedules = schedules[i%len(schedules):][:1]
			}
			changed, err := run(t.Context(), schedules)
			if err != nil {
				t.Fatalf("%s, grid %v, %v", gpu, c.Grid, err)
			}
			if !changed && computes(arrays) {
				t.Errorf("grid %v: the kernel left every array as it was", c.Grid)
			}
		})
	}
}

// computes says whether a launch has data to work on.
func computes(arrays []array) bool {
	for _, a := range arrays {
		if a.buffer.Elements() == 0 {
			return false
		}
	}
	return true
}

// runAll launches a case on the interpreter and on the emulator under some schedules and compares every buffer; it tells whether
// one of them changed.
func runAll(ctx context.Context, c *cases.Case, gpu string, res *driver.Result, schedules []emu.Schedule) (changed bool, err error) {
	l, err := c.NewLaunch()
	if err != nil {
		return false, err
	}
	want, err := interpret(ctx, l)
	if err != nil {
		return false, fmt.Errorf("interpreter: %w", err)
	}
	for _, schedule := range schedules {
		out, err := emulate(ctx, l, res, schedule)
		if err != nil {
			return false, err
		}
		var errs []error
		for i, b := range c.Buffers {
			if len(b.Pointers) == 0 {
				errs = append(errs, compareBuffer(b, out.Buffers[i], want[i].bytes, want[i].inexact))
				changed = changed || !bytes.Equal(b.Data, want[i].bytes)
			}
		}
		if err := errors.Join(errs...); err != nil {
			return false, fmt.Errorf("%v: %w", schedule, err)
		}
	}
	return changed, nil
}

// emulate runs what was compiled on the emulator.
func emulate(ctx context.Context, l *cases.Launch, res *driver.Result, schedule emu.Schedule) (*cases.Outcome, error) {
	m := &tilerun.Emulator{Schedule: schedule, Compiled: res}
	out, err := m.Launch(ctx, l)
	if err == nil && out.AssertFailed {
		err = fmt.Errorf("assertion failed: %s", out.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w", m, err)
	}
	return out, nil
}

// reference is what the interpreter left in a buffer.
type reference struct {
	bytes   []byte
	inexact []bool
}

func interpret(ctx context.Context, l *cases.Launch) ([]reference, error) {
	in, err := driver.Read(driver.NewContext(), "kernel.tileirbc", l.Bytecode)
	if err != nil {
		return nil, err
	}
	p, err := interp.New(in.Module)
	if err != nil {
		return nil, err
	}
	mem := interp.NewMemory()
	contents := make([][]byte, len(l.Buffers))
	addrs := make([]uint64, len(l.Buffers))
	for i, b := range l.Buffers {
		addrs[i] = mem.Alloc(b.Name, b.Bytes, b.Align)
		contents[i] = mem.Bytes(addrs[i])
	}
	l.StorePointers(contents, addrs)
	var args []uint64
	for _, a := range l.Params {
		bits := a.Bits
		if a.Type == nil {
			bits = addrs[a.Buffer] + uint64(a.Offset)
		}
		args = append(args, bits)
	}
	if _, err := p.Run(ctx, l.Kernel, mem, args, interp.Options{Grid: l.Grid, Strict: true, MaxSteps: 1 << 30}); err != nil {
		return nil, err
	}
	var out []reference
	for _, a := range addrs {
		out = append(out, reference{mem.Bytes(a), mem.Inexact(a)})
	}
	return out, nil
}
