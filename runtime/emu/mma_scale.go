package emu

import "strings"

// Kinds of mma.sync (section 9.7.14.5): floats of 4, 6 and 8 bits in any mixture, and products with a scale for
// every block of K. With ns scales to a row of A and a column of B,
//
//	D[i][j] = C[i][j] + sum over k of A[i][k]*SA[i][k*ns/K] * B[k][j]*SB[k*ns/K][j]
type mmaKind struct {
	name   string
	shape  string
	elems  string            // types of A and B
	packed bool              // two elements to a byte; else every element has a byte
	acc    string            // types of C and D
	scales map[string]string // types of the scales by .scale_vec; nil: none
	vec    string            // .scale_vec where the text gives none
}

const f8f6f4 = "e4m3 e5m2 e2m3 e3m2 e2m1"

var mmaKinds = []mmaKind{
	{"kind::f8f6f4", "m16n8k32", f8f6f4, false, "f16 f32", nil, ""},
	{"kind::mxf8f6f4", "m16n8k32", f8f6f4, false, "f32", map[string]string{"scale_vec::1X": "ue8m0"}, "scale_vec::1X"},
	{"kind::mxf4", "m16n8k64", "e2m1", true, "f32", map[string]string{"scale_vec::2X": "ue8m0"}, "scale_vec::2X"},
	{"kind::mxf4nvf4", "m16n8k64", "e2m1", true, "f32", map[string]string{"scale_vec::2X": "ue8m0", "scale_vec::4X": "ue4m3 ue8m0"}, ""},
}

