package tileaa

import (
	"fmt"
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// A verifier checks what a row cannot say. It returns a sentence about what is wrong, or "".
type verifier func(op *ir.Op) string

// verifyHook reports the sentence.
func verifyHook(name string) func(*ir.Context, *ir.Op) bool {
	check := verifiers[name]
	if check == nil {
		return nil
	}
	return func(c *ir.Context, op *ir.Op) bool {
		if wrong := check(op); wrong != "" {
			return c.Error(op, "%s", wrong)
		}
		return true
	}
}

// all runs checks until one complains.
func all(checks ...verifier) verifier {
	return func(op *ir.Op) string {
		for _, check := range checks {
			if wrong := check(op); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// tileArg is the type of a named operand or the first result as a tile, or nil.
func tileArg(op *ir.Op, name string) *TileType {
	if name == "result" {
		if op.NumResults() == 0 {
			return nil
		}
		return AsTile(op.Result(0))
	}
	if v := op.OperandNamed(name); v != nil {
		return AsTile(v)
	}
	return nil
}

// elements says that the named values are tiles of elements of a kind.
func elements(kind string, is func(ir.Type) bool, names ...string) verifier {
	return func(op *ir.Op) string {
		for _, n := range names {
			if t := tileArg(op, n); t == nil || !is(t.Elem) {
				return fmt.Sprintf("needs a tile of %s as %s", kind, n)
			}
		}
		return ""
	}
}

func integers(names ...string) verifier {
	return elements("integers", func(t ir.Type) bool { return ir.IsInt(t) }, names...)
}
func floatTiles(names ...string) verifier {
	return elements("floats", func(t ir.Type) bool { return ir.IsFloat(t) }, names...)
}
func booleans(names ...string) verifier {
	return elements("i1", func(t ir.Type) bool { return ir.IsInt(t, 1) }, names...)
}
func words(names ...string) verifier {
	return elements("i64", func(t ir.Type) bool { return ir.IsInt(t, 64) }, names...)
}
func pointers(names ...string) verifier {
	return elements("pointers", func(t ir.Type) bool { _, ok := t.(*PtrType); return ok }, names...)
}

// scalars says that the values of a group are rank-0 integers.
func scalars(names ...string) verifier {
	return func(op *ir.Op) string {
		for _, n := range names {
			for _, v := range op.OperandGroupNamed(n) {
				if t := AsTile(v); t == nil || len(t.Shape) != 0 || !ir.IsInt(t.Elem) {
					return fmt.Sprintf("needs rank-0 integers as %s", n)
				}
			}
		}
		return ""
	}
}

// optionalMask checks the mask of an access against its pointers.
func optionalMask(op *ir.Op) string {
	m := op.OperandNamed("mask")
	if m == nil {
		return ""
	}
	if t, p := AsTile(m), tileArg(op, "ptr"); t == nil || !ir.IsInt(t.Elem, 1) || !sameShape(t, p) {
		return "needs a mask of i1 in the shape of the pointers"
	}
	return ""
}

// pointee checks that the elements of a named value are what the pointers point to.
func pointee(name string) verifier {
	return func(op *ir.Op) string {
		p, v := tileArg(op, "ptr"), tileArg(op, name)
		if v == nil || p.Elem.(*PtrType).Elem != v.Elem || !sameShape(p, v) {
			return fmt.Sprintf("needs a %s of the pointed-to elements in the shape of the pointers", name)
		}
		return ""
	}
}

// strong: weak accesses have no scope, all others must have one.
func strong(op *ir.Op) string {
	weak, scoped := op.EnumNamed("order") == def.Weak, op.AttrNamed("scope") != nil
	if weak && scoped {
		return "is weak and must have no scope"
	}
	if !weak && !scoped {
		return "is not weak and must have a scope"
	}
	return ""
}

// blockIs checks a block operand against the named tile.
func blockIs(name string) verifier {
	return func(op *ir.Op) string {
		b, ok := op.OperandNamed("block").Type().(*BlockType)
		if !ok {
			return "needs a block"
		}
		if t := tileArg(op, name); t == nil || t.Elem != b.Elem || !slices.Equal(t.Shape, b.Shape) {
			return fmt.Sprintf("needs a %s of the shape and elements of the block", name)
		}
		return ""
	}
}

func dimInRange(rank func(op *ir.Op) int) verifier {
	return func(op *ir.Op) string {
		if d, n := op.IntNamed("dim"), rank(op); d < 0 || d >= int64(n) {
			return fmt.Sprintf("dimension %d is not one of %d", d, n)
		}
		return ""
	}
}

func rankOf(name string) func(op *ir.Op) int {
	return func(op *ir.Op) int {
		if t := tileArg(op, name); t != nil {
			return len(t.Shape)
		}
		return 0
	}
}

var verifiers = map[string]verifier{
	"addf": floatTiles("lhs"), "subf": floatTiles("lhs"), "mulf": floatTiles("lhs"), "divf": floatTiles("lhs"),
	"remf": floatTiles("lhs"), "maxf": floatTiles("lhs"), "minf": floatTiles("lhs"), "pow": floatTiles("lhs"),
	"atan2": floatTiles("lhs"), "fma": floatTiles("lhs"), "cmpf": all(floatTiles("lhs"), booleans("result")),
	"negf": floatTiles("source"), "absf": floatTiles("source"), "ceil": floatTiles("source"), "floor": floatTiles("source"),
	"sqrt": floatTiles("source"), "rsqrt": floatTiles("source"), "exp": floatTiles("source"), "exp2": floatTiles("source"),
	"log": floatTiles("source"), "log2": floatTiles("source"), "sin": floatTiles("source"), "cos": floatTiles("source"),
	"tan": floatTiles("source"), "sinh": floatTiles("source"), "cosh": floatTiles("source"), "tanh": floatTiles("source"),
	"powi": all(floatTiles("source"), integers("exponent")),

	"addi": integers("lhs"), "subi": integers("lhs"), "muli": integers("lhs"), "mulhii": integers("lhs"),
	"divi": integers("lhs"), "remi": integers("lhs"), "maxi": integers("lhs"), "mini": integers("lhs"),
	"andi": integers("lhs"), "ori": integers("lhs"), "xori": integers("lhs"), "shli": integers("lhs"),
	"shri": integers("lhs"), "absi": integers("source"), "negi": integers("source"),
	"cmpi": all(integers("lhs"), booleans("result")),
	"select": func(op *ir.Op) string {
		if c, r := tileArg(op, "cond"), tileArg(op, "result"); c == nil || r == nil || !ir.IsInt(c.Elem, 1) || !sameShape(c, r) {
			return "needs a condition of i1 in the shape of the result"
		}
		return ""
	},

	"bitcast": func(op *ir.Op) string {
		if s, r := tileArg(op, "source"), tileArg(op, "result"); s == nil || r == nil || ElemBits(s.Elem) != ElemBits(r.Elem) {
			return "needs elements of equal width"
		}
		return ""
	},
	"exti":       all(integers("source", "result"), wider("result", "source")),
	"trunci":     all(integers("source", "result"), wider("source", "result")),
	"ftof":       floatTiles("source", "result"),
	"ftoi":       all(floatTiles("source"), integers("result")),
	"itof":       all(integers("source"), floatTiles("result")),
	"int_to_ptr": all(words("source"), pointers("result")),
	"ptr_to_int": all(pointers("source"), words("result")),
	"ptr_cast":   pointers("source", "result"),
	"offset":     all(pointers("ptr", "result"), integers("offset"), sameTypes("ptr", "result")),

	"constant": func(op *ir.Op) string {
		d, ok := op.AttrNamed("value").(*ir.DenseAttr)
		t := tileArg(op, "result")
		if !ok || t == nil || d.Type == nil || !sameTileBut(d.Type, t) {
			return "needs a value of the type of the result"
		}
		n := int64(1)
		if !d.Splat {
			n = t.NumElements()
		}
		if int64(len(d.Data)) != n*int64(ConstBytes(t.Elem)) {
			return "needs as many bytes as its elements have"
		}
		return ""
	},
	"iota": func(op *ir.Op) string {
		if t := tileArg(op, "result"); t == nil || len(t.Shape) != 1 || !ir.IsInt(t.Elem) {
			return "needs a rank-1 tile of integers as result"
		}
		return ""
	},
	"splat": func(op *ir.Op) string {
		if s, r := tileArg(op, "source"), tileArg(op, "result"); s == nil || r == nil || len(s.Shape) != 0 || s.Elem != r.Elem {
			return "needs a rank-0 source with the element type of the result"
		}
		return ""
	},
	"broadcast": shapes(func(op *ir.Op, s, r []int64) bool {
		return slices.EqualFunc(s, r, func(a, b int64) bool { return a == b || a == 1 })
	}),
	"reshape": shapes(func(op *ir.Op, s, r []int64) bool { return product(s) == product(r) }),
	"permute": shapes(func(op *ir.Op, s, r []int64) bool {
		p := Permutation(op)
		if len(p) != len(s) || len(r) != len(s) {
			return false
		}
		seen := make([]bool, len(p))
		for i, d := range p {
			if d < 0 || int(d) >= len(p) || seen[d] || r[i] != s[d] {
				return false
			}
			seen[d] = true
		}
		return true
	}),
	"extract": all(scalars("indices"), shapes(slicesOf)),
	"pad": shapes(func(op *ir.Op, s, r []int64) bool {
		return slices.EqualFunc(s, r, func(a, b int64) bool { return a <= b })
	}),
	"convert_layout": shapes(func(op *ir.Op, s, r []int64) bool { return slices.Equal(s, r) }),
	"insert": all(scalars("indices"), func(op *ir.Op) string {
		s, d, r := tileArg(op, "source"), tileArg(op, "dest"), tileArg(op, "result")
		if s == nil || d == nil || r == nil || d.Elem != r.Elem || !sameShape(d, r) || s.Elem != d.Elem ||
			len(op.OperandGroupNamed("indices")) != len(d.Shape) || !slices.EqualFunc(d.Shape, s.Shape, divisible) {
			return "needs a result like the destination and a source whose dimensions divide it, with one slice number for each"
		}
		return ""
	}),
	"cat": all(dimInRange(rankOf("result")), func(op *ir.Op) string {
		l, r, t := tileArg(op, "lhs"), tileArg(op, "rhs"), tileArg(op, "result")
		if l == nil || r == nil || t == nil || l.Elem != t.Elem || r.Elem != t.Elem || len(l.Shape) != len(t.Shape) || len(r.Shape) != len(t.Shape) {
			return "needs tiles of one rank and element type"
		}
		for d, n := range t.Shape {
			want := l.Shape[d] == n && r.Shape[d] == n
			if int64(d) == op.IntNamed("dim") {
				want = l.Shape[d]+r.Shape[d] == n
			}
			if !want {
				return "needs equal dimensions but for the one along which it concatenates"
			}
		}
		return ""
	}),

	"dot":        verifyDot,
	"dot_scaled": verifyDot,
	"reduce":     all(dimInRange(firstRank), verifyCombine),
	"scan":       all(dimInRange(firstRank), verifyCombine),

	"make_memref": all(scalars("shape", "strides"), func(op *ir.Op) string {
		m, ok := op.Result(0).Type().(*MemrefType)
		b := tileArg(op, "base")
		if !ok || b == nil || len(b.Shape) != 0 || len(m.Strides) != len(m.Shape) {
			return "needs a rank-0 pointer and makes a memref with a stride for each extent"
		}
		if p, ok := b.Elem.(*PtrType); !ok || p.Elem != m.Elem {
			return "needs a pointer to the elements of the memref"
		}
		if count(m.Shape) != len(op.OperandGroupNamed("shape")) || count(m.Strides) != len(op.OperandGroupNamed("strides")) {
			return "needs one operand for each dynamic extent and stride"
		}
		return ""
	}),
	"block_tile":      verifyBlock,
	"tiled_load":      all(blockIs("result"), strong),
	"tiled_store":     all(blockIs("value"), strong),
	"tiled_atomic":    all(blockIs("value"), strong),
	"multimem_store":  all(blockIs("value"), strong),
	"multimem_reduce": all(blockIs("value"), strong),
	"multimem_load":   all(blockIs("result"), strong),
	"load":            all(pointers("ptr"), pointee("result"), optionalMask, strong),
	"store":           all(pointers("ptr"), pointee("value"), optionalMask, strong),
	"atomic_rmw":      all(pointers("ptr"), pointee("arg"), optionalMask, strong),
	"atomic_cas":      all(pointers("ptr"), pointee("cmp"), pointee("value"), optionalMask, strong),

	"for":      verifyFor,
	"loop":     verifyLoop,
	"if":       verifyIf,
	"yield":    inside("if", "reduce", "scan"),
	"break":    inside("loop", "if"),
	"continue": inside("for", "loop", "if"),
	"return":   inside("entry", "if", "loop"),
	"assert":   booleans("cond"),
}

func divisible(whole, part int64) bool { return part > 0 && whole%part == 0 }

func count(dims []int64) int {
	n := 0
	for _, d := range dims {
		if d == Dynamic {
			n++
		}
	}
	return n
}

// sameTileBut compares the shape and elements of two tile types; the layout does not count.
func sameTileBut(a ir.Type, t *TileType) bool {
	x, ok := a.(*TileType)
	return ok && x.Elem == t.Elem && sameShape(x, t)
}

func wider(wide, narrow string) verifier {
	return func(op *ir.Op) string {
		if ir.BitWidth(tileArg(op, wide).Elem) <= ir.BitWidth(tileArg(op, narrow).Elem) {
			return fmt.Sprintf("needs a %s that is wider than the %s", wide, narrow)
		}
		return ""
	}
}

func sameTypes(a, b string) verifier {
	return func(op *ir.Op) string {
		if tileArg(op, a) != tileArg(op, b) {
			return fmt.Sprintf("needs equal types of %s and %s", a, b)
		}
		return ""
	}
}

// shapes checks the shapes of source and result, which have one element type.
func shapes(fit func(op *ir.Op, source, result []int64) bool) verifier {
	return func(op *ir.Op) string {
		s, r := tileArg(op, "source"), tileArg(op, "result")
		if s == nil || r == nil || s.Elem != r.Elem || !fit(op, s.Shape, r.Shape) {
			return "needs shapes that fit and one element type"
		}
		return ""
	}
}

func slicesOf(op *ir.Op, s, r []int64) bool {
	return len(op.OperandGroupNamed("indices")) == len(s) && slices.EqualFunc(s, r, divisible)
}

func firstRank(op *ir.Op) int {
	if vs := op.OperandGroupNamed("operands"); len(vs) > 0 {
		if t := AsTile(vs[0]); t != nil {
			return len(t.Shape)
		}
	}
	return 0
}
