package target

import "strconv"

const (
	kb = 1024
	// Everything since sm_75 has these (CUDA programming guide, "Technical
	// specifications per compute capability").
	registersPerSM     = 65536
	registersPerThread = 255
	sharedStatic       = 48 * kb
)

// ThreadsPerBlock is the most threads of a block, on every GPU.
const ThreadsPerBlock = 1024

// MostMapDims is the most dimensions of a tensor map (PTX ISA, "Tensor Dimension, size and format").
const MostMapDims = 5

// rows is the table of GPUs. Sources: PTX ISA, directive `.target` (versions);
// CUDA programming guide, technical specifications per compute capability
// (warps, blocks, shared memory); shared opt-in sizes are those ptxas enforces.
// A thread block can have all of the multiprocessor's shared memory but 1 KB,
// which the system keeps. Products are those of the data sheets by multiprocessor and clock
// (on GPUs with a bigger unit than a warp can use, what microbenchmarks find). The rate of DRAM and the size of the second-level
// cache are those of one card by multiprocessors and clock: T4, A100 of 80 GB, RTX 3090, AGX Orin, RTX 4090, H100 SXM, B200, T5000, RTX 5090, GB10;
// what no data sheet says is the nearest relative's.
// cards says which GPUs people mean by name (NVIDIA's list of GPUs by compute
// capability, developer.nvidia.com/cuda-gpus): beginnings of
// names, separated by commas, in lower case, without blanks.
var rows = [...]Target{
	//            .target  suffix   has                              opt-in  per SM  warps blocks cluster products DRAM L2 cards
	row(75, V(6, 3), 0, none, 64*kb, 64*kb, 32, 16, 1, 512, 503, 102*kb, "t4,rtx2060,rtx2070,rtx2080,gtx1650,gtx1660,titanrtx,quadrortx,turing"),
	row(80, V(7, 0), 0, none, 163*kb, 164*kb, 64, 32, 1, 1024, 1339, 379*kb, "a30,a100,a800,ampere"),
	row(86, V(7, 1), 0, none, 99*kb, 100*kb, 48, 16, 1, 512, 673, 75*kb, "rtx3050,rtx3060,rtx3070,rtx3080,rtx3090,a2,a10,a10g,a16,a40,rtxa2000,rtxa4000,rtxa4500,rtxa5000,rtxa5500,rtxa6000,a2000,a4000,a4500,a5000,a6000"),
	row(87, V(7, 4), 0, none, 163*kb, 164*kb, 48, 16, 1, 1024, 985, 256*kb, "orin,jetsonorin,agxorin"),
	row(88, V(9, 0), 0, none, 99*kb, 100*kb, 48, 16, 1, 512, 673, 75*kb, ""),
	row(89, V(7, 8), 0, Float8, 99*kb, 100*kb, 48, 24, 1, 512, 313, 576*kb, "rtx4050,rtx4060,rtx4070,rtx4080,rtx4090,l4,l40,l40s,l20,l2,rtx6000ada,rtx5880ada,rtx5000ada,rtx4500ada,rtx4000ada,rtx2000ada,ada,lovelace"),
	row(90, V(7, 8), V(8, 0), WGMMA|TensorMaps, 227*kb, 228*kb, 64, 32, 8, 1280, 1446, 388*kb, "h100,h200,h800,h20,gh200,hopper"),
	row(100, V(8, 6), V(8, 6), Tcgen05|Tcgen05Int8|FP4|FloatRedux|TensorMaps|FloatPairs|FloatThree, 227*kb, 228*kb, 64, 32, 8, 1024, 2922, 872*kb, "b200,gb200,b100,blackwell"),
	row(103, V(8, 8), V(8, 8), Tcgen05|FP4|FloatRedux|TensorMaps|FloatPairs|FloatThree, 227*kb, 228*kb, 64, 32, 8, 1024, 2922, 872*kb, "b300,gb300"),
	row(107, V(9, 4), V(9, 4), Tcgen05|FP4|FloatRedux|TensorMaps|FloatPairs|FloatThree, 327*kb, 328*kb, 64, 32, 8, 1024, 2922, 872*kb, ""),
	row(110, V(9, 0), V(9, 0), Tcgen05|Tcgen05Int8|FP4|TensorMaps|FloatThree, 227*kb, 228*kb, 48, 24, 8, 1024, 869, 512*kb, "t5000,t4000,jetsonthor,thor"),
	row(120, V(8, 7), V(8, 7), BlockScale|FP4|TensorMaps|Float8, 99*kb, 100*kb, 48, 24, 8, 512, 437, 578*kb, "rtx5050,rtx5060,rtx5070,rtx5080,rtx5090,rtxpro,blackwellrtx"),
	row(121, V(8, 8), V(8, 8), BlockScale|FP4|TensorMaps|Float8, 99*kb, 100*kb, 48, 24, 8, 512, 237, 512*kb, "gb10,dgxspark"),
}

