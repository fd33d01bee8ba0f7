package tileaa

import (
	"strings"
	"testing"

	"tileiras/ir"
)

const (
	fourInts   = "buffer<4xi32, #tileaa.mem<{offset=[[1],[2]]} : 4>>"
	fourFloats = "buffer<4xf32, #tileaa.mem<{offset=[[1],[2]]} : 4>>"
	twoRows    = "buffer<8x8xf32, #tileaa.mem<{offset=[[0,1],[0,2],[0,4],[1,0],[2,0],[4,0]]} : 8x8>>"
	turned     = "buffer<8x8xf32, #tileaa.mem<{offset=[[1,0],[0,1],[2,0],[0,2],[4,0],[0,4]]} : 8x8>>"
	squares    = "#tileaa.layout<{reg=[[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[]} : 8x8>"
	line       = "#tileaa.layout<{reg=[], lane=[[1],[2],[4],[0],[0]], warp=[]} : 8>"
	backwards  = "#tileaa.layout<{reg=[], lane=[[4],[2],[1],[0],[0]], warp=[]} : 8>"

	shared    = "%s = alloc_shared : " + fourInts + "\n"
	ring      = "%r = alloc_ring : ring<2, " + fourInts + ">\n"
	array     = "%a = make_memref %p : (tile<ptr<f32>>) -> memref<16x16xf32, strides=[16,1]>\n"
	arrayType = "memref<16x16xf32, strides=[16,1]>"
	blockOf   = "%b = block_tile %a, indices(%x, %x) {traversal = [8, 8], dim_map = [0, 1]} : (memref<16x16xf32, strides=[16,1]>, tile<i32>, tile<i32>) -> block<8x8xf32>\n"
	toFill    = array + blockOf + "%s = alloc_shared : " + twoRows + "\n%maps = alloc_maps : map_memory<1>\n"
	eights    = "tensor_map %a, %maps {map = 0, dims = [1, 0], box = [8, 8], swizzle = 0} : (memref<16x16xf32, strides=[16,1]>, map_memory<1>)\n"
)

// mapped is a copy by map 0, with further attributes.
func mapped(buffer, attrs string) string {
	return "%t = async_copy %b, %s, maps(%maps) {layout = " + squares + ", map = 0" + attrs + "} : (block<8x8xf32>, " + buffer + ", map_memory<1>) -> token"
}

// map0 makes a tensor map of a memref type.
func map0(memref, attrs string) string {
	return "%a = make_memref %p : (tile<ptr<f32>>) -> " + memref + "\n%maps = alloc_maps : map_memory<1>\ntensor_map %a, %maps {" + attrs + "} : (" + memref + ", map_memory<1>)"
}

// block makes a block of the array.
func block(attrs, result string) string {
	return array + "%b = block_tile %a, indices(%x, %x) {" + attrs + "} : (" + arrayType + ", tile<i32>, tile<i32>) -> " + result
}

// reduce reduces the ints.
func reduce(attrs, result, args, yield string) string {
	return "%0 = reduce %v attributes {" + attrs + "} : (tile<8xi32>) -> " + result + " (" + args + ") {\n" + yield + "\n}"
}

