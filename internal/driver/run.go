package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/tileaa"
	"tileiras/internal/remark"
	"tileiras/ir"
	"tileiras/ir/budget"
	"tileiras/passes"
	"tileiras/passes/pass"
)

// Timing is the wall time of one stage.
type Timing struct {
	Stage string
	Time  time.Duration
}

// run is one compile on its way.
type run struct {
	ctx    context.Context
	opts   *Options
	budget *budget.Budget
	input  *Input
	before string // the module before the current pass, for --print-changed and reproducers
	number int    // of dumps
	timing []Timing
	began  time.Time

	release  ir.Version  // whose names of operations modules have; zero is the newest
	named    []string    // the passes, if somebody named them; nil is the way down
	shown    []string    // the flags of tile-opt without --passes; nil for all else
	fromLLVM bool        // the input is LLVM IR
	given    tileaa.Form // the last one that the input shows; of cuda_tile AnyForm

	remarks  []remark.Remark
	metadata *Metadata
	gpu      string // that the compile is for
}

// compile takes the module, which is verified, to the level asked for.
func (r *run) compile() (*Result, error) {
	o := r.opts
	switch o.Emit {
	case EmitCudaTile:
		return r.write(func() (string, error) { return r.tileText(), nil })
	case EmitBytecode:
		return r.write(func() (string, error) {
			out, err := bytecode.Write(r.input.Module, bytecode.WriteOptions{Version: o.BytecodeVersion, Origin: r.input.Origin, Ctx: r.input.Ctx})
			return string(out), r.unwritten(err)
		})
	}
	t, err := o.target(r.ctx)
	if err != nil {
		return nil, err
	}
	r.gpu = t.Name
	a := &assembler{run: r, target: t}
	if o.Emit == EmitCubin && o.Lines() {
		a.tile = newTileText(r.input.Ctx, r.input.Module)
	}
	out, err := r.lower(t)
	if err == nil && o.Emit == EmitCubin {
		out, err = a.assemble(string(out))
	}
	if err != nil {
		return nil, o.assumed(err)
	}
	return r.result(out), nil
}

// write is the result of a compile that ends with the module that was read.
func (r *run) write(out func() (string, error)) (*Result, error) {
	var text string
	err := r.guarded("write", func() (err error) { text, err = out(); return err })
	if err != nil {
		return nil, r.failure(err)
	}
	return r.result([]byte(text)), nil
}

// unwritten is why there is no bytecode of a module: of the version that the options ask for, if there is of the newest.
func (r *run) unwritten(err error) error {
	var e *bytecode.WriteError
	if !errors.As(err, &e) {
		return err
	}
	f := r.input.refuse(e.Loc, err, "%s", e.Msg)
	if r.opts.BytecodeVersion != (ir.Version{}) {
		if _, err := bytecode.Write(r.input.Module, bytecode.WriteOptions{Version: bytecode.Newest, Origin: r.input.Origin, Ctx: r.input.Ctx}); err == nil {
			f.Code, f.Kind = ExitOptions, KindOption
		}
	}
	return f
}

// state is what the passes begin with.
func (r *run) state(t *target.Target) *pass.State {
	return &pass.State{Ctx: r.input.Ctx, Module: r.input.Module, Target: t, Code: r.opts.code()}
}

// lower runs everything after the verifier, for a GPU.
func (r *run) lower(t *target.Target) ([]byte, error) {
	if err := r.guarded("names", r.checkNames); err != nil {
		return nil, r.failure(err)
	}
	st := r.state(t)
	rest, err := r.rest()
	if err != nil {
		return nil, err
	}
	if err := pass.Holds(st.Module, r.given); err != nil {
		return nil, r.failure(err)
	}
	if err := r.passes(st, rest); err != nil {
		return nil, r.failure(err)
	}
	if err := r.guarded("remarks", func() error { r.explain(st, t); return nil }); err != nil {
		return nil, r.failure(err)
	}
	if r.opts.Emit == EmitTileAA {
		return []byte(r.staged(st.Module, r.opts.StopAfter)), nil
	}
	b := newBackend(r, t)
	text, err := b.lower(st)
	if err != nil {
		return nil, r.failure(err)
	}
	return text, nil
}

// rest is the part of the pipeline that the input still needs: all of it for cuda_tile, for a TileAA module what comes after the pass
// whose output it says it is, or after the last form that it shows. Without optimization the optional passes are left out, unless the run ends with one.
func (r *run) rest() ([]*pass.Pass, error) {
	all := passes.Pipeline()
	done := func(p *pass.Pass) bool { return p.Gives == r.given && r.given != tileaa.AnyForm }
	m, ok := ir.As[tileaa.Module](r.input.Module)
	name := ""
	if ok && m.HasAfter() {
		name = m.After()
		done = func(p *pass.Pass) bool { return p.Name == name }
		m.ClearAfter()
	}
	i := slices.IndexFunc(all, done)
	if i < 0 && name != "" {
		return nil, r.input.refuse(m.Op.Loc(), nil, "the module is said to come after '%s', which is no pass; passes are: %s", name, strings.Join(StageNames(), " "))
	}
	all = all[i+1:]
	if r.opts.Opt == 0 {
		all = slices.DeleteFunc(all, func(p *pass.Pass) bool { return p.Optional && p.Name != r.opts.StopAfter })
	}
	return all, nil
}

