package random

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/runtime/emu"
	"tileiras/runtime/interp"
)

// Failure says what is wrong with a module, or with the compiler.
type Failure struct {
	// Kind is what a reduction keeps: "invalid" (a fault of the generator: the module has no one meaning), "bug" (the compiler
	// failed), "emulator: race" and its like, "differs", "evaluation" (the interpreter does not agree with the evaluation of a program).
	Kind string
	GPU  string
	Text string
}

func (f *Failure) Error() string { return strings.TrimSpace(f.Kind + " " + f.GPU + ": " + f.Text) }

// ErrUnsupported marks what the compiler says it cannot do yet.
var ErrUnsupported = errors.New("not supported yet")

// refusals are what the compiler may say of a valid module: about its own limits, or those of a GPU.
var refusals = []string{"not supported yet", "tile too big", "bytes of shared memory, "}

// maxSteps bounds what a tile block does on the interpreter.
const maxSteps = 1 << 20

// maxInstructions bounds the warp instructions of a run on the emulator.
const maxInstructions = 1 << 24

// reference is what a module must leave in its buffers.
type reference struct {
	entry   string
	blocks  int // of tiles in the grid, along x
	params  []param
	bytes   [][]byte // nil for scalars
	inexact [][]bool
	// equalStores makes notes of unordered stores of equal values.
	equalStores bool
}

// interpret runs a module on the interpreter, which reports undefined values, and inexact ones that decide control flow or
// addresses.
func interpret(ctx context.Context, text string) (*reference, error) {
	return interpretText(ctx, text, entry, grid)
}

func interpretText(ctx context.Context, text, entry string, blocks int) (*reference, error) {
	in, err := read(text)
	if err != nil {
		return nil, err
	}
	return interpretEntry(ctx, in, entry, blocks)
}

// interpretEntry runs one entry of a module on a grid of so many tile blocks.
func interpretEntry(ctx context.Context, in *driver.Input, entry string, blocks int) (*reference, error) {
	params, err := parameters(in.Module, entry)
	if err != nil {
		return nil, err
	}
	prog, err := interp.New(in.Module)
	if err != nil {
		return nil, err
	}
	mem := interp.NewMemory()
	args := make([]uint64, len(params))
	for i, p := range params {
		if args[i] = p.bits; p.bytes != nil {
			args[i] = mem.Alloc(fmt.Sprintf("p%d", i), p.bytes, 256)
		}
	}
	if _, err := prog.Run(ctx, entry, mem, args, interp.Options{Grid: [3]int{blocks}, Strict: true, MaxSteps: maxSteps}); err != nil {
		return nil, err
	}
	ref := &reference{entry: entry, blocks: blocks, params: params, bytes: make([][]byte, len(params)), inexact: make([][]bool, len(params))}
	for i, p := range params {
		if p.bytes != nil {
			ref.bytes[i], ref.inexact[i] = mem.Bytes(args[i]), mem.Inexact(args[i])
		}
	}
	return ref, nil
}

// Check compares the compiler and the emulator with the interpreter for some GPUs. The error is a *Failure or ErrUnsupported.
func Check(ctx context.Context, text string, schedule emu.Schedule, gpus ...string) error {
	ref, err := interpret(ctx, text)
	if err != nil {
		return &Failure{Kind: "invalid", Text: err.Error()}
	}
	return ref.checkOn(ctx, text, schedule, gpus...)
}

// checkProgram does so for a program, and holds the interpreter against what the program means by its own evaluation first.
func checkProgram(ctx context.Context, text string, p *program, schedule emu.Schedule, gpus ...string) error {
	ref, err := interpret(ctx, text)
	if err != nil {
		return &Failure{Kind: "invalid", Text: err.Error()}
	}
	if text := ref.misses(p.evaluate(ref.params)); text != "" {
		return &Failure{Kind: "evaluation", Text: text}
	}
	return ref.checkOn(ctx, text, schedule, gpus...)
}

func (ref *reference) checkOn(ctx context.Context, text string, schedule emu.Schedule, gpus ...string) error {
	var refused error
	for _, gpu := range gpus {
		if err := ref.check(ctx, text, schedule, gpu); errors.Is(err, ErrUnsupported) {
			refused = err
		} else if err != nil {
			return err
		}
	}
	return refused
}

// check compiles a module as the plan would have it, with warps of their own for copies, with tensor maps, with both, with slices of products along K, under one schedule without
// optional passes, and with less shared memory than the plan took, which leaves fewer slots or shorter steps; each where it is another program. How much less, and how many slices,
// follows from the schedule.
func (ref *reference) check(ctx context.Context, text string, schedule emu.Schedule, gpu string) error {
	seen := map[string]bool{}
	run := func(code options.Code) (shared int, err error) {
		res, err := compile(ctx, text, gpu, code)
		if err != nil {
			return 0, err
		}
		k := res.Metadata.Kernels[slices.IndexFunc(res.Metadata.Kernels, func(k driver.Kernel) bool { return k.Name == ref.entry })]
		if ptx := string(res.Output); !seen[ptx] {
			seen[ptx] = true
			err = ref.compare(ctx, gpu, ptx, emu.Options{DynShared: k.Dynamic, Schedule: schedule, NoteEqualStores: ref.equalStores})
		}
		return k.Static + k.Dynamic, err
	}
	shared, err := run(options.Code{Opt: 3})
	if err == nil {
		_, err = run(options.Code{Opt: 3, Roles: options.On})
	}
	if err == nil {
		_, err = run(options.Code{Opt: 3, TMA: true})
	}
	if err == nil {
		_, err = run(options.Code{Opt: 3, TMA: true, Roles: options.On})
	}
	if err == nil {
		_, err = run(options.Code{Opt: 3, SlicesK: 2 << (int(schedule) % 2)})
	}
	if err == nil && schedule == emu.Reverse {
		_, err = run(options.Code{Opt: 0})
	}
	less := shared * (1 + int(schedule)) / (1 + len(emu.Schedules))
	if err != nil || less == 0 {
		return err
	}
	if _, err = run(options.Code{Opt: 3, MaxShared: less}); errors.Is(err, ErrUnsupported) {
		return nil // it needs what it takes
	}
	return err
}

