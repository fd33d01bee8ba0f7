package facts

import (
	"strings"
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// module parses the body of a kernel and gives its facts and its ops by the name of their first result.
func module(t *testing.T, body string) (*Facts, map[string]*ir.Op) {
	t.Helper()
	src := `tileaa.module @m {
  entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f16>>, %n: tile<i32>, %m: tile<i32>, %c: tile<i1>, %wide: tile<i64>, %far: tile<i64>, %octets: tile<ptr<i8>>) {
` + body + `
    return
  }
}`
	ctx := ir.NewContext(tileaa.Dialect)
	mod, err := ir.Parse(ctx, "test", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	if !ir.Verify(ctx, mod) {
		t.Fatal(ctx.Diags.String())
	}
	lines := strings.Split(src, "\n")
	names := map[string]*ir.Op{}
	ir.Walk(mod, ir.PreOrder, func(op *ir.Op) {
		if _, line, _, ok := ir.FileLine(op.Loc()); ok && op.NumResults() > 0 {
			name, _, _ := strings.Cut(strings.TrimSpace(lines[line-1]), " ")
			names[strings.TrimPrefix(name, "%")] = op
		}
	})
	return New(ctx, mod), names
}

func TestFactsOfPrograms(t *testing.T) {
	tests := []struct {
		says, body string
		want       map[string]string
	}{
		{"promises", `
			%a = assume %p {predicate = div_by<16>} : tile<ptr<f32>>
			%b = assume %n {predicate = bounded<0, 100>} : tile<i32>
			%d = assume %b {predicate = div_by<8>} : tile<i32>`,
			map[string]string{
				"a": "s[-9223372036854775808,9223372036854775792] u[0,18446744073709551600] zeros 4 global",
				"b": "s[0,100] u[0,100] zeros 0",
				"d": "s[0,96] u[0,96] zeros 3",
			}},
		{"tile block numbers", `
			%pid = program_id {axis = 0} : tile<i32>
			%grid = num_programs {axis = 0} : tile<i32>`,
			map[string]string{"pid": "s[0,16777214] u[0,16777214] zeros 0", "grid": "s[1,16777215] u[1,16777215] zeros 0"}},
		{"the classic vector addition: offsets of a block of 1024", `
			%size = constant <i32: 1024> : tile<i32>
			%pid = program_id {axis = 0} : tile<i32>
			%start = muli %pid, %size {overflow = no_signed_wrap} : tile<i32>
			%i = iota : tile<1024xi32>
			%s = splat %start : (tile<i32>) -> tile<1024xi32>
			%o = addi %s, %i : tile<1024xi32>
			%n16 = assume %n {predicate = div_by<16>} : tile<i32>
			%ns = splat %n16 : (tile<i32>) -> tile<1024xi32>
			%mask = cmpi %o, %ns {predicate = less_than} : (tile<1024xi32>, tile<1024xi32>) -> tile<1024xi1>
			%a = assume %p {predicate = div_by<16>} : tile<ptr<f32>>
			%ps = splat %a : (tile<ptr<f32>>) -> tile<1024xptr<f32>>
			%ptr = offset %ps, %o : (tile<1024xptr<f32>>, tile<1024xi32>) -> tile<1024xptr<f32>>`,
			map[string]string{
				"i":    "s[0,1023] u[0,1023] zeros 0 contig[1024] const[1] div[32]",
				"s":    "s[0,2147482624] u[0,2147482624] zeros 10 contig[1] const[1024] div[10]",
				"o":    "s[0,2147483647] u[0,2147483647] zeros 0 contig[1024] const[1] div[10]",
				"mask": "s[-1,0] u[0,1] zeros 0 contig[1] const[16] div[0]",
				"ptr":  "s[-9223372036854775808,9223372036854775804] u[0,18446744073709551612] zeros 2 contig[1024] const[1] div[4] global",
			}},
		{"what a for counts, and what it carries in equal steps", `
			%zero = constant <i32: 0> : tile<i32>
			%step = constant <i32: 32> : tile<i32>
			%limit = constant <i32: 1024> : tile<i32>
			%sum = for %zero, %limit, %step, inits(%zero) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %v: tile<i32>) {
				%iv = addi %i, %zero : tile<i32>
				%next = addi %v, %step : tile<i32>
				continue %next : (tile<i32>)
			}`,
			map[string]string{
				"iv":   "s[0,992] u[0,992] zeros 5",
				"next": "s[-2147483648,2147483616] u[0,4294967264] zeros 5",
				"sum":  "s[-2147483648,2147483616] u[0,4294967264] zeros 5",
			}},
		{"pointers that walk keep their alignment and where they point", `
			%zero = constant <i32: 0> : tile<i32>
			%one = constant <i32: 1> : tile<i32>
			%step = constant <i32: 64> : tile<8xi32>
			%i = iota : tile<8xi32>
			%a = assume %q {predicate = div_by<16>} : tile<ptr<f16>>
			%s = splat %a : (tile<ptr<f16>>) -> tile<8xptr<f16>>
			%first = offset %s, %i : (tile<8xptr<f16>>, tile<8xi32>) -> tile<8xptr<f16>>
			%last = for %zero, %n, %one, inits(%first) : (tile<i32>, tile<i32>, tile<i32>, tile<8xptr<f16>>) -> tile<8xptr<f16>> (%j: tile<i32>, %v: tile<8xptr<f16>>) {
				%next = offset %v, %step : (tile<8xptr<f16>>, tile<8xi32>) -> tile<8xptr<f16>>
				continue %next : (tile<8xptr<f16>>)
			}`,
			map[string]string{"last": "s[-9223372036854775808,9223372036854775806] u[0,18446744073709551614] zeros 1 contig[8] const[1] div[4] global"}},
		{"a tile that counts up at first and down later keeps its bounds only", `
			%zero = constant <i32: 0> : tile<i32>
			%one = constant <i32: 1> : tile<i32>
			%ones = constant <i32: 1> : tile<16xi32>
			%most = constant <i32: 16> : tile<16xi32>
			%i = iota : tile<16xi32>
			%up = addi %i, %ones : tile<16xi32>
			%down = subi %most, %i : tile<16xi32>
			%last = for %zero, %n, %one, inits(%up) : (tile<i32>, tile<i32>, tile<i32>, tile<16xi32>) -> tile<16xi32> (%j: tile<i32>, %v: tile<16xi32>) {
				continue %down : (tile<16xi32>)
			}`,
			map[string]string{"last": "s[1,16] u[1,16] zeros 0 contig[1] const[1] div[0]"}},
		{"a one moved left by up to 63 bits is any power of two", `
			%x = assume %wide {predicate = bounded<0, 1>} : tile<i64>
			%y = assume %far {predicate = bounded<0, 63>} : tile<i64>
			%r = shli %x, %y {overflow = no_signed_wrap} : tile<i64>`,
			map[string]string{"r": "s[-9223372036854775808,9223372036854775807] u[0,9223372036854775808] zeros 0"}},
		{"a product with a factor that may be zero", `
			%x = assume %n {predicate = bounded<5, 7>} : tile<i32>
			%y = assume %m {predicate = bounded<0, 3>} : tile<i32>
			%r = muli %x, %y : tile<i32>`,
			map[string]string{"r": "s[0,21] u[0,21] zeros 0"}},
		{"an if is either branch, a loop any break", `
			%a = constant <i32: 8> : tile<i32>
			%b = constant <i32: 24> : tile<i32>
			%either = if %c : (tile<i1>) -> tile<i32> {
				yield %a : (tile<i32>)
			} else {
				yield %b : (tile<i32>)
			}
			%out = loop %a : (tile<i32>) -> tile<i32> (%v: tile<i32>) {
				if %c : (tile<i1>) -> () {
					break %b : (tile<i32>)
				}
				break %a : (tile<i32>)
			}`,
			map[string]string{"either": "s[8,24] u[8,24] zeros 3", "out": "s[8,24] u[8,24] zeros 3"}},
		{"where pointers point when there are slots", `
			%slot = alloca {num_elem = 4, alignment = 16} : tile<ptr<f32>>
			%l = ptr_to_int %p : (tile<ptr<f32>>) -> tile<i64>
			%back = int_to_ptr %l : (tile<i64>) -> tile<ptr<f32>>
			%either = select %c, %slot, %p : (tile<i1>, tile<ptr<f32>>, tile<ptr<f32>>) -> tile<ptr<f32>>`,
			map[string]string{
				"slot":   "s[-9223372036854775808,9223372036854775792] u[0,18446744073709551600] zeros 4 slot",
				"back":   "s[-9223372036854775808,9223372036854775807] u[0,18446744073709551615] zeros 0 generic",
				"either": "s[-9223372036854775808,9223372036854775807] u[0,18446744073709551615] zeros 0 generic",
			}},
		{"groups that a frontend promises", `
			%v = splat %n : (tile<i32>) -> tile<16xi32>
			%i = iota : tile<16xi32>
			%x = xori %v, %i : tile<16xi32>
			%a = assume %x {predicate = div_by<4, every 4 along 0>} : tile<16xi32>
			%b = assume %x {predicate = same_elements<[8]>} : tile<16xi32>
			%d = assume %x {predicate = div_by<64, every 12 along 0>} : tile<16xi32>`,
			map[string]string{
				"x": "s[-2147483648,2147483647] u[0,4294967295] zeros 0 contig[1] const[1] div[0]",
				"a": "s[-2147483648,2147483647] u[0,4294967295] zeros 0 contig[4] const[1] div[2]",
				"b": "s[-2147483648,2147483647] u[0,4294967295] zeros 0 contig[1] const[8] div[0]",
				"d": "s[-2147483648,2147483647] u[0,4294967295] zeros 0 contig[4] const[1] div[2]",
			}},
		{"a contradiction, which no defined execution has, tells nothing", `
			%a = assume %n {predicate = bounded<5, 6>} : tile<i32>
			%b = assume %a {predicate = div_by<16>} : tile<i32>`,
			map[string]string{"b": "s[-2147483648,2147483647] u[0,4294967295] zeros 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			f, ops := module(t, tt.body)
			for name, want := range tt.want {
				if ops[name] == nil {
					t.Fatalf("no value %%%s", name)
				}
				if got := f.Of(ops[name].Result(0)).String(); got != want {
					t.Errorf("%%%s is\n%s\nwant\n%s", name, got, want)
				}
			}
		})
	}
}

func TestAccessesOfBlocks(t *testing.T) {
	const head = `
			%pid = program_id {axis = 0} : tile<i32>
			%zero = constant <i32: 0> : tile<i32>
			%a = assume %q {predicate = div_by<16>} : tile<ptr<f16>>
			%n0 = assume %n {predicate = bounded<0, ?>} : tile<i32>
			%n16 = assume %n0 {predicate = div_by<16>} : tile<i32>
			%n64 = assume %n0 {predicate = div_by<64>} : tile<i32>
			%some = assume %n64 {predicate = bounded<64, ?>} : tile<i32>
	`
	tests := []struct {
		says, body         string
		inside             []bool
		vector, maskVector []int64
		narrow             bool
		bits               []int64
	}{
		{"a static array that the blocks cover exactly", `
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<128x256xf16, strides=[256,1]>
			%blk = block_tile %arr, indices(%pid, %zero) {traversal = [64, 64], dim_map = [0, 1]} : (memref<128x256xf16, strides=[256,1]>, tile<i32>, tile<i32>) -> block<64x64xf16>`,
			[]bool{true, true}, []int64{1, 8}, []int64{64, 64}, true, []int64{31, 31}},
		{"an extent of unknown size, but a multiple of 64 along the rows and of 16 along the columns", `
			%arr = make_memref %a, shape(%n64, %n16), strides(%n16) : (tile<ptr<f16>>, tile<i32>, tile<i32>, tile<i32>) -> memref<?x?xf16, strides=[?,1]>
			%blk = block_tile %arr, indices(%pid, %pid) {traversal = [64, 64], dim_map = [0, 1]} : (memref<?x?xf16, strides=[?,1]>, tile<i32>, tile<i32>) -> block<64x64xf16>`,
			[]bool{false, false}, []int64{1, 8}, []int64{64, 16}, false, []int64{31, 31}},
		{"the same where the array has rows", `
			%arr = make_memref %a, shape(%some, %n16), strides(%n16) : (tile<ptr<f16>>, tile<i32>, tile<i32>, tile<i32>) -> memref<?x?xf16, strides=[?,1]>
			%blk = block_tile %arr, indices(%pid, %pid) {traversal = [64, 64], dim_map = [0, 1]} : (memref<?x?xf16, strides=[?,1]>, tile<i32>, tile<i32>) -> block<64x64xf16>`,
			[]bool{true, false}, []int64{1, 8}, []int64{64, 16}, false, []int64{31, 31}},
		{"a row of an array that may have none: its index is trusted", `
			%arr = make_memref %a, shape(%n0) : (tile<ptr<f16>>, tile<i32>) -> memref<?x64xf16, strides=[64,1]>
			%blk = block_tile %arr, indices(%pid, %zero) {traversal = [1, 64], dim_map = [0, 1]} : (memref<?x64xf16, strides=[64,1]>, tile<i32>, tile<i32>) -> block<1x64xf16>`,
			[]bool{true, true}, []int64{1, 8}, []int64{1, 64}, false, []int64{31, 31}},
		{"an extent that may have its upper bit set", `
			%arr = make_memref %a, shape(%n) : (tile<ptr<f16>>, tile<i32>) -> memref<?xf16, strides=[1]>
			%blk = block_tile %arr, indices(%pid) {traversal = [256], dim_map = [0]} : (memref<?xf16, strides=[1]>, tile<i32>) -> block<256xf16>`,
			[]bool{false}, []int64{8}, []int64{1}, false, []int64{32}},
		{"an extent of 64 bits", `
			%many = exti %n {signedness = signed} : (tile<i32>) -> tile<i64>
			%arr = make_memref %a, shape(%many) : (tile<ptr<f16>>, tile<i64>) -> memref<?xf16, strides=[1]>
			%blk = block_tile %arr, indices(%pid) {traversal = [256], dim_map = [0]} : (memref<?xf16, strides=[1]>, tile<i32>) -> block<256xf16>`,
			[]bool{false}, []int64{8}, []int64{1}, false, []int64{64}},
		{"a piece that starts beyond the index space", `
			%arr = make_memref %a, shape(%n0) : (tile<ptr<f16>>, tile<i32>) -> memref<?xf16, strides=[1]>
			%blk = block_tile %arr, indices(%n) {traversal = [256], dim_map = [0], anywhere = [true]} : (memref<?xf16, strides=[1]>, tile<i32>) -> block<256xf16>`,
			[]bool{false}, []int64{8}, []int64{1}, false, []int64{32}},
		{"an offset beside rows", `
			%idx = iota : tile<8xi32>
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<8x256xf16, strides=[256,1]>
			%blk = block_tile %arr, indices(%idx, %n) {traversal = [1, 1], dim_map = [0, 1], sparse_dim = 0} : (memref<8x256xf16, strides=[256,1]>, tile<8xi32>, tile<i32>) -> block<8x64xf16>`,
			[]bool{true, false}, []int64{1, 1}, []int64{8, 1}, true, []int64{31, 32}},
		{"an odd extent", `
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<100x255xf16, strides=[256,1]>
			%blk = block_tile %arr, indices(%zero, %pid) {traversal = [64, 64], dim_map = [0, 1]} : (memref<100x255xf16, strides=[256,1]>, tile<i32>, tile<i32>) -> block<64x64xf16>`,
			[]bool{true, false}, []int64{1, 8}, []int64{64, 1}, true, []int64{31, 31}},
		{"the frontend's own promise", `
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<100x255xf16, strides=[255,1]>
			%blk = block_tile %arr, indices(%pid, %pid) {traversal = [64, 64], dim_map = [0, 1], inbounds = array<i1: false, true>} : (memref<100x255xf16, strides=[255,1]>, tile<i32>, tile<i32>) -> block<64x64xf16>`,
			[]bool{false, true}, []int64{1, 1}, []int64{4, 64}, true, []int64{31, 31}},
		{"a transposed block is contiguous along its first dimension", `
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<128x256xf16, strides=[256,1]>
			%blk = block_tile %arr, indices(%pid, %zero) {traversal = [32, 64], dim_map = [1, 0]} : (memref<128x256xf16, strides=[256,1]>, tile<i32>, tile<i32>) -> block<32x64xf16>`,
			[]bool{true, true}, []int64{8, 1}, []int64{32, 64}, true, []int64{31, 31}},
		{"blocks that overlap may stick out, and begin anywhere", `
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<256xf16, strides=[1]>
			%blk = block_tile %arr, indices(%pid) {traversal = [6], dim_map = [0]} : (memref<256xf16, strides=[1]>, tile<i32>) -> block<16xf16>`,
			[]bool{false}, []int64{2}, []int64{2}, true, []int64{31}},
		{"rows that an index tile names", `
			%idx = iota : tile<8xi32>
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<8x256xf16, strides=[256,1]>
			%blk = block_tile %arr, indices(%idx, %zero) {traversal = [1, 1], dim_map = [0, 1], sparse_dim = 0} : (memref<8x256xf16, strides=[256,1]>, tile<8xi32>, tile<i32>) -> block<8x64xf16>`,
			[]bool{true, true}, []int64{1, 8}, []int64{8, 64}, true, []int64{31, 31}},
		{"an array whose last byte is at 2^31 - 1", `
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<2x2xf16, strides=[1073741822,1]>
			%blk = block_tile %arr, indices(%zero, %zero) {traversal = [1, 1], dim_map = [0, 1]} : (memref<2x2xf16, strides=[1073741822,1]>, tile<i32>, tile<i32>) -> block<1x1xf16>`,
			[]bool{true, true}, []int64{1, 1}, []int64{1, 1}, true, []int64{31, 31}},
		{"an array whose last element is at 2^31", `
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<2x2xf16, strides=[1073741823,1]>
			%blk = block_tile %arr, indices(%zero, %zero) {traversal = [1, 1], dim_map = [0, 1]} : (memref<2x2xf16, strides=[1073741823,1]>, tile<i32>, tile<i32>) -> block<1x1xf16>`,
			[]bool{true, true}, []int64{1, 1}, []int64{1, 1}, false, []int64{31, 31}},
		{"an array of more than 2^31 bytes", `
			%arr = make_memref %a : (tile<ptr<f16>>) -> memref<32768x32769xf16, strides=[32769,1]>
			%blk = block_tile %arr, indices(%zero, %zero) {traversal = [1, 1], dim_map = [0, 1]} : (memref<32768x32769xf16, strides=[32769,1]>, tile<i32>, tile<i32>) -> block<1x1xf16>`,
			[]bool{true, true}, []int64{1, 1}, []int64{1, 1}, false, []int64{31, 31}},
		{"an array of four bytes, the last of them 2^31 after the first", `
			%bytes = assume %octets {predicate = div_by<16>} : tile<ptr<i8>>
			%arr = make_memref %bytes : (tile<ptr<i8>>) -> memref<2x2xi8, strides=[2147483647,1]>
			%blk = block_tile %arr, indices(%zero, %zero) {traversal = [1, 1], dim_map = [0, 1]} : (memref<2x2xi8, strides=[2147483647,1]>, tile<i32>, tile<i32>) -> block<1x1xi8>`,
			[]bool{true, true}, []int64{1, 1}, []int64{1, 1}, false, []int64{31, 31}},
		{"an array of four bytes, the last of them one less than 2^31 after the first", `
			%bytes = assume %octets {predicate = div_by<16>} : tile<ptr<i8>>
			%arr = make_memref %bytes : (tile<ptr<i8>>) -> memref<2x2xi8, strides=[2147483646,1]>
			%blk = block_tile %arr, indices(%zero, %zero) {traversal = [1, 1], dim_map = [0, 1]} : (memref<2x2xi8, strides=[2147483646,1]>, tile<i32>, tile<i32>) -> block<1x1xi8>`,
			[]bool{true, true}, []int64{1, 1}, []int64{1, 1}, true, []int64{31, 31}},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			f, ops := module(t, head+tt.body)
			blk := ir.Cast[tileaa.BlockTile](ops["blk"])
			for d := range tt.inside {
				if got := f.InBounds(blk, d); got != tt.inside[d] {
					t.Errorf("in bounds along %d: %v, want %v", d, got, tt.inside[d])
				}
				if got := f.BlockVector(blk, d); got != tt.vector[d] {
					t.Errorf("vector along %d: %d, want %d", d, got, tt.vector[d])
				}
				if got := f.BlockMaskVector(blk, d); got != tt.maskVector[d] {
					t.Errorf("mask vector along %d: %d, want %d", d, got, tt.maskVector[d])
				}
				if got := f.CoordinateBits(blk, d); got != tt.bits[d] {
					t.Errorf("coordinate bits along %d: %d, want %d", d, got, tt.bits[d])
				}
			}
			if got := f.NarrowBlock(blk); got != tt.narrow {
				t.Errorf("narrow: %v, want %v", got, tt.narrow)
			}
		})
	}
}

