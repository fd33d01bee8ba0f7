package emu

import (
	"math"
	"strconv"
	"strings"
)

// mmaOp is a decoded mma.sync (section 9.7.14.5): D = A*B + C, A row-major, B column-major.
//
// With g = lane/4, t = lane%4 and e elements to a register, register i of a lane holds, for j < e,
//
//	A[g + 8*(i%2)][e*t + j + 4e*(i/2)]    B[e*t + j + 4e*i][g]    C[g + 8*(i/2)][2t + i%2]
//
// and a 16-bit C packs columns 2t and 2t+1 of row g + 8*i.
type mmaOp struct {
	m, n, k        int
	a, b, c, d     typ
	na, nb, nc, nd int // registers
	sat            bool
	fa, fb, fc     func(v uint64) float64 // values of elements
	// with a kind, mma_scale.go:
	elemA, elemB *[256]float64 // values of elements
	blocks       int           // scales to a row, 0: none
	scale        *[256]float64 // values of scales
	selectors    [2]selector
}

// mmaShapes lists what exists: shape and the types of A and B.
var mmaShapes = map[string]string{
	"m16n8k8":  "f16 bf16 tf32 f64",
	"m16n8k16": "f16 bf16 s8 u8 e4m3 e5m2 f64",
	"m16n8k32": "s8 u8 s4 u4 e4m3 e5m2",
	"m16n8k64": "s4 u4",
	"m16n8k4":  "tf32 f64",
	"m8n8k16":  "s8 u8",
	"m8n8k32":  "s4 u4",
	"m8n8k4":   "f64",
}

// nibble types exist only as elements of matrices.
var nibbles = map[string]typ{"s4": {clsInt, 4, 1, nil, "s4"}, "u4": {clsUint, 4, 1, nil, "u4"}}

func decodeMma(d *decoder) {
	op := &mmaOp{}
	d.flag("sync")
	d.flag("aligned")
	op.sat = d.flag("satfinite")
	kind := d.takeKind(op)
	if len(d.mods) != 7 || d.mods[1] != "row" || d.mods[2] != "col" {
		d.lacks("this form of mma")
		return
	}
	shape := d.mods[0]
	for i, p := range []*typ{&op.d, &op.a, &op.b, &op.c} {
		t, ok := matrixType(kind, d.mods[3+i], i == 1 || i == 2)
		if !ok || t.n != 1 {
			d.lacks("type .%s", d.mods[3+i])
			return
		}
		*p = t
	}
	known := hasWord(mmaShapes[shape], op.a.named)
	if kind != nil {
		known = shape == kind.shape && op.c.named == op.d.named && !op.sat
	}
	sameKind := op.a.named == op.b.named || op.a.bits == op.b.bits && (!op.a.isFloat() && !op.b.isFloat() || op.a.bits == 8)
	if !known || !sameKind || op.a.isFloat() != op.d.isFloat() {
		d.lacks("shape %s of .%s and .%s", shape, op.a.named, op.b.named)
		return
	}
	d.mods = nil
	d.matrixOperands(op, shape)
	switch {
	case kind != nil:
		op.elemA, op.elemB, op.fc = kind.values(op.a.named), kind.values(op.b.named), elemValue(op.c)
		d.warpWide(func(w *warp, in *inst, m uint32) { w.mmaKind(in, op, m) })
	case op.a.isFloat():
		op.fa, op.fb, op.fc = elemValue(op.a), elemValue(op.b), elemValue(op.c)
		run := (*warp).mmaFloat
		if op.k == 16 && op.a.bits == 16 && op.c.fmt == fmtF32 && op.d.fmt == fmtF32 {
			run = (*warp).mmaHalf
		}
		d.warpWide(func(w *warp, in *inst, m uint32) { run(w, in, op, m) })
	default:
		d.warpWide(func(w *warp, in *inst, m uint32) { w.mmaInt(in, op, m) })
	}
}

// matrixType gives the type of an operand of mma by its name in the opcode.
func matrixType(kind *mmaKind, name string, element bool) (typ, bool) {
	if kind != nil {
		return kind.operandType(name, element)
	}
	t, ok := types[name]
	if !ok {
		t, ok = nibbles[name]
	}
	return t, ok
}

