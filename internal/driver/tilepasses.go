package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tileiras/dialects/builtin"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/testing"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes"
	"tileiras/passes/pass"
)

// The passes on cuda_tile that tile-opt runs one by one, in MLIR's language of pipelines:
//
//	builtin.module(cuda_tile.module(cuda_tile.entry(loop-split{split-threshold=2}), canonicalize))
//
// A name before parentheses is that of an operation; what is inside runs on every such operation directly in the one outside.

func tilePassNamed(name string) *pass.Pass {
	for _, p := range passes.OnCudaTile() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// tilePassFlags are a flag for each pass.
func tilePassFlags() []Flag {
	fs := []Flag{{Name: "pass-pipeline", Kind: StringFlag, Meta: "pipeline", Help: "Passes on cuda_tile, as in builtin.module(cuda_tile.module(canonicalize))"}}
	for _, p := range passes.OnCudaTile() {
		f := Flag{Name: p.Name, Kind: BoolFlag, Help: p.Summary}
		if len(p.Options) > 0 {
			f.Kind, f.Meta = OptionalFlag, "options"
		}
		fs = append(fs, f)
	}
	return fs
}

// withOptions sets the options of a pass from a text, "a=1 b=2".
func withOptions(p *pass.Pass, text string) (*pass.Pass, error) {
	values := map[string]string{}
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		values[name] = value
	}
	return p.With(values)
}

// step is a pass, or steps for the operations of one name.
type step struct {
	anchor string
	inner  []step
	pass   *pass.Pass
}

// pipelineFrom reads the pipeline that the flags ask for: --pass-pipeline, then passes on the whole input in the order of
// their flags.
func pipelineFrom(line *Line) ([]step, error) {
	steps := []step{}
	if text := line.String("pass-pipeline"); text != "" {
		p := &pipelineParser{rest: text}
		list, err := p.steps("")
		if err != nil {
			return nil, fail(ExitUsage, "in the pipeline '%s': %s", text, err)
		}
		steps = append(steps, list...)
	}
	for _, name := range line.names() {
		p := tilePassNamed(name)
		switch {
		case p == nil:
			continue
		case len(p.Options) > 0:
			var err error
			if p, err = withOptions(p, line.String(name)); err != nil {
				return nil, fail(ExitUsage, "%s", err)
			}
		case !line.Bool(name):
			continue
		}
		steps = append(steps, step{pass: p})
	}
	return steps, nil
}

// pipelineParser reads a pipeline.
type pipelineParser struct {
	rest  string
	depth int
}

// maxPipelineDepth bounds the nesting of a pipeline.
const maxPipelineDepth = 64

