package passes

import (
	"fmt"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// plan-kernel decides what depends on each other before anything is realised: how many warps a tile block has and how many
// registers a thread may use. It lists candidates, best first, and takes the first one that the manager has not ruled out.
//
// Warps come from the accumulators where there is a matrix product (fast-code: at most 128 registers of live accumulators a
// thread; 4, 8 or 16 warps), else from the biggest tile (64 bytes a thread, 4 to 16 warps), else one warp does it. A frontend's
// hint num_worker_warps_per_cta wins.
//
// A value must fit into the registers of a thread with room for others. More warps come first; where the most do not help, the last
// candidate cuts tiles into pieces (slice-tiles).
func planKernel(s *State) error {
	for _, entry := range s.Entries() {
		name := symbolName(entry)
		candidates := plans(s, entry)
		k := s.PlanIndex[name]
		if k >= len(candidates) {
			return &ErrPlan{Entry: name, Reason: "no plan is left"}
		}
		ir.Cast[tileaa.Entry](entry).SetPlan(candidates[k])
	}
	return nil
}

const (
	accumulatorRegs = 128 // live accumulators a thread, in 32-bit registers
	bytesPerThread  = 64  // of the biggest tile, in kernels without a matrix product
	maxWarps        = 16
	// besideAccumulators is what a kernel with a matrix product needs besides its accumulators: operands of a step, addresses.
	besideAccumulators = 72
	// valueRegs is the most 32-bit registers of a thread that one value takes, and the share of a thread's registers that it takes
	// where those are fewer.
	valueRegs  = 64
	valueShare = 4
)

// plans lists the candidate plans of an entry, best first.
func plans(s *State, entry *ir.Op) []*tileaa.PlanAttr {
	d := demandsOf(entry)
	hinted := int(hint(s, entry, "num_worker_warps_per_cta"))
	if hinted < 1 || hinted > 32 || hinted&(hinted-1) != 0 || d.tileBits == 0 {
		hinted = 0
	}
	if d.accBits > 0 {
		return productPlans(s, entry, d, hinted)
	}
	warps := 1
	if d.tileBits > 0 {
		warps = enoughWarps(4, d.tileBits/8, bytesPerThread)
		warps = enoughWarps(warps, d.tileBits/32, accumulatorRegs)
	}
	if hinted > 0 {
		warps = hinted
	}
	var out []*tileaa.PlanAttr
	for w := warps; w <= max(maxWarps, warps); w *= 2 {
		if fits(s, entry, w, nil) {
			out = append(out, newPlan(s, entry, d, w, w == warps))
		}
	}
	if w := max(warps, maxWarps); !fits(s, entry, w, nil) {
		all := min(s.Target.Registers/(32*w), s.Target.RegistersPerThread)
		out = append(out[:min(len(out), maxPlans-1)], &tileaa.PlanAttr{Warps: w, Stages: 1, MaxReg: all, Sliced: true})
	}
	return out
}

// enoughWarps doubles a number of warps, up to maxWarps, until a thread has no more than its share.
func enoughWarps(warps, total, share int) int {
	for warps < maxWarps && total/(32*warps) > share {
		warps *= 2
	}
	return warps
}

// productPlans lists the plans of a kernel with matrix products: with everything whole; with products cut along K, whose operands then
// need less shared memory; with the result cut into pieces, whose accumulators fit into the registers.
func productPlans(s *State, entry *ir.Op, d demands, hinted int) []*tileaa.PlanAttr {
	warps := enoughWarps(4, d.accBits/32, accumulatorRegs)
	first := enoughWarps(warps, d.tileBits/32, accumulatorRegs)
	if hinted > 0 {
		warps, first = hinted, hinted
	}
	var out []*tileaa.PlanAttr
	for w := first; w <= max(maxWarps, first); w *= 2 {
		if fits(s, entry, w, nil) && operandsFit(s, entry, w) {
			out = append(out, newPlan(s, entry, d, w, w == first))
			break
		}
	}
	feeds := feeding{}
	// Each plan gives the operands half as much shared memory, and pieces half as many registers, as the one before.
	for k := 0; len(out) < maxPlans && k < 3; k++ {
		w := warps
		for w < maxWarps && !fits(s, entry, w, feeds) {
			w *= 2
		}
		plan := newPlan(s, entry, d, w, len(out) == 0)
		if k > 0 || !fits(s, entry, w, feeds) {
			switch {
			case k == 2:
				w = maxWarps
			case hinted > 0:
				w = hinted
			default:
				w = piecesWarps
			}
			pieces := accumulatorLimit(s, w) >> k
			if k == 0 && addressedSingly(entry) {
				pieces /= 2 // addresses need registers too
			}
			plan = newPlan(s, entry, demands{accBits: 32 * pieces * 32 * w}, w, len(out) == 0)
			plan.Sliced, plan.PieceRegs = true, pieces
		}
		plan.MaxReg = maxRegistersOr(plan.MaxReg, s, plan.Warps)
		if plan.OperandBytes = s.Target.SharedOptIn * 3 / 4 >> k; plan.Sliced && k == 0 {
			plan.OperandBytes /= 2 // long straight code in a loop over pieces keeps too many addresses
		}
		out = append(out, plan)
	}
	return out
}

// addressedSingly reports whether a tile as big as a result of a product is loaded or stored through pointers.
func addressedSingly(entry *ir.Op) bool {
	d, found := demandsOf(entry), false
	ir.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if op.Code() == tileaa.OpLoad || op.Code() == tileaa.OpStore {
			found = found || tileRegs(ir.Cast[tileaa.PtrAccess](op).Ptr()) >= d.dotBits/32
		}
	})
	return found
}

