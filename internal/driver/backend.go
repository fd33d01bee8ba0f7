package driver

import (
	llvm "github.com/llir/llvm/ir"

	"tileiras/codegen/nvvm"
	"tileiras/codegen/ptx"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/passes"
	"tileiras/passes/pass"
)

const (
	lowerToLLVM = passes.LowerToLLVM
	emitPTX     = passes.EmitPTX
)

// StageNames lists the names of the passes of the way down, in order.
func StageNames() []string {
	var out []string
	for _, p := range passes.WayDown() {
		out = append(out, p.Name)
	}
	return out
}

// backend is the way from TileAA to PTX.
type backend struct {
	run    *run
	target *target.Target
	code   Code
}

func newBackend(r *run, t *target.Target) *backend { return &backend{r, t, r.opts.code()} }

// lower runs both stages, or only the first when the options ask for LLVM IR.
func (b *backend) lower(st *pass.State) ([]byte, error) {
	m, err := b.toLLVM(st)
	if err != nil {
		return nil, err
	}
	if b.run.opts.Emit == EmitLLVM {
		return []byte(llvmText(m, b.run.budget)), nil
	}
	return b.emit(m)
}

func (b *backend) toLLVM(st *pass.State) (m *llvm.Module, err error) {
	err = b.run.guarded(lowerToLLVM, func() (err error) {
		m, err = nvvm.Lower(st.Ctx, st.Module, nvvm.Options{Target: b.target, Code: b.code, Chosen: b.run.given >= tileaa.Planned})
		return err
	})
	if err != nil {
		return nil, err
	}
	b.run.show(lowerToLLVM, func() string { number(m); return m.String() })
	return m, nil
}

func (b *backend) emit(m *llvm.Module) (text []byte, err error) {
	var out *ptx.Module
	err = b.run.guarded(emitPTX, func() (err error) {
		out, err = ptx.EmitModule(m, ptx.Options{Target: b.target, Code: b.code, Header: b.run.opts.header(), Budget: b.run.budget})
		return err
	})
	if err != nil {
		return nil, err
	}
	b.run.metadata = b.metadata(out)
	b.run.show(emitPTX, func() string { return string(out.Text) })
	return out.Text, nil
}