func TestTheArrayBoundsTheIndexOfABlock(t *testing.T) {
	const head = `
			%zero = constant <i32: 0> : tile<i32>
			%a = assume %q {predicate = div_by<16>} : tile<ptr<f16>>
			%n0 = assume %n {predicate = bounded<0, ?>} : tile<i32>
	`
	block := func(shape, index, more string) string {
		return `%arr = make_memref %a` + shape + `
			%blk = block_tile %arr, indices(` + index + `) {traversal = [128], dim_map = [0]` + more + `} : (memref<?xf16, strides=[1]>, tile<i32>) -> block<128xf16>`
	}
	const dynamic = `, shape(%n0) : (tile<ptr<f16>>, tile<i32>) -> memref<?xf16, strides=[1]>`
	for _, tt := range []struct {
		says, body string
		last       uint64
		ok         bool
	}{
		{"an extent below 2^31 has less than 2^24 blocks of 128", block(dynamic, "%n", ""), 1<<24 - 1, true},
		{"an array without elements has block 0", strings.ReplaceAll(block(` : (tile<ptr<f16>>) -> memref<0xf16, strides=[1]>`, "%n", ""), "memref<?x", "memref<0x"), 0, true},
		{"129 elements have blocks 0 and 1", strings.ReplaceAll(block(` : (tile<ptr<f16>>) -> memref<129xf16, strides=[1]>`, "%n", ""), "memref<?x", "memref<129x"), 1, true},
		{"the index says more itself", block(dynamic, "%zero", ""), 1<<24 - 1, false},
		{"a piece may lie anywhere", block(dynamic, "%n", ", anywhere = [true]"), 0, false},
	} {
		t.Run(tt.says, func(t *testing.T) {
			f, ops := module(t, head+tt.body)
			if last, ok := f.LastIndex(ir.Cast[tileaa.BlockTile](ops["blk"]), 0); last != tt.last || ok != tt.ok {
				t.Errorf("%d, %v; want %d, %v", last, ok, tt.last, tt.ok)
			}
		})
	}
}

