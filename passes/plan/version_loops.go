package plan

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// version-loops makes a second version of a loop nest with products whose factors lie in arrays of which nobody promises that rows begin at multiples of 16
// bytes, or that elements of a row lie side by side. One test before the nest says which version runs; in the first one it is a promise.
//
//	%m = make_memref %a, strides(%s, %u)        %ok = (%a | %s * bytes) % 16 == 0 && %u == 1
//	for .. {                               =>   if %ok { assume; %m1 = make_memref %a1, strides(%s1, 1); for .. { tiled_load %m1 } }
//	  tiled_load (block_tile %m) ..             else { for .. { tiled_load %m } }
//	}
//
// For pointers it asks the same of the parameters from which they follow, of as few as will do. It does so once for a nest, and only where a
// factor is loaded by less than an asynchronous copy can move and would be loaded by 16 bytes.
func VersionLoops(s *pass.State) error {
	for _, entry := range s.Entries() {
		known := facts.New(s.Ctx, entry) // of values that stay, or are replaced by equal ones
		for _, op := range entry.Body().Ops() {
			if op.Code() != tileaa.OpFor && op.Code() != tileaa.OpLoop {
				continue
			}
			if v := newVersion(s, known, entry, op); v != nil {
				v.split()
			}
		}
	}
	return nil
}

// leastCopy is the bytes of the narrowest asynchronous copy.
const leastCopy = 4

// version is the work on one nest.
type version struct {
	s        *pass.State
	known    *facts.Facts
	entry    *ir.Op
	loop     *ir.Op
	promises []promise
	b        *ir.Builder
	renewed  ir.Mapping // values of the first version
	same     map[*ir.Value]bool
}

// promise is a value that is a multiple of a power of two; of 0: that is 1.
type promise struct {
	value   *ir.Value
	divisor uint64
}

// newVersion finds what a nest needs to know of its arrays; nil: nothing that could be tested before it would help.
func newVersion(s *pass.State, known *facts.Facts, entry, loop *ir.Op) *version {
	var narrow []*ir.Op
	feeds := factorLoads(s, loop)
	if len(feeds) == 0 {
		return nil
	}
	v := &version{s: s, known: known, entry: entry, loop: loop}
	s.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if feeds[op] && !tileaa.IsStrong(op) && v.bytes(known, op) < leastCopy {
			narrow = append(narrow, op)
		}
	})
	for _, op := range narrow {
		v.suppose(op)
	}
	if len(v.promises) == 0 {
		return nil
	}
	return v
}

// bytes is how many bytes an access of a load could take, as far as is known; as many as there are for what is no tile.
func (v *version) bytes(known *facts.Facts, op *ir.Op) int64 {
	size := elemBytes(op)
	if block, ok := tileaa.BlockOf(op); ok {
		return min(known.BlockVector(block, known.FastDim(block))*size, maxVecBytes)
	}
	p := ir.Cast[tileaa.PtrAccess](op)
	if !tileaa.IsRanked(p.Ptr()) {
		return maxVecBytes
	}
	_, vec, _ := pointerVector(known, p)
	return vec * size
}

// suppose adds what a load would have to know to be as wide as can be, if that can be tested before the nest and agrees with what others want.
func (v *version) suppose(op *ir.Op) {
	var list []promise
	if block, ok := tileaa.BlockOf(op); ok {
		list = arrayPromises(v.known, op, ir.Cast[tileaa.MakeMemref](block.Memref().DefiningOp()))
	} else {
		list = v.pointerPromises(op, ir.Cast[tileaa.Load](op).Ptr())
	}
	if !v.wide(op, list) || slices.ContainsFunc(list, func(p promise) bool { return !ir.DefinedOutside(p.value, v.loop) || v.contradicts(p) }) {
		return
	}
	for _, p := range list {
		v.add(p)
	}
}

// wide reports whether a load would be as wide as can be.
func (v *version) wide(op *ir.Op, list []promise) bool {
	supposed := v.known.Anew()
	for _, p := range list {
		supposed.Suppose(p.value, p.divisor)
	}
	return v.bytes(supposed, op) >= maxVecBytes
}