// matrixOperands adds the registers of D, A, B and C, and the scales where the kind has some.
func (d *decoder) matrixOperands(op *mmaOp, shape string) {
	var dims [3]int
	for i, s := range strings.FieldsFunc(shape, func(r rune) bool { return r == 'm' || r == 'n' || r == 'k' }) {
		dims[i], _ = strconv.Atoi(s)
	}
	op.m, op.n, op.k = dims[0], dims[1], dims[2]
	regs := func(rows, cols int, t typ) int { return rows * cols * t.bits / (32 * max(32, t.bits)) }
	op.na, op.nb = regs(op.m, op.k, op.a), regs(op.k, op.n, op.b)
	op.nc, op.nd = regs(op.m, op.n, op.c), regs(op.m, op.n, op.d)
	args := d.st.args
	want := []int{op.nd, op.na, op.nb, op.nc}
	more := 0
	if op.blocks > 0 {
		more = 4
	}
	if len(args) != len(want)+more {
		d.malformed("wrong number of operands")
		return
	}
	for i, n := range want {
		v := vector(&args[i])
		if len(v) != n {
			d.malformed("operand %d has %d registers, %d expected", i, len(v), n)
			return
		}
		for k := range v {
			if i == 0 {
				d.dstArg(&v[k])
			} else {
				d.srcArg(&v[k], typ{cls: clsBits, bits: max(32, [...]typ{op.d, op.a, op.b, op.c}[i].bits), n: 1})
			}
		}
	}
	if more > 0 {
		d.takeScales(op, args[len(want):])
	}
}

// indexA, indexB and indexC give row and column of element j of register i of a lane.
func indexA(lane, i, j, e int) (row, k int) {
	return lane>>2 + 8*(i&1), e*(lane&3) + j + 4*e*(i>>1)
}
func indexB(lane, i, j, e int) (k, col int) { return e*(lane&3) + j + 4*e*i, lane >> 2 }
func indexC(lane, i, j, e int) (row, col int) {
	if e == 2 {
		return lane>>2 + 8*i, 2*(lane&3) + j
	}
	return lane>>2 + 8*(i>>1), 2*(lane&3) + i&1
}

// elemsOf is the number of elements in a register.
func elemsOf(t typ) int { return max(1, 32/t.bits) }

// f16values is the value of every f16: 256 KB that save most of the time of a product.
var f16values = func() *[1 << 16]float32 {
	t := new([1 << 16]float32)
	for i := range t {
		t[i] = f32(uint64(f16to32(uint32(i))))
	}
	return t
}()

// elemValue gives the decoder of a matrix element; decodeMma asks for it once.
func elemValue(t typ) func(v uint64) float64 {
	switch {
	case t.bits == 64:
		return f64
	case t.fmt == fmtTF32:
		return func(v uint64) float64 { return float64(f32(v & 0xffffe000)) } // the low 13 bits are ignored
	case t.bits > 8:
		return nil // split has its own loop
	}
	mask := widthMask(t.bits)
	table := make([]float64, 1<<t.bits)
	for i := range table {
		table[i] = t.fmt.value(uint32(i))
	}
	return func(v uint64) float64 { return table[v&mask] }
}

// mmaFloat: products are exact in f64, the sum is in f64, one rounding at the end.
func (w *warp) mmaFloat(in *inst, op *mmaOp, m uint32) {
	w.launch.stats.mma++
	var a [16][32]float64
	var b [32][8]float64 // by k
	ea, eb, ec := elemsOf(op.a), elemsOf(op.b), elemsOf(op.c)
	var e [4]vec // elements j of a register, decoded
	for i := range op.na {
		split(&e, w.src(in.src[i]), op.a, op.fa)
		for lane := range 32 {
			row, k := indexA(lane, i, 0, ea)
			for j := range ea {
				a[row][k+j] = f64(e[j][lane])
			}
		}
	}
	for i := range op.nb {
		split(&e, w.src(in.src[op.na+i]), op.b, op.fb)
		for lane := range 32 {
			k, col := indexB(lane, i, 0, eb)
			for j := range eb {
				b[k+j][col] = f64(e[j][lane])
			}
		}
	}
	var acc [16][8]float64
	for i := range op.nc {
		split(&e, w.src(in.src[op.na+op.nb+i]), op.c, op.fc)
		for lane := range 32 {
			for j := range ec {
				row, col := indexC(lane, i, j, ec)
				acc[row][col] = f64(e[j][lane])
			}
		}
	}
	for r := range op.m {
		addRow(&acc[r], a[r][:op.k], b[:])
	}
	w.mmaPut(in, op, &acc, m)
}

