// Package kernel says what a kernel asks of the hardware: registers for its tiles, accumulators and instructions for its products.
package kernel

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// Demands is what a kernel holds in registers of all threads together: its biggest tile, and accumulators at the point of most pressure.
type Demands struct {
	TileBits, AccumulatorBits int
	LoopedBits                int // of accumulators inside loops, at the point of most pressure
	CarriedBits               int // of loop-carried accumulators
	ProductBits               int // of the biggest result of a product
	ValueBits                 int // of the biggest tile where pointers are one base and an offset each
}

// DemandsOf takes time linear in the entry; whoever asks often keeps the answer.
func DemandsOf(s *pass.State, entry *ir.Op) Demands {
	var d Demands
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		for _, r := range op.Results() {
			if !tileaa.IsRanked(r) {
				continue
			}
			d.TileBits, d.ValueBits = max(d.TileBits, BitsOf(r)), max(d.ValueBits, min(BitsOf(r), 32*TileRegisters(r)))
			if tileaa.IsProduct(op) {
				d.ProductBits = max(d.ProductBits, BitsOf(r))
			}
		}
	})
	if d.ProductBits > 0 {
		d.AccumulatorBits, d.LoopedBits, d.CarriedBits = accumulatorBits(s, entry)
	}
	return d
}

// BitsOf is what a tile of rank 1 or more takes.
func BitsOf(v *ir.Value) int {
	t := tileaa.AsTile(v)
	return int(t.NumElements()) * max(tileaa.ElemBits(t.Elem), 8)
}

// Accumulators is the accumulator registers of a thread at the point of most pressure, in a kernel of so many warps.
func (d Demands) Accumulators(warps int) int { return d.AccumulatorPressure(warps).Max }

// AccumulatorPressure is the accumulator registers of a thread in a kernel of so many warps.
func (d Demands) AccumulatorPressure(warps int) cost.Accumulators {
	registers := func(bits int) int { return bits / 32 / (layout.WarpSize * warps) }
	return cost.Accumulators{Max: registers(d.AccumulatorBits), InLoops: registers(d.LoopedBits), LoopCarried: registers(d.CarriedBits)}
}

// AccumulatorShare is the registers of a thread beyond which a value is big, so that the accumulators that are alive together fit when
// all that are big are cut alike.
func (d Demands) AccumulatorShare(all int) int {
	return all * d.ProductBits / d.AccumulatorBits
}

// ValueLimit is how many registers of a thread one value may take in a kernel of so many warps. Beside a matrix product, tiles that
// are bigger than its accumulators lie in shared memory or are made on demand; they count as too big when a thread has not enough
// registers for one.
func (d Demands) ValueLimit(s *pass.State, warps int) int {
	if d.AccumulatorBits > 0 {
		return WholeRegisters
	}
	return cost.ValueLimit(s.Target, warps)
}

// TileRegisters is the 32-bit registers that all threads together need for a tile of rank 1 or more; 0 for everything else. Narrow
// elements count as one each, because arithmetic works on them one by one; so do pointers, which are one base and an offset.
func TileRegisters(v *ir.Value) int {
	t := tileaa.AsTile(v)
	if t == nil || len(t.Shape) == 0 {
		return 0
	}
	return int(t.NumElements()) * elemRegs(t.Elem)
}

// RegistersOf is the 32-bit registers of a thread for a tile in its layout; 0 for everything else.
func RegistersOf(v *ir.Value) int {
	if l := tileaa.LayoutOf(v); l != nil {
		return cost.Registers(l.Regs(), tileaa.ElemBits(tileaa.AsTile(v).Elem))
	}
	return 0
}

func elemRegs(elem ir.Type) int {
	if _, ok := elem.(*tileaa.PtrType); ok {
		return 1
	}
	return max(1, tileaa.ElemBits(elem)/32)
}

// CombinesTiles reports whether the region of a reduction works on tiles as it does on elements: constants and elementwise
// operations only.
func CombinesTiles(op *ir.Op) bool {
	return !slices.ContainsFunc(op.Body().Ops(), func(o *ir.Op) bool {
		return o.Code() != tileaa.OpYield && o.Code() != tileaa.OpConstant && !o.Traits().Has(ir.Elementwise)
	})
}

// minScanned is the elements of an axis that a thread scans at least before another warp takes a part of it.
const minScanned = 8

// ScanWarps is how many warps share the axis of a scan of a tile of a shape, of so many: those that no row of their own keeps busy, if it is long.
func ScanWarps(op *ir.Op, shape []int64, warps int) int {
	n := 1
	if !CombinesTiles(op) {
		return n
	}
	axis, rows := scanned(shape, tileaa.DimOf(op))
	for 2*n*rows <= warps && axis/(layout.WarpSize*2*n) >= minScanned {
		n *= 2
	}
	return n
}

// scanned is the extent of the axis of a scan, and how many rows there are.
func scanned(shape []int64, dim int) (axis, rows int) {
	rows = 1
	for d, n := range shape {
		if d != dim {
			rows *= int(n)
		}
	}
	return int(shape[dim]), rows
}

// ScanRegisters is the registers of a thread that a scan of a tile of a shape takes: its axis, or a part of it, lies in the lanes and registers of one warp.
func ScanRegisters(op *ir.Op, shape []int64, warps int) int {
	axis, rows := scanned(shape, tileaa.DimOf(op))
	n := ScanWarps(op, shape, warps)
	axis, rows = axis/n, rows*n
	inWarp := min(axis, layout.WarpSize)
	return axis / inWarp * max(1, rows*inWarp/layout.WarpSize/warps)
}

// WholeRegisters is the most 32-bit registers of a thread that a value may take that cannot be sliced: all there are.
const WholeRegisters = 256