// maxRegistersOr is a bound of registers, or all that a thread can have: unasked, ptxas may take few and spill.
func maxRegistersOr(bound int, s *State, warps int) int {
	if bound > 0 {
		return bound
	}
	return min(s.Target.Registers/(32*warps), s.Target.RegistersPerThread)
}

// piecesWarps is the number of warps of a product whose result is made in pieces: a thread has all the registers that one can have.
const piecesWarps = 8

// newPlan is the plan of so many warps with everything whole. tell says to tell the user about a hint that gives way.
func newPlan(s *State, entry *ir.Op, d demands, warps int, tell bool) *tileaa.PlanAttr {
	wanted := int(hint(s, entry, "occupancy"))
	occupancy := wanted
	for occupancy > 1 && maxRegisters(s, warps, occupancy) < d.accBits/32/(32*warps)+besideAccumulators {
		occupancy--
	}
	if occupancy < wanted && tell {
		s.Remark(entry.Loc(), "occupancy %d would spill the accumulators; using %d", wanted, occupancy)
	}
	plan := &tileaa.PlanAttr{Warps: warps, Stages: 1, Occupancy: occupancy, MaxReg: maxRegisters(s, warps, occupancy)}
	if all := s.Target.Registers / (32 * warps); plan.MaxReg == 0 && d.accBits > 0 && all < s.Target.RegistersPerThread {
		plan.MaxReg = all // unasked, ptxas takes as few as 32 for a block of 512 threads, and spills
	}
	return plan
}

// operandsFit reports whether the operands of each product have room.
func operandsFit(s *State, entry *ir.Op, warps int) bool {
	ok, r := true, roomOf(s, entry, warps, s.Target.SharedOptIn)
	ir.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		ok = ok && !(isProduct(op) && productOf(s, op, warps).tooBig(r))
	})
	return ok
}

// fits reports whether so many warps can hold every value of a kernel, but for the operands of products that are cut along K.
func fits(s *State, entry *ir.Op, warps int, except feeding) bool {
	limit, ok := valueLimit(s, entry, warps), true
	if d := demandsOf(entry); d.accBits/32/(32*warps) > accumulatorLimit(s, warps) {
		return false
	}
	s.walk(entry, ir.PreOrder, func(op *ir.Op) {
		for _, r := range op.Results() {
			ok = ok && (tileRegs(r) <= limit*32*warps || except != nil && except.of(r))
		}
		ok = ok && (op.Code() != tileaa.OpScan || scanRegs(shapeOf(op.Operand(0)), dimOf(op), warps) <= 2*limit)
	})
	return ok
}

// accumulatorLimit is the most accumulators a thread of a kernel of so many warps.
func accumulatorLimit(s *State, warps int) int {
	return min(accumulatorRegs, s.Target.Registers/(32*warps)/2)
}

// valueLimit is how many registers of a thread one value may take in a kernel of so many warps. Beside a matrix product, tiles that
// are bigger than its accumulators lie in shared memory or are made on demand; they count as too big when a thread has not enough
// registers for one.
func valueLimit(s *State, entry *ir.Op, warps int) int {
	if demandsOf(entry).accBits > 0 {
		return wholeRegs
	}
	return min(valueRegs, s.Target.Registers/(32*warps)/valueShare)
}

// maxRegisters is the .maxnreg that the occupancy hint asks for: registers of the multiprocessor over threads, in steps of 8, 32
// to 256 (driver-abi: entry hints); 0 without a hint.
func maxRegisters(s *State, warps, occupancy int) int {
	if occupancy <= 1 {
		return 0
	}
	threads := max(32*warps, 128)
	n := s.Target.Registers / (threads * occupancy) / 8 * 8
	return min(max(n, 32), s.Target.RegistersPerThread+1)
}

// demands is what a kernel holds: bits of its biggest tile, and of the accumulators that are alive together. Those are the dots of one
// block; loops that follow each other (a loop split by a mask) take turns.
type demands struct {
	tileBits, accBits int
	dotBits           int // of the biggest result of a product
}

func demandsOf(entry *ir.Op) demands {
	var d demands
	together := map[*ir.Block]int{}
	ir.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		for _, r := range op.Results() {
			t := tileaa.AsTile(r)
			if t == nil || len(t.Shape) == 0 {
				continue
			}
			bits := int(t.NumElements()) * max(tileaa.ElemBits(t.Elem), 8)
			if op.Code() == tileaa.OpDot || op.Code() == tileaa.OpDotScaled {
				together[op.Block()] += bits
				d.accBits = max(d.accBits, together[op.Block()])
				d.dotBits = max(d.dotBits, bits)
			}
			d.tileBits = max(d.tileBits, bits)
		}
	})
	return d
}

// hint reads an integer hint of the entry: the target's own, else the default one; 0 without.
func hint(s *State, entry *ir.Op, name string) int64 {
	a, _ := lookupHint(ir.Cast[tileaa.Entry](entry).Hints(), s.Target, name)
	n, _ := a.(ir.IntegerAttr)
	return n.SInt()
}

// planOf is the plan that plan-kernel wrote on an entry.
func planOf(entry *ir.Op) *tileaa.PlanAttr {
	p := ir.Cast[tileaa.Entry](entry).Plan()
	if p == nil {
		panic(fmt.Sprintf("BUG: entry %s has no plan", symbolName(entry)))
	}
	return p
}
