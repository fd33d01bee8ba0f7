package driver

import (
	"bytes"
	"context"
	"fmt"

	"tileiras/dialects/builtin"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/tileaa"
	"tileiras/internal/remark"
	"tileiras/ir"
	"tileiras/ir/budget"
)

// Result is what a compile produced.
type Result struct {
	Kind    Emit
	Output  []byte
	Remarks []remark.Remark // what the compiler has to say about its choices, in program order, when Options ask for it
	Timing  []Timing

	GPU      string // that it is for; "" of the levels before a GPU matters
	Warnings []Warning
	Metadata *Metadata // of PTX
	Cached   bool      // it comes from a cache
}

// Warning is a diagnostic of a compile that went well.
type Warning struct {
	*ir.Diagnostic
	Kind Kind
}

// NewContext is a context that knows every dialect of the compiler.
func NewContext() *ir.Context {
	return ir.NewContext(builtin.Dialect, cudatile.Dialect, tileaa.Dialect)
}

// magic is how Tile IR bytecode begins.
var magic = []byte{0x7f, 'T', 'i', 'l', 'e', 'I', 'R', 0}

// isBytecode tells bytecode from text by the first bytes.
func isBytecode(src []byte) bool { return bytes.HasPrefix(src, magic) }

// isText tells text from what is neither: no text has a zero byte, or begins as bytecode does.
func isText(src []byte) bool {
	return len(src) > 0 && src[0] != magic[0] && bytes.IndexByte(src, 0) < 0
}

// Input is a module as it was read.
type Input struct {
	Ctx    *ir.Context
	Module *ir.Op
	Origin *bytecode.Origin // of bytecode

	name   string // of the file, as messages have it
	source []byte
}

// Read reads bytecode or text, by the first bytes, and verifies nothing.
func Read(c *ir.Context, name string, src []byte) (*Input, error) {
	return read(c, name, src, bytecode.ReadOptions{})
}

func read(c *ir.Context, name string, src []byte, o bytecode.ReadOptions) (*Input, error) {
	in := &Input{Ctx: c, name: name, source: src}
	if isBytecode(src) {
		m, origin, err := bytecode.Read(c, src, o)
		if err != nil {
			return nil, readFailure(err)
		}
		in.Module, in.Origin = m, origin
		return in, nil
	}
	if !isText(src) {
		return nil, &Failure{Code: ExitInput, Kind: KindBytecode, Lines: []string{genericInput}}
	}
	m, err := ir.Parse(c, name, src)
	if err != nil {
		return nil, in.textFailure(err)
	}
	if inner := unwrapped(m); inner != m { // tile-opt prints a module around it
		inner.Remove()
		m = inner
	}
	in.Module = m
	return in, nil
}

// Compile takes bytecode or text to the level that the options ask for. Errors are *Failure. It ends soon after ctx does, and when
// it would hold more memory than the options allow.
func Compile(ctx context.Context, name string, src []byte, o Options) (*Result, error) {
	return within(ctx, &o, func(ctx context.Context) (*Result, error) {
		res, err := throughCache(ctx, name, src, &o, func() (*Result, error) {
			r := newRun(ctx, &o)
			defer r.reportTiming()
			return r.all(name, src)
		})
		if err == nil {
			res.Warnings = append(o.idle(), res.Warnings...)
		}
		return res, err
	})
}

// idle says which options have nothing to do. NVIDIA's tileiras takes them too, so they are no errors.
func (o *Options) idle() []Warning {
	if !o.Sanitize || o.Emit == EmitCubin {
		return nil
	}
	return []Warning{{&ir.Diagnostic{Severity: ir.Warning, Loc: ir.UnknownLoc{}, Msg: fmt.Sprintf("%s has ptxas instrument a cubin, and %s is written: give --sanitize to the ptxas that assembles it", o.called("Sanitize"), o.Emit)}, KindOption}}
}

// Verified reads bytecode or text and verifies it, as Compile begins, within the same limits and with the same errors.
func Verified(ctx context.Context, name string, src []byte, o Options) (*Input, error) {
	return within(ctx, &o, func(ctx context.Context) (in *Input, err error) {
		defer budget.Catch(&err)
		r := newRun(ctx, &o)
		if err := r.verified(name, src); err != nil {
			return nil, err
		}
		r.input.Ctx.Budget = nil // it is that of the reading
		return r.input, nil
	})
}

// within does what options ask for, if they can be, in the time that they give.
func within[T any](ctx context.Context, o *Options, do func(ctx context.Context) (*T, error)) (*T, error) {
	if err := o.check(StageNames()); err != nil {
		return nil, err
	}
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	res, err := do(ctx)
	if err == nil {
		err = ctx.Err() // it ended after the last look
	}
	switch {
	case err == nil:
		return res, nil
	case stopped(err):
		return nil, stopFailure(err)
	}
	return nil, err
}

func newRun(ctx context.Context, o *Options) *run {
	return &run{ctx: ctx, opts: o, budget: budget.New(ctx, o.MemoryLimit)}
}

// all is the whole way. Whatever stage the budget stops, the error is the budget's.
func (r *run) all(name string, src []byte) (res *Result, err error) {
	defer budget.Catch(&err)
	if err := r.verified(name, src); err != nil {
		return nil, err
	}
	return r.compile()
}

// verified reads and verifies the input.
func (r *run) verified(name string, src []byte) error {
	r.budget.Look()
	c := NewContext()
	c.Budget = r.budget
	if err := r.read(c, name, src); err != nil {
		return err
	}
	return r.verify()
}

// read reads the input of the compile.
func (r *run) read(c *ir.Context, name string, src []byte) error {
	r.input = &Input{Ctx: c, name: name, source: src}
	var refused error
	err := r.guarded("read", func() error {
		in, err := read(c, name, src, r.opts.Read)
		if refused = err; err == nil {
			r.input = in
		}
		return nil
	})
	if err != nil {
		return r.failure(err)
	}
	return refused
}
