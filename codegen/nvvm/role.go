package nvvm

import (
	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/metadata"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// kernel is what all warps of an entry share.
type kernel struct {
	name           string
	plan           *tileaa.PlanAttr
	shared         int              // bytes of shared memory of a block
	smem           reg              // its address
	args           *llvm.InstAlloca // arguments of vprintf
	scopes         map[*metadata.DIFile]*metadata.DISubprogram
	space          string          // of pointers: Space
	elementNumbers map[*ir.Op]bool // what computes element numbers of tiles of pointers
	shortLoops     map[*ir.Op]bool // whether registers are short in a loop
	pipelines      bool            // roles wait for each other at mbarriers
}

func newKernel(name string, plan *tileaa.PlanAttr) *kernel {
	return &kernel{name: name, plan: plan, elementNumbers: map[*ir.Op]bool{}, shortLoops: map[*ir.Op]bool{}}
}

// role is neighbouring warps that run one program; layouts count their lanes and warps from its first. An entry without roles is one
// role of all its warps.
type role struct {
	warps, firstWarp int
	top              *block // dominates all that the role does: thread numbers, addresses and bounds are computed there
	tid              reg    // number of the thread in the role
	first            reg    // whether it is in the first warp
	linears          map[threadMap]reg
}

// threadMap is a linear map from the number of a thread: the images of its bits, lanes first. A block has at most 1024 threads.
type threadMap [10]uint64

// enterRole goes on with the program of a role at its top.
func (f *fn) enterRole(warps, firstWarp int, top *block) {
	f.role = &role{warps: warps, firstWarp: firstWarp, top: top, linears: map[threadMap]reg{}}
	f.start = top
	f.addresses = map[*llvm.Global]reg{}
	f.enterBlock(top)
}