// tooOld are cards that no row serves, so that a message can say why.
var tooOld = []Target{
	{Number: 60, cards: "p100,pascal"}, {Number: 61, cards: "gtx1050,gtx1060,gtx1070,gtx1080,p4,p40,titanxp"},
	{Number: 70, cards: "v100,titanv,volta"}, {Number: 72, cards: "xavier"},
}

// Family is a set of families of instructions that a GPU has or has not, whatever
// older ones have: every row answers for each. Those that a [Need] asks for exist
// under the suffixed name of the target only.
type Family uint16

const (
	WGMMA       Family = 1 << iota // products of a warpgroup
	Tcgen05                        // products with accumulators in tensor memory
	BlockScale                     // products of one warp with block scales, and of 6 and 4 bits
	FP4                            // conversions from and to e2m1 and ue8m0
	FloatRedux                     // minimum and maximum of floats over a warp in one instruction
	Float8                         // a unit for products of 8-bit floats of one warp; elsewhere ptxas writes them out as products of f16
	Tcgen05Int8                    // those of integers
	FloatPairs                     // two f32 at a time are added and multiplied; elsewhere ptxas takes the pairs apart
	TensorMaps                     // kernels make the tensor maps of their bulk copies
	FloatThree                     // the largest of three f32: ptxas makes one instruction of two

	none Family = 0
)

// describedShared is how much of a block's shared memory matrix descriptors reach: their addresses have 18 bits (PTX ISA, "Matrix Descriptor"), and the first
// kilobyte is the system's. No block asks for more, so that every buffer lies where products find it.
const describedShared = 255 * kb

func row(number int, ptx, suffixed PTX, has Family, optIn, perSM, warps, blocks, cluster, products, dram, l2 int, cards string) Target {
	return Target{
		Name: "sm_" + strconv.Itoa(number), Number: number, PTX: ptx, Arch: suffixed != 0, ArchPTX: suffixed, Families: has,
		SharedStatic: sharedStatic, SharedOptIn: min(optIn, describedShared), SharedPerSM: perSM,
		Registers: registersPerSM, RegistersPerThread: registersPerThread,
		WarpsPerSM: warps, BlocksPerSM: blocks, ClusterMax: cluster, Products: products, DRAM: dram, L2: l2,
		cards: cards,
	}
}

func init() {
	for i := range rows {
		All = append(All, &rows[i])
	}
}

// ByGroup are the families whose products are of groups of warps, or of the tensor unit: they read factors in shared memory.
const ByGroup = WGMMA | Tcgen05

// What all GPUs from one on have and passes ask for; its instructions (codegen/ptxop) need it.
var (
	CpAsync = Need{SM: 80, PTX: V(7, 0)} // asynchronous copies of 4, 8 or 16 bytes from global to shared memory
	Bulk    = Need{SM: 90, PTX: V(8, 0)} // copies by tensor maps, and mbarriers that count their bytes
)
