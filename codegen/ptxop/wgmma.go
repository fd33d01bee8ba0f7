package ptxop

import (
	"strconv"

	"tileiras/codegen/target"
)

// GroupProduct is a row of the table of products D = A*B + C of a warpgroup, four warps that begin the product together and go on while it is computed
// (PTX ISA, "wgmma.mma_async"). M is 64. B lies in shared memory, where a descriptor finds it; A does too, or is in registers.
type GroupProduct struct {
	N, K int // N is a power of two
	D    string
	A, B []string
	Rate int // as that of Product
	Need target.Need
}

// GroupRows is M of a product of a warpgroup.
const GroupRows = 64

var wgmma = target.Need{Arch: target.WGMMA, PTX: target.V(8, 0)}

// groupRate is 512 products of 16-bit floats a cycle of a quarter (H100 white paper), by the share that products of a warp reach there.
const groupRate = 410

// GroupProducts is the table; where costs are equal, an earlier row is preferred.
var GroupProducts = func() (list []GroupProduct) {
	for _, n := range []int{256, 128, 64, 32, 16} {
		list = append(list,
			GroupProduct{n, 16, "f32", types("f16"), types("f16"), groupRate, wgmma},
			GroupProduct{n, 16, "f32", types("bf16"), types("bf16"), groupRate, wgmma},
			GroupProduct{n, 16, "f16", types("f16"), types("f16"), groupRate, wgmma})
	}
	return list
}()

// Name is the name of the row: wgmma.SHAPE.D.A.B, with .rs where A is in registers, and .first where nothing is added: C is 0.
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

// warpsOfGroup share the rows of A and D.
const warpsOfGroup = 4

// maxLanded is the most registers for which a wait can be asked.
const maxLanded = 256

func init() {
	define("wgmma", func(b *builder) {
		const sync = ".sync.aligned"
		for i := range GroupProducts {
			p := &GroupProducts[i]
			c := registers(GroupRows*p.N/warpsOfGroup, p.D)
			for _, ta := range p.A {
				// Descriptors are 64-bit registers. After them: whether to add to D, signs of A and B, and which of those in shared memory have their
				// rows, or columns, side by side instead of K.
				a, turned := "l", " n n"
				for _, inRegisters := range []bool{false, true} {
					if inRegisters {
						a, turned = "{"+registers(GroupRows*p.K/warpsOfGroup, ta)+"}", " n"
					}
					for _, tb := range p.B {
						mnemonic := "wgmma.mma_async" + sync + "." + p.shape() + "." + p.D + "." + ta + "." + tb
						for _, first := range []bool{false, true} {
							d, add := "{+"+c+"}", "1"
							if first {
								d, add = "{="+c+"}", "0"
							}
							b.named(p.Name(ta, tb, inRegisters, first), mnemonic, d+" "+a+" l '"+add+" '1 '1"+turned, ReadShared|Async|Convergent, p.Need)
						}
					}
				}
			}
		}
		b.named("wgmma.fence", "wgmma.fence"+sync, "", Fence|Convergent, wgmma)
		b.named("wgmma.commit_group", "wgmma.commit_group"+sync, "", Fence|Convergent, wgmma)
		b.named("wgmma.wait_group", "wgmma.wait_group"+sync, "n", Fence|Convergent, wgmma)
		// The same, and from here on so many registers hold what the products gave.
		for n := 1; n <= maxLanded; n *= 2 {
			for _, letter := range []string{"f", "r"} {
				count := strconv.Itoa(n)
				b.text("wgmma.wait_group."+letter+count, "wgmma.wait_group"+sync+" $"+strconv.Itoa(2*n), "{+"+letter+"*"+count+"} n", Fence|Convergent, wgmma)
			}
		}
	})
}
