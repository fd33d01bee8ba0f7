package tilerun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"tileiras/runtime/cases"
	"tileiras/runtime/executor"
)

// The address space of a launch: buffers with gaps between them, so that a stray address hits nothing.
const (
	firstAddress = 0x7000_0000_0000
	guard        = 1 << 16
)

// launch runs one launch of a case by the executor. Buffers of the outcome are copies; what the kernel does wrong is the report of the engine, with its place.
// PTX text names its own assertions, or traps for other reasons; only of Tile IR a failed assertion is an outcome.
func launch(ctx context.Context, p *executor.Program, l *cases.Launch) (*cases.Outcome, *executor.Report, error) {
	if err := suits(p, l); err != nil {
		return nil, nil, err
	}
	out := &cases.Outcome{}
	next := uint64(firstAddress)
	for _, b := range l.Buffers {
		align := uint64(max(b.Align, 256))
		at := (next + align - 1) / align * align
		out.Addresses = append(out.Addresses, at)
		out.Buffers = append(out.Buffers, append([]byte{}, b.Bytes...))
		next = at + uint64(len(b.Bytes)) + guard
		for _, g := range b.Gaps {
			next += g.Size
		}
	}
	l.StorePointers(out.Buffers, out.Addresses)
	run := &executor.Launch{Kernel: l.Kernel, Grid: l.Grid}
	for i, b := range l.Buffers {
		offsets, data := b.Pieces(out.Buffers[i])
		for k, d := range data {
			run.Memory = append(run.Memory, executor.Region{Name: b.Name, Address: out.Addresses[i] + offsets[k], Data: d, Undef: b.Scratch})
		}
	}
	for _, q := range l.Params {
		run.Params = append(run.Params, q.Value(out.Addresses))
	}
	var stdout bytes.Buffer
	run.Stdout = &stdout
	rep, err := p.Launch(ctx, run)
	out.Stdout = stdout.String()
	var f *executor.Fault
	if errors.As(err, &f) {
		if f.Kind == executor.FaultAssertion && l.PTX == nil {
			out.AssertFailed, out.Message = true, f.Detail
			return out, nil, nil
		}
		err = fault{f}
	}
	return out, rep, err
}

// suits tells whether the parameters of a launch are of the kernel's types; PTX says their sizes only.
func suits(p *executor.Program, l *cases.Launch) error {
	k, err := p.Kernel(l.Kernel)
	if err != nil {
		return err
	}
	if len(k.Params) != len(l.Params) {
		return fmt.Errorf("kernel %s has %d parameters, the launch gives %d", k.Name, len(k.Params), len(l.Params))
	}
	for i, q := range l.Params {
		want, given, is := k.Params[i], "pointer", "is of type"
		if q.Type != nil {
			given = q.Type.Name
		}
		typed := want.Pointer || want.Float || strings.HasPrefix(want.Type, "i") // else from PTX
		if q.Size() != want.Size || typed && (q.Type == nil && !want.Pointer || q.Type != nil && !want.Pointer && want.Float != (q.Type.Format != nil)) {
			if !typed {
				is = "has"
			}
			return fmt.Errorf("parameter %d of kernel %s %s %s, the launch gives a %s", i, k.Name, is, want.Type, given)
		}
	}
	return nil
}
