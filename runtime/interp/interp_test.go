package interp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/runtime/interp"
)

// program parses and verifies a module from text and prepares it.
func program(t *testing.T, items string) *interp.Program {
	t.Helper()
	c := ir.NewContext(cudatile.Dialect)
	m, err := ir.Parse(c, "test.tileir", []byte("cuda_tile.module @m {\n"+items+"\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !ir.Verify(c, m) {
		t.Fatal(c.Diags.String())
	}
	p, err := interp.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// storing wraps operations that compute %r, a tile<NxT>, into an entry that stores it to its parameter.
func storing(n int, elem, ops string) string {
	vars := strings.NewReplacer("N", fmt.Sprint(n), "T", elem)
	return "entry @k(%out: tile<ptr<" + elem + ">>) {\n" + ops + vars.Replace(`
		%to_iota = iota : tile<Nxi32>
		%to_one = reshape %out : tile<ptr<T>> -> tile<1xptr<T>>
		%to_all = broadcast %to_one : tile<1xptr<T>> -> tile<Nxptr<T>>
		%to = offset %to_all, %to_iota : tile<Nxptr<T>>, tile<Nxi32> -> tile<Nxptr<T>>
		%stored = store_ptr_tko weak %to, %r : tile<Nxptr<T>>, tile<NxT> -> token
		return
	}`)
}

// outcome is what a run left in the output buffer.
type outcome struct {
	bits    []uint64
	inexact []bool
	stdout  string
	err     error
}

// run launches @k of a module with one buffer of n elements of some bytes, filled with 0xEE.
func run(t *testing.T, items string, n, size int, o interp.Options) outcome {
	t.Helper()
	mem := interp.NewMemory()
	addr := mem.Alloc("out", bytes.Repeat([]byte{0xEE}, n*size), 256)
	var stdout bytes.Buffer
	o.Stdout = &stdout
	_, err := program(t, items).Run(context.Background(), "k", mem, []uint64{addr}, o)
	res := outcome{stdout: stdout.String(), err: err, inexact: make([]bool, n)}
	data, in := mem.Bytes(addr), mem.Inexact(addr)
	for i := range n {
		var word [8]byte
		copy(word[:], data[i*size:(i+1)*size])
		res.bits = append(res.bits, binary.LittleEndian.Uint64(word[:]))
		res.inexact[i] = in != nil && in[i*size]
	}
	return res
}

// element describes an element type for tests: its size and how its values print.
func element(name string) (size int, show func(uint64) string) {
	if f := float.ByName(name); f != nil {
		return max(f.StorageBits()/8, 1), func(b uint64) string { return fmt.Sprint(f.Decode(b)) }
	}
	var w int
	fmt.Sscanf(name, "i%d", &w)
	return max(w/8, 1), func(b uint64) string {
		if w == 1 {
			return fmt.Sprint(b)
		}
		return fmt.Sprint(int64(b<<(64-w)) >> (64 - w))
	}
}

// Each row computes %r, n elements of a type; want lists them, or is a part of the report that the run must end with.
func TestOperationsMeanWhatTheSpecificationSays(t *testing.T) {
	for _, tt := range []struct{ name, elem, ops, want string }{
		{"maximum ignores one NaN", "f32", `
			%a = constant <f32: [1.0, 0x7FC00000, 0x7FC00000, -0.0]> : tile<4xf32>
			%b = constant <f32: [0x7FC00000, 2.0, 0x7FC00000, 0.0]> : tile<4xf32>
			%r = maxf %a, %b : tile<4xf32>`, "1 2 NaN 0"},
		{"maximum propagates NaN when asked", "f32", `
			%a = constant <f32: [1.0, 5.0]> : tile<2xf32>
			%b = constant <f32: [0x7FC00000, 2.0]> : tile<2xf32>
			%r = maxf %a, %b propagate_nan : tile<2xf32>`, "NaN 5"},
		{"flush to zero", "f32", `
			%a = constant <f32: [0x00000001, 0x80000001]> : tile<2xf32>
			%b = constant <f32: 1.0> : tile<2xf32>
			%r = mulf %a, %b flush_to_zero : tile<2xf32>`, "0 -0"},
		{"a sum that flushes each partial sum", "f32", `
			%a = constant <f32: [[0x00000001, 0x00000001], [0x00800000, 0x80800001]]> : tile<2x2xf32>
			%r = reduce %a dim=1 identities=[0.0 : f32] : tile<2x2xf32> -> tile<2xf32>
			(%e: tile<f32>, %acc: tile<f32>) {
				%s = addf %e, %acc flush_to_zero : tile<f32>
				yield %s : tile<f32>
			}`, "0 -0"},
		{"directed rounding", "f32", `
			%a = constant <f32: [1.0, -1.0]> : tile<2xf32>
			%b = constant <f32: [3.0, 3.0]> : tile<2xf32>
			%u = divf %a, %b rounding<positive_inf> : tile<2xf32>
			%d = divf %a, %b rounding<negative_inf> : tile<2xf32>
			%s = subf %u, %d : tile<2xf32>
			%z = constant <f32: 0.0> : tile<2xf32>
			%c = cmpf greater_than ordered %s, %z : tile<2xf32> -> tile<2xi1>
			%o = constant <f32: 1.0> : tile<2xf32>
			%r = select %c, %o, %z : tile<2xi1>, tile<2xf32>`, "1 1"},
		{"unordered comparison", "i1", `
			%a = constant <f32: [0x7FC00000, 1.0]> : tile<2xf32>
			%b = constant <f32: [1.0, 1.0]> : tile<2xf32>
			%r = cmpf less_than unordered %a, %b : tile<2xf32> -> tile<2xi1>`, "1 0"},
		{"logarithms of f64 are rounded correctly (mpmath)", "f64", `
			%a = constant <f64: [5.0e-324, 1.0]> : tile<2xf64>
			%r = log %a : tile<2xf64>`, "-744.4400719213812 0"},
		{"so are they next to 1", "f64", `
			%a = constant <f64: [1.0000000000000002, 8.0]> : tile<2xf64>
			%r = log2 %a : tile<2xf64>`, "3.203426503814917e-16 3"},
		{"and angles whose quotient vanishes", "f64", `
			%y = constant <f64: [-1.0e-250, 1.0]> : tile<2xf64>
			%x = constant <f64: [-1.0e250, 0.0]> : tile<2xf64>
			%r = atan2 %y, %x : tile<2xf64>`, "-3.141592653589793 1.5707963267948966"},
		{"and sines of huge angles", "f64", `
			%a = constant <f64: [1.0e300, 0.0]> : tile<2xf64>
			%r = sin %a : tile<2xf64>`, "-0.8178819121159085 0"},
		{"and powers of what is next to 1", "f64", `
			%a = constant <f64: [0.9999999999999999, 1.0000000000000002]> : tile<2xf64>
			%b = constant <f64: [1.0e16, 2.0]> : tile<2xf64>
			%r = fpowf %a, %b : tile<2xf64>`, "0.3294854695069476 1.0000000000000004"},
		{"powers with integer exponents keep the sign", "f64", `
			%a = constant <f64: [-2.0, -2.0, 2.0, 0.0]> : tile<4xf64>
			%n = constant <i32: [3, 2, -1, 0]> : tile<4xi32>
			%r = fpowi %a, %n : tile<4xf64>, tile<4xi32>`, "-8 4 0.5 1"},
		{"signed floor and ceiling division", "i32", `
			%a = constant <i32: [7, -7, 7, -7]> : tile<4xi32>
			%b = constant <i32: [2, 2, -2, -2]> : tile<4xi32>
			%f = divi %a, %b signed rounding<negative_inf> : tile<4xi32>
			%c = divi %a, %b signed rounding<positive_inf> : tile<4xi32>
			%k = constant <i32: 100> : tile<4xi32>
			%m = muli %f, %k : tile<4xi32>
			%r = addi %m, %c : tile<4xi32>`, "304 -403 -403 304"},
		{"the high half of a product of bytes", "i8", `
			%a = constant <i8: [-1, 16]> : tile<2xi8>
			%b = constant <i8: [-1, 17]> : tile<2xi8>
			%r = mulhii %a, %b : tile<2xi8>`, "-2 1"},
		{"shifts past the width leave nothing or the sign", "i16", `
			%a = constant <i16: [-5, 5]> : tile<2xi16>
			%b = constant <i16: [16, 300]> : tile<2xi16>
			%l = shli %a, %b : tile<2xi16>
			%s = shri %a, %b signed : tile<2xi16>
			%r = ori %l, %s : tile<2xi16>`, "-1 0"},
		{"a signed i1 is 0 or -1", "i1", `
			%a = constant <i1: [true, false]> : tile<2xi1>
			%b = constant <i1: [false, true]> : tile<2xi1>
			%r = cmpi less_than %a, %b, signed : tile<2xi1> -> tile<2xi1>`, "1 0"},
		{"a saturating conversion has a value for everything", "i8", `
			%a = constant <f32: [300.0, -300.0, 0x7FC00000, 1.9]> : tile<4xf32>
			%r = ftoi %a signed saturating : tile<4xf32> -> tile<4xi8>`, "127 -128 0 1"},
		{"packing puts the lower index into the low nibble", "i8", `
			%a = constant <i8: [1, 2, 3, -1]> : tile<4xi8>
			%n = trunci %a : tile<4xi8> -> tile<4xi4>
			%r = pack %n : tile<4xi4> -> tile<2xi8>`, "33 -13"},
		{"unpacking is the inverse", "i16", `
			%a = constant <i8: [1, 2, 3, 4]> : tile<4xi8>
			%r = unpack %a : tile<4xi8> -> tile<2xi16>`, "513 1027"},
		{"a permutation moves dimensions", "i32", `
			%a = constant <i32: [[1, 2, 3, 4], [5, 6, 7, 8]]> : tile<2x4xi32>
			%p = permute %a [1, 0] : tile<2x4xi32> -> tile<4x2xi32>
			%r = reshape %p : tile<4x2xi32> -> tile<8xi32>`, "1 5 2 6 3 7 4 8"},
		{"extract counts slices", "i32", `
			%a = constant <i32: [[1, 2, 3, 4], [5, 6, 7, 8]]> : tile<2x4xi32>
			%i = constant <i32: 1> : tile<i32>
			%p = extract %a[%i, %i] : tile<2x4xi32> -> tile<1x2xi32>
			%r = reshape %p : tile<1x2xi32> -> tile<2xi32>`, "7 8"},
		{"insert replaces a slice", "i32", `
			%a = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
			%s = constant <i32: [8, 9]> : tile<2xi32>
			%i = constant <i32: 1> : tile<i32>
			%r = insert %s, %a[%i] : tile<2xi32>, tile<4xi32>`, "1 2 8 9"},
		{"cat along the inner dimension", "i32", `
			%a = constant <i32: [[1], [2]]> : tile<2x1xi32>
			%b = constant <i32: [[3], [4]]> : tile<2x1xi32>
			%c = cat %a, %b dim = 1 : tile<2x1xi32>, tile<2x1xi32> -> tile<2x2xi32>
			%r = reshape %c : tile<2x2xi32> -> tile<4xi32>`, "1 3 2 4"},
		{"reduction takes the elements in order and no identity", "i32", `
			%a = constant <i32: [[1, 2, 3, 4], [5, 6, 7, 8]]> : tile<2x4xi32>
			%r = reduce %a dim=1 identities=[77 : i32] : tile<2x4xi32> -> tile<2xi32>
			(%acc: tile<i32>, %e: tile<i32>) {
				%ten = constant <i32: 10> : tile<i32>
				%m = muli %acc, %ten : tile<i32>
				%s = addi %m, %e : tile<i32>
				yield %s : tile<i32>
			}`, "1234 5678"},
		{"a sum that promises not to wrap is not taken in pairs", "i32", `
			%a = constant <i32: [[0, -1, 2147483647, 1], [5, 6, 7, 8]]> : tile<2x4xi32>
			%r = reduce %a dim=1 identities=[0 : i32] : tile<2x4xi32> -> tile<2xi32>
			(%acc: tile<i32>, %e: tile<i32>) {
				%s = addi %acc, %e overflow<no_signed_wrap> : tile<i32>
				yield %s : tile<i32>
			}`, "2147483647 26"},
		{"maxima along the outer dimension of two operands", "i32", `
			%a = constant <i32: [[1, 9], [4, 2], [-3, 5], [0, 8]]> : tile<4x2xi32>
			%b = constant <i32: [[7, 1], [2, 2], [9, -9], [3, 4]]> : tile<4x2xi32>
			%x, %y = reduce %a, %b dim=0 identities=[0 : i32, 0 : i32] : tile<4x2xi32>, tile<4x2xi32> -> tile<2xi32>, tile<2xi32>
			(%acc: tile<i32>, %e: tile<i32>, %acc2: tile<i32>, %e2: tile<i32>) {
				%s = maxi %acc, %e signed : tile<i32>
				%s2 = mini %acc2, %e2 signed : tile<i32>
				yield %s, %s2 : tile<i32>, tile<i32>
			}
			%r = cat %x, %y dim = 0 : tile<2xi32>, tile<2xi32> -> tile<4xi32>`, "4 9 2 -9"},
		{"a region with operations on tiles runs lane by lane", "i32", `
			%a = constant <i32: [[1, 2], [5, 6]]> : tile<2x2xi32>
			%r = reduce %a dim=1 identities=[0 : i32] : tile<2x2xi32> -> tile<2xi32>
			(%acc: tile<i32>, %e: tile<i32>) {
				%e1 = reshape %e : tile<i32> -> tile<1xi32>
				%acc1 = reshape %acc : tile<i32> -> tile<1xi32>
				%c = cat %acc1, %e1 dim = 0 : tile<1xi32>, tile<1xi32> -> tile<2xi32>
				%i = constant <i32: 1> : tile<i32>
				%x = extract %c[%i] : tile<2xi32> -> tile<1xi32>
				%y = reshape %x : tile<1xi32> -> tile<i32>
				%s = subi %acc, %y : tile<i32>
				yield %s : tile<i32>
			}`, "-1 -1"},
		{"a reversed scan begins at the end", "i32", `
			%a = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
			%r = scan %a dim=0 reverse=true identities=[0 : i32] : tile<4xi32> -> tile<4xi32>
			(%acc: tile<i32>, %e: tile<i32>) {
				%s = addi %acc, %e : tile<i32>
				yield %s : tile<i32>
			}`, "10 9 7 4"},
		{"a sum of f16 is rounded once", "f16", `
			%a = constant <f16: [[2048.0, 1.0, 1.0, 0.0]]> : tile<1x4xf16>
			%r = reduce %a dim=1 identities=[0.0 : f16] : tile<1x4xf16> -> tile<1xf16>
			(%e: tile<f16>, %acc: tile<f16>) {
				%s = addf %e, %acc : tile<f16>
				yield %s : tile<f16>
			}`, "2050"},
		{"a product of bytes, one side unsigned", "i32", `
			%a = constant <i8: [[-1, 2], [3, 4]]> : tile<2x2xi8>
			%b = constant <i8: [[-1, 1], [1, 1]]> : tile<2x2xi8>
			%c = constant <i32: 1000> : tile<2x2xi32>
			%d = mmai %a, %b, %c signed unsigned : tile<2x2xi8>, tile<2x2xi8>, tile<2x2xi32>
			%r = reshape %d : tile<2x2xi32> -> tile<4xi32>`, "747 1001 1769 1007"},
		{"a loop is left from an if inside it", "i32", `
			%zero = constant <i32: 0> : tile<i32>
			%one = constant <i32: 1> : tile<i32>
			%five = constant <i32: 5> : tile<i32>
			%x = loop iter_values(%i = %zero) : tile<i32> -> tile<i32> {
				%done = cmpi equal %i, %five, signed : tile<i32> -> tile<i1>
				if %done {
					%big = muli %i, %five : tile<i32>
					break %big : tile<i32>
				}
				%n = addi %i, %one : tile<i32>
				continue %n : tile<i32>
			}
			%r = reshape %x : tile<i32> -> tile<1xi32>`, "25"},
		{"a count near the maximum ends", "i32", `
			%lo = constant <i8: 120> : tile<i8>
			%hi = constant <i8: 127> : tile<i8>
			%st = constant <i8: 5> : tile<i8>
			%zero = constant <i32: 0> : tile<i32>
			%one = constant <i32: 1> : tile<i32>
			%n = for %i in (%lo to %hi, step %st) : tile<i8> iter_values(%c = %zero) -> (tile<i32>) {
				%d = addi %c, %one : tile<i32>
				continue %d : tile<i32>
			}
			%r = reshape %n : tile<i32> -> tile<1xi32>`, "2"},
		{"memory of alloca holds what was stored", "f32", `
			%p = alloca num_elem = 4, alignment = 16 : tile<ptr<f32>>
			%v = constant <f32: 3.0> : tile<f32>
			%t = store_ptr_tko weak %p, %v : tile<ptr<f32>>, tile<f32> -> token
			%w, %u = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %w : tile<f32> -> tile<1xf32>`, "3"},
		{"a defined 0 decides an and", "i1", `
			%p = alloca num_elem = 1, alignment = 16 : tile<ptr<i1>>
			%w, %u = load_ptr_tko weak %p : tile<ptr<i1>> -> tile<i1>, token
			%no = constant <i1: false> : tile<i1>
			%x = andi %w, %no : tile<i1>
			%r = reshape %x : tile<i1> -> tile<1xi1>`, "0"},
		{"what select leaves out may be undefined", "i32", `
			%a = constant <i32: [6, 7]> : tile<2xi32>
			%b = constant <i32: [2, 0]> : tile<2xi32>
			%z = constant <i32: 0> : tile<2xi32>
			%q = divi %a, %b signed : tile<2xi32>
			%c = cmpi not_equal %b, %z, signed : tile<2xi32> -> tile<2xi1>
			%r = select %c, %q, %a : tile<2xi1>, tile<2xi32>`, "3 7"},

		{"memory of alloca is undefined at first", "f32", `
			%p = alloca num_elem = 1, alignment = 16 : tile<ptr<f32>>
			%w, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %w : tile<f32> -> tile<1xf32>`,
			"test.tileir:11:13: 'cuda_tile.store_ptr_tko' [tile block 0 0 0, element 0]: undefined value: the stored value is undefined"},
		{"a division by zero is undefined", "i32", `
			%a = constant <i32: [6, 7]> : tile<2xi32>
			%b = constant <i32: [2, 0]> : tile<2xi32>
			%r = divi %a, %b signed : tile<2xi32>`, "element 1]: undefined value"},
		{"the minimum over -1 is undefined", "i8", `
			%a = constant <i8: -128> : tile<2xi8>
			%b = constant <i8: [1, -1]> : tile<2xi8>
			%r = divi %a, %b signed : tile<2xi8>`, "element 1]: undefined value"},
		{"a promise not to wrap makes wrapping undefined", "i8", `
			%a = constant <i8: [100, 100]> : tile<2xi8>
			%b = constant <i8: [27, 28]> : tile<2xi8>
			%r = addi %a, %b overflow<no_signed_wrap> : tile<2xi8>`, "element 1]: undefined value"},
		{"an unsigned promise too", "i8", `
			%a = constant <i8: [3, 3]> : tile<2xi8>
			%b = constant <i8: [85, 86]> : tile<2xi8>
			%r = muli %a, %b overflow<no_unsigned_wrap> : tile<2xi8>`, "element 1]: undefined value"},
		{"a conversion out of range is undefined", "i8", `
			%a = constant <f32: [127.9, 128.0]> : tile<2xf32>
			%r = ftoi %a signed : tile<2xf32> -> tile<2xi8>`, "element 1]: undefined value"},
		{"undefined sums are undefined", "i32", `
			%a = constant <i32: [6, 7]> : tile<2xi32>
			%b = constant <i32: [2, 0]> : tile<2xi32>
			%q = divi %a, %b signed : tile<2xi32>
			%s = reduce %q dim=0 identities=[0 : i32] : tile<2xi32> -> tile<i32>
			(%acc: tile<i32>, %e: tile<i32>) {
				%t = addi %e, %acc : tile<i32>
				yield %t : tile<i32>
			}
			%r = reshape %s : tile<i32> -> tile<1xi32>`, "undefined value"},
		{"prefixes are undefined from the first undefined element on", "f32", `
			%p = alloca num_elem = 1, alignment = 16 : tile<ptr<f32>>
			%w, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
			%second = reshape %w : tile<f32> -> tile<1xf32>
			%first = constant <f32: 1.0> : tile<1xf32>
			%a = cat %first, %second dim = 0 : tile<1xf32>, tile<1xf32> -> tile<2xf32>
			%r = scan %a dim=0 reverse=false identities=[0.0 : f32] : tile<2xf32> -> tile<2xf32>
			(%acc: tile<f32>, %e: tile<f32>) {
				%t = addf %e, %acc : tile<f32>
				yield %t : tile<f32>
			}`, "element 1]: undefined value"},
		{"a branch must know where to go", "i32", `
			%p = alloca num_elem = 1, alignment = 16 : tile<ptr<i1>>
			%w, %u = load_ptr_tko weak %p : tile<ptr<i1>> -> tile<i1>, token
			%z = constant <i32: 0> : tile<i32>
			%x = if %w -> (tile<i32>) { yield %z : tile<i32> } else { yield %z : tile<i32> }
			%r = reshape %x : tile<i32> -> tile<1xi32>`,
			"'cuda_tile.if' [tile block 0 0 0]: undefined value: the condition is undefined"},
		{"an address must be known", "i32", `
			%p = alloca num_elem = 1, alignment = 16 : tile<ptr<i64>>
			%w, %u = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token
			%q = int_to_ptr %w : tile<i64> -> tile<ptr<i32>>
			%v, %k = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
			%r = reshape %v : tile<i32> -> tile<1xi32>`,
			"'cuda_tile.load_ptr_tko' [tile block 0 0 0]: undefined value: the address is undefined"},
		{"a scalar is broadcast, too, and stays undefined", "i32", `
			%p = alloca num_elem = 1, alignment = 16 : tile<ptr<i32>>
			%w, %u = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
			%x = broadcast %w : tile<i32> -> tile<i32>
			%r = reshape %x : tile<i32> -> tile<1xi32>`, "undefined value: the stored value is undefined"},
		{"the slice of a scalar is itself", "i32", `
			%a = constant <i32: 7> : tile<i32>
			%x = extract %a[] : tile<i32> -> tile<i32>
			%r = reshape %x : tile<i32> -> tile<1xi32>`, "7"},
		{"a slice that does not exist is undefined", "i32", `
			%a = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
			%i = constant <i32: -1> : tile<i32>
			%r = extract %a[%i] : tile<4xi32> -> tile<2xi32>`, "undefined value"},
		{"an alloca is gone when its block ends", "f32", `
			%yes = constant <i1: true> : tile<i1>
			%q = if %yes -> (tile<ptr<f32>>) {
				%p = alloca num_elem = 1, alignment = 16 : tile<ptr<f32>>
				yield %p : tile<ptr<f32>>
			} else {
				yield %out : tile<ptr<f32>>
			}
			%w, %u = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %w : tile<f32> -> tile<1xf32>`, "out of bounds: 4 bytes at address"},
		{"a promised bound is held", "i32", `
			%a = constant <i32: [1, 8]> : tile<2xi32>
			%r = assume bounded<0, 7>, %a : tile<2xi32>`, "element 1]: undefined behaviour: 8 breaks the promised bounds"},
		{"a promised divisor is held for each group", "i32", `
			%a = constant <i32: [8, 9, 16, 18]> : tile<4xi32>
			%r = assume div_by<8, every 2 along 0>, %a : tile<4xi32>`, "element 3]: undefined behaviour: 0x12 does not follow 0x10"},
		{"promised equality is held", "i32", `
			%a = constant <i32: [8, 8, 9, 8]> : tile<4xi32>
			%r = assume same_elements<[2]>, %a : tile<4xi32>`, "element 3]: undefined behaviour: 0x8 differs from 0x9"},
		{"a step must be positive", "i32", `
			%z = constant <i32: 0> : tile<i32>
			%n = for %i in (%z to %z, step %z) : tile<i32> iter_values(%c = %z) -> (tile<i32>) { continue %c : tile<i32> }
			%r = reshape %n : tile<i32> -> tile<1xi32>`, "undefined behaviour: the step 0 is not positive"},
		{"an endless loop is stopped", "i32", `
			loop { continue }
			%r = constant <i32: 0> : tile<1xi32>`, "step limit"},
		{"an address must be aligned", "i32", `
			%b = ptr_to_int %out : tile<ptr<i32>> -> tile<i64>
			%two = constant <i64: 2> : tile<i64>
			%c = addi %b, %two : tile<i64>
			%p = int_to_ptr %c : tile<i64> -> tile<ptr<i32>>
			%w, %u = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
			%r = reshape %w : tile<i32> -> tile<1xi32>`, "misaligned"},
		{"one element past the end is out of bounds", "i32", `
			%one = constant <i32: 1> : tile<i32>
			%p = offset %out, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
			%w, %u = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
			%r = reshape %w : tile<i32> -> tile<1xi32>`, "0 bytes past the end of out, which has 4"},
		{"an assertion names its place", "i32", `
			%a = constant <i1: [true, false]> : tile<2xi1>
			assert %a, "must hold" : tile<2xi1>
			%r = constant <i32: 0> : tile<1xi32>`, "'cuda_tile.assert' [tile block 0 0 0, element 1]: assertion failed: must hold"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			size, show := element(tt.elem)
			n := elements(tt.ops, tt.elem)
			got := run(t, storing(n, tt.elem, tt.ops), n, size, interp.Options{MaxSteps: 1000})
			var r *interp.Report
			if errors.As(got.err, &r) {
				if !strings.Contains(r.Error(), tt.want) {
					t.Errorf("got the report %q, want %q", r, tt.want)
				}
				return
			}
			if got.err != nil {
				t.Fatal(got.err)
			}
			var words []string
			for _, b := range got.bits {
				words = append(words, show(b))
			}
			if s := strings.Join(words, " "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
}

// elements finds the number of elements of %r in the text that computes it.
func elements(ops, elem string) int {
	line := ops[strings.LastIndex(ops, "%r ="):]
	line, _, _ = strings.Cut(line, "\n")
	n := 1
	for i := strings.LastIndex(line, "tile<"); i >= 0; i = strings.LastIndex(line[:i], "tile<") {
		if _, err := fmt.Sscanf(line[i:], "tile<%dx"+elem, &n); err == nil {
			break
		}
	}
	return n
}

func TestOnlyOrderFreeSumsAreExact(t *testing.T) {
	sum := func(values string, n int) string {
		return strings.NewReplacer("N", fmt.Sprint(n), "VALUES", values).Replace(`
			%a = constant <f32: [[VALUES]]> : tile<1xNxf32>
			%r = reduce %a dim=1 identities=[0.0 : f32] : tile<1xNxf32> -> tile<1xf32>
			(%e: tile<f32>, %acc: tile<f32>) {
				%s = addf %e, %acc : tile<f32>
				yield %s : tile<f32>
			}`)
	}
	for _, tt := range []struct {
		name, ops string
		inexact   bool
	}{
		{"small integers", sum("1.0, 2.0, 3.0, -4.0", 4), false},
		{"small multiples of a quarter", sum("0.25, 2.5, 3.75, -4.0", 4), false},
		{"numbers of very different size", sum("1.0, 1.0e10, -1.0e10, 1.0", 4), true},
		{"a sum that just fits", sum("8388608.0, 8388607.0", 2), false},
		{"a sum that needs one bit more", sum("16777216.0, 1.0", 2), true},
		{"a maximum", strings.Replace(sum("0.1, 0.2, 1.0e10, 3.0", 4), "addf", "maxf", 1), false},
		{"a product of powers of two", strings.Replace(sum("0.5, 2.0, 4.0, -8.0", 4), "addf", "mulf", 1), false},
		{"a product of fifteen threes, 14348907, which needs 24 bits", strings.Replace(sum(strings.Repeat("3.0, ", 15)+"1.0", 16), "addf", "mulf", 1), false},
		{"a product of sixteen threes, 43046721, which needs 26", strings.Replace(sum(strings.Repeat("3.0, ", 15)+"3.0", 16), "addf", "mulf", 1), true},
		{"a sum that overflows in some orders: two times 2^127, two times its negative", sum("0x7F000000, 0x7F000000, 0xFF000000, 0xFF000000", 4), true},
		{"a product that underflows in some orders: 2^-100, 2^-60, 2^100", strings.Replace(sum("0x0D800000, 0x21800000, 0x71800000, 1.0", 4), "addf", "mulf", 1), true},
		{"a product that overflows in some orders: 2^100, 2^60, 2^-100", strings.Replace(sum("0x71800000, 0x5D800000, 0x0D800000, 1.0", 4), "addf", "mulf", 1), true},
		{"a product of tenths", strings.Replace(sum("0.1, 0.2, 0.3, 0.4", 4), "addf", "mulf", 1), true},
		{"a function", `
			%a = constant <f32: 1.0> : tile<1xf32>
			%r = exp %a : tile<1xf32>`, true},
		{"a function of an infinity", `
			%a = constant <f32: 0xFF800000> : tile<1xf32>
			%r = exp %a : tile<1xf32>`, false},
		{"the bits of a NaN", `
			%a = constant <f32: -1.0> : tile<1xf32>
			%s = sqrt %a : tile<1xf32>
			%i = bitcast %s : tile<1xf32> -> tile<1xi32>
			%r = bitcast %i : tile<1xi32> -> tile<1xf32>`, true},
		{"the bytes of a NaN", `
			%a = constant <f32: -1.0> : tile<1xf32>
			%s = sqrt %a : tile<1xf32>
			%i = pack %s : tile<1xf32> -> tile<4xi8>
			%r = unpack %i : tile<4xi8> -> tile<1xf32>`, true},
		{"the bytes of a number", `
			%a = constant <f32: -1.0> : tile<1xf32>
			%i = pack %a : tile<1xf32> -> tile<4xi8>
			%r = unpack %i : tile<4xi8> -> tile<1xf32>`, false},
		{"a quotient", `
			%a = constant <f32: 3.0> : tile<1xf32>
			%b = constant <f32: 7.0> : tile<1xf32>
			%r = divf %a, %b : tile<1xf32>`, false},
		{"an approximate quotient", `
			%a = constant <f32: 3.0> : tile<1xf32>
			%b = constant <f32: 7.0> : tile<1xf32>
			%r = divf %a, %b rounding<approx> : tile<1xf32>`, true},
		{"the prefixes of a function", `
			%a = constant <f32: [[1.0, 2.0]]> : tile<1x2xf32>
			%e = exp %a : tile<1x2xf32>
			%p = scan %e dim=1 reverse=false identities=[0.0 : f32] : tile<1x2xf32> -> tile<1x2xf32>
			(%x: tile<f32>, %y: tile<f32>) {
				%m = maxf %x, %y : tile<f32>
				yield %m : tile<f32>
			}
			%zero = constant <i32: 0> : tile<i32>
			%l = extract %p[%zero, %zero] : tile<1x2xf32> -> tile<1x1xf32>
			%r = reshape %l : tile<1x1xf32> -> tile<1xf32>`, true},
		{"atomic sums that need one bit more than memory has", `
			%a = constant <f32: 1.0> : tile<f32>
			%b = constant <f32: 16777216.0> : tile<f32>
			%t0 = store_ptr_tko weak %out, %b : tile<ptr<f32>>, tile<f32> -> token
			%old, %t1 = atomic_rmw_tko relaxed device %out, addf, %a token=%t0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%s, %t2 = load_ptr_tko weak %out token=%t1 : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %s : tile<f32> -> tile<1xf32>`, true},
		{"an atomic sum of what a store has left behind sums that round", `
			%a = constant <f32: 1.0> : tile<f32>
			%b = constant <f32: 16777216.0> : tile<f32>
			%t0 = store_ptr_tko weak %out, %b : tile<ptr<f32>>, tile<f32> -> token
			%old1, %t1 = atomic_rmw_tko relaxed device %out, addf, %a token=%t0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%t2 = store_ptr_tko weak %out, %a token=%t1 : tile<ptr<f32>>, tile<f32> -> token
			%old2, %t3 = atomic_rmw_tko relaxed device %out, addf, %a token=%t2 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%s, %t4 = load_ptr_tko weak %out token=%t3 : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %s : tile<f32> -> tile<1xf32>`, false},
		{"an atomic sum with a subnormal number in memory, of which a GPU makes 0", `
			%b = constant <f32: 0x000116C2> : tile<f32>
			%t0 = store_ptr_tko weak %out, %b : tile<ptr<f32>>, tile<f32> -> token
			%a1 = constant <f32: 0.0> : tile<f32>
			%old1, %t1 = atomic_rmw_tko relaxed device %out, addf, %a1 token=%t0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%s, %t = load_ptr_tko weak %out token=%t1 : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %s : tile<f32> -> tile<1xf32>`, true},
		{"an atomic sum with a subnormal number", `
			%b = constant <f32: 0x00800000> : tile<f32>
			%t0 = store_ptr_tko weak %out, %b : tile<ptr<f32>>, tile<f32> -> token
			%a1 = constant <f32: 0x00000001> : tile<f32>
			%old1, %t1 = atomic_rmw_tko relaxed device %out, addf, %a1 token=%t0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%s, %t = load_ptr_tko weak %out token=%t1 : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %s : tile<f32> -> tile<1xf32>`, true},
		{"atomic sums that may be a subnormal number in between", `
			%b = constant <f32: 0x00C00000> : tile<f32>
			%t0 = store_ptr_tko weak %out, %b : tile<ptr<f32>>, tile<f32> -> token
			%a1 = constant <f32: 0x00800000> : tile<f32>
			%old1, %t1 = atomic_rmw_tko relaxed device %out, addf, %a1 token=%t0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%a2 = constant <f32: 0x80800000> : tile<f32>
			%old2, %t2 = atomic_rmw_tko relaxed device %out, addf, %a2 token=%t1 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%s, %t = load_ptr_tko weak %out token=%t2 : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %s : tile<f32> -> tile<1xf32>`, true},
		{"atomic sums of normal numbers", `
			%b = constant <f32: 0x00800000> : tile<f32>
			%t0 = store_ptr_tko weak %out, %b : tile<ptr<f32>>, tile<f32> -> token
			%a1 = constant <f32: 0x00800000> : tile<f32>
			%old1, %t1 = atomic_rmw_tko relaxed device %out, addf, %a1 token=%t0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%s, %t = load_ptr_tko weak %out token=%t1 : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %s : tile<f32> -> tile<1xf32>`, false},
		{"atomic sums before and after a plain store, each of numbers of one size", `
			%a = constant <f32: 1.0e10> : tile<f32>
			%z = constant <f32: 0.0> : tile<f32>
			%b = constant <f32: 1.0> : tile<f32>
			%t0 = store_ptr_tko weak %out, %z : tile<ptr<f32>>, tile<f32> -> token
			%old1, %t1 = atomic_rmw_tko relaxed device %out, addf, %a token=%t0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%t2 = store_ptr_tko weak %out, %z token=%t1 : tile<ptr<f32>>, tile<f32> -> token
			%old2, %t3 = atomic_rmw_tko relaxed device %out, addf, %b token=%t2 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%s, %t = load_ptr_tko weak %out token=%t3 : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %s : tile<f32> -> tile<1xf32>`, false},
		{"a swap for a NaN, which may have other bits than the one in memory", `
			%i = constant <f32: 0x7f800000> : tile<f32>
			%n = subf %i, %i : tile<f32>
			%m = constant <f32: 0x7fc00000> : tile<f32>
			%t0 = store_ptr_tko weak %out, %m : tile<ptr<f32>>, tile<f32> -> token
			%one = constant <f32: 1.0> : tile<f32>
			%old, %t1 = atomic_cas_tko relaxed device %out, %n, %one token=%t0 : tile<ptr<f32>>, tile<f32> -> tile<f32>, token
			%s, %t = load_ptr_tko weak %out token=%t1 : tile<ptr<f32>> -> tile<f32>, token
			%r = reshape %s : tile<f32> -> tile<1xf32>`, true},
		{"a product of matrices of small integers", `
			%a = constant <f16: [[3.0, 5.0]]> : tile<1x2xf16>
			%b = constant <f16: [[7.0], [11.0]]> : tile<2x1xf16>
			%c = constant <f32: 0.5> : tile<1x1xf32>
			%d = mmaf %a, %b, %c : tile<1x2xf16>, tile<2x1xf16>, tile<1x1xf32>
			%r = reshape %d : tile<1x1xf32> -> tile<1xf32>`, false},
		{"a product of matrices whose terms, 2^-28, are below all numbers of f16", `
			%a = constant <f16: [[0x0400, 0x0400]]> : tile<1x2xf16>
			%b = constant <f16: [[0x0400], [0x0400]]> : tile<2x1xf16>
			%c = constant <f16: 0.0> : tile<1x1xf16>
			%d = mmaf %a, %b, %c : tile<1x2xf16>, tile<2x1xf16>, tile<1x1xf16>
			%e = ftof %d : tile<1x1xf16> -> tile<1x1xf32>
			%r = reshape %e : tile<1x1xf32> -> tile<1xf32>`, true},
		{"a product of matrices that may round", `
			%a = constant <f16: [[3.0, 5.0]]> : tile<1x2xf16>
			%b = constant <f16: [[7.0], [11.0]]> : tile<2x1xf16>
			%c = constant <f32: 1.0e-9> : tile<1x1xf32>
			%d = mmaf %a, %b, %c : tile<1x2xf16>, tile<2x1xf16>, tile<1x1xf32>
			%r = reshape %d : tile<1x1xf32> -> tile<1xf32>`, true},
	} {
		got := run(t, storing(1, "f32", tt.ops), 1, 4, interp.Options{})
		if got.err != nil {
			t.Errorf("%s: %v", tt.name, got.err)
		} else if got.inexact[0] != tt.inexact {
			t.Errorf("%s: inexact is %v (the value is %g)", tt.name, got.inexact[0], math.Float32frombits(uint32(got.bits[0])))
		}
	}
}

func TestStrictRunsReportInexactDecisions(t *testing.T) {
	const ops = `
		%a = constant <f32: [1.0, 2.0]> : tile<2xf32>
		%e = exp %a : tile<2xf32>
		%m = maxf %e, %a : tile<2xf32>
		%c = cmpf less_than ordered %m, %a : tile<2xf32> -> tile<2xi1>
		%r = select %c, %a, %m : tile<2xi1>, tile<2xf32>`
	if got := run(t, storing(2, "f32", ops), 2, 4, interp.Options{}); got.err != nil {
		t.Error(got.err)
	}
	got := run(t, storing(2, "f32", ops), 2, 4, interp.Options{Strict: true})
	var r *interp.Report
	if !errors.As(got.err, &r) || r.Kind != interp.InexactUse || r.Op != "cuda_tile.cmpf" {
		t.Errorf("got %v, want a report about cmpf", got.err)
	}
}

func TestStrictRunsPackWhatIsExact(t *testing.T) {
	const ops = `
		%a = constant <f32: [1.0, 2.0]> : tile<2xf32>
		%e = FUNCTION %a : tile<2xf32>
		%r = pack %e : tile<2xf32> -> tile<8xi8>`
	got := run(t, storing(8, "i8", strings.ReplaceAll(ops, "FUNCTION", "negf")), 8, 1, interp.Options{Strict: true})
	if want := []uint64{0, 0, 0x80, 0xBF, 0, 0, 0, 0xC0}; got.err != nil || !slices.Equal(got.bits, want) { // -1.0, -2.0
		t.Errorf("got %#x, %v, want %#x", got.bits, got.err, want)
	}
	got = run(t, storing(8, "i8", strings.ReplaceAll(ops, "FUNCTION", "exp")), 8, 1, interp.Options{Strict: true})
	var r *interp.Report
	if !errors.As(got.err, &r) || r.Kind != interp.InexactUse || r.Op != "cuda_tile.pack" {
		t.Errorf("got %v, want a report about pack", got.err)
	}
}

func TestTileBlocksRunInOrder(t *testing.T) {
	// Each block appends its number after the one before it: out = out*10 + x + 3*y.
	const text = `entry @k(%out: tile<ptr<i32>>) {
		%x, %y, %z = get_tile_block_id : tile<i32>
		%nx, %ny, %nz = get_num_tile_blocks : tile<i32>
		%row = muli %nx, %y : tile<i32>
		%id = addi %row, %x : tile<i32>
		%old, %t = load_ptr_tko weak %out : tile<ptr<i32>> -> tile<i32>, token
		%ten = constant <i32: 10> : tile<i32>
		%m = muli %old, %ten : tile<i32>
		%s = addi %m, %id : tile<i32>
		%u = store_ptr_tko weak %out, %s token=%t : tile<ptr<i32>>, tile<i32> -> token
		return
	}`
	mem := interp.NewMemory()
	addr := mem.Alloc("out", make([]byte, 4), 4)
	res, err := program(t, text).Run(context.Background(), "k", mem, []uint64{addr}, interp.Options{Grid: [3]int{3, 2, 1}})
	if err != nil || res.Blocks != 6 {
		t.Fatal(res, err)
	}
	if got := binary.LittleEndian.Uint32(mem.Bytes(addr)); got != 12345 {
		t.Errorf("got %d, want 12345", got)
	}
}

func TestViewsPadDropAndStopAtTheEdge(t *testing.T) {
	const make = `entry @k(%out: tile<ptr<f32>>) {
		%v = make_tensor_view %out, shape = [3], strides = [1] : tensor_view<3xf32, strides=[1]>
		%p = make_partition_view %v : partition_view<tile=(2)PAD, tensor_view<3xf32, strides=[1]>>
		%i = constant <i32: INDEX> : tile<i32>
		%x, %t = load_view_tko weak %p[%i] : partition_view<tile=(2)PAD, tensor_view<3xf32, strides=[1]>>, tile<i32> -> tile<2xf32>, token
		%o = constant <f32: 1.0> : tile<2xf32>
		%s = addf %x, %o : tile<2xf32>
		%zero = constant <i32: 0> : tile<i32>
		%u = store_view_tko weak %s, %p[%zero] token = %t : tile<2xf32>, partition_view<tile=(2)PAD, tensor_view<3xf32, strides=[1]>>, tile<i32> -> token
		return
	}`
	for _, tt := range []struct {
		padding, index string
		zero           bool // ZeroPadding
		want           string
	}{
		{", padding_value = zero", "1", false, "4 1 3 9"},
		{", padding_value = neg_inf", "1", false, "4 -Inf 3 9"},
		{", padding_value = nan", "0", false, "2 3 3 9"},
		{"", "0", false, "2 3 3 9"},
		{"", "1", false, "element 1]: undefined value: the stored value is undefined"},
		{"", "1", true, "4 1 3 9"},
		{", padding_value = zero", "2", false, "element 0]: undefined value: the stored value is undefined"},
		{", padding_value = neg_inf", "2", true, "-Inf -Inf 3 9"},
		{"", "2", true, "1 1 3 9"},
	} {
		text := strings.NewReplacer("PAD", tt.padding, "INDEX", tt.index).Replace(make)
		mem := interp.NewMemory()
		var data []byte
		for _, v := range []float32{1, 2, 3, 9} {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		addr := mem.Alloc("out", data, 256)
		_, err := program(t, text).Run(context.Background(), "k", mem, []uint64{addr}, interp.Options{ZeroPadding: tt.zero})
		got := fmt.Sprint(err)
		if err == nil {
			var vs []string
			for i := range 4 {
				vs = append(vs, fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(mem.Bytes(addr)[4*i:]))))
			}
			got = strings.Join(vs, " ")
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("padding %q, index %s: got %s, want %s", tt.padding, tt.index, got, tt.want)
		}
	}
}

func TestPrintingFollowsC(t *testing.T) {
	for _, tt := range []struct{ format, value, want string }{
		{`i=%5d|%-5d|%05d`, "<i32: -42> : tile<i32>", "i=  -42|-42  |-0042"},
		{`%u %x %#X %o`, "<i16: -1> : tile<i16>", "4294967295 ffffffff 0XFFFFFFFF 37777777777"},
		{`%lld%%`, "<i64: 9223372036854775807> : tile<i64>", "9223372036854775807%"},
		{`%d`, "<i1: [true, false]> : tile<2xi1>", "[1, 0]"},
		{`%c%c`, "<i8: 65> : tile<i8>", "AA"},
		{`%f %.2f %8.3f|`, "<f32: 3.14159274> : tile<f32>", "3.141593 3.14    3.142|"},
		{`%e %E`, "<f64: 1234.5> : tile<f64>", "1.234500e+03 1.234500E+03"},
		{`%g %G`, "<f64: 0.00001> : tile<f64>", "1e-05 1E-05"},
		{`%g`, "<f64: 100000.0> : tile<f64>", "100000"},
		{`%g`, "<f64: 1000000.0> : tile<f64>", "1e+06"},
		{`%a`, "<f64: 1.5> : tile<f64>", "0x1.8p+0"},
		{`%f %F %5.1f|`, "<f32: 0xFF800000> : tile<f32>", "-inf -INF  -inf|"},
		{`%f`, "<f32: 0x7FC00000> : tile<f32>", "nan"},
		{`%.1f`, "<f32: [[1.0, 2.0], [3.0, 4.0]]> : tile<2x2xf32>", "[[1.0, 2.0], [3.0, 4.0]]"},
	} {
		n := strings.Count(strings.ReplaceAll(tt.format, "%%", ""), "%")
		typ := tt.value[strings.Index(tt.value, "tile<"):]
		text := fmt.Sprintf("entry @k(%%out: tile<ptr<i32>>) {\n%%v = constant %s\n%%t = print_tko \"%s\"%s : %s -> token\nreturn\n}",
			tt.value, tt.format, strings.Repeat(", %v", n), strings.Repeat(", "+typ, n)[2:])
		if got := run(t, text, 1, 4, interp.Options{}); got.err != nil || got.stdout != tt.want {
			t.Errorf("%s of %s: got %q %v, want %q", tt.format, tt.value, got.stdout, got.err, tt.want)
		}
	}
}

func TestGlobalsKeepTheirContentBetweenLaunches(t *testing.T) {
	p := program(t, `global @g alignment = 64 <i32: [5, 6]> : tile<2xi32>
	entry @k(%out: tile<ptr<i32>>) {
		%p = get_global @g : tile<ptr<i32>>
		%one = constant <i32: 1> : tile<i32>
		%old, %t = atomic_rmw_tko relaxed device %p, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
		%u = store_ptr_tko weak %out, %old : tile<ptr<i32>>, tile<i32> -> token
		return
	}`)
	mem := interp.NewMemory()
	addr := mem.Alloc("out", make([]byte, 4), 4)
	for want := uint32(5); want < 8; want++ {
		if _, err := p.Run(context.Background(), "k", mem, []uint64{addr}, interp.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(mem.Bytes(addr)); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

func TestLaunchesThatDoNotFitAreRefused(t *testing.T) {
	p := program(t, "entry @k(%out: tile<ptr<i32>>) {\nreturn\n}")
	for _, tt := range []struct {
		name, entry string
		args        []uint64
		o           interp.Options
		want        string
	}{
		{"another entry", "f", nil, interp.Options{}, "no entry 'f'"},
		{"no argument", "k", nil, interp.Options{}, "has 1 parameters, got 0 arguments"},
		{"a huge grid", "k", []uint64{0}, interp.Options{Grid: [3]int{1 << 24, 1, 1}}, "grid extent 16777216 is too big"},
		{"too many blocks", "k", []uint64{0}, interp.Options{Grid: [3]int{1 << 22, 1 << 21, 1 << 21}}, "grid [4194304 2097152 2097152] is too big"},
	} {
		if _, err := p.Run(context.Background(), tt.entry, interp.NewMemory(), tt.args, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A promise about a stride that no address depends on may be false where the options say so; one about another stride, or about a value that is used
// otherwise too, may not.
func TestPromisesAboutUnusedStrides(t *testing.T) {
	const entry = `entry @k(%out: tile<ptr<f32>>) {
		%one = constant <i64: 1> : tile<i64>
		%s = assume div_by<8>, %one : tile<i64>
		MORE
		%v = make_tensor_view %out, shape = [EXTENTS], strides = [OPERANDS] : tile<i64> -> tensor_view<SHAPExf32, strides=[STRIDES]>
		%p = make_partition_view %v : partition_view<tile=(1x1), tensor_view<SHAPExf32, strides=[STRIDES]>>
		%zero = constant <i32: 0> : tile<i32>
		%x = constant <f32: 1.0> : tile<1x1xf32>
		%t = store_view_tko weak %x, %p[%zero, %zero] : tile<1x1xf32>, partition_view<tile=(1x1), tensor_view<SHAPExf32, strides=[STRIDES]>>, tile<i32> -> token
		return
	}`
	for _, tt := range []struct {
		name, shape, strides, more string
		let, ok                    bool
	}{
		{"the stride of an axis of one element", "1x4", "?, 1", "", true, true},
		{"the same, with no leave", "1x4", "?, 1", "", false, false},
		{"the stride of an axis of four", "4x1", "?, 1", "", true, false},
		{"the stride of the last axis", "4x1", "1, ?", "", true, true},
		{"a value with another use", "1x4", "?, 1", "%w = addi %s, %s : tile<i64>", true, false},
		{"no stride at all", "1x4", "?, 1", "%w = assume bounded<2, ?>, %one : tile<i64>", true, false},
	} {
		text := strings.NewReplacer("SHAPE", tt.shape, "STRIDES", strings.ReplaceAll(tt.strides, " ", ""), "MORE", tt.more,
			"EXTENTS", strings.ReplaceAll(tt.shape, "x", ", "), "OPERANDS", strings.Replace(tt.strides, "?", "%s", 1)).Replace(entry)
		got := run(t, text, 4, 4, interp.Options{AnyUnusedStride: tt.let})
		var r *interp.Report
		if tt.ok != (got.err == nil) || got.err != nil && (!errors.As(got.err, &r) || r.Op != "cuda_tile.assume") {
			t.Errorf("%s: got %v", tt.name, got.err)
		}
	}
}