// elementsOf is how many elements of a load its widest access takes.
func elementsOf(op *ir.Op) uint64 {
	return uint64(maxVecBytes / min(elemBytes(op), maxVecBytes))
}

// arrayPromises are those of the array of a block: of where it begins, and of its strides.
func arrayPromises(known *facts.Facts, op *ir.Op, m tileaa.MakeMemref) []promise {
	list := []promise{{m.Base(), maxVecBytes}}
	t := m.Result().Type().(*tileaa.MemrefType)
	side := len(t.Strides) - 1 // the dimension whose elements lie side by side: one that is known to, else the last
	for a := range t.Strides {
		if one, ok := known.Stride(m, a).Constant(); ok && one == 1 {
			side = a
		}
	}
	for a := range t.Strides {
		stride, _ := tileaa.SizeOf(t.Strides, m.Strides(), a)
		switch {
		case stride == nil:
		case a == side:
			list = append(list, promise{stride, 0})
		default:
			list = append(list, promise{stride, elementsOf(op)})
		}
	}
	return list
}

// mostParameters bounds how many parameters of the kernel a place may follow from.
const mostParameters = 12

// pointerPromises are those of the parameters from which pointers follow: all are multiples, or one of them is the distance between neighbours; without
// those that do not matter.
func (v *version) pointerPromises(op *ir.Op, ptr *ir.Value) []promise {
	var all []promise
	for _, x := range v.parameters(ptr) {
		divisor := elementsOf(op)
		if isPointer(x) {
			divisor = maxVecBytes
		}
		all = append(all, promise{x, divisor})
	}
	if len(all) > mostParameters {
		return nil
	}
	found := v.wide(op, all)
	for i := len(all) - 1; i >= 0 && !found; i-- { // what columns are multiplied by comes last in most programs
		if all[i].divisor < maxVecBytes {
			divisor := all[i].divisor
			if all[i].divisor = 0; !v.wide(op, all) {
				all[i].divisor = divisor
				continue
			}
			found = true
		}
	}
	for i := 0; i < len(all) && found; {
		if less := slices.Delete(slices.Clone(all), i, i+1); v.wide(op, less) {
			all = less
		} else {
			i++
		}
	}
	return all
}

// parameters are the arguments of the entry from which a value follows by pure operations and loops.
func (v *version) parameters(x *ir.Value) (list []*ir.Value) {
	seen := map[*ir.Value]bool{}
	var visit func(x *ir.Value)
	visit = func(x *ir.Value) {
		v.s.Step()
		if seen[x] {
			return
		}
		seen[x] = true
		if incoming, ok := ir.Incoming(x); ok {
			for _, i := range incoming {
				visit(i)
			}
		} else if op := x.DefiningOp(); op != nil && op.Traits().Has(ir.Pure) && op.NumRegions() == 0 {
			for _, o := range op.Operands() {
				visit(o)
			}
		} else if t := tileaa.AsTile(x); op == nil && x.Block() == v.entry.Body() && t != nil && (ir.IsInt(t.Elem) || isPointer(x)) {
			list = append(list, x)
		}
	}
	visit(x)
	return list
}

func isPointer(v *ir.Value) bool {
	t := tileaa.AsTile(v)
	if t == nil {
		return false
	}
	_, ok := t.Elem.(*tileaa.PtrType)
	return ok
}

// contradicts reports whether a value cannot be what two loads want.
func (v *version) contradicts(p promise) bool {
	return slices.ContainsFunc(v.promises, func(q promise) bool { return q.value == p.value && (q.divisor == 0) != (p.divisor == 0) })
}

// add adds what is not known.
func (v *version) add(p promise) {
	f := v.known.Of(p.value)
	if one, ok := f.Constant(); p.divisor == 0 && ok && one == 1 || p.divisor > 0 && f.ZeroBits < f.Width && uint64(1)<<f.ZeroBits >= p.divisor {
		return
	}
	for i, q := range v.promises {
		if q.value == p.value {
			v.promises[i].divisor = max(q.divisor, p.divisor)
			return
		}
	}
	v.promises = append(v.promises, p)
}