// blocksOf is the number of scales to a row by .scale_vec.
var blocksOf = map[string]int{"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4}

// scaleValues are the values of the 256 bytes of a scale: ue8m0 is a power of two, 255 is NaN; ue4m3 is e4m3
// without its sign.
var scaleValues = map[string]*[256]float64{
	"ue8m0": tableOf(func(b uint32) float64 { return formats["ue8m0"].value(b) }),
	"ue4m3": tableOf(func(b uint32) float64 { return formats["e4m3"].value(b & 0x7f) }),
}

func tableOf(f func(b uint32) float64) *[256]float64 {
	t := new([256]float64)
	for i := range t {
		t[i] = f(uint32(i))
	}
	return t
}

// containers are the values of a byte that holds one element: e2m1 lies in bits 2 to 5, types of 6 bits in
// bits 0 to 5, the other bits are padding (section 9.7.14.5.8).
var containers = func() map[string]*[256]float64 {
	m := map[string]*[256]float64{}
	for _, name := range strings.Fields(f8f6f4) {
		f := formats[name]
		shift, mask := 0, uint32(widthMask(1+f.ebits+f.mbits))
		if name == "e2m1" {
			shift = 2
		}
		m[name] = tableOf(func(b uint32) float64 { return f.value(b >> shift & mask) })
	}
	return m
}()

var nibbleValues = tableOf(func(b uint32) float64 { return formats["e2m1"].value(b & 0xf) })

func hasWord(list, word string) bool {
	for _, s := range strings.Fields(list) {
		if s == word {
			return true
		}
	}
	return false
}

// takeKind takes the modifiers of a kind and gives it, or nil where there is none.
func (d *decoder) takeKind(op *mmaOp) *mmaKind {
	for i := range mmaKinds {
		k := &mmaKinds[i]
		if !d.flag(k.name) {
			continue
		}
		if k.scales == nil {
			return k
		}
		if !d.flag("block_scale") {
			d.lacks("%s needs .block_scale", k.name)
		}
		vec := d.oneOf("scale_vec::1X", "scale_vec::2X", "scale_vec::4X")
		if vec == "" {
			vec = k.vec
		}
		if len(d.mods) == 0 {
			return k
		}
		stype := d.mods[len(d.mods)-1]
		d.mods = d.mods[:len(d.mods)-1]
		if !hasWord(k.scales[vec], stype) {
			d.lacks("%s with .%s and scales of .%s", k.name, vec, stype)
		}
		op.blocks, op.scale = blocksOf[vec], scaleValues[stype]
		return k
	}
	return nil
}

// values gives the values of the bits that an element occupies.
func (k *mmaKind) values(name string) *[256]float64 {
	if k.packed {
		return nibbleValues
	}
	return containers[name]
}

// operandType gives the type of an operand of a kind; elements that lie in a byte each count as 8 bits wide.
func (k *mmaKind) operandType(name string, element bool) (typ, bool) {
	if !element {
		return types[name], hasWord(k.acc, name)
	}
	t := types[name]
	if !k.packed {
		t.bits = 8
	}
	return t, hasWord(k.elems, name)
}

// selector is the pair {byte-id, thread-id} of a scale operand, as indexes into src.
type selector struct{ scale, byteID, thread int }

// takeScales adds the operands scale-a, {byte-id-a, thread-id-a}, scale-b, {byte-id-b, thread-id-b}.
func (d *decoder) takeScales(op *mmaOp, args []arg) {
	for i := range op.selectors {
		s := &op.selectors[i]
		ids := vector(&args[2*i+1])
		if len(ids) != 2 {
			d.malformed("{byte-id, thread-id} expected")
			return
		}
		word := vector(&args[2*i])
		if len(word) != 1 {
			d.malformed("one register of scales expected")
			return
		}
		s.scale = len(d.in.src)
		d.srcArg(&word[0], types["b32"])
		s.byteID = len(d.in.src)
		d.srcArg(&ids[0], types["u16"])
		s.thread = len(d.in.src)
		d.srcArg(&ids[1], types["u16"])
	}
}

// scaleOf gives what a selector chooses: the first byte, and the lane that holds the scales of a row or column.
// The scales of row r of A come from lane 4*(r%8) + 2*thread + r/8, those of column n of B from lane
// 4*n + thread (section 9.7.14.3).
func (w *warp) scaleOf(in *inst, op *mmaOp, i int) (first int, lane func(row int) int) {
	s := op.selectors[i]
	id := int(w.uniform(in.src[s.byteID], fullMask, "byte-id of a scale"))
	thread := int(w.uniform(in.src[s.thread], fullMask, "thread-id of a scale"))
	if id%op.blocks != 0 || id >= 4 || thread >= []int{2, 4}[i] {
		w.fail(Invalid, fullMask, 0, "no scale has byte-id %d and thread-id %d with %d scales to a row", id, thread, op.blocks)
	}
	if i == 0 {
		return id, func(r int) int { return 4*(r%8) + 2*thread + r/8 }
	}
	return id, func(n int) int { return 4*n + thread }
}

// mmaKind is mmaFloat with elements of 4 or 8 bits and, where there are blocks, their scales.
func (w *warp) mmaKind(in *inst, op *mmaOp, m uint32) {
	w.launch.stats.mma++
	var a [2][16][32]float64 // halves of K
	var b [2][32][8]float64
	ea, ec := elemsOf(op.a), elemsOf(op.c)
	mask := widthMask(op.a.bits)
	for i := range op.na {
		x := w.src(in.src[i])
		for lane := range 32 {
			row, k := indexA(lane, i, 0, ea)
			for j := range ea {
				a[k>>5][row][k&31+j] = op.elemA[x[lane]>>(j*op.a.bits)&mask]
			}
		}
	}
	for i := range op.nb {
		x := w.src(in.src[op.na+i])
		for lane := range 32 {
			k, col := indexB(lane, i, 0, ea)
			for j := range ea {
				b[k>>5][k&31+j][col] = op.elemB[x[lane]>>(j*op.b.bits)&mask]
			}
		}
	}
	if op.blocks > 0 {
		w.scale(in, op, &a, &b)
	}
	var acc [16][8]float64
	var e [4]vec
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
		for h := range op.k / 32 {
			addRow(&acc[r], a[h][r][:], b[h][:])
		}
	}
	w.mmaPut(in, op, &acc, m)
}

// scale multiplies the elements by the scales of their blocks.
func (w *warp) scale(in *inst, op *mmaOp, a *[2][16][32]float64, b *[2][32][8]float64) {
	per := op.k / op.blocks
	each := func(i, rows int, f func(row, k int, s float64)) {
		first, lane := w.scaleOf(in, op, i)
		x := w.src(in.src[op.selectors[i].scale])
		for r := range rows {
			word := x[lane(r)]
			for k := range op.k {
				f(r, k, op.scale[word>>(8*(first+k/per))&0xff])
			}
		}
	}
	each(0, op.m, func(r, k int, s float64) { a[k>>5][r][k&31] *= s })
	each(1, op.n, func(n, k int, s float64) { b[k>>5][k&31][n] *= s })
}

// scaleUndef adds the rows and columns whose scales have undefined bits.
func (w *warp) scaleUndef(in *inst, op *mmaOp, un *[16][8]bool) {
	bits := widthMask(8 * op.blocks)
	for i := range op.selectors {
		first, lane := w.scaleOf(in, op, i)
		for r := range []int{op.m, op.n}[i] {
			if w.ub(in.src[op.selectors[i].scale], lane(r))>>(8*first)&bits == 0 {
				continue
			}
			for k := range max(op.m, op.n) {
				if i == 0 && k < op.n {
					un[r][k] = true
				} else if i == 1 && k < op.m {
					un[k][r] = true
				}
			}
		}
	}
}
