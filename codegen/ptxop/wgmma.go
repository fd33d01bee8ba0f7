package ptxop

import (
	"strconv"
	"strings"

	"tileiras/codegen/target"
)

// GroupProduct is a row of the table of products D = A*B + C of a warpgroup, four warps that issue the product together and continue while it is computed
// (PTX ISA, "wgmma.mma_async"). M is 64. B is in shared memory, given by a descriptor; A is too, or is in registers.
type GroupProduct struct {
	N, K int // N is a power of two
	D    string
	A, B []string
	Rate int // as that of Product
	// Depth is the K after which the accumulators, which the hardware keeps in fewer than 32 bits, must be added to others to keep the precision of f32; 0 is never.
	Depth int
	Need  target.Need
}

// GroupRows is M of a product of a warpgroup.
const GroupRows = 64

var (
	wgmma      = target.Need{Arch: target.WGMMA, PTX: target.V(8, 0)}
	wgmmaMixed = target.Need{Arch: target.WGMMA, PTX: target.V(8, 4)} // bytes with and without a sign
)

// groupRate is 512 products of 16-bit floats a cycle of a quarter of a multiprocessor (H100 white paper), by the share that products of a warp reach there. For bytes
// it is twice that.
const groupRate = 410

// float8Depth is the Depth of products of 8-bit floats, whose accumulators have about 14 bits (arXiv 2412.19437, section 3.3).
const float8Depth = 128

// GroupProducts is the table; where costs are equal, an earlier row is preferred.
var GroupProducts = func() []GroupProduct {
	list := make([]GroupProduct, 0, 5*9)
	for _, n := range []int{256, 128, 64, 32, 16} {
		list = append(list,
			GroupProduct{n, 16, "f32", f16, f16, groupRate, 0, wgmma},
			GroupProduct{n, 16, "f32", bf16, bf16, groupRate, 0, wgmma},
			GroupProduct{n, 16, "f16", f16, f16, groupRate, 0, wgmma},
			GroupProduct{n, 8, "f32", tf32, tf32, groupRate / 2, 0, wgmma},
			GroupProduct{n, 32, "f32", float8, float8, 2 * groupRate, float8Depth, wgmma},
			GroupProduct{n, 32, "s32", s8, s8, 2 * groupRate, 0, wgmma},
			GroupProduct{n, 32, "s32", u8, u8, 2 * groupRate, 0, wgmma},
			GroupProduct{n, 32, "s32", s8, u8, 2 * groupRate, 0, wgmmaMixed},
			GroupProduct{n, 32, "s32", u8, s8, 2 * groupRate, 0, wgmmaMixed})
	}
	return list
}()

// Name is the name of the row: wgmma.SHAPE.D.A.B, with .rs where A is in registers, and .first where C is 0.
func (p *GroupProduct) Name(a, b string, registers, first bool) string {
	name := p.shape() + "." + p.D + "." + a + "." + b
	if registers {
		name += ".rs"
	}
	if first {
		name += ".first"
	}
	return "wgmma." + name
}

func (p *GroupProduct) shape() string {
	return "m" + strconv.Itoa(GroupRows) + "n" + strconv.Itoa(p.N) + "k" + strconv.Itoa(p.K)
}

// TakesMNMajor reports whether factors in shared memory may be MN-major (transposed), and not only K-major.
func (p *GroupProduct) TakesMNMajor() bool { return elemBits[p.A[0]] == 16 }

// GroupWarps share the rows of A and D; the number of the first one is a multiple of four (PTX ISA, "Warpgroup").
const GroupWarps = 4

// maxInFlight is the most registers of one kind that are tied through a fence or a wait.
const maxInFlight = 512

func init() {
	define("wgmma", func(b *builder) {
		const sync = ".sync.aligned"
		for i := range GroupProducts {
			p := &GroupProducts[i]
			c := registers(GroupRows*p.N/GroupWarps, p.D)
			for _, ta := range p.A {
				// Descriptors are 64-bit registers. After them: whether to add to D, signs of floats of A and B, and for each factor in shared memory whether it
				// is MN-major.
				for _, inRegisters := range []bool{false, true} {
					a, more := "l", ""
					if p.D != "s32" {
						more = " '1 '1"
					}
					if p.TakesMNMajor() {
						more += " n n"
					}
					if inRegisters {
						a, more = "{"+registers(GroupRows*p.K/GroupWarps, ta)+"}", strings.TrimSuffix(more, " n")
					}
					for _, tb := range p.B {
						mnemonic := "wgmma.mma_async" + sync + "." + p.shape() + "." + p.D + "." + ta + "." + tb
						for _, first := range []bool{false, true} {
							d, add := "{+"+c+"}", "1"
							if first {
								d, add = "{="+c+"}", "0"
							}
							b.named(p.Name(ta, tb, inRegisters, first), mnemonic, d+" "+a+" l '"+add+more, ReadShared|Async|Convergent, p.Need)
						}
					}
				}
			}
		}
		b.named("wgmma.commit_group", "wgmma.commit_group"+sync, "", Fence|Convergent, wgmma)
		b.named("wgmma.wait_group", "wgmma.wait_group"+sync, "n", Fence|Convergent, wgmma)
		// The same with the result registers tied through the wait, so that nothing reads them before it; and the fence before products, through which their registers
		// are tied: accumulators and a factor, the number of each a power of two.
		fence := func(name, signature string) {
			b.text("wgmma.fence"+name, "wgmma.fence"+sync, signature, Fence|Convergent, wgmma)
		}
		through := func(letter string, n int) (name, signature string) {
			return "." + letter + strconv.Itoa(n), " {+" + letter + "*" + strconv.Itoa(n) + "}"
		}
		fence("", "")
		for n := 1; n <= maxInFlight; n *= 2 {
			for _, letter := range []string{"f", "r"} {
				name, signature := through(letter, n)
				b.text("wgmma.wait_group"+name, "wgmma.wait_group"+sync+" $"+strconv.Itoa(2*n), signature+" n", Fence|Convergent, wgmma)
				fence(name, signature)
			}
			float, floats := through("f", n)
			for m := 1; m <= maxInFlight; m *= 2 {
				name, signature := through("r", m)
				fence(float+name, floats+signature)
				if m < n {
					fence(through("r", n+m))
				}
			}
		}
	})
}
