package tilerun

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// Emulator compiles a module for a GPU and runs the PTX on the emulator, with all checks on.
type Emulator struct {
	GPU      string
	Opt      int
	Schedule emu.Schedule
	// PTX, if not nil, makes the PTX instead of our compiler.
	PTX func(ctx context.Context, l *cases.Launch) (string, error)
	// NoteEqualStores makes notes of unordered stores of equal values, as a program that scatters to duplicate addresses has them. Tests
	// go without: our code must store an element once.
	NoteEqualStores bool
	// Foreign PTX may rely on lanes of a warp running in step. A launch of PTX text is foreign.
	Foreign bool
}

func (m *Emulator) String() string { return "emulator, " + m.Schedule.String() }

// unsupported marks an error of the compiler that says "not supported yet".
type unsupported struct{ error }

func (u unsupported) Is(target error) bool { return target == errors.ErrUnsupported }

// compile makes PTX with our compiler.
func compile(ctx context.Context, gpu string, opt int, bytecode []byte) (string, error) {
	res, err := driver.Compile(ctx, "kernel.tileirbc", bytecode, driver.Options{GPU: gpu, Opt: opt, Emit: driver.EmitPTX, ReproducerDir: "."})
	if err != nil {
		var f *driver.Failure
		if errors.As(err, &f) && strings.Contains(f.Error(), "not supported yet") {
			return "", unsupported{err}
		}
		return "", err
	}
	return string(res.Output), nil
}

// Decode reads, verifies and prints.
func (m *Emulator) Decode(ctx context.Context, bytecode []byte) error { return decode(ctx, bytecode) }

func decode(ctx context.Context, bytecode []byte) error {
	_, err := driver.Compile(ctx, "kernel.tileirbc", bytecode, driver.Options{Emit: driver.EmitCudaTile})
	return err
}

// Launch is one launch of an entry on the emulator.
func (m *Emulator) Launch(ctx context.Context, l *cases.Launch) (*cases.Outcome, error) {
	var text string
	var err error
	o := emu.Options{Grid: l.Grid, Seed: 1, Schedule: m.Schedule, Foreign: m.Foreign, NoteEqualStores: m.NoteEqualStores, Stats: true}
	switch {
	case l.PTX != nil:
		text = l.PTX.Text
		o.Block, o.Cluster, o.DynShared, o.Foreign = l.PTX.Block, l.PTX.Cluster, l.PTX.Shared, true
	case m.PTX != nil:
		text, err = m.PTX(ctx, l)
	default:
		text, err = compile(ctx, m.GPU, m.Opt, l.Bytecode)
	}
	if err != nil {
		return nil, err
	}
	mod, err := emu.Parse("kernel.ptx", text)
	if err != nil {
		return nil, err
	}
	mem := emu.NewMemory()
	addrs := Place(mem, l)
	var args []emu.Arg
	for _, p := range l.Params {
		bits := p.Bits
		if p.Type == nil {
			bits = addrs[p.Buffer] + uint64(p.Offset)
		}
		args = append(args, binary.LittleEndian.AppendUint64(nil, bits)[:p.Size()])
	}
	var stdout bytes.Buffer
	o.Stdout = &stdout
	if l.PTX == nil {
		o.DynShared = dynamicShared(text, l.Kernel)
	}
	res, err := mod.Run(ctx, l.Kernel, mem, args, o)
	out := &cases.Outcome{Addresses: addrs, Stdout: stdout.String()}
	var rep *emu.Report
	if errors.As(err, &rep) && rep.Kind == emu.Trap {
		out.AssertFailed, out.Message = true, stdout.String()
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Buffers = Contents(l, addrs, mem.Bytes)
	out.Stats = res.Stats
	for _, n := range res.Notes {
		out.Notes = append(out.Notes, n.Summary())
	}
	return out, nil
}

// Place puts the buffers of a launch into a memory and gives their addresses.
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

// dynamicShared reads from the header of our PTX how many bytes of dynamic shared memory a launch needs.
func dynamicShared(ptx, kernel string) int {
	_, rest, ok := strings.Cut(ptx, "// kernel "+kernel+"\n")
	if !ok {
		return 0
	}
	_, rest, ok = strings.Cut(rest, "//   shared   ")
	if !ok {
		return 0
	}
	var n int
	if _, err := fmt.Sscanf(rest, "%d bytes dynamic", &n); err != nil {
		return 0
	}
	return n
}
