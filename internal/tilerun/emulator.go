package tilerun

import (
	"context"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/runtime/executor"
)

// Emulator compiles a module for a GPU and runs the PTX on the emulator, with all checks on unless it is told otherwise.
type Emulator struct {
	GPU      string
	Code     driver.Code // source lines it has always
	Schedule emu.Schedule
	// Compiled, if not nil, is what a compile of every module gives.
	Compiled *driver.Result
	// NoteEqualStores makes notes of unordered stores of equal values, as a program that scatters to duplicate addresses has them. Tests
	// go without: our code must store an element once.
	NoteEqualStores bool
	// Foreign PTX may rely on lanes of a warp running in step. A launch of PTX text is foreign.
	Foreign bool
	Checks  executor.Checks

	kernel *kernel // shared by the machines that run one kernel; nil: every launch compiles
}

// kernel is what compiling a kernel gave the first machine that runs it.
type kernel struct {
	compiled *driver.Result
	err      error
}

// emulators are machines for one kernel, one under each schedule, which is compiled once.
func emulators(o driver.Options, schedules []emu.Schedule, checks executor.Checks) (ms []cases.Machine) {
	k := &kernel{}
	for _, s := range schedules {
		ms = append(ms, &Emulator{GPU: o.GPU, Code: o.Code, Schedule: s, NoteEqualStores: true, Checks: checks, kernel: k})
	}
	return ms
}

func (m *Emulator) String() string { return "emulator, " + m.Schedule.String() }

// compile makes PTX of a launch's module with our compiler.
func compile(ctx context.Context, gpu string, code driver.Code, l *cases.Launch) (*driver.Result, error) {
	return driver.Compile(ctx, l.File, l.Bytecode, driver.Options{GPU: gpu, Code: code, Emit: driver.EmitPTX, ReproducerDir: "."})
}

// Decode reads, verifies and prints.
func (m *Emulator) Decode(ctx context.Context, file string, module []byte) error {
	return decode(ctx, file, module)
}

func decode(ctx context.Context, file string, module []byte) error {
	_, err := driver.Compile(ctx, file, module, driver.Options{Emit: driver.EmitCudaTile})
	return err
}

// Launch is one launch of an entry on the emulator.
func (m *Emulator) Launch(ctx context.Context, l *cases.Launch) (*cases.Outcome, error) {
	o := executor.Options{Engine: executor.Emulator, Schedule: m.Schedule, Foreign: m.Foreign || l.PTX != nil, EqualStores: m.NoteEqualStores, Stats: true, Checks: m.Checks}
	p, err := m.load(ctx, l, o)
	if err != nil {
		return nil, err
	}
	out, rep, err := launch(ctx, p, l)
	if err != nil {
		return out, err
	}
	if out.AssertFailed { // what the kernel printed says which
		out.Message = out.Stdout
		return out, nil
	}
	out.Stats, out.Notes = rep.Stats, rep.Notes
	return out, nil
}

// load prepares the PTX of a launch.
func (m *Emulator) load(ctx context.Context, l *cases.Launch, o executor.Options) (*executor.Program, error) {
	if p := l.PTX; p != nil {
		o.Name = p.File
		return executor.LoadPTX(p.Text, p.Block, p.Cluster, p.Shared, o)
	}
	k := m.kernel
	if k == nil {
		k = &kernel{compiled: m.Compiled}
	}
	if k.compiled == nil && k.err == nil {
		code := m.Code
		code.LineInfo = true
		k.compiled, k.err = compile(ctx, m.GPU, code, l)
	}
	if k.err != nil {
		return nil, k.err
	}
	return executor.LoadCompiled(k.compiled, o)
}

// Place puts the buffers of a launch into a memory of the emulator and gives their addresses, for tests that run it with options of their own.
func Place(mem *emu.Memory, l *cases.Launch) []uint64 {
	contents := make([][]byte, len(l.Buffers))
	addrs := make([]uint64, len(l.Buffers))
	for i, b := range l.Buffers {
		contents[i] = append([]byte{}, b.Bytes...)
		if b.Scratch {
			addrs[i] = mem.AllocUndef(b.Name, len(b.Bytes), b.Align)
			continue
		}
		offsets, data := b.Pieces(contents[i])
		addrs[i] = mem.AllocPieces(b.Name, offsets, data, b.Align)
	}
	l.StorePointers(contents, addrs)
	for i, b := range l.Buffers {
		offsets, data := b.Pieces(contents[i])
		for k, d := range data {
			copy(mem.Bytes(addrs[i]+offsets[k]), d)
		}
	}
	return addrs
}

// Contents is the present content of every buffer of a launch at its address, without its gaps.
func Contents(l *cases.Launch, addrs []uint64, bytes func(addr uint64) []byte) [][]byte {
	var out [][]byte
	for i, b := range l.Buffers {
		if len(b.Gaps) == 0 {
			out = append(out, bytes(addrs[i]))
			continue
		}
		var all []byte
		offsets, _ := b.Pieces(b.Bytes)
		for _, o := range offsets {
			all = append(all, bytes(addrs[i]+o)...)
		}
		out = append(out, all)
	}
	return out
}
