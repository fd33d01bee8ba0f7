package executor

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"tileiras/runtime/emu"
	"tileiras/runtime/interp"
)

// Region is memory of the caller: Data, which the kernel sees at an address and may read, and write if it is not read-only, until the launch has ended. The address may be
// that of Go or C memory, or any other number that the kernel gets as a pointer.
type Region struct {
	Name     string // for messages
	Address  uint64
	Data     []byte
	Undef    bool // undefined until it is written, on the emulator
	ReadOnly bool
}

// Launch is one grid of tile blocks.
type Launch struct {
	Kernel string
	Grid   [3]int   // tile blocks, each at least 1
	Params [][]byte // the bytes of each parameter, little-endian, as the driver API passes them; more bytes than the type has are ignored
	Memory []Region // may not overlap
	Stdout io.Writer
	Done   *atomic.Int64 // counts tile blocks that have ended while it runs, if not nil
}

// Report is the result of a launch without a fault.
type Report struct {
	Blocks     int64     // tile blocks
	Operations int64     // of Tile IR, on the interpreter
	Stats      emu.Stats // on the emulator
	Notes      []string  // what the emulator noticed and did not count as a fault
}

// MaxGrid is how many tile blocks a dimension may have; GPUs give the second and the third less.
const (
	MaxGrid   = 1<<24 - 1
	maxGridYZ = 65535
)

// Blocks is how many tile blocks the grid has; 0 for a grid that cannot be.
func (l *Launch) Blocks() int64 {
	x, y, z := l.Grid[0], l.Grid[1], l.Grid[2]
	if min(x, y, z) < 1 || x > MaxGrid || max(y, z) > maxGridYZ {
		return 0
	}
	return int64(x) * int64(y) * int64(z)
}

// Launch runs a kernel until its last tile block has ended. What the kernel does wrong is a *Fault; other errors mean that the launch does not fit the
// kernel, or that ctx is done. Memory then holds what was stored so far.
func (p *Program) Launch(ctx context.Context, l *Launch) (*Report, error) {
	k, err := p.Kernel(l.Kernel)
	if err != nil {
		return nil, err
	}
	if len(l.Params) != len(k.Params) {
		return nil, fmt.Errorf("kernel %q has %d parameters, got %d arguments", k.Name, len(k.Params), len(l.Params))
	}
	for i, q := range k.Params {
		if len(l.Params[i]) < q.Size {
			return nil, fmt.Errorf("parameter %d of kernel %q is a %s of %d bytes, got %d", i, k.Name, q.Type, q.Size, len(l.Params[i]))
		}
	}
	if l.Blocks() == 0 {
		return nil, fmt.Errorf("grid %v: x is 1 to %d, y and z are 1 to %d", l.Grid, MaxGrid, maxGridYZ)
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.interp != nil {
		return p.interpret(ctx, k, l)
	}
	return p.emulate(ctx, k, l)
}

func (p *Program) interpret(ctx context.Context, k Kernel, l *Launch) (*Report, error) {
	mappings := make([]interp.Mapping, len(l.Memory))
	for i, r := range l.Memory {
		mappings[i] = interp.Mapping{Name: r.Name, Address: r.Address, Data: r.Data, ReadOnly: r.ReadOnly}
	}
	if err := p.interpMemory.Map(mappings); err != nil {
		return nil, err
	}
	defer p.interpMemory.Map(nil) // the program does not keep memory of the caller alive
	args := make([]uint64, len(k.Params))
	for i, q := range k.Params {
		args[i] = q.value(bits(l.Params[i][:q.Size]))
	}
	res, err := p.interp.Run(ctx, k.Name, p.interpMemory, args, interp.Options{Grid: l.Grid, Stdout: l.Stdout, ZeroPadding: p.opts.ZeroPadding,
		AnyUndefined: p.opts.Checks.NoUndefined, AnyUnusedStride: !p.opts.Strict, Strict: p.opts.Strict, Workers: p.opts.Workers, Done: l.Done})
	var r *interp.Report
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case errors.As(err, &r):
		return nil, p.interpFault(r, k, l)
	case err != nil:
		return nil, err
	}
	return &Report{Blocks: int64(res.Blocks), Operations: res.Steps}, nil
}

func (p *Program) emulate(ctx context.Context, k Kernel, l *Launch) (*Report, error) {
	mappings := make([]emu.Mapping, len(l.Memory))
	for i, r := range l.Memory {
		mappings[i] = emu.Mapping{Name: r.Name, Address: r.Address, Data: r.Data, Undef: r.Undef, ReadOnly: r.ReadOnly}
	}
	if err := p.emuMemory.Map(mappings); err != nil {
		return nil, err
	}
	defer p.emuMemory.Map(nil)
	s := p.shapes[k.Name]
	printed := &lastLineWriter{out: l.Stdout}
	o := emu.Options{Block: s.block, Cluster: s.cluster, DynShared: s.shared, Seed: 1, Schedule: p.opts.Schedule, Stdout: printed,
		Foreign: p.opts.Foreign, NoteEqualStores: p.opts.EqualStores, Stats: p.opts.Stats,
		Checks: emu.Checks{NoRaces: p.opts.Checks.NoRaces, NoUndefined: p.opts.Checks.NoUndefined, NoAlignment: p.opts.Checks.NoAlignment}}
	o.Grid, o.Workers, o.Done = l.Grid, p.opts.Workers, l.Done
	args := make([]emu.Arg, len(k.Params))
	for i, q := range k.Params {
		args[i] = l.Params[i][:q.Size]
	}
	res, err := p.ptx.Run(ctx, k.Name, p.emuMemory, args, o)
	var r *emu.Report
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case errors.As(err, &r):
		f := p.emuFault(r, k, l)
		if r.Kind == emu.Trap {
			f.Message = printed.assertionMessage(f.Message)
		}
		return nil, f
	case err != nil:
		return nil, err
	}
	out := &Report{Blocks: l.Blocks(), Stats: res.Stats}
	for _, n := range res.Notes {
		out.Notes = append(out.Notes, n.Summary())
	}
	return out, nil
}

// bits reads up to 8 bytes, little-endian.
func bits(b []byte) uint64 {
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}
