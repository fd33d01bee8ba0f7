package ptxop

import (
	"strconv"

	"tileiras/codegen/target"
)

// TensorProduct is a row of the table of products D = A*B + C of a multiprocessor's tensor unit, which one thread begins for its block (PTX ISA,
// "tcgen05.mma"). A and B lie in shared memory, where descriptors find them, D in tensor memory, a row to a lane. M is 128; N and the types are fields of
// the instruction descriptor.
type TensorProduct struct {
	Kind string
	K    int
	D    string
	A, B []string
	Rate int // as that of Product
	Need target.Need
}

// TensorRows is M of a product of the tensor unit, and the lanes of tensor memory. MaxTensorColumns is the largest N.
const TensorRows, MaxTensorColumns = 128, 256

var (
	tcgen05     = target.Need{Arch: target.Tcgen05, PTX: target.V(8, 6)}
	tcgen05Int8 = target.Need{Arch: target.Tcgen05Int8, PTX: target.V(8, 6)}
)

// tensorRate is 4096 products of 16-bit floats a cycle of a multiprocessor (B200 data sheet), to a quarter of it.
const tensorRate = 1024

// TensorProducts is the table.
var TensorProducts = []TensorProduct{
	{"f16", 16, "f32", f16, f16, tensorRate, tcgen05},
	{"f16", 16, "f32", bf16, bf16, tensorRate, tcgen05},
	{"tf32", 8, "f32", tf32, tf32, tensorRate / 2, tcgen05},
	{"f8f6f4", 32, "f32", float8, float8, 2 * tensorRate, tcgen05},
	{"i8", 32, "s32", bytes, bytes, 2 * tensorRate, tcgen05Int8},
}

// Name is the name of a product of so many columns. The instruction is Instruction.
func (p *TensorProduct) Name(n int, a, b string) string {
	return "tcgen05.m" + strconv.Itoa(TensorRows) + "n" + strconv.Itoa(n) + "k" + strconv.Itoa(p.K) + "." + p.D + "." + a + "." + b
}

// Instruction is the name of the row of the instruction.
func (p *TensorProduct) Instruction() string { return "tcgen05.mma." + p.Kind }

// Turns is as that of GroupProduct.
func (p *TensorProduct) Turns() bool { return elemBits[p.A[0]] <= 16 }

// codes are the numbers of types in an instruction descriptor (PTX ISA, "Instruction descriptor").
var codes = map[string]uint32{"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "u8": 0, "s8": 1}

// Describe is the instruction descriptor of a product of types a and b; turned says of which factors rows, or columns, lie side by side.
func (p *TensorProduct) Describe(n int, a, b string, turnedA, turnedB bool) uint32 {
	d := map[string]uint32{"f16": 0, "f32": 1, "s32": 2}[p.D]<<4 | codes[a]<<7 | codes[b]<<10 | uint32(n/8)<<17 | TensorRows/16<<24
	if turnedA {
		d |= 1 << 15
	}
	if turnedB {
		d |= 1 << 16
	}
	return d
}

// maxTensorLoad is the most registers that one instruction brings from tensor memory.
const maxTensorLoad = 128

func init() {
	const one = ".cta_group::1"
	define("tcgen05", func(b *builder) {
		// The address of what was allocated comes to shared memory; columns are a constant.
		b.op("tcgen05.alloc"+one+".sync.aligned.shared::cta.b32", "[r] n", WriteShared|Strong|Control|Convergent, tcgen05)
		b.op("tcgen05.relinquish_alloc_permit"+one+".sync.aligned", "", Control|Convergent, tcgen05)
		b.op("tcgen05.dealloc"+one+".sync.aligned.b32", "R n", Control|Convergent, tcgen05)
		b.op("tcgen05.fence::before_thread_sync", "", Fence, tcgen05)
		b.op("tcgen05.fence::after_thread_sync", "", Fence, tcgen05)
		kinds := map[string]bool{}
		for i := range TensorProducts {
			p := &TensorProducts[i]
			if kinds[p.Kind] {
				continue
			}
			kinds[p.Kind] = true
			// Where D lies, descriptors of A and B, the instruction descriptor, whether to add to D.
			b.text(p.Instruction(), "tcgen05.mma"+one+".kind::"+p.Kind+" [$0], $1, $2, $3, $4", "R L L r b", ReadShared|WriteShared|Async, p.Need)
		}
		b.op("tcgen05.commit"+one+".mbarrier::arrive::one.shared::cluster.b64", "[r]", Async|Barrier, tcgen05)
		// Columns of the lane of each thread, which are there after the wait through which they pass.
		for n := 1; n <= maxTensorLoad; n *= 2 {
			for _, letter := range []string{"f", "r"} {
				count := strconv.Itoa(n)
				b.named("tcgen05.ld.x"+count+"."+letter, "tcgen05.ld.sync.aligned.32x32b.x"+count+".b32", "{="+letter+"*"+count+"} [r]", ReadShared|Strong|Async|Convergent, tcgen05)
			}
		}
		// A store is over at the wait, which names no registers.
		for n := 1; n <= maxTensorLoad; n *= 2 {
			count := strconv.Itoa(n)
			b.named("tcgen05.st.x"+count+".f", "tcgen05.st.sync.aligned.32x32b.x"+count+".b32", "[r] {f*"+count+"}", WriteShared|Strong|Async|Convergent, tcgen05)
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
