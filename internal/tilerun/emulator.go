package tilerun

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/runtime/executor"
)

// Emulator compiles a module for a GPU and runs the PTX on the emulator, with all checks on.
type Emulator struct {
	GPU      string
	Code     driver.Code // source lines it has always
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

// compile makes PTX of a launch's module with our compiler.
func compile(ctx context.Context, gpu string, code driver.Code, l *cases.Launch) (string, error) {
	res, err := driver.Compile(ctx, l.File, l.Bytecode, driver.Options{GPU: gpu, Code: code, Emit: driver.EmitPTX, ReproducerDir: "."})
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
func (m *Emulator) Decode(ctx context.Context, file string, module []byte) error {
	return decode(ctx, file, module)
}

func decode(ctx context.Context, file string, module []byte) error {
	_, err := driver.Compile(ctx, file, module, driver.Options{Emit: driver.EmitCudaTile})
	return err
}

// Launch is one launch of an entry on the emulator.
func (m *Emulator) Launch(ctx context.Context, l *cases.Launch) (*cases.Outcome, error) {
	o := executor.Options{Engine: executor.Emulator, Schedule: m.Schedule, Foreign: m.Foreign || l.PTX != nil, EqualStores: m.NoteEqualStores, Stats: true}
	var block, cluster [3]int
	var shared int
	var text string
	var err error
	switch {
	case l.PTX != nil:
		text, block, cluster, shared = l.PTX.Text, l.PTX.Block, l.PTX.Cluster, l.PTX.Shared
	case m.PTX != nil:
		text, err = m.PTX(ctx, l)
	default:
		code := m.Code
		code.LineInfo = true
		text, err = compile(ctx, m.GPU, code, l)
	}
	if err != nil {
		return nil, err
	}
	if l.PTX == nil {
		shared = dynamicShared(text, l.Kernel)
	}
	p, err := executor.LoadPTX(text, block, cluster, shared, o)
	if err != nil {
		return nil, err
	}
	out, rep, err := launch(ctx, p, l)
	if err != nil {
		return nil, err
	}
	if out.AssertFailed { // what the kernel printed says which
		out.Message = out.Stdout
		return out, nil
	}
	out.Stats, out.Notes = rep.Stats, rep.Notes
	return out, nil
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