func TestAnUnknownLoopNestSettlesQuickly(t *testing.T) {
	var b strings.Builder
	const depth = 8
	b.WriteString("%one = constant <i32: 1> : tile<i32>\n")
	v := "%n"
	for i := range depth {
		b.WriteString(strings.NewReplacer("$r", string(rune('A'+i)), "$v", v).Replace(
			"%$r = for %n, %m, %one, inits($v) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i$r: tile<i32>, %v$r: tile<i32>) {\n"))
		v = "%v" + string(rune('A'+i))
	}
	b.WriteString("%last = muli " + v + ", %one : tile<i32>\n")
	carry := "%last"
	for i := depth - 1; i >= 0; i-- {
		b.WriteString("continue " + carry + " : (tile<i32>)\n}\n")
		carry = "%" + string(rune('A'+i))
	}
	f, ops := module(t, b.String())
	if got := f.Of(ops["A"].Result(0)).String(); got != "s[-2147483648,2147483647] u[0,4294967295] zeros 0" {
		t.Errorf("the result of the nest is %s", got)
	}
}

// TestWhyPointersAreNotWider wants the first thing that keeps an access through pointers from taking 16 bytes at a time, and what its mask does.
func TestWhyPointersAreNotWider(t *testing.T) {
	const head = `
			%i = iota : tile<64xi32>
			%a = assume %p {predicate = div_by<16>} : tile<ptr<f32>>
			%s = splat %a : (tile<ptr<f32>>) -> tile<64xptr<f32>>
			%odd = splat %p : (tile<ptr<f32>>) -> tile<64xptr<f32>>
			%two = constant <i32: 2> : tile<64xi32>
			%one = constant <i32: 1> : tile<64xi32>
			%four = constant <i32: 4> : tile<64xi32>
			%eight = constant <i32: 8> : tile<64xi32>
			%ns = splat %n : (tile<i32>) -> tile<64xi32>
			%n8 = assume %n {predicate = div_by<8>} : tile<i32>
			%ns8 = splat %n8 : (tile<i32>) -> tile<64xi32>
			%half = divi %i, %two {signedness = unsigned} : tile<64xi32>
			%m1 = cmpi %i, %ns {predicate = less_than} : (tile<64xi32>, tile<64xi32>) -> tile<64xi1>
			%m2 = cmpi %half, %ns {predicate = less_than} : (tile<64xi32>, tile<64xi32>) -> tile<64xi1>
			%m8 = cmpi %i, %ns8 {predicate = less_than} : (tile<64xi32>, tile<64xi32>) -> tile<64xi1>
	`
	offset := func(base, index string) string {
		return "%r = offset %" + base + ", %" + index + " : (tile<64xptr<f32>>, tile<64xi32>) -> tile<64xptr<f32>>"
	}
	for _, c := range []struct{ says, body, mask, want string }{
		{"nothing", offset("s", "i"), "", ""},
		{"a mask of groups of 8", offset("s", "i"), "m8", ""},
		{"a mask of any length", offset("s", "i"), "m1", "the mask may change within 4 elements (it is known to be the same in groups of 1)"},
		{"a mask of pairs", offset("s", "i"), "m2", "the mask may change within 4 elements (it is known to be the same in groups of 2)"},
		{"a base of which nothing is known", offset("odd", "i"), "", "pointers not 16-byte aligned (known: 4)"},
		{"every second element", "%w = muli %i, %two : tile<64xi32>\n" + offset("s", "w"), "", "pointers along dimension 0 are not known to count up"},
		{"pairs", "%low = remi %i, %two {signedness = unsigned} : tile<64xi32>\n%pair = muli %half, %eight : tile<64xi32>\n%w = addi %pair, %low : tile<64xi32>\n" +
			offset("s", "w"), "", "pointers along dimension 0 count up in groups of 2"},
		{"one group that begins anywhere", "%w = addi %i, %one : tile<64xi32>\n" + offset("s", "w"), "", "pointers not 16-byte aligned (known: 4)"},
		{"groups of 4 that begin anywhere", "%low = remi %i, %four {signedness = unsigned} : tile<64xi32>\n%high = divi %i, %four {signedness = unsigned} : tile<64xi32>\n" +
			"%group = muli %high, %eight : tile<64xi32>\n%v = addi %group, %low : tile<64xi32>\n%w = addi %v, %one : tile<64xi32>\n" +
			offset("s", "w"), "", "pointers not 16-byte aligned (known: 4)"},
	} {
		f, ops := module(t, head+c.body)
		var mask *ir.Value
		if c.mask != "" {
			mask = ops[c.mask].Result(0)
		}
		if got := strings.Join(f.WhyPointersNotWider(ops["r"].Result(0), mask, 0, 4, 16), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.says, got, c.want)
		}
	}
}

