package tileaa

import (
	"testing"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// inKernel is the first op of a kind in a kernel with this body.
func inKernel[T ir.Typed](t *testing.T, body string) T {
	t.Helper()
	c := ir.NewContext(Dialect)
	m, err := ir.Parse(c, "test", []byte(kernel("", body)))
	if err != nil {
		t.Fatal(err)
	}
	var found []T
	ir.WalkOf(m, ir.PreOrder, func(op T) { found = append(found, op) })
	if len(found) == 0 {
		t.Fatalf("no op of the kind in %s", body)
	}
	return found[0]
}

func TestTypedOpsReadTheirRow(t *testing.T) {
	l := inKernel[Load](t, "%0, %1 = load %vp {order = acquire, scope = device, vec = 4} : (tile<8xptr<f32>>) -> (tile<8xf32>, token)")
	scope, scoped := l.Scope()
	if vec, ok := l.Vec(); l.Order() != def.Acquire || !scoped || scope != def.ScopeDevice || !ok || vec != 4 || l.Mask() != nil || l.Token() != nil {
		t.Errorf("reads %s as order %v, scope %v, vec %v, mask %v", ir.OpText(l.Op), l.Order(), scope, vec, l.Mask())
	}
	a, ok := ir.As[PtrAccess](l.Op)
	if !ok || a.Ptr() != l.Ptr() || a.ResultToken() != l.Op.Result(1) {
		t.Error("a load is no access through pointers")
	}
	if ir.Is[BlockAccess](l.Op) || ir.Is[Store](l.Op) {
		t.Error("a load is an access to a block, or a store")
	}
	l.SetOrder(def.Weak) // the default, which the text leaves out
	if l.Op.Attr(l.Op.Def.AttrIndex("order")) != nil {
		t.Error("the default is written on the op")
	}
}

func TestOptionalOperandsComeAndGo(t *testing.T) {
	s := inKernel[Store](t, "%k = create_mem_token : token\n%0 = store %vp, %vf, token(%k) : (tile<8xptr<f32>>, tile<8xf32>, token) -> token")
	token := s.Token()
	s.SetToken(nil)
	if s.Token() != nil || s.Op.NumOperands() != 2 || s.Value().Type() != s.Op.Operand(1).Type() {
		t.Errorf("without its token: %s", ir.OpText(s.Op))
	}
	s.SetToken(token)
	if s.Token() != token || s.Mask() != nil {
		t.Errorf("with its token again: %s", ir.OpText(s.Op))
	}
}

func TestEffectsFollowFromTheRow(t *testing.T) {
	s := inKernel[Store](t, "%0 = store %vp, %vf : (tile<8xptr<f32>>, tile<8xf32>) -> token")
	es := Effects(s.Op)
	if len(es) != 1 || es[0].Kind != ir.Write || es[0].Space != GlobalSpace || es[0].Value != s.Ptr() {
		t.Errorf("effects of a store are %+v", es)
	}
	if tr := s.Op.Traits(); !tr.Has(ir.Ordered|ir.Writes) || tr.Has(ir.Reads) {
		t.Errorf("traits of a store are %b", tr)
	}
	// The factors of a product are values here, and no memory.
	d := inKernel[Dot](t, "%z = constant <f32: 0.0> : tile<4x8xf32>\n%s = constant <f32: 0.0> : tile<8x8xf32>\n"+
		"%0 = dot %z, %s, %z : (tile<4x8xf32>, tile<8x8xf32>, tile<4x8xf32>) -> tile<4x8xf32>")
	if es := Effects(d.Op); len(es) != 0 || !d.Op.Traits().Has(ir.Pure) {
		t.Errorf("effects of a product of tiles are %+v", es)
	}
}

func TestFlowOfLoopsAndBranches(t *testing.T) {
	f := inKernel[For](t, `%r = for %x, %x, %x, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %a: tile<i32>) {
		%b = if %c : (tile<i1>) -> tile<i32> {
			continue %i : (tile<i32>)
		} else {
			yield %a : (tile<i32>)
		}
		continue %b : (tile<i32>)
	}`)
	flow, ok := ir.LoopOf(f.Op)
	if !ok || flow.InductionVar() != f.Body().Arg(0) || len(flow.Carried()) != 1 {
		t.Fatal("a for is no loop that counts and carries one value")
	}
	i, a, b := f.Body().Arg(0), f.Body().Arg(1), f.Body().First().Result(0)
	want := []*ir.Value{f.Lower(), i, b} // its first value, the continue in the if, the one at the end
	for what, v := range map[string]*ir.Value{"carried value": a, "result": f.Op.Result(0)} {
		if got, ok := ir.Incoming(v); !ok || len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("the %s takes %d values, not the three that reach it", what, len(got))
		}
	}
	if got, ok := ir.Incoming(b); !ok || len(got) != 1 || got[0] != a {
		t.Error("the result of the if is what its only yield hands over")
	}
	inner := f.Body().First()
	if ir.Target(inner.FrontOf(0).Terminator()) != f.Op || ir.Target(inner.FrontOf(1).Terminator()) != inner {
		t.Error("a continue in an if belongs to the loop, a yield to the if")
	}
	if _, ok := ir.Incoming(i); ok {
		t.Error("the induction variable has incoming values")
	}
	if cs := ir.Captures(f.Op); len(cs) != 1 || cs[0] != (If{inner}).Cond() {
		t.Errorf("the loop captures %d values, not only the condition", len(cs))
	}
}