// mmaHalf is mmaFloat for m16n8k16 of 16-bit floats with f32 accumulators, of which real kernels consist, place by place.
func (w *warp) mmaHalf(in *inst, op *mmaOp, m uint32) {
	w.launch.stats.mma++
	var a [16][16]float64
	var b, acc [16][8]float64
	for i := range 4 {
		low, high := halves(w.src(in.src[i]), op.a)
		for lane := range 32 {
			to := (*[2]float64)(a[lane>>2+8*(i&1)][2*(lane&3)+8*(i>>1):])
			to[0], to[1] = float64(low[lane]), float64(high[lane])
		}
	}
	for i := range 2 {
		low, high := halves(w.src(in.src[4+i]), op.b)
		for lane := range 32 {
			k, col := 2*(lane&3)+8*i, lane>>2
			b[k][col], b[k+1][col] = float64(low[lane]), float64(high[lane])
		}
	}
	for i := range 4 {
		for lane, v := range w.src(in.src[6+i]) {
			acc[lane>>2+8*(i>>1)][2*(lane&3)+i&1] = float64(f32(v))
		}
	}
	for r := range acc {
		addRow(&acc[r], a[r][:], b[:])
	}
	un := w.mmaUndef(in, op)
	for i := range 4 {
		for lane := range 32 {
			x := acc[lane>>2+8*(i>>1)][2*(lane&3)+i&1]
			if w.tmp[lane] = bits32(float32(x)); x != x {
				w.tmp[lane] = uint64(op.d.fmt.nan)
			}
		}
		w.put(in.dst[i], m, &w.tmp)
	}
	w.mmaPutUndef(in, op, un)
}

// halves are the values of the two 16-bit floats in the lanes of a register.
func halves(x *vec, t typ) (low, high [32]float32) {
	if t.fmt == fmtBF16 {
		for i, v := range x {
			low[i], high[i] = f32(v<<16), f32(v&0xffff0000)
		}
		return low, high
	}
	for i, v := range x {
		low[i], high[i] = f16values[v&0xffff], f16values[v>>16&0xffff]
	}
	return low, high
}

// mmaPut rounds the sums to registers of D.
func (w *warp) mmaPut(in *inst, op *mmaOp, acc *[16][8]float64, m uint32) {
	un := w.mmaUndef(in, op)
	ed := elemsOf(op.d)
	for i := range op.nd {
		var v vec
		for lane := range 32 {
			if op.d.fmt == fmtF32 {
				row, col := indexC(lane, i, 0, 1)
				if x := acc[row][col]; x == x {
					v[lane] = bits32(float32(x))
					continue
				}
			}
			for j := range ed {
				row, col := indexC(lane, i, j, ed)
				v[lane] |= roundAcc(acc[row][col], op.d) << (j * op.d.bits)
			}
		}
		w.put(in.dst[i], m, &v)
	}
	w.mmaPutUndef(in, op, un)
}

// split decodes the elements of a register into f64 bits: e[j] is element j.
func split(e *[4]vec, x *vec, t typ, f func(v uint64) float64) {
	switch {
	case t.fmt == fmtF16:
		for i, v := range x {
			e[0][i] = math.Float64bits(float64(f16values[v&0xffff]))
			e[1][i] = math.Float64bits(float64(f16values[v>>16&0xffff]))
		}
	case t.fmt == fmtBF16:
		for i, v := range x {
			e[0][i] = math.Float64bits(float64(f32(v << 16)))
			e[1][i] = math.Float64bits(float64(f32(v & 0xffff0000)))
		}
	case t.fmt == fmtF32:
		for i, v := range x {
			e[0][i] = math.Float64bits(float64(f32(v)))
		}
	default:
		for j := range elemsOf(t) {
			for i, v := range x {
				e[j][i] = math.Float64bits(f(v >> (j * t.bits)))
			}
		}
	}
}

// addRow adds a row of A times B to a row of C: eight independent sums. All shapes have eight columns.
func addRow(c *[8]float64, a []float64, b [][8]float64) {
	s0, s1, s2, s3, s4, s5, s6, s7 := c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	b = b[:len(a)]
	for k, x := range a {
		y := &b[k]
		s0 += float64(x * y[0])
		s1 += float64(x * y[1])
		s2 += float64(x * y[2])
		s3 += float64(x * y[3])
		s4 += float64(x * y[4])
		s5 += float64(x * y[5])
		s6 += float64(x * y[6])
		s7 += float64(x * y[7])
	}
	*c = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}

