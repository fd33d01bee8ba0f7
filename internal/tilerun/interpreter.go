package tilerun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/runtime/cases"
	"tileiras/runtime/interp"
)

// Interpreter runs a module as it is, on the reference interpreter.
type Interpreter struct {
	// Strict reports inexact values that reach anything but float arithmetic and stores.
	Strict bool
	// ZeroPadding loads zeros where a program names no padding, instead of undefined elements.
	ZeroPadding bool
}

func (*Interpreter) String() string { return "interpreter" }

// Decode reads, verifies and prints.
func (*Interpreter) Decode(ctx context.Context, bytecode []byte) error { return decode(ctx, bytecode) }

// Launch is one launch of an entry.
func (p *Interpreter) Launch(ctx context.Context, l *cases.Launch) (*cases.Outcome, error) {
	if l.PTX != nil {
		return nil, fmt.Errorf("the interpreter runs Tile IR, not PTX: %w", errors.ErrUnsupported)
	}
	c := driver.NewContext()
	in, err := driver.Read(c, "kernel.tileirbc", l.Bytecode)
	if err != nil {
		return nil, err
	}
	if !ir.Verify(c, in.Module) {
		return nil, fmt.Errorf("%s", strings.TrimSpace(c.Diags.String()))
	}
	prog, err := interp.New(in.Module)
	if err != nil {
		return nil, err
	}
	mem := interp.NewMemory()
	out := &cases.Outcome{}
	for _, b := range l.Buffers {
		offsets, data := b.Pieces(b.Bytes)
		out.Addresses = append(out.Addresses, mem.AllocPieces(b.Name, offsets, data, b.Align))
	}
	out.Buffers = Contents(l, out.Addresses, mem.Bytes) // the memory itself where there are no gaps
	l.StorePointers(out.Buffers, out.Addresses)
	var args []uint64
	for _, a := range l.Params {
		if a.Type == nil {
			args = append(args, out.Addresses[a.Buffer]+uint64(a.Offset))
		} else {
			args = append(args, a.Bits)
		}
	}
	var stdout bytes.Buffer
	res, err := prog.Run(ctx, l.Kernel, mem, args, interp.Options{Grid: l.Grid, Stdout: &stdout, Strict: p.Strict, ZeroPadding: p.ZeroPadding})
	out.Stdout = stdout.String()
	var rep *interp.Report
	if errors.As(err, &rep) && rep.Kind == interp.AssertFailed {
		out.AssertFailed, out.Message = true, rep.Error()
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.Buffers, out.Stats = Contents(l, out.Addresses, mem.Bytes), res
	return out, nil
}