// split puts the two versions in the place of the nest.
func (v *version) split() {
	v.b = ir.NewBuilder(v.s.Ctx).Before(v.loop)
	v.b.Loc = v.loop.Loc()
	var types []ir.Type
	for _, r := range v.loop.Results() {
		types = append(types, r.Type())
	}
	either := tileaa.NewIf(v.b, types, v.test())
	for i, r := range v.loop.Results() {
		r.ReplaceAllUsesWith(either.Op.Result(i))
	}
	v.b.AtEnd(either.Op.Region(0).AddBlock())
	tileaa.NewYield(v.b, v.promised().Results())
	v.b.AtEnd(either.Op.Region(1).AddBlock())
	end := tileaa.NewYield(v.b, v.loop.Results())
	v.loop.MoveBefore(end.Op)
}

// test is whether all promises hold.
func (v *version) test() *ir.Value {
	i64, i1 := tileaa.Tile(v.s.Ctx, v.s.Ctx.Int(64)), tileaa.Tile(v.s.Ctx, v.s.Ctx.Int(1))
	low := tileaa.Const(v.b, i64, 0) // bits that must be 0
	var ok *ir.Value
	and := func(c *ir.Value) {
		if ok != nil {
			c = tileaa.NewAndi(v.b, ok, c).Result()
		}
		ok = c
	}
	for _, p := range v.promises {
		t := tileaa.AsTile(p.value)
		if p.divisor == 0 {
			and(tileaa.NewCmpi(v.b, i1, p.value, tileaa.Const(v.b, t, 1), def.Signed, tileaa.CmpiOptions{Predicate: def.PredEqual}).Result())
			continue
		}
		x := p.value
		if isPointer(x) {
			x = tileaa.NewPtrToInt(v.b, i64, x).Result()
		} else if tileaa.ElemBits(t.Elem) < 64 {
			x = tileaa.NewExti(v.b, i64, x, def.Unsigned).Result()
		}
		x = tileaa.NewAndi(v.b, x, tileaa.Const(v.b, i64, int64(p.divisor-1))).Result()
		low = tileaa.NewOri(v.b, low, x).Result()
	}
	and(tileaa.NewCmpi(v.b, i1, low, tileaa.Const(v.b, i64, 0), def.Signed, tileaa.CmpiOptions{Predicate: def.PredEqual}).Result())
	return ok
}

// promised makes the first version: the nest, and what it takes from outside that follows from what is promised.
func (v *version) promised() *ir.Op {
	v.renewed, v.same = ir.Mapping{}, map[*ir.Value]bool{}
	for _, p := range v.promises {
		if p.divisor == 0 {
			v.renewed[p.value] = tileaa.Const(v.b, tileaa.AsTile(p.value), 1)
		} else {
			v.renewed[p.value] = tileaa.NewAssume(v.b, p.value, &tileaa.DivByAttr{Divisor: p.divisor}).Result()
		}
	}
	for _, x := range append(v.loop.Operands(), ir.Captures(v.loop)...) {
		v.renew(x)
	}
	return v.b.Insert(v.s.Ctx.Clone(v.loop, v.renewed))
}

// renew makes a value again from what is promised; it reports whether it follows from that.
func (v *version) renew(x *ir.Value) bool {
	if v.renewed[x] != nil {
		return true
	}
	op := x.DefiningOp()
	if v.same[x] || op == nil || !op.Traits().Has(ir.Pure) || op.NumRegions() > 0 {
		return false
	}
	v.same[x] = true
	v.s.Step()
	follows := false
	for _, o := range op.Operands() {
		follows = v.renew(o) || follows
	}
	if follows {
		delete(v.same, x)
		v.b.Insert(op.Clone(v.renewed))
	}
	return follows
}