// verify checks the module as it was read.
func (r *run) verify() error {
	var refused error
	if err := r.guarded("verify", func() error { refused = r.refused(); return nil }); err != nil {
		return r.failure(err)
	}
	return refused
}

// refused is what the verifiers have against the module.
func (r *run) refused() error {
	if !ir.Verify(r.input.Ctx, r.input.Module) {
		return verifyFailure(r.input, bytecode.VerificationFailed)
	}
	if r.input.Module.Def.Dialect == cudatile.Name && !cudatile.VerifyKernels(r.input.Ctx, r.input.Module) {
		return verifyFailure(r.input, bytecode.KernelsFailed)
	}
	if r.input.Module.Def.Dialect == tileaa.Dialect.Name {
		r.given = tileaa.Shown(r.input.Module)
		if r.named == nil && !tileaa.VerifyKernels(r.input.Ctx, r.input.Module) {
			return verifyFailure(r.input, bytecode.KernelsFailed)
		}
	}
	return nil
}

// passes runs passes with the dumps that the options ask for.
func (r *run) passes(st *pass.State, list []*pass.Pass) error {
	m := &pass.Manager{State: st, StopAfter: r.opts.StopAfter, Named: r.named != nil}
	r.watch(m)
	return m.Run(list, passes.Planner)
}

// watch has a manager show and check what the options ask for.
func (r *run) watch(m *pass.Manager) {
	o := r.opts
	m.VerifyEach = o.VerifyEach
	m.Before = func(p *pass.Pass, mod *ir.Op) {
		if o.PrintChanged {
			r.before = r.text(mod)
		}
		if slices.Contains(o.PrintBefore, p.Name) {
			r.dump("before", p.Name, r.text(mod))
		}
		r.began = time.Now()
	}
	m.After = func(p *pass.Pass, mod *ir.Op) {
		r.timing = append(r.timing, Timing{p.Name, time.Since(r.began)})
		r.showWhole(p.Name, func() string { return r.staged(mod, p.Name) })
		r.showChange(p.Name, func() string { return r.text(mod) })
		if o.PrintFacts {
			r.facts(p.Name, mod)
		}
	}
}

// reportTiming prints how long the stages took, if the options ask for it.
func (r *run) reportTiming() {
	if !r.opts.PassTiming {
		return
	}
	for _, t := range r.timing {
		fmt.Fprintf(r.opts.Log, "%9.3f ms  %s\n", float64(t.Time.Microseconds())/1000, t.Stage)
	}
}

// show prints a stage's output, and what changed, if the options ask for it.
func (r *run) show(stage string, text func() string) {
	r.showWhole(stage, text)
	r.showChange(stage, text)
}

func (r *run) showWhole(stage string, text func() string) {
	if r.opts.PrintAfterAll || slices.Contains(r.opts.PrintAfter, stage) {
		r.dump("after", stage, text())
	}
}

func (r *run) showChange(stage string, text func() string) {
	o := r.opts
	if !o.PrintChanged {
		return
	}
	now := text()
	r.number++
	if diff := unifiedDiff(r.before, now); diff == "" {
		fmt.Fprintf(o.Log, "// -----// %d: %s changed nothing //----- //\n", r.number, stage)
	} else {
		fmt.Fprintf(o.Log, "// -----// %d: changed by %s //----- //\n%s", r.number, stage, diff)
	}
	r.before = now
}

func (r *run) dump(when, stage, text string) {
	r.number++
	fmt.Fprintf(r.opts.Log, "// -----// %d: %s %s //----- //\n", r.number, when, stage)
	io.WriteString(r.opts.Log, text)
	if !strings.HasSuffix(text, "\n") {
		io.WriteString(r.opts.Log, "\n")
	}
}

// text is a module as text.
func (r *run) text(m *ir.Op) string {
	return ir.Text(m, ir.PrintOptions{DebugInfo: r.opts.DebugInfo, Ctx: r.input.Ctx, Release: r.release})
}

// staged is the text of a module that a pass of the way down left, which says so; "" is the last one.
func (r *run) staged(m *ir.Op, name string) string {
	if mod, ok := ir.As[tileaa.Module](m); ok && name != "" && r.named == nil {
		mod.SetAfter(name)
		defer mod.ClearAfter()
	}
	return r.text(m)
}

// tileText is the input as NVIDIA's tileirdisasm prints it; what is no cuda_tile has its own form.
func (r *run) tileText() string {
	m := r.input.Module
	if m.Def.Dialect != cudatile.Name || m.Body() == nil {
		return r.text(m)
	}
	var b strings.Builder
	cudatile.Print(&b, m, ir.PrintOptions{DebugInfo: r.opts.DebugInfo, Ctx: r.input.Ctx})
	return b.String()
}

func (r *run) result(out []byte) *Result {
	return &Result{Kind: r.opts.Emit, Output: out, Remarks: r.remarks, Metadata: r.metadata, Timing: r.timing, GPU: r.gpu, Warnings: r.warnings()}
}

// warnings are those of the passes, which are about the GPU: what would be better for it does not fit.
func (r *run) warnings() []Warning {
	var out []Warning
	for _, d := range r.input.Ctx.Diags.List {
		if d.Severity == ir.Warning {
			out = append(out, Warning{d, KindTarget})
		}
	}
	return out
}

// time measures a stage: defer r.time("name")().
func (r *run) time(stage string) func() {
	began := time.Now()
	return func() { r.timing = append(r.timing, Timing{stage, time.Since(began)}) }
}
