package ptxop

import (
	"strings"

	"tileiras/codegen/target"
)

// Accesses through multimem addresses, each of which stands for one place in the memory of every device of a multicast object: PTX
// ISA, "multimem.ld_reduce, multimem.st, multimem.red". Names are multimem.st[.ORDER.SCOPE][.SPACE].TYPE and
// multimem.{red,ld_reduce}[.ORDER.SCOPE][.SPACE].OP.TYPE. They move 32 or 64 bits, and more only as vectors of floats.

var multimemNeed = sm(90, 8, 1)

func init() {
	define("multimem", func(b *builder) {
		eachMultimemOrder([]string{"", "relaxed", "release"}, func(order string, s space, fx Effects, need target.Need) {
			for _, w := range []struct{ typ, operand string }{
				{"b32", "r"}, {"b64", "l"}, {"f32", "f"}, {"f64", "d"}, {"v2.f32", "{f*2}"}, {"v4.f32", "{f*4}"},
			} {
				m := "multimem.st" + order + s.dot + "." + w.typ
				b.guarded(m, m, "[l] "+w.operand, s.write|fx, need)
			}
		})
		eachMultimemOrder([]string{"relaxed", "release"}, func(order string, s space, fx Effects, need target.Need) {
			for _, r := range multimemReductions("") {
				m := "multimem.red" + order + s.dot + "." + r.op
				b.guarded(m, m, "[l] "+r.operand, s.read|s.write|fx, need)
			}
		})
		eachMultimemOrder([]string{"", "relaxed", "acquire"}, func(order string, s space, fx Effects, need target.Need) {
			for _, r := range multimemReductions("=") {
				m := "multimem.ld_reduce" + order + s.dot + "." + r.op
				b.guarded(m, m, r.operand+" [l]", s.read|fx, need)
			}
			for _, op := range []string{"min", "max"} { // of short floats only when loading
				for _, t := range []string{"f16x2", "bf16x2"} {
					for _, v := range multimemVectors("=", t) {
						m := "multimem.ld_reduce" + order + s.dot + "." + op + v.dot + t
						b.guarded(m, m, v.operand+" [l]", s.read|fx, need)
					}
				}
			}
		})
	})
}

// eachMultimemOrder calls f with every order of the list ("" is weak), scope and space of multimem accesses.
func eachMultimemOrder(orders []string, f func(order string, s space, fx Effects, need target.Need)) {
	for _, s := range []space{global, generic} {
		for _, order := range orders {
			if order == "" {
				f("", s, 0, multimemNeed)
				continue
			}
			for _, c := range scopes {
				f("."+order+"."+c.name, s, Strong, needBoth(multimemNeed, c.need))
			}
		}
	}
}

// multimemReduction is an operation with its type, "add.v2.f32", and the operand that it takes or gives.
type multimemReduction struct{ op, operand string }

// multimemReductions is the table "valid combinations of .op and base type" as far as it holds for both red and ld_reduce; mark is
// that of results.
func multimemReductions(mark string) []multimemReduction {
	var out []multimemReduction
	for _, row := range []struct{ ops, types string }{{"and or xor", "b32 b64"}, {"add", "u32 u64 f64"}, {"min max", "u32 s32 u64 s64"}} {
		for _, op := range strings.Fields(row.ops) {
			for _, t := range strings.Fields(row.types) {
				out = append(out, multimemReduction{op + "." + t, mark + letterOf(t)})
			}
		}
	}
	for _, t := range []string{"f32", "f16x2", "bf16x2"} {
		for _, v := range multimemVectors(mark, t) {
			out = append(out, multimemReduction{"add" + v.dot + t, v.operand})
		}
	}
	return out
}

// multimemVectors is one, two and four registers of a type as parts of a mnemonic and as operands.
func multimemVectors(mark, typ string) []struct{ dot, operand string } {
	r := mark + letterOf(typ)
	return []struct{ dot, operand string }{{".", r}, {".v2.", "{" + r + "*2}"}, {".v4.", "{" + r + "*4}"}}
}
