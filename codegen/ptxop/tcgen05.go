package ptxop

import (
	"strconv"

	"tileiras/codegen/target"
)

// TensorProduct is a row of the table of products D = A*B + C of a multiprocessor's tensor unit, which one thread issues for its block (PTX ISA,
// "tcgen05.mma"). A and B are in shared memory, given by descriptors, D is in tensor memory, one row per lane; A may be there, too. M, one of TensorHeights,
// N and the types are fields of the instruction descriptor. Scales are in tensor memory, see ScaleBlock.
type TensorProduct struct {
	Kind string
	K    int
	D    string
	A, B []string
	Rate int // as that of Product, with all lanes
	Need target.Need
	Scaled
}

// TensorHeight is an M of products of the tensor unit, and the shape of the tcgen05.ld and .st by which four warps access the results. With M = 128 each of the
// 32 lanes that a warp can access has a row; with M = 64 the lower 16 have one, and two threads share the columns of a row (PTX ISA, "Data Path Layout", "tcgen05.ld").
type TensorHeight struct {
	M      int
	Access string
}

// TensorHeights is the table. A product of fewer rows takes as long as one of TensorLanes, the lanes of tensor memory. MaxTensorColumns is the largest N.
var TensorHeights = []TensorHeight{{TensorLanes, "32x32b"}, {64, "16x32bx2"}}

const TensorLanes, MaxTensorColumns = 128, 256

// Parts is the number of threads that share the columns of a row.
func (h *TensorHeight) Parts() int { return TensorLanes / h.M }

var (
	tcgen05     = target.Need{Arch: target.Tcgen05, PTX: target.V(8, 6)}
	tcgen05Fine = target.Need{Arch: target.Tcgen05, PTX: target.V(8, 7)} // blocks of 16
	tcgen05Int8 = target.Need{Arch: target.Tcgen05Int8, PTX: target.V(8, 6)}
)

// tensorRate is 4096 products of 16-bit floats a cycle of a multiprocessor (B200 data sheet), to a quarter of it.
const tensorRate = 1024

// TensorProducts is the table.
var TensorProducts = []TensorProduct{
	{"f16", 16, "f32", f16, f16, tensorRate, tcgen05, none},
	{"f16", 16, "f32", bf16, bf16, tensorRate, tcgen05, none},
	{"tf32", 8, "f32", tf32, tf32, tensorRate / 2, tcgen05, none},
	{"f8f6f4", 32, "f32", float8, float8, 2 * tensorRate, tcgen05, none},
	{"i8", 32, "s32", bytes, bytes, 2 * tensorRate, tcgen05Int8, none},
	{"mxf8f6f4", 32, "f32", float8, float8, 2 * tensorRate, tcgen05, Scaled{"mxf8f6f4", "ue8m0", 1}},
	{"mxf4", 64, "f32", float4, float4, 4 * tensorRate, tcgen05, Scaled{"mxf4", "ue8m0", 2}},
	{"mxf4nvf4", 64, "f32", float4, float4, 4 * tensorRate, tcgen05Fine, Scaled{"mxf4nvf4", "ue4m3", 4}},
	{"mxf4nvf4", 64, "f32", float4, float4, 4 * tensorRate, tcgen05Fine, Scaled{"mxf4nvf4", "ue8m0", 4}},
}

// Scales of products of the tensor unit are in tensor memory, copied from shared memory in blocks of ScaleBlock bytes. A block has ScaleWord scales along K
// for each of TensorLanes rows of A or columns of B. Those of row r are a word in column r/32 of lane r mod 32, replicated 32, 64 and 96 lanes further on
// (PTX ISA, "Block Scaling for tcgen05.mma"). In shared memory each of the 32 lanes of a block has 16 bytes, its words one after another.
const ScaleBlock, ScaleWord = 512, 4

// ScaleColumns is the columns of tensor memory of such a block, ScaleLanes the lanes of one replica.
const ScaleColumns, ScaleLanes = 4, 32

// CopyScales is the instruction that copies a block.
const CopyScales = "tcgen05.cp.cta_group::1.32x128b.warpx4"

// Name is the name of a product of so many rows and columns. The instruction is Instruction.
func (p *TensorProduct) Name(m, n int, a, b string) string {
	name := "tcgen05.m" + strconv.Itoa(m) + "n" + strconv.Itoa(n) + "k" + strconv.Itoa(p.K) + "." + p.D + "." + a + "." + b
	if p.Blocks > 0 {
		name += "." + p.Scale + p.vector()
	}
	return name
}

// vector says how many scales there are along K.
func (p *TensorProduct) vector() string { return "." + strconv.Itoa(p.Blocks) + "X" }

// Instruction is the name of the row of the instruction.
func (p *TensorProduct) Instruction() string {
	if p.Blocks > 0 {
		return "tcgen05.mma." + p.Kind + p.vector()
	}
	return "tcgen05.mma." + p.Kind
}

// FromTensor is the instruction that takes A from tensor memory: one row per lane, neighbours along K packed into 32 bits per column.
func (p *TensorProduct) FromTensor() string { return p.Instruction() + ".tensor" }

