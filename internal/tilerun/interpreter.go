package tilerun

import (
	"context"
	"errors"
	"fmt"

	"tileiras/runtime/cases"
	"tileiras/runtime/executor"
)

// Interpreter runs a module as it is, on the reference interpreter.
type Interpreter struct {
	// Strict reports inexact values that reach anything but float arithmetic and stores.
	Strict bool
	// ZeroPadding loads zeros where a program names no padding, instead of undefined elements.
	ZeroPadding bool
	Checks      executor.Checks
}

var errNotPTX = errors.New("the interpreter runs Tile IR, not PTX: --on emu or --on gpu")

func (*Interpreter) String() string { return "interpreter" }

// Decode reads, verifies and prints.
func (*Interpreter) Decode(ctx context.Context, file string, module []byte) error {
	return decode(ctx, file, module)
}

// Launch is one launch of an entry.
func (p *Interpreter) Launch(ctx context.Context, l *cases.Launch) (*cases.Outcome, error) {
	if l.PTX != nil {
		return nil, errNotPTX
	}
	prog, err := executor.Load(ctx, l.Bytecode, executor.Options{Name: l.File, Strict: p.Strict, ZeroPadding: p.ZeroPadding, Checks: p.Checks})
	if err != nil {
		return nil, err
	}
	out, rep, err := launch(ctx, prog, l)
	if err != nil {
		return out, err
	}
	if out.AssertFailed {
		return out, nil
	}
	out.Stats = fmt.Sprintf("%d tile blocks, %d operations", rep.Blocks, rep.Operations)
	return out, nil
}
