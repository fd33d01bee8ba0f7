package emu

import "math"

// elemKind is how the elements of a matrix operand lie in memory: per to a chunk of 16 bytes, k the depth of
// one instruction in elements.
type elemKind struct {
	name   string
	per    int
	bits   int // of one element with its share of padding
	used   int // bytes of a chunk that are no padding
	decode func(b []byte, v *[32]float64)
}

// elemKinds are the types of operands in memory. Floats of 4 and 6 bits have 16 elements to a chunk, packed at
// its beginning, where they may be mixed with those of 8 bits (section 9.7.16.10.2), and e2m1 alone has 32.
var elemKinds = func() map[string]*elemKind {
	m := map[string]*elemKind{
		"f16": {per: 8, bits: 16, used: 16, decode: func(b []byte, v *[32]float64) {
			for i := range 8 {
				v[i] = float64(f16values[readBytes(b, 2*i, 2)])
			}
		}},
		"bf16": {per: 8, bits: 16, used: 16, decode: func(b []byte, v *[32]float64) {
			for i := range 8 {
				v[i] = float64(f32(readBytes(b, 2*i, 2) << 16))
			}
		}},
		"tf32": {per: 4, bits: 32, used: 16, decode: func(b []byte, v *[32]float64) {
			for i := range 4 {
				v[i] = float64(f32(readBytes(b, 4*i, 4) &^ 0x1fff)) // the low 13 bits are ignored
			}
		}},
		"s8": {per: 16, bits: 8, used: 16, decode: func(b []byte, v *[32]float64) {
			for i := range 16 {
				v[i] = float64(int8(b[i]))
			}
		}},
		"u8": {per: 16, bits: 8, used: 16, decode: func(b []byte, v *[32]float64) {
			for i := range 16 {
				v[i] = float64(b[i])
			}
		}},
		"e2m1 packed": {per: 32, bits: 4, used: 16, decode: func(b []byte, v *[32]float64) {
			for i, x := range b[:16] {
				v[2*i], v[2*i+1] = nibbleValues[x&15], nibbleValues[x>>4]
			}
		}},
	}
	for _, name := range []string{"e4m3", "e5m2"} {
		table := containers[name]
		m[name] = &elemKind{per: 16, bits: 8, used: 16, decode: func(b []byte, v *[32]float64) {
			for i := range 16 {
				v[i] = table[b[i]]
			}
		}}
	}
	for _, name := range []string{"e2m1", "e2m3", "e3m2"} {
		f := formats[name]
		n := 1 + f.ebits + f.mbits
		m[name] = &elemKind{per: 16, bits: 8, used: 2 * n, decode: func(b []byte, v *[32]float64) {
			low, high := readBytes(b, 0, 8), readBytes(b, 8, 8)
			for i := range 16 {
				at := i * n
				x := high >> max(0, at-64)
				if at < 64 {
					x = low>>at | high<<(64-at)
				}
				v[i] = f.value(uint32(x & widthMask(n)))
			}
		}}
	}
	for name, e := range m {
		e.name = name
	}
	return m
}()

// panel is the number of columns of B that lie together: the sums of a row with a panel stay in registers.
const panel = 8

// operandTile is a decoded operand: element (i, k) of A is v[i*depth+k], element (k, j) of B is
// v[j/panel*panel*depth + k*panel + j%panel]. undef tells the rows of A or columns of B that have undefined
// bits; nil: none.
type operandTile struct {
	v     []float64
	undef []bool
	depth int
	panel bool
}

// index gives the place of element (i, k) and the distance to (i+1, k) and (i, k+1).
func (t *operandTile) index(i, k int) int {
	if t.panel {
		return i/panel*panel*t.depth + k*panel + i%panel
	}
	return i*t.depth + k
}

// taint marks row or column i as undefined.
func (t *operandTile) taint(i int) {
	if t.undef == nil {
		t.undef = make([]bool, len(t.v)/t.depth)
	}
	t.undef[i] = true
}

// readShared decodes rows or columns first to first+n-1 of the tile from s, where they are the first n. look is told of every chunk before it is read and gives
// its bytes, with their undefined bits (nil: none).
func (t *operandTile) readShared(s *smemTile, e *elemKind, first, n int, look func(at int) (data, undef []byte)) {
	var v [32]float64
	outer, inner := n, t.depth
	if s.mnMajor {
		outer, inner = t.depth, n
	}
	for o := range outer {
		for i := 0; i < inner; i += e.per {
			data, undef := look(s.at(o, i*e.bits/8))
			e.decode(data, &v)
			if s.mnMajor {
				for j := range min(e.per, inner-i) {
					t.v[t.index(first+i+j, o)] = v[j]
					if undef != nil && anySet(undef[j*e.bits/8:][:e.bits/8]) {
						t.taint(first + i + j)
					}
				}
				continue
			}
			at, step := t.index(first+o, i), 1
			if t.panel {
				step = panel
			}
			for j := range min(e.per, inner-i) {
				t.v[at+j*step] = v[j]
			}
			if undef != nil && anySet(undef[:e.used]) {
				t.taint(first + o)
			}
		}
	}
}

func anySet(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return true
		}
	}
	return false
}

// product adds A times B to c, which has m rows of n columns: sums in f64, which hold products exactly.
func product(c []float64, a, b *operandTile, m, n int) {
	k := a.depth
	for p := 0; p < n; p += panel {
		bp := b.v[p*k:][:panel*k]
		for r := range m {
			ar := a.v[r*k:][:k]
			cr := (*[panel]float64)(c[r*n+p:])
			s0, s1, s2, s3, s4, s5, s6, s7 := cr[0], cr[1], cr[2], cr[3], cr[4], cr[5], cr[6], cr[7]
			for i, x := range ar {
				y := (*[panel]float64)(bp[panel*i:])
				s0 += float64(x * y[0])
				s1 += float64(x * y[1])
				s2 += float64(x * y[2])
				s3 += float64(x * y[3])
				s4 += float64(x * y[4])
				s5 += float64(x * y[5])
				s6 += float64(x * y[6])
				s7 += float64(x * y[7])
			}
			*cr = [panel]float64{s0, s1, s2, s3, s4, s5, s6, s7}
		}
	}
}

// roundF32 is a sum as an accumulator of 32 bits.
func roundF32(x float64) uint32 {
	if x != x {
		return 0x7fffffff
	}
	return math.Float32bits(float32(x))
}