func compile(ctx context.Context, text, gpu string, code options.Code) (*driver.Result, error) {
	res, err := driver.Compile(ctx, "random.tileir", []byte(text), driver.Options{GPU: gpu, Code: code, Emit: driver.EmitPTX, ReproducerDir: "/dev/null"})
	var f *driver.Failure
	switch {
	case errors.As(err, &f) && f.Code == driver.ExitBug:
		return nil, &Failure{"bug", gpu, err.Error()}
	case err != nil && slices.ContainsFunc(refusals, func(l string) bool { return strings.Contains(err.Error(), l) }):
		return nil, fmt.Errorf("%w: %s: %s", ErrUnsupported, gpu, err)
	case err != nil:
		return nil, &Failure{"refused", gpu, err.Error()}
	}
	return res, nil
}

// notEmulated is the kind of a failure for what the emulator lacks.
const notEmulated = "not emulated"

// compare runs PTX in the emulator and compares what it leaves in the buffers with the interpreter's.
func (ref *reference) compare(ctx context.Context, gpu, ptx string, o emu.Options) error {
	mod, err := emu.Parse("random.ptx", ptx)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return &Failure{notEmulated, gpu, err.Error()}
	case err != nil:
		return &Failure{"PTX", gpu, err.Error()}
	}
	mem := emu.NewMemory()
	addrs := make([]uint64, len(ref.params))
	var args []emu.Arg
	for i, p := range ref.params {
		bits, n := p.bits, size(p.elem)
		if p.bytes != nil {
			addrs[i] = mem.Alloc(fmt.Sprintf("p%d", i), append([]byte{}, p.bytes...), 256)
			bits, n = addrs[i], 8
		}
		args = append(args, binary.LittleEndian.AppendUint64(nil, bits)[:n])
	}
	o.Grid, o.Seed, o.MaxSteps = [3]int{ref.blocks}, 1, maxInstructions
	_, err = mod.Run(ctx, ref.entry, mem, args, o)
	var rep *emu.Report
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return &Failure{notEmulated, gpu, err.Error()}
	case errors.As(err, &rep):
		return &Failure{"emulator: " + rep.Kind.String(), gpu, err.Error()}
	case err != nil:
		return &Failure{"emulator", gpu, err.Error()}
	}
	for i, p := range ref.params {
		if p.bytes == nil {
			continue
		}
		if text := differences(p.elem, mem.Bytes(addrs[i]), ref.bytes[i], ref.inexact[i]); text != "" {
			return &Failure{"differs", gpu, fmt.Sprintf("parameter %d: %s", i, text)}
		}
	}
	return nil
}

// differences describes the first elements that differ where the interpreter's value is exact, or that have nothing in common where it is an inexact
// number of a float format; every NaN is like every other.
func differences(elem ir.Type, got, want []byte, inexact []bool) string {
	if bytes.Equal(got, want) {
		return ""
	}
	n := size(elem)
	f, isFloat := elem.(*ir.FloatType)
	var first string
	count := 0
	for i := 0; i+n <= len(want); i += n {
		var g, w [8]byte
		copy(g[:], got[i:i+n])
		copy(w[:], want[i:i+n])
		if g == w {
			continue
		}
		a, b := binary.LittleEndian.Uint64(g[:]), binary.LittleEndian.Uint64(w[:])
		if inexact != nil && anySet(inexact[i:i+n]) && (!isFloat || resembles(f.Format, f.Format.FromStorage(a), f.Format.FromStorage(b))) {
			continue
		}
		if isFloat && f.Format.IsNaN(f.Format.FromStorage(a)) && f.Format.IsNaN(f.Format.FromStorage(b)) {
			continue
		}
		if count++; count == 1 {
			first = fmt.Sprintf("element %d is %#x, the interpreter has %#x", i/n, a, b)
			if isFloat {
				first += fmt.Sprintf(" (%g, %g)", f.Format.Decode(f.Format.FromStorage(a)), f.Format.Decode(f.Format.FromStorage(b)))
			}
		}
	}
	if count > 1 {
		first += fmt.Sprintf("; %d elements differ", count)
	}
	return first
}

// resembles tells whether two numbers may be the same one, computed in two ways that round differently: by far more than any sum and any approximation
// here is off, and not in a format that has few digits or where numbers are too small. Close to the largest number one way may overflow, to an
// infinity or in a format without them to NaN.
func resembles(f *float.Format, a, b uint64) bool {
	x, y := f.Decode(a), f.Decode(b)
	if f.IsNaN(a) && f.IsNaN(b) {
		return true
	}
	if !f.IsFinite(a) {
		a, b, x, y = b, a, y, x
	}
	if !f.IsFinite(b) {
		overflow := f.IsInf(b) && (x < 0) == (y < 0) || f.IsNaN(b) && !f.HasInf()
		return f.IsFinite(a) && overflow && math.Abs(x) >= f.Decode(f.Max())/2
	}
	tolerance := max(0.25, math.Ldexp(2, -f.MantissaBits()))
	return math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))+math.Ldexp(1, 1-f.Bias())
}

func anySet(flags []bool) bool {
	for _, f := range flags {
		if f {
			return true
		}
	}
	return false
}
