package sync

import (
	"math"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file looks at slots of the tile block's memory (alloca). It computes the addresses of all elements of an access as a run has them, and counts which
// thread touches which byte: what the barriers were left out for is not asked.

// slotAccess is an access to a slot of the tile block's memory.
type slotAccess struct {
	access
	write   bool
	old     bool // the slot is over: its bytes are those of another iteration's
	threads *slotThreads
}

// slotThreads is the thread that touches each byte of a slot.
type slotThreads []int32

const (
	noThread       = -1
	severalThreads = -2
)

// slotTouched is the alloca of whose slot an op accesses elements; ok is false where that is not seen.
func slotTouched(op *ir.Op) (slot *ir.Op, ok bool) {
	place := tileaa.AccessedPlace(op)
	if place == nil || kernel.AccessKindsOf(op) == 0 {
		return nil, false
	}
	a, ok := ir.DefinedBy[tileaa.Alloca](pointerOf(place))
	return a.Op, ok
}

// touchSlot looks at an access to a slot, and notes it.
func (j *judge) touchSlot(a *actor, e *event) *fault {
	op := e.op
	slot, ok := slotTouched(op)
	if !ok {
		return nil
	}
	now := &slotAccess{access: access{op: op, by: a, time: a.time, done: a.time}, write: kernel.AccessKindsOf(op)&kernel.Write != 0, threads: e.threads}
	for _, x := range j.slots[slot] {
		if !x.old || !x.write && !now.write || x.by == a && ownBytes(x.threads, now.threads) {
			continue
		}
		if why := j.unordered(&x.access, &now.access, false); why != "" {
			return &fault{op, "touches the slot of an earlier iteration, " + why, x.op}
		}
	}
	list := slices.DeleteFunc(j.slots[slot], func(x *slotAccess) bool {
		return x.by == a && (x.op == op && x.threads == now.threads || x.done <= a.met)
	})
	j.slots[slot] = append(list, now)
	return nil
}

// ownBytes reports whether two accesses touch each byte by one thread, the same; nil is an access of which that is not known.
func ownBytes(a, b *slotThreads) bool {
	if a == nil || b == nil {
		return false
	}
	for i, x := range *a {
		if y := (*b)[i]; x != noThread && y != noThread && (x != y || x == severalThreads) {
			return false
		}
	}
	return true
}

// needSlot adds the numbers that the addresses of an access to a slot are computed from.
func (k *skeleton) needSlot(op *ir.Op) {
	var numbers []*ir.Value
	seen := map[*ir.Value]bool{}
	var find func(v *ir.Value)
	find = func(v *ir.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		if isNumber(v) {
			numbers = append(numbers, v)
			k.needed.Need(v)
		} else if def := v.DefiningOp(); def != nil && def.MovesFreely() {
			for _, x := range def.Operands() {
				find(x)
			}
		}
	}
	find(tileaa.AccessedPlace(op))
	k.placed[op] = numbers
}

func isNumber(v *ir.Value) bool { return decides(v) && tileaa.AsTile(v) != nil }

// slotKey is an access with the numbers that its addresses are computed from.
type slotKey struct {
	op      *ir.Op
	numbers uint64
}

// threadsOf counts who touches which byte of the slot that an op accesses; nil: the addresses are not known.
func (t *thread) threadsOf(op, slot *ir.Op) *slotThreads {
	key := slotKey{op: op}
	for _, v := range t.placed[op] {
		bits, ok := t.ask(t.value(v), op, 0, 1)
		if !ok {
			return nil
		}
		key.numbers = mix(key.numbers, bits)
	}
	if known, ok := t.touched[key]; ok {
		return known
	}
	at := (&addresses{t, map[*ir.Value][]int64{}}).of(tileaa.AccessedPlace(op))
	var threads *slotThreads
	if at != nil {
		size, _ := tileaa.PlacedMemory(slot)
		threads = spread(op, at, size, tileaa.RunningWarps(t.role))
	}
	t.touched[key] = threads
	return threads
}

// spread gives the bytes of a slot to the threads that touch an element there.
func spread(op *ir.Op, at []int64, size, warps int) *slotThreads {
	threads := slotThreads(slices.Repeat([]int32{noThread}, size))
	bytes := int64(elementBytes(op))
	touch := func(element uint64, thread int) {
		for b := at[element]; b < at[element]+bytes; b++ {
			switch {
			case b < 0 || b >= int64(size): // of no element
			case threads[b] == noThread:
				threads[b] = int32(thread)
			case threads[b] != int32(thread):
				threads[b] = severalThreads
			}
		}
	}
	l := accessLayout(op)
	if l == nil {
		u := layout.Uniform(nil, warps)
		l = &u
	}
	if actsOnce(op) {
		for element := range uint64(len(at)) {
			if _, lane, warp, _, ok := l.Owner(element); ok {
				touch(element, warp*layout.WarpSize+lane)
			}
		}
		return &threads
	}
	for warp := range l.Warps() {
		for lane := range l.Lanes() {
			for reg := range l.Regs() {
				touch(l.Apply(reg, lane, warp, 0), warp*layout.WarpSize+lane)
			}
		}
	}
	return &threads
}

// elementBytes are those that an access touches for each element of its place.
func elementBytes(op *ir.Op) int {
	place := tileaa.AccessedPlace(op)
	if b, ok := place.Type().(*tileaa.BlockType); ok {
		return tileaa.ElemBytes(b.Elem)
	}
	return tileaa.ElemBytes(tileaa.AsTile(place).Elem.(*tileaa.PtrType).Elem)
}

// addresses computes tiles of integers, of pointers to a slot and of blocks of it, in row-major order; of pointers and blocks the bytes from the beginning
// of the slot.
type addresses struct {
	t     *thread
	known map[*ir.Value][]int64
}

// mostAddresses is the most elements of an access: more than shared memory has bytes.
const mostAddresses = 1 << 18

// outside is the address of an element that does not exist.
const outside = math.MinInt64 / 16

// of gives the elements of a value; nil where they are not known.
func (a *addresses) of(v *ir.Value) []int64 {
	x, known := a.known[v]
	if !known {
		x = a.find(v)
		a.known[v] = x
	}
	return x
}

func (a *addresses) find(v *ir.Value) []int64 {
	t, op := tileaa.AsTile(v), v.DefiningOp()
	switch {
	case t != nil && t.NumElements() > mostAddresses:
		return nil
	case isNumber(v):
		return []int64{tileaa.SignExtend(a.t.value(v).bits, ir.BitWidth(t.Elem))}
	case op == nil:
		return nil
	}
	switch op.Code() {
	case tileaa.OpAlloca:
		return []int64{0}
	case tileaa.OpAssume, tileaa.OpConvertLayout, tileaa.OpPtrCast, tileaa.OpReshape, tileaa.OpMakeMemref, tileaa.OpPointerBlock:
		return a.of(op.Operand(0))
	case tileaa.OpIota:
		return indices(t.NumElements())
	case tileaa.OpSplat, tileaa.OpBroadcast, tileaa.OpPermute:
		return a.moved(op, t)
	case tileaa.OpBlockTile:
		return a.block(ir.Cast[tileaa.BlockTile](op))
	}
	return a.computed(op, t)
}

// moved is a tile whose elements are those of another.
func (a *addresses) moved(op *ir.Op, t *tileaa.TileType) []int64 {
	from, shape := a.of(op.Operand(0)), tileaa.AsTile(op.Operand(0)).Shape
	if from == nil {
		return nil
	}
	strides := tileaa.RowMajorStrides(shape)
	places := make([][]int64, len(t.Shape))
	for d, n := range t.Shape {
		stride := int64(0)
		if p, ok := ir.As[tileaa.Permute](op); ok {
			stride = strides[p.Permutation()[d]]
		} else if len(shape) > 0 && shape[d] > 1 {
			stride = strides[d]
		}
		for k := range n {
			places[d] = append(places[d], k*stride)
		}
	}
	out := sums(places)
	for i, at := range out {
		out[i] = from[at]
	}
	return out
}

// sums are those of one number for each dimension, in row-major order.
func sums(of [][]int64) []int64 {
	out := []int64{0}
	for _, numbers := range of {
		var next []int64
		for _, x := range out {
			for _, y := range numbers {
				next = append(next, x+y)
			}
		}
		out = next
	}
	return out
}

// block are the addresses of a tile of an array.
func (a *addresses) block(b tileaa.BlockTile) []int64 {
	m, ok := ir.DefinedBy[tileaa.MakeMemref](b.Memref())
	if !ok {
		return nil
	}
	base, t := a.of(m.Base()), b.Result().Type().(*tileaa.BlockType)
	if base == nil || len(t.Shape) > 0 && slices.Max(t.Shape) > mostAddresses {
		return nil
	}
	array := m.Result().Type().(*tileaa.MemrefType)
	sparse, hasSparse := b.SparseDim()
	places := make([][]int64, len(t.Shape))
	elements := int64(1)
	for d, n := range t.Shape {
		dim := int(b.DimMap()[d])
		extentValue, extent := tileaa.SizeOf(array.Shape, m.Shape(), dim)
		strideValue, stride := tileaa.SizeOf(array.Strides, m.Strides(), dim)
		if strideValue != nil {
			stride = int64(a.t.value(strideValue).bits)
		}
		index := a.of(b.Indices()[d])
		if elements *= n; index == nil || elements > mostAddresses {
			return nil
		}
		for k := range n {
			at := index[0]*b.Traversal()[d] + k
			if hasSparse && int(sparse) == d {
				at = index[k]
			}
			if at < 0 || extentValue == nil && at >= extent {
				places[d] = append(places[d], outside)
				continue
			}
			places[d] = append(places[d], at*stride*int64(tileaa.ElemBytes(t.Elem)))
		}
	}
	out := sums(places)
	for i := range out {
		out[i] += base[0]
	}
	return out
}

// computed is the result of an op that computes element by element.
func (a *addresses) computed(op *ir.Op, t *tileaa.TileType) []int64 {
	if t == nil {
		return nil
	}
	out := make([]int64, t.NumElements())
	if c := tileaa.ConstantOf(op.Result(0)); c != nil && ir.IsInt(t.Elem) {
		for i := range out {
			out[i] = tileaa.SignExtend(tileaa.ElementBits(c, i), ir.BitWidth(t.Elem))
		}
		return out
	}
	if op.Code() != tileaa.OpOffset && !ir.IsInt(t.Elem) {
		return nil
	}
	in := make([][]int64, op.NumOperands())
	for k, v := range op.Operands() {
		if in[k] = a.of(v); len(in[k]) != len(out) {
			return nil
		}
	}
	if op.Code() == tileaa.OpOffset {
		bytes := int64(tileaa.ElemBytes(t.Elem.(*tileaa.PtrType).Elem))
		for i := range out {
			out[i] = in[0][i] + in[1][i]*bytes
		}
		return out
	}
	bits := make([]uint64, len(in))
	for i := range out {
		for k, v := range op.Operands() {
			bits[k] = tileaa.Truncate(uint64(in[k][i]), ir.BitWidth(tileaa.AsTile(v).Elem))
		}
		x, ok := tileaa.EvaluateElement(op, bits)
		if !ok {
			return nil
		}
		out[i] = tileaa.SignExtend(x, ir.BitWidth(t.Elem))
	}
	return out
}