var refusals = []struct{ body, want string }{
	// Elements and shapes.
	{"%0 = bitcast %x : (tile<i32>) -> tile<i64>", "needs elements of equal width"},
	{"%0 = pack %v : (tile<8xi32>) -> tile<8xi8>", "needs rank-1 tiles of as many bits, bytes as result"},
	{"%0 = unpack %v : (tile<8xi32>) -> tile<8xi32>", "needs rank-1 tiles of as many bits, bytes as source"},
	{"%0 = reshape %v : (tile<8xi32>) -> tile<8xf32>", "needs shapes that fit and one element type"},
	{"%0 = broadcast %v : (tile<8xi32>) -> tile<16xi32>", "needs shapes that fit and one element type"},
	{"%0 = insert %vf, %v, indices(%x) : (tile<8xf32>, tile<8xi32>, tile<i32>) -> tile<8xi32>",
		"needs a result like the destination and a source whose dimensions divide it, with one slice number for each"},
	{"%0 = cat %v, %vf {dim = 0} : (tile<8xi32>, tile<8xf32>) -> tile<16xi32>", "needs tiles of one rank and element type"},
	{"%0 = cat %m, %m {dim = 0} : (tile<4x8xf32>, tile<4x8xf32>) -> tile<8x16xf32>", "needs equal dimensions but for the one along which it concatenates"},
	{"%0 = select %c, %v, %v : (tile<i1>, tile<8xi32>, tile<8xi32>) -> tile<8xi32>", "failed to verify that all of {cond, result} have same shape"},
	{"%0 = splat %x : (tile<i32>) -> tile<8xf32>", "failed to verify that all of {source, result} have the same element type"},
	{"%0 = offset %p, %x : (tile<ptr<f32>>, tile<i32>) -> tile<ptr<i32>>", "failed to verify that all of {ptr, result} have same type"},

	// Memory and the grid.
	{"%0 = program_id {axis = 3} : tile<i32>", "axis 3 is not one of the grid's 3"},
	{"%0, %1 = load %vp, mask(%vc), padding(%v) : (tile<8xptr<f32>>, tile<8xi1>, tile<8xi32>) -> (tile<8xf32>, token)", "needs padding like the result"},
	{"%0 = alloca {num_elem = 0, alignment = 4} : tile<ptr<f32>>", "needs at least one element, and a power of two as alignment"},
	{"%0 = alloca {num_elem = 4, alignment = 3} : tile<ptr<f32>>", "needs at least one element, and a power of two as alignment"},
	{block("traversal = [8, 8], dim_map = [0, 1]", "block<8x8xi32>"), "makes a block of the elements of a memref"},
	{block("traversal = [8, 8], dim_map = [0, 1], inbounds = [true]", "block<8x8xf32>"), "needs one inbounds flag for each dimension of the block"},
	{block("traversal = [8, 8], dim_map = [0, 1], sparse_dim = 2", "block<8x8xf32>"), "needs a sparse dimension that the block has"},
	{block("traversal = [8, 0], dim_map = [0, 1]", "block<8x8xf32>"), "needs positive traversal strides"},
	{block("traversal = [8, 8], dim_map = [0, 1], sparse_dim = 0", "block<8x8xf32>"), "needs rank-0 integers as indices, and a tile of coordinates along the sparse dimension"},

	// Shared memory.
	{shared + "buffer_store %v, %s : (tile<8xi32>, " + fourInts + ")", "needs a tile of the shape and elements of the buffer"},
	{shared + "%0 = buffer_extract %s, indices(%x) : (" + fourInts + ", tile<i32>) -> tile<8xi32>",
		"needs a tile of the buffer's elements whose dimensions divide it, with one slice number for each"},
	{shared + "buffer_store_slice %vf, %s, indices(%x) : (tile<8xf32>, " + fourInts + ", tile<i32>)",
		"needs a tile of the buffer's elements whose dimensions those of the buffer divide, with one slice number for each"},
	{shared + "%0 = buffer_view %s : (" + fourInts + ") -> " + fourFloats, "needs a buffer of the same elements, as many"},
	{ring + "%0 = ring_slot %r, %x {ahead = 0} : (ring<2, " + fourInts + ">, tile<i32>) -> " + fourFloats, "needs a result like the buffers of the ring"},
	{ring + "%0 = ring_slot %r, %x {ahead = 2} : (ring<2, " + fourInts + ">, tile<i32>) -> " + fourInts, "slot 2 ahead is not one of 2"},
	{"%0 = ring_next %x {slots = 0} : tile<i32>", "needs 1 to 65536 slots"},
	{"%0 = ring_next %x {slots = 4294967297} : tile<i32>", "needs 1 to 65536 slots"},
	{array + blockOf + shared + "%t = async_copy %b, %s {layout = " + squares + "} : (block<8x8xf32>, " + fourInts + ") -> token", "needs a buffer of the shape and elements of the block"},
	{"async_wait {pending = -1}", "waits until -1 groups are pending, which is no number of groups"},
	{"async_wait {pending = 4294967297}", "waits until 4294967297 groups are pending, which is no number of groups"},
	{"dot_wait {pending = -1}", "waits until -1 products are pending, which is no number of products"},
	{"barrier {id = 16}", "barrier 16 is not one of 16"},
	{"barrier {id = 1, threads = 33}", "33 threads are no whole warps"},
	{"%q = splat %p : (tile<ptr<f32>>) -> tile<8xptr<f32>, " + line + ">\n%b = pointer_block %q : (tile<8xptr<f32>, " + line + ">) -> block<8xf32>\n" +
		"%s = alloc_shared : buffer<8xf32, #tileaa.mem<{offset=[[1],[2],[4]]} : 8>>\n" +
		"%t = async_copy %b, %s {layout = " + backwards + "} : (block<8xf32>, buffer<8xf32, #tileaa.mem<{offset=[[1],[2],[4]]} : 8>>) -> token", "needs pointers in the layout of the copy"},

	// Tensor maps.
	{"%m0 = alloc_maps : map_memory<1>\n%m1 = alloc_maps : map_memory<1>", "is the second one of its kernel"},
	{map0(arrayType, "map = 0, dims = [1, 1], box = [8, 8], swizzle = 0"), "has dimensions [1 1], which are not those of an array of rank 2"},
	{map0(arrayType, "map = 1, dims = [1, 0], box = [8, 8], swizzle = 0"), "makes map 1 of 1"},
	{map0(arrayType, "map = 0, dims = [1], box = [8], swizzle = 0"), "has 1 dimensions of an array of rank 2, and a map has at most 5"},
	{map0(arrayType, "map = 0, dims = [1, 0], box = [8, 257], swizzle = 0"), "has a box of [8 257] elements, where each of 2 dimensions has 1 to 256"},
	{map0(arrayType, "map = 0, dims = [0, 1], box = [8, 8], swizzle = 0"), "begins with dimension 0, along which elements are no neighbours"},
	{map0(arrayType, "map = 0, dims = [1, 0], box = [8, 8], swizzle = 5"), "has a swizzle of 5 bytes"},
	{map0(arrayType, "map = 0, dims = [1, 0], box = [2, 8], swizzle = 0"), "has a box whose rows are no multiple of 16 bytes"},
	{toFill + mapped(twoRows, ", coordinate_bits = [31, 31]"), "takes a tensor map that nobody makes"},
	{toFill + eights + mapped(twoRows, ""), "takes a tensor map, and its coordinates do not fit 31 bits"},
	{toFill + eights + mapped(twoRows, ", coordinate_bits = [31, 32]"), "takes a tensor map, and its coordinates do not fit 31 bits"},
	{toFill + "%o = alloc_shared : " + turned + "\n" + eights + "%t = async_copy %b, %o, maps(%maps) {layout = " + squares + ", map = 0} : (block<8x8xf32>, " + turned + ", map_memory<1>) -> token",
		"takes a tensor map, and no boxes fill its buffer"},
	{toFill + "%q = offset %p, %x : (tile<ptr<f32>>, tile<i32>) -> tile<ptr<f32>>\n%o = make_memref %q : (tile<ptr<f32>>) -> " + arrayType +
		"\ntensor_map %o, %maps {map = 0, dims = [1, 0], box = [8, 8], swizzle = 0} : (" + arrayType + ", map_memory<1>)\n" + mapped(twoRows, ", coordinate_bits = [31, 31]"),
		"takes a tensor map of another array"},
	{toFill + "tensor_map %a, %maps {map = 0, dims = [1, 0], box = [8, 4], swizzle = 0} : (" + arrayType + ", map_memory<1>)\n" + mapped(twoRows, ", coordinate_bits = [31, 31]"),
		"takes a tensor map of boxes [8 4] with a swizzle of 0, and its buffer has boxes [8 8] with one of 0"},

	// Products.
	{"%0 = dot %m, %m, %m : (tile<4x8xf32>, tile<4x8xf32>, tile<4x8xf32>) -> tile<8xf32>", "needs a result like the accumulator"},
	{"%0 = dot %vf, %vf, %vf : (tile<8xf32>, tile<8xf32>, tile<8xf32>) -> tile<8xf32>", "needs tiles of rank 2 or 3"},
	{dotOf(", depths = [0, 16]", "", ""), "needs depths [from, to] within K"},
	{dotOf(", depths = [4, 4]", "", ""), "needs depths [from, to] within K"},
	{dotOf("", ", lhs_scale(%m)", ", tile<4x8xf32>"), "needs scales of both factors or of none"},
	{"%s = splat %f : (tile<f32>) -> tile<4x16xf32>\n%t = splat %f : (tile<f32>) -> tile<16x8xf32>\n" + dotOf("", ", lhs_scale(%s), rhs_scale(%t)", ", tile<4x16xf32>, tile<16x8xf32>"),
		"needs scales of shapes MxS and SxN, S a part of K"},
	{dotOf(", in_flight", "", ""), "is in flight, which only products of groups of warps can be, that read both factors in shared memory or are waited for in their block"},
	{batched("tile<2x4x4xf32>", "tile<4x4x4xf32>"), "needs shapes MxK, KxN and MxN"},
	{"%k = factor_store %m : (tile<4x8xf32>) -> tile<4x8xf32>\n%r = splat %f : (tile<f32>) -> tile<8x8xf32>\n%0 = dot %k, %r, %m : (tile<4x8xf32>, tile<8x8xf32>, tile<4x8xf32>) -> tile<4x8xf32>",
		"is for left factors of products of the tensor unit"},

	// Reductions.
	{"%0, %1 = reduce %v attributes {dim = 0, identities = [0 : i32]} : (tile<8xi32>) -> (tile<i32>, tile<i32>) (%e: tile<i32>, %acc: tile<i32>) {\nyield %e : (tile<i32>)\n}",
		"needs one result for each operand"},
	{reduce("dim = 0, identities = []", "tile<i32>", "%e: tile<i32>, %acc: tile<i32>", "yield %e : (tile<i32>)"), "needs one identity for each operand"},
	{reduce("dim = 0, identities = [0 : i32, 0 : i32]", "tile<i32>", "%e: tile<i32>, %acc: tile<i32>", "yield %e : (tile<i32>)"), "needs one identity for each operand"},
	{reduce("dim = 0, identities = [0 : i32]", "tile<i32>", "%e: tile<i32>", "yield %e : (tile<i32>)"), "needs a region with two arguments and one yielded value for each operand"},
	{reduce("dim = 0, identities = [0 : i32]", "tile<f32>", "%e: tile<i32>, %acc: tile<i32>", "yield %e : (tile<i32>)"), "needs operands of one shape, and results of their element types"},
	{reduce("dim = 0, identities = [0 : i32]", "tile<i32>", "%e: tile<f32>, %acc: tile<f32>", "yield %e : (tile<f32>)"), "needs a region of rank-0 tiles of the operands' elements"},

	// Control flow.
	{"for %x, %x, %x : (tile<i32>, tile<i32>, tile<i32>) -> () (%i: tile<i64>) {\ncontinue\n}",
		"needs a body whose arguments are the induction variable and the carried values, and results like these"},
	{"for %x, %x, %x : (tile<i32>, tile<i32>, tile<i32>) -> () (%i: tile<i32>) {\nreturn\n}", "needs a body that ends in continue"},
	{"loop inits(%x) : (tile<i32>) -> () (%a: tile<f32>) {\nbreak\n}", "needs a body whose arguments are the carried values"},
	{"if %c : (tile<i1>) -> () {\n%0 = iota : tile<8xi32>\n}", "needs branches that end in a terminator"},
	{"%0 = if %c : (tile<i1>) -> tile<i32> {\nyield %f : (tile<f32>)\n} else {\nyield %x : (tile<i32>)\n}", "needs branches that yield values of the types of the results"},
	{"if %c : (tile<i1>) -> () {\nroles {\nyield\n}\nyield\n}", "must be in the block of an entry"},
}

