package perfsmall_test

// kind says how the kernels of one "op" of bench.json are made small: which extents their arrays have, which of them make the
// grid, and at which sizes they run. It knows nothing of single kernels: tile extents come from the module itself.
//
// An array is described by the dimensions of the tiles that the kernel takes from it, in the tile's order (the view's dimension
// map puts them in the array's order): a letter, a letter divided by a number, or a number. "aa*" are the arrays whose addresses
// stand in the table aa.
//
// A size gives every letter a value, "M=2-16" in tiles plus or minus elements or "R:16" in elements. Several values with commas
// between are those of the arrays of a table, in turn. Extents that the front end promised to be divisible by 16 stay so.
// Sizes that begin with "*" run always, the others with TILEIRAS_PERF_SMALL=1.
type kind struct {
	op     string
	arrays map[string]string
	grid   [3]string         // letters whose numbers of tiles multiply to the extent of the grid; "" is 1
	most   [3]int            // tile blocks launched at most on an axis; 0: no limit
	blocks int               // of persistent launches
	below  map[string]string // integer arrays: their values are below this letter
	adds   bool              // the kernel adds to its result, which must start as zero
	powers string            // arrays that must hold powers of two
	sizes  []string
}

// products of K steps: none, one, an even and an odd number of steps; then ragged ends of each side.
var productSizes = []string{
	"M=1 N=1 K=0", "*M=1 N=1 K=1", "M=1 N=1 K=2", "*M=1 N=1 K=3", "M=1 N=1 K=5", "M=1 N=1 K=7", "M=2 N=2 K=1",
	"*M=1-16 N=1-16 K=1+16", "M=1+16 N=1-16 K=2-16", "M=1-32 N=1+32 K=0+16", "M=1+16 N=1+16 K=1-16",
}