// TestMaskEnds wants the comparisons that cut groups of neighbours of a mask at the end of an array, and nothing where something else may.
func TestMaskEnds(t *testing.T) {
	const head = `
			%i = iota : tile<64xi32>
			%ns = splat %n : (tile<i32>) -> tile<64xi32>
			%one = constant <i32: 1> : tile<64xi32>
			%two = constant <i32: 2> : tile<64xi32>
			%start = assume %m {predicate = div_by<64>} : tile<i32>
			%starts = splat %start : (tile<i32>) -> tile<64xi32>
			%anywhere = splat %m : (tile<i32>) -> tile<64xi32>
			%x = addi %starts, %i : tile<64xi32>
			%z = addi %anywhere, %i : tile<64xi32>
			%every = muli %i, %two : tile<64xi32>
			%less = cmpi %i, %ns {predicate = less_than} : (tile<64xi32>, tile<64xi32>) -> tile<64xi1>
			%more = cmpi %i, %ns {predicate = greater_than} : (tile<64xi32>, tile<64xi32>) -> tile<64xi1>
	`
	compare := func(a, word, b string) string {
		return "%r = cmpi %" + a + ", %" + b + " {predicate = " + word + "} : (tile<64xi32>, tile<64xi32>) -> tile<64xi1>"
	}
	for _, c := range []struct {
		says, body string
		dim        int
		want       string // lhs, rhs and what is between; none: refused
	}{
		{"an end", compare("i", "less_than", "ns"), 0, "i<ns"},
		{"an end that is the last place", compare("i", "less_than_or_equal", "ns"), 0, "i<=ns"},
		{"said the other way round", compare("ns", "greater_than", "i"), 0, "i<ns"},
		{"said the other way round, inclusive", compare("ns", "greater_than_or_equal", "i"), 0, "i<=ns"},
		{"a beginning", compare("i", "greater_than", "ns"), 0, ""},
		{"one place", compare("i", "equal", "ns"), 0, ""},
		{"every second place", compare("every", "less_than", "ns"), 0, ""},
		{"places that begin at a multiple", compare("x", "less_than", "ns"), 0, "x<ns"},
		{"places that may wrap", compare("z", "less_than", "ns"), 0, ""},
		{"an end that moves with the places", compare("i", "less_than", "x"), 0, ""},
		{"two ends", compare("i", "less_than", "ns") + "\n%last = andi %r, %less : tile<64xi1>", 0, "i<ns i<ns"},
		{"an end and a beginning", compare("i", "less_than", "ns") + "\n%last = andi %r, %more : tile<64xi1>", 0, ""},
		{"an end or another", compare("i", "less_than", "ns") + "\n%last = ori %r, %less : tile<64xi1>", 0, ""},
		{"columns", compare("i", "less_than", "ns") + "\n%turned = reshape %r : (tile<64xi1>) -> tile<1x64xi1>\n%last = broadcast %turned : (tile<1x64xi1>) -> tile<4x64xi1>", 1,
			"i<ns broadcast reshape"},
		{"rows, of which each is kept or not", compare("i", "less_than", "ns") +
			"\n%turned = reshape %r : (tile<64xi1>) -> tile<64x1xi1>\n%last = broadcast %turned : (tile<64x1xi1>) -> tile<64x64xi1>", 1, "whole"},
		{"elements counted through rows", compare("i", "less_than", "ns") + "\n%last = reshape %r : (tile<64xi1>) -> tile<8x8xi1>", 1, ""},
	} {
		f, ops := module(t, head+c.body)
		mask := ops["r"]
		if last := ops["last"]; last != nil {
			mask = last
		}
		names := map[*ir.Value]string{}
		for name, op := range ops { // each by itself: the order cannot matter
			if op.NumResults() > 0 {
				names[op.Result(0)] = name
			}
		}
		ends, ok := f.MaskEnds(mask.Result(0), c.dim, 8)
		var got []string
		for _, e := range ends {
			less := "<"
			if e.Inclusive {
				less = "<="
			}
			got = append(got, names[e.Lhs]+less+names[e.Rhs])
			for _, v := range e.Via {
				got = append(got, strings.TrimPrefix(v.Name(), "tileaa."))
			}
		}
		text := strings.Join(got, " ")
		if ok && len(ends) == 0 {
			text = "whole"
		}
		if !ok {
			text = ""
		}
		if text != c.want {
			t.Errorf("%s: %q, want %q", c.says, text, c.want)
		}
	}
}