// TakesMNMajor is that of GroupProduct for this instruction.
func (p *TensorProduct) TakesMNMajor() bool { return elemBits[p.A[0]] == 8 || elemBits[p.A[0]] == 16 }

// codes are the encodings of types in an instruction descriptor (PTX ISA, "Instruction descriptor").
var codes = map[string]uint32{"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "u8": 0, "s8": 1, "e2m1": 1}

// ScaleBytes are the fields of an instruction descriptor with the index of the first byte of a word whose scales are used, for A and for B.
func ScaleBytes(first int) uint32 { return uint32(first)<<29 | uint32(first)<<4 }

// Describe is the instruction descriptor of a product of types a and b; mnMajor says which factors are MN-major in shared memory.
func (p *TensorProduct) Describe(m, n int, a, b string, mnMajorA, mnMajorB bool) uint32 {
	d := codes[a]<<7 | codes[b]<<10 | uint32(n/8)<<17 | uint32(m/16)<<24
	switch {
	case p.Blocks == 0:
		d |= map[string]uint32{"f16": 0, "f32": 1, "s32": 2}[p.D] << 4
	case p.Scale == "ue8m0":
		d |= 1 << 23
	}
	if mnMajorA {
		d |= 1 << 15
	}
	if mnMajorB {
		d |= 1 << 16
	}
	return d
}

// maxTensorLoad is the most registers that one instruction loads from tensor memory.
const maxTensorLoad = 128

func init() {
	const one = ".cta_group::1"
	define("tcgen05", func(b *builder) {
		// The address of the allocation is written to shared memory; the number of columns is a constant.
		b.op("tcgen05.alloc"+one+".sync.aligned.shared::cta.b32", "[r] n", WriteShared|Strong|Control|Convergent, tcgen05)
		b.op("tcgen05.relinquish_alloc_permit"+one+".sync.aligned", "", Control|Convergent, tcgen05)
		b.op("tcgen05.dealloc"+one+".sync.aligned.b32", "R n", Control|Convergent, tcgen05)
		b.op("tcgen05.fence::before_thread_sync", "", Fence, tcgen05)
		b.op("tcgen05.fence::after_thread_sync", "", Fence, tcgen05)
		known := map[string]bool{}
		for i := range TensorProducts {
			p := &TensorProducts[i]
			if known[p.Instruction()] {
				continue
			}
			known[p.Instruction()] = true
			// Operands: address of D, descriptor of A or its address in tensor memory, descriptor of B, instruction descriptor, addresses of the scales, whether to add to D.
			if p.Blocks > 0 {
				b.text(p.Instruction(), "tcgen05.mma"+one+".kind::"+p.Kind+".block_scale.scale_vec::"+strconv.Itoa(p.Blocks)+"X [$0], $1, $2, $3, [$4], [$5], $6", "R L L r R R b",
					ReadShared|WriteShared|Async, p.Need)
				continue
			}
			b.text(p.Instruction(), "tcgen05.mma"+one+".kind::"+p.Kind+" [$0], $1, $2, $3, $4", "R L L r b", ReadShared|WriteShared|Async, p.Need)
			b.text(p.FromTensor(), "tcgen05.mma"+one+".kind::"+p.Kind+" [$0], [$1], $2, $3, $4", "R R L r b", ReadShared|WriteShared|Async, p.Need)
		}
		b.text(CopyScales, CopyScales+" [$0], $1", "R L", ReadShared|WriteShared|Async, tcgen05)
		b.op("tcgen05.commit"+one+".mbarrier::arrive::one.shared::cluster.b64", "[r]", Async|Barrier, tcgen05)
		// Loads and stores of columns of the lane of each thread. The registers of a load are valid after the wait, through which they are tied; the wait for stores has no
		// registers.
		for i := range TensorHeights {
			h := &TensorHeights[i]
			at := "[r]"
			if h.Parts() > 1 { // the offset of the second half of the columns
				at += " n"
			}
			for n := 1; n <= maxTensorLoad; n *= 2 {
				count := strconv.Itoa(n)
				form := h.Access + ".x" + count
				for _, letter := range []string{"f", "r"} {
					b.named("tcgen05.ld."+form+"."+letter, "tcgen05.ld.sync.aligned."+form+".b32", "{="+letter+"*"+count+"} "+at, ReadShared|Strong|Async|Convergent, tcgen05)
					b.named("tcgen05.st."+form+"."+letter, "tcgen05.st.sync.aligned."+form+".b32", at+" {"+letter+"*"+count+"}", WriteShared|Strong|Async|Convergent, tcgen05)
				}
			}
		}
		b.op("tcgen05.wait::st.sync.aligned", "", Fence|Convergent, tcgen05)
		for n := 1; n <= maxInFlight; n *= 2 {
			for _, letter := range []string{"f", "r"} {
				count := strconv.Itoa(n)
				b.text("tcgen05.wait::ld."+letter+count, "tcgen05.wait::ld.sync.aligned", "{+"+letter+"*"+count+"}", Fence|Convergent, tcgen05)
			}
		}
	})
}
