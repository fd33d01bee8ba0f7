package ptxop

import (
	"strings"
	"sync"

	"tileiras/codegen/target"
)

// Atomic operations: PTX ISA, "atom" and "red". Names are
// atom.ORDER.SCOPE[.SPACE].OP.TYPE, e.g. "atom.relaxed.gpu.global.add.f32" and
// "atom.acq_rel.sys.cas.b64" (generic address). With ".sink" behind the space what was
// there goes nowhere, but has been read: red reads nothing that could be acquired.

type atomicOp struct {
	op   string // as in the mnemonic, ".noftz" included
	typ  string
	reg  string // register letter
	need target.Need
}

var atomicOps = sync.OnceValue(func() []atomicOp {
	var ops []atomicOp
	add := func(names, types string, need target.Need) {
		for _, op := range strings.Fields(names) {
			for _, t := range strings.Fields(types) {
				ops = append(ops, atomicOp{op, t, letterOf(t), need})
			}
		}
	}
	add("add", "u32 s32 u64 f32 f64", anySM)
	add("and or xor exch", "b32 b64", anySM)
	add("min max", "u32 s32 u64 s64", anySM)
	add("inc dec", "u32", anySM)
	add("add.noftz", "f16", sm(70, 6, 3))
	add("add.noftz", "f16x2", anySM)
	add("add.noftz", "bf16 bf16x2", sm90)
	return ops
})

// vectorReds add several elements, each by itself, in any order.
var vectorReds = []struct{ op, operand string }{
	{"add.v2.f32", "{f*2}"}, {"add.v4.f32", "{f*4}"},
	{"add.noftz.v2.f16x2", "{r*2}"}, {"add.noftz.v4.f16x2", "{r*4}"}, {"add.noftz.v2.bf16x2", "{r*2}"}, {"add.noftz.v4.bf16x2", "{r*4}"},
}

func init() {
	for _, order := range []string{"relaxed", "acquire", "release", "acq_rel"} {
		for _, c := range scopes {
			prefix := order + "." + c.name
			define("atom."+prefix, func(b *builder) {
				for _, s := range spaces {
					fx := s.read | s.write | Strong
					address := "[" + string(s.base) + "]"
					for _, op := range atomicOps() {
						m := "atom." + prefix + s.dot + "." + op.op + "." + op.typ
						b.guarded(m, m, "="+op.reg+" "+address+" "+op.reg, fx, needBoth(c.need, op.need))
						b.guarded("atom."+prefix+s.dot+".sink."+op.op+"."+op.typ, m, "'_ "+address+" "+op.reg, fx, needBoth(c.need, op.need))
					}
					for _, cas := range []atomicOp{{"cas", "b16", "h", sm(70, 6, 3)}, {"cas", "b32", "r", anySM}, {"cas", "b64", "l", anySM}} {
						m := "atom." + prefix + s.dot + ".cas." + cas.typ
						b.guarded(m, m, "="+cas.reg+" "+address+" "+cas.reg+" "+cas.reg, fx, needBoth(c.need, cas.need))
					}
					if s.dot != ".global" {
						continue
					}
					for _, v := range vectorReds {
						m := "atom." + prefix + s.dot
						b.guarded(m+".sink."+v.op, m+"."+v.op, "'_ "+address+" "+v.operand, fx, needBoth(c.need, sm(90, 8, 1)))
					}
				}
			})
			if order == "acquire" || order == "acq_rel" {
				continue // red returns nothing that could be acquired
			}
			define("red."+prefix, func(b *builder) {
				for _, s := range spaces {
					fx := s.read | s.write | Strong
					address := "[" + string(s.base) + "]"
					for _, op := range atomicOps() {
						if op.op == "exch" {
							continue
						}
						m := "red." + prefix + s.dot + "." + op.op + "." + op.typ
						b.guarded(m, m, address+" "+op.reg, fx, needBoth(c.need, op.need))
					}
					if s.dot == ".global" {
						for _, v := range vectorReds {
							m := "red." + prefix + s.dot + "." + v.op
							b.guarded(m, m, address+" "+v.operand, fx, needBoth(c.need, sm(90, 8, 1)))
						}
					}
				}
			})
		}
	}
}

// needBoth is the need of an instruction with two needs.
func needBoth(a, b target.Need) target.Need {
	return target.Need{SM: max(a.SM, b.SM), Arch: a.Arch | b.Arch, PTX: max(a.PTX, b.PTX)}
}
