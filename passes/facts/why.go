package facts

import (
	"fmt"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// WhyNotWider lists what keeps an access of a block along tile dimension d from being a vector access of so many bytes, each reason in the
// words of NVIDIA's tileiras where it has some; empty when nothing does.
func (f *Facts) WhyNotWider(block tileaa.BlockTile, d, bytes int) []string {
	memref := memrefOf(block)
	t := block.Result().Type().(*tileaa.BlockType)
	elem := tileaa.ElemBytes(t.Elem)
	want := int64(max(bytes/max(elem, 1), 1))
	along := f.dim(block, d)
	var why []string
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if along.sparse {
		say("dimension %d is gathered: each row has an address of its own", d)
		return why
	}
	if stride, ok := f.Stride(memref, along.a).Constant(); !ok || stride != 1 {
		say("no contiguous dimension found")
		return why
	}
	zeros := log2(int64(bytes))
	if z := f.Of(memref.Base()).ZeroBits; z < zeros {
		say("base pointer not %d-byte aligned%s", bytes, knownAlignment(z))
	}
	if along.tile < want {
		say("tile of %d elements along the contiguous dimension", along.tile)
	}
	size := log2(int64(elem))
	for e := range t.Shape {
		switch z := size + f.offsetZeros(block, e, d); {
		case z >= zeros:
		case e == d:
			say("first element of the tile not %d-byte aligned%s", bytes, knownAlignment(z))
		default:
			say("stride not %d-byte aligned: dimension %d%s", bytes, f.dim(block, e).a, knownAlignment(z))
		}
	}
	if n := f.BlockMaskVector(block, d); n < min(want, along.tile) {
		say("contiguous tensor extent not %d-byte aligned: an access may cross the end of dimension %d%s", bytes, along.a, knownAlignment(log2(n)+size))
	}
	return why
}

// knownAlignment is the known alignment as a suffix of a message; empty where none is known.
func knownAlignment(zeros int) string {
	if zeros <= 0 {
		return ""
	}
	return fmt.Sprintf(" (known: %d)", int64(1)<<min(zeros, 62))
}

// WhyPointersNotWider is WhyNotWider of an access through a tile of pointers; mask may be nil.
func (f *Facts) WhyPointersNotWider(ptr, mask *ir.Value, d, elem, bytes int) []string {
	var why []string
	want := int64(max(bytes/max(elem, 1), 1))
	x := f.Of(ptr)
	switch n := f.PointerVector(ptr, d); {
	case n >= want:
	case x.Width == 0 || x.Contig[d] < 2:
		why = append(why, fmt.Sprintf("pointers along dimension %d are not known to count up", d))
	case x.Contig[d] < want:
		why = append(why, fmt.Sprintf("pointers along dimension %d count up in groups of %d", d, x.Contig[d]))
	default:
		why = append(why, fmt.Sprintf("pointers not %d-byte aligned%s", bytes, knownAlignment(log2(n)+log2(int64(elem)))))
	}
	if mask != nil {
		if n := f.MaskVector(mask, d); n < want {
			why = append(why, fmt.Sprintf("the mask may change within %d elements (it is known to be the same in groups of %d)", want, n))
		}
	}
	return why
}