func (p *pipelineParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\n") }

// steps reads up to the closing text.
func (p *pipelineParser) steps(closing string) ([]step, error) {
	var list []step
	if p.depth++; p.depth > maxPipelineDepth {
		return nil, fmt.Errorf("nesting is deeper than %d levels", maxPipelineDepth)
	}
	defer func() { p.depth-- }()
	for {
		p.skip()
		if len(list) == 0 && closing != "" && strings.HasPrefix(p.rest, closing) {
			p.rest = p.rest[len(closing):]
			return list, nil
		}
		s, err := p.step()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		p.skip()
		switch {
		case strings.HasPrefix(p.rest, ","):
			p.rest = p.rest[1:]
		case closing != "" && strings.HasPrefix(p.rest, closing):
			p.rest = p.rest[len(closing):]
			return list, nil
		case closing == "" && p.rest == "":
			return list, nil
		case p.rest == "":
			return nil, fmt.Errorf("expected '%s' at the end", closing)
		default:
			return nil, fmt.Errorf("expected ',' or the end before '%s'", p.rest)
		}
	}
}

func (p *pipelineParser) step() (step, error) {
	n := strings.IndexAny(p.rest, "(){},")
	if n < 0 {
		n = len(p.rest)
	}
	name := strings.TrimSpace(p.rest[:n])
	p.rest = p.rest[n:]
	if name == "" {
		return step{}, fmt.Errorf("expected the name of a pass or an operation before '%s'", p.rest)
	}
	if strings.HasPrefix(p.rest, "(") {
		p.rest = p.rest[1:]
		inner, err := p.steps(")")
		return step{anchor: name, inner: inner}, err
	}
	s := step{pass: tilePassNamed(name)}
	if s.pass == nil {
		return s, fmt.Errorf("'%s' does not refer to a registered pass", name)
	}
	if strings.HasPrefix(p.rest, "{") {
		options, rest, ok := strings.Cut(p.rest[1:], "}")
		if !ok {
			return s, fmt.Errorf("expected '}' after the options of %s", name)
		}
		p.rest = rest
		with, err := withOptions(s.pass, options)
		return step{pass: with}, err
	}
	return s, nil
}

// errStopped is the end of a run of steps at the pass that --stop-after names.
var errStopped = errors.New("stopped")

// steps runs steps on an operation. The outermost anchor names the operation itself.
func (r *run) steps(op *ir.Op, steps []step, outermost bool) error {
	for _, s := range steps {
		var err error
		switch {
		case s.pass != nil:
			m := &pass.Manager{State: &pass.State{Ctx: r.input.Ctx, Module: op}}
			r.watch(m)
			switch err = m.Run([]*pass.Pass{s.pass}, ""); {
			case err == nil && s.pass.Name == r.opts.StopAfter:
				err = errStopped
			case err != nil && !errors.Is(err, pass.ErrInvalid):
				err = r.input.classify(err)
			}
		case outermost:
			if !anchored(op, s.anchor) {
				return fail(ExitUsage, "can't run '%s' pass manager on '%s' op", s.anchor, op.Name())
			}
			err = r.steps(op, s.inner, false)
		default:
			for _, o := range itemsOf(op) {
				if anchored(o, s.anchor) && err == nil {
					err = r.steps(o, s.inner, false)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func anchored(op *ir.Op, name string) bool { return name == "any" || op.Name() == name }

func itemsOf(op *ir.Op) []*ir.Op {
	var list []*ir.Op
	for b := range op.Blocks() {
		list = append(list, b.Ops()...)
	}
	return list
}

// newTestContext is a context for the tools that show the dialect: it knows the operations of tests too.
func newTestContext() *ir.Context {
	return ir.NewContext(builtin.Dialect, cudatile.Dialect, testing.Extension, tileaa.Dialect)
}

// hints warns of hints if the flags ask for it.
func (t *pieceTool) hints(c *ir.Context, m *ir.Op) bool {
	return !t.warnHints || cudatile.CheckHints(c, m, t.errHints)
}

// showText runs the passes that the flags ask for on a text and prints it: what tile-opt does without --passes.
func showText(line *Line, file string, src []byte, opts *Options) (string, error) {
	var names []string
	for _, p := range passes.OnCudaTile() {
		names = append(names, p.Name)
	}
	if err := opts.check(names); err != nil {
		return "", err
	}
	steps, err := pipelineFrom(line)
	if err != nil {
		return "", err
	}
	o := ir.PrintOptions{DebugInfo: line.Bool("print-debug-info"), Generic: line.Bool("mlir-print-op-generic")}
	t := newPieceTool(line)
	o.Release = t.release
	r := &run{opts: opts, release: t.release, shown: textWords(line)}
	defer r.reportTiming()
	return t.run(file, src, opts.Log, func(c *ir.Context, p piece) (text string, err error) {
		r.input = &Input{Ctx: c, name: file, source: src}
		var m *ir.Op
		if err := r.guarded("read", func() (err error) { m, err = t.parse(c, p); return err }); err != nil {
			return "", r.fault(err)
		}
		if err := r.steps(m, steps, true); err != nil && err != errStopped {
			return "", r.fault(err)
		}
		err = r.guarded("write", func() error {
			if len(steps) > 0 && !ir.Verify(c, m) {
				return errInvalid
			}
			text = ir.Text(m, o)
			return nil
		})
		return text, r.fault(err)
	})
}

// textWords are the flags of showText that were given.
func textWords(line *Line) []string {
	words := []string{}
	for _, name := range line.names() {
		if slices.ContainsFunc(tileTextFlags(), func(f Flag) bool { return f.Name == name }) {
			words = append(words, "--"+name+"="+line.String(name))
		}
	}
	return words
}

// fault is failure of what panicked; other errors of a piece are in its diagnostics.
func (r *run) fault(err error) error {
	var b *pass.Bug
	if errors.As(err, &b) {
		return r.failure(err)
	}
	return err
}
