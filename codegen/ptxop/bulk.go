package ptxop

import (
	"fmt"
	"strconv"
	"strings"

	"tileiras/codegen/target"
)

// Copies by tensor maps: PTX ISA, "cp.async.bulk.tensor", "tensormap.replace", "tensormap.cp_fenceproxy".

func init() {
	maps := target.Need{Arch: target.TensorMaps, PTX: target.V(8, 3)}

	// A map in shared memory gets its fields one by one. Those of a map that begins as zeros and has no such row stay zero: no interleave, elements outside are zeros.
	define("tensormap", func(b *builder) {
		const change = ReadShared | WriteShared | Strong
		field := func(name, width, signature string) {
			b.named("tensormap.replace."+name, "tensormap.replace.tile."+strings.TrimRight(name, ".01234")+".shared::cta.b1024."+width, signature, change, maps)
		}
		field("global_address", "b64", "[r] l")
		field("rank", "b32", "[r] n")
		field("elemtype", "b32", "[r] n")
		for i := 1; i <= 3; i++ {
			field("swizzle_mode."+strconv.Itoa(i), "b32", "[r] '"+strconv.Itoa(i))
		}
		for i := range target.MostMapDims {
			n := strconv.Itoa(i)
			for _, name := range []string{"box_dim", "global_dim", "element_stride"} {
				field(name+"."+n, "b32", "[r] '"+n+" r")
			}
			if i < target.MostMapDims-1 {
				field("global_stride."+n, "b64", "[r] '"+n+" l")
			}
		}
		b.named("tensormap.cp_fenceproxy", "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned", "[l] [r] '128",
			ReadShared|WriteGlobal|Strong|Fence|Convergent, maps)
	})
}

// bulkCopies: one thread copies a box to shared memory, from the map at a generic address and the coordinates of its corner, innermost first; the bytes count at an
// mbarrier.
func bulkCopies(b *builder) {
	for dims := 1; dims <= target.MostMapDims; dims++ {
		name := "cp.async.bulk.tensor." + strconv.Itoa(dims) + "d"
		var corner []string
		for i := range dims {
			corner = append(corner, "$"+strconv.Itoa(3+i))
		}
		n := 3 + dims
		b.guardedText(name, fmt.Sprintf("%s.shared::cluster.global.mbarrier::complete_tx::bytes [$0+$1], [$2, {%s}], [$%d+$%d]", name, strings.Join(corner, ", "), n, n+1),
			"[r] L"+strings.Repeat(" R", dims)+" [r]", ReadGlobal|WriteShared|Async, target.Bulk)
	}
}