var kinds = []kind{{
	op:     "gemm",
	arrays: map[string]string{"a": "M K", "b": "K N", "c": "M N"},
	grid:   [3]string{"M N"}, blocks: 3,
	sizes: productSizes,
}, {
	op:     "gemm_scaled",
	arrays: map[string]string{"a": "M K", "sa": "M K/32", "b": "K N", "sb": "K/32 N", "c": "M N"},
	grid:   [3]string{"M N"}, powers: "sa sb",
	sizes: []string{"M=1 N=1 K=0", "*M=1 N=1 K=4", "M=1-16 N=1-16 K=8", "M=1+16 N=1+16 K=4"}, // K/32 too is divisible by 16
}, {
	op:     "group_gemm",
	arrays: map[string]string{"aa*": "M K", "bb*": "K N", "cc*": "M N"},
	blocks: 3,
	sizes: []string{
		"*M=1,1-3,1,1-64,1,1,1,1 N=1,1,1-64,1-8,1,1,1-128,1 K=0,1,2,3,1-8,1+8,1,2",
		"M=1 N=1 K=5,7,0,1,0,2,0,3", "M=2,1 N=1,2 K=1",
	},
}, {
	op:     "attention",
	arrays: map[string]string{"q": "B H Q D", "k": "B H D S", "v": "B H S D", "out": "B H Q D"},
	grid:   [3]string{"Q", "B H"}, most: [3]int{4, 1},
	sizes: []string{
		"B:1 H:16 D=1 Q=1 S=0", "*B:1 H:16 D=1 Q=1 S=1", "B:1 H:16 D=1 Q=2 S=2", "*B:1 H:16 D=1 Q=2 S=3", "B:1 H:16 D=1 Q=3 S=5",
		"B:1 H:16 D=1 Q=4 S=7", "B:1 H:16 D=1 Q=1+16 S=2", "B:2 H:16 D=1 Q=1-48 S=1",
	},
}, {
	op:     "softmax",
	arrays: map[string]string{"x": "R C", "out": "R C"},
	blocks: 3,
	sizes:  []string{"R:0 C=1", "*R:16 C=1", "*R:16 C=1-16", "R:16 C=0+16", "R:32 C=1-1024"},
}, {
	op:     "layernorm",
	arrays: map[string]string{"x": "R N", "w": "N", "b": "N", "out": "R N"},
	grid:   [3]string{"R"}, most: [3]int{2},
	sizes: []string{
		"R:16 N=0", "*R:16 N=1", "R:16 N=2", "*R:16 N=3", "R:16 N=4", "*R:16 N=5", "R:16 N=7", "*R:16 N=1+16", "R:16 N=2-16", "R:16 N=4+16",
		"R:16 N=8-16", "R:16 N=0+16",
	},
}, {
	op:     "rmsnorm",
	arrays: map[string]string{"x": "R N", "w": "N", "out": "R N"},
	grid:   [3]string{"R"}, most: [3]int{2},
	sizes: []string{"*R:16 N=1", "*R:16 N=1-16", "R:16 N=0+16", "R:16 N=0+1024"},
}, {
	op:     "vecadd",
	arrays: map[string]string{"a": "N", "b": "N", "c": "N"},
	grid:   [3]string{"N"},
	sizes:  []string{"N=0+16", "*N=1", "N=2", "*N=2+16", "N=3-16", "N=4"},
}, {
	op:     "transpose",
	arrays: map[string]string{"x": "M N", "out": "N M"},
	grid:   [3]string{"M", "N"},
	sizes:  []string{"*M=1 N=1", "M=2 N=2", "*M=1+16 N=2-16", "M=0+16 N=1-16"},
}, {
	op:     "sum",
	arrays: map[string]string{"x": "N", "out": "1"},
	blocks: 2, adds: true,
	sizes: []string{"N=0", "N=1", "*N=2", "*N=3", "N=5-16", "N=10", "N=7+16"},
}, {
	op:     "row_max",
	arrays: map[string]string{"x": "R N", "out": "R"},
	grid:   [3]string{"R"}, most: [3]int{2},
	sizes: []string{"R:16 N=0", "*R:16 N=1", "R:16 N=2", "*R:16 N=3-16", "R:16 N=5", "R:16 N=7", "R:16 N=0+16"},
}, {
	op:     "rope",
	arrays: map[string]string{"x": "P 32 128", "cos": "P 64", "sin": "P 64", "out": "P 32 128"},
	grid:   [3]string{"P"}, most: [3]int{3},
	sizes: []string{"*P:16"},
}, {
	op:     "gather_rows",
	arrays: map[string]string{"table": "R C", "ids": "I", "out": "I C"},
	grid:   [3]string{"I", "C"}, most: [3]int{2, 2},
	below: map[string]string{"ids": "R"},
	sizes: []string{"*R:96 I:64 C=1", "R:96 I:128 C=2", "*R:16 I:64 C=1+16", "R:48 I:128 C=2-16"},
}}

// mustCompile are the kernels without which the compiler is not one: the test fails when one of them does not compile for sm_80.
var mustCompile = []string{
	"attention_f16_d128_128x128", "attention_f16_d128_128x64", "attention_f16_d128_causal_128x128", "attention_f16_d128_causal_128x64",
	"attention_f16_d64_128x128", "attention_f16_d64_128x64", "attention_f16_d64_causal_128x128", "attention_f16_d64_causal_128x64",
	"gemm_bf16_4096_128x128x32", "gemm_bf16_4096_128x256x64", "gemm_bf16_4096_128x256x64_nt", "gemm_bf16_8192_128x128x64",
	"gemm_bf16_8192_128x256x64", "gemm_bf16_8192_128x256x64_persistent", "gemm_bf16_8192_256x256x64_2cta",
	"gemm_f16_4096_128x128x64", "gemm_f16_4096_128x128x64_persistent", "gemm_f16_4096_128x256x64",
	"layernorm_bf16_8192x4096", "softmax_f32_8192x4096", "vecadd_bf16_64m", "vecadd_f32_64m",
}
