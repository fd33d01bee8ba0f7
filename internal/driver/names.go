package driver

import (
	"fmt"

	"tileiras/codegen/ptxop"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// checkNames refuses a kernel or a public global whose name PTX cannot have. Programs ask the driver for it by that name, so it cannot get
// another one, as a private global does.
func (r *run) checkNames() error {
	if r.opts.Emit != EmitPTX && r.opts.Emit != EmitCubin {
		return nil
	}
	for op := r.input.Module.Body().First(); op != nil; op = op.Next() {
		r.input.Ctx.Step()
		what, name := asked(op)
		if what == "" || ptxop.IsName(name) {
			continue
		}
		d := &ir.Diagnostic{Loc: op.Loc(), Msg: fmt.Sprintf("not supported yet: %q as the name of a %s, which a program asks for by its name: %s", name, what, ptxop.NameRule)}
		return &Failure{Code: ExitUnsupported, Kind: KindUnsupported, Lines: r.input.message(d), Diags: []*ir.Diagnostic{d}}
	}
	return nil
}

// asked is what a symbol is that programs ask for, and its name; "" for others.
func asked(op *ir.Op) (what, name string) {
	switch op.Code() {
	case cudatile.OpEntry:
		return "kernel", ir.Cast[cudatile.Entry](op).SymName()
	case tileaa.OpEntry:
		return "kernel", ir.Cast[tileaa.Entry](op).SymName()
	case cudatile.OpGlobal:
		if g := ir.Cast[cudatile.Global](op); g.SymbolVisibility() != def.Private {
			return "global", g.SymName()
		}
	case tileaa.OpGlobal:
		if g := ir.Cast[tileaa.Global](op); !g.Private() {
			return "global", g.SymName()
		}
	}
	return "", ""
}