// dotOf is a dot of 4x8 and 8x8, whose attributes begin with a comma.
func dotOf(attrs, operands, types string) string {
	return "%r = splat %f : (tile<f32>) -> tile<8x8xf32>\n%0 = dot %m, %r, %m" + operands + " {fast_acc" + attrs + "} : (tile<4x8xf32>, tile<8x8xf32>, tile<4x8xf32>" + types + ") -> tile<4x8xf32>"
}

// batched is a product of factors of one type that adds to another.
func batched(factor, acc string) string {
	return "%l = splat %f : (tile<f32>) -> " + factor + "\n%a = splat %f : (tile<f32>) -> " + acc + "\n%0 = dot %l, %l, %a : (" + factor + ", " + factor + ", " + acc + ") -> " + acc
}

func TestVerifierSaysWhatIsWrongWithEachKindOfOp(t *testing.T) {
	for _, tt := range refusals {
		refused(t, tt.body, tt.want)
	}
}

// No text has a constant of another type than its result, or of other bytes than its type has.
func TestConstantsHaveTheirType(t *testing.T) {
	for want, change := range map[string]func(c *ir.Context, d *ir.DenseAttr){
		"needs a value of the type of the result":  func(c *ir.Context, d *ir.DenseAttr) { d.Type = Tile(c, c.Int(64), 8) },
		"needs as many bytes as its elements have": func(c *ir.Context, d *ir.DenseAttr) { d.Data = append(d.Data, 0) },
	} {
		c := ir.NewContext(Dialect)
		m, err := ir.Parse(c, "test", []byte(kernel("", "%0 = constant <i32: 1> : tile<8xi32>")))
		if err != nil {
			t.Fatal(err)
		}
		change(c, ir.Cast[Constant](m.Body().First().Body().First()).Value())
		if ir.Verify(c, m) || !strings.Contains(c.Diags.String(), want) {
			t.Errorf("got %s, want %q", c.Diags.String(), want)
		}
	}
}