func roundAcc(x float64, t typ) uint64 {
	switch {
	case x != x && t.bits == 64:
		return canon64(x)
	case x != x:
		return uint64(t.fmt.nan)
	case t.bits == 64:
		return canon64(x)
	case t.fmt == fmtF32:
		return bits32(float32(x))
	}
	return uint64(t.fmt.round(x, rn, false))
}

// mmaInt: sums wrap to 32 bits, or are clamped with .satfinite.
func (w *warp) mmaInt(in *inst, op *mmaOp, m uint32) {
	w.launch.stats.mma++
	var a [16][64]int32
	var b [8][64]int32
	elem := func(v uint64, j int, t typ) int32 {
		v >>= j * t.bits
		if t.isSigned() {
			return int32(sx(v, t.bits))
		}
		return int32(v & t.mask())
	}
	ea, eb := elemsOf(op.a), elemsOf(op.b)
	for i := range op.na {
		x := w.src(in.src[i])
		for lane := range 32 {
			for j := range ea {
				row, k := indexA(lane, i, j, ea)
				a[row][k] = elem(x[lane], j, op.a)
			}
		}
	}
	for i := range op.nb {
		x := w.src(in.src[op.na+i])
		for lane := range 32 {
			for j := range eb {
				k, col := indexB(lane, i, j, eb)
				b[col][k] = elem(x[lane], j, op.b)
			}
		}
	}
	un := w.mmaUndef(in, op)
	var out [4]vec
	for i := range op.nc {
		x := w.src(in.src[op.na+op.nb+i])
		for lane := range 32 {
			row, col := indexC(lane, i, 0, 1)
			s := int64(int32(x[lane]))
			for k := range op.k {
				s += int64(a[row][k]) * int64(b[col][k])
			}
			if op.sat {
				s = min(max(s, -1<<31), 1<<31-1)
			}
			out[i][lane] = uint64(uint32(s))
		}
	}
	for i := range op.nd {
		w.put(in.dst[i], m, &out[i])
	}
	w.mmaPutUndef(in, op, un)
}

// mmaUndef gives the undefined elements of the result: a row of A, a column of B or an element of C that
// has undefined bits. nil: none.
func (w *warp) mmaUndef(in *inst, op *mmaOp) *[16][8]bool {
	var any uint32
	for _, s := range in.src {
		any |= w.undefLanes(s)
	}
	if any == 0 {
		return nil
	}
	un := new([16][8]bool)
	ea, eb, ec := elemsOf(op.a), elemsOf(op.b), elemsOf(op.c)
	each := func(first, n, e int, t typ, f func(lane, i, j int)) {
		for i := range n {
			for lane := range 32 {
				u := w.ub(in.src[first+i], lane)
				for j := range e {
					if u>>(j*t.bits)&widthMask(t.bits) != 0 {
						f(lane, i, j)
					}
				}
			}
		}
	}
	each(0, op.na, ea, op.a, func(lane, i, j int) {
		row, _ := indexA(lane, i, j, ea)
		un[row] = [8]bool{true, true, true, true, true, true, true, true}
	})
	each(op.na, op.nb, eb, op.b, func(lane, i, j int) {
		_, col := indexB(lane, i, j, eb)
		for r := range un {
			un[r][col] = true
		}
	})
	each(op.na+op.nb, op.nc, ec, op.c, func(lane, i, j int) {
		row, col := indexC(lane, i, j, ec)
		un[row][col] = true
	})
	if op.blocks > 0 {
		w.scaleUndef(in, op, un)
	}
	return un
}

func (w *warp) mmaPutUndef(in *inst, op *mmaOp, un *[16][8]bool) {
	if un == nil {
		return
	}
	ed := elemsOf(op.d)
	for i := range op.nd {
		for lane := range 32 {
			var u uint64
			for j := range ed {
				row, col := indexC(lane, i, j, ed)
				if un[row][col] {
					u |= widthMask(op.d.bits) << (j * op.d.bits)
				}
			}
			w.setUB(in.dst[i], lane, u)
		}
	}
}
