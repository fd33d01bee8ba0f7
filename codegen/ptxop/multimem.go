package ptxop

import "tileiras/codegen/target"

// Accesses through multimem addresses, each of which stands for one place in the memory of every device of a multicast object: PTX
// ISA, "multimem.ld_reduce, multimem.st, multimem.red". Names are multimem.st[.ORDER.SCOPE][.SPACE].TYPE. They move 32 or 64 bits, and
// more only as vectors of floats.

var multimemNeed = sm(90, 8, 1)

func init() {
	define("multimem", func(b *builder) {
		multimemOrders([]string{"", "relaxed", "release"}, func(order string, s space, fx Effects, need target.Need) {
			for _, w := range []struct{ typ, operand string }{
				{"b32", "r"}, {"b64", "l"}, {"f32", "f"}, {"f64", "d"}, {"v2.f32", "{f*2}"}, {"v4.f32", "{f*4}"},
			} {
				m := "multimem.st" + order + s.dot + "." + w.typ
				b.guarded(m, m, "[l] "+w.operand, s.write|fx, need)
			}
		})
	})
}

// multimemOrders calls f with every order of the list ("" is weak), scope and space of multimem accesses.
func multimemOrders(orders []string, f func(order string, s space, fx Effects, need target.Need)) {
	for _, s := range []space{global, generic} {
		for _, order := range orders {
			if order == "" {
				f("", s, 0, multimemNeed)
				continue
			}
			for _, c := range scopes {
				f("."+order+"."+c.name, s, Strong, both(multimemNeed, c.need))
			}
		}
	}
}
