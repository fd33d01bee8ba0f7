package tileaa

import (
	"tileiras/codegen/layout"
	"tileiras/ir"
)

// PlanAttr is what plan-kernel decides for an entry, #tileaa.plan<warps = 4, max_reg = 128, ...>. Later passes only realise
// it. Fields that hold their zero value are left out of the text.
type PlanAttr struct {
	Warps     int  // warps of a tile block that compute
	Producers int  // further warps that only issue copies, in a role of their own
	MaxReg    int  // registers per thread that the plan counts on; 0 = no bound, which Registers reads
	Occupancy int  // tile blocks per multiprocessor that the plan counts on; 0 = any
	Launched  int  // tile blocks that a launch has for a multiprocessor; 0 = one for each tile
	Stages    int  // buffers in flight of a pipelined loop; 0 and 1 = no pipelining
	Sliced    bool // tiles that do not fit are strip-mined
	// PieceRegs is the most registers of a thread that a value may take, and beside a matrix product all accumulators together; bigger
	// ones are made in pieces. 0 = what slice-tiles thinks best.
	PieceRegs int
	// SumsInTensor, attribute landed: accumulators of the tensor unit stay whole in tensor memory in a loop, and are loaded to registers in
	// pieces after it.
	SumsInTensor bool
	// OperandBytes is the shared memory that the operands of a product may take at a time: bigger ones are cut along K; 0 = any.
	OperandBytes int
	// SlicesK is how many slices along K of a product warps compute in parallel, where a loop accumulates them (split-K within a block); 0 and 1 = no split.
	SlicesK int
	Target  string // the target that it was made for, "sm_90"
	Remark  string // why this plan, for people
}

// planFields are the fields in the order of the text.
func (a *PlanAttr) planFields() []planField {
	return []planField{
		{"warps", &a.Warps}, {"producers", &a.Producers}, {"max_reg", &a.MaxReg}, {"occupancy", &a.Occupancy}, {"launched", &a.Launched}, {"stages", &a.Stages},
		{"sliced", &a.Sliced}, {"piece_regs", &a.PieceRegs}, {"landed", &a.SumsInTensor}, {"operand_bytes", &a.OperandBytes}, {"slices_k", &a.SlicesK},
		{"target", &a.Target}, {"remark", &a.Remark},
	}
}

// Threads is the number of threads of a tile block.
func (a *PlanAttr) Threads() int { return layout.WarpSize * (a.Warps + a.Producers) }

// Registers is how many registers a thread may take of so many that the GPU has for it.
func (a *PlanAttr) Registers(most int) int {
	if a.MaxReg == 0 {
		return most
	}
	return min(most, a.MaxReg)
}

type planField struct {
	name string
	at   any // *int, *bool or *string
}

func (*PlanAttr) AttrDialect() string { return "tileaa" }

func (a *PlanAttr) EqualAttr(b ir.Attribute) bool {
	x, ok := b.(*PlanAttr)
	return ok && *a == *x
}

// WriteAttr writes "plan<warps = 4, sliced, target = \"sm_90\">".
func (a *PlanAttr) WriteAttr(p *ir.Printer) {
	p.Str("plan<")
	comma := ""
	field := func(name string) { p.Str(comma + name); comma = ", " }
	for _, f := range a.planFields() {
		switch v := f.at.(type) {
		case *int:
			if *v != 0 {
				field(f.name)
				p.Printf(" = %d", *v)
			}
		case *bool:
			if *v {
				field(f.name)
			}
		case *string:
			if *v != "" {
				field(f.name + " = ")
				p.Quoted(*v)
			}
		}
	}
	p.Str(">")
}

// readPlan is the inverse of WriteAttr.
func readPlan(p *ir.Parser) (ir.Attribute, error) {
	a := &PlanAttr{}
	fields := a.planFields()
	p.List("<", ">", func() {
		at, name := p.Pos(), p.Keyword()
		for _, f := range fields {
			if f.name != name {
				continue
			}
			switch v := f.at.(type) {
			case *int:
				p.Expect("=")
				*v = int(p.Integer())
			case *bool:
				*v = true
			case *string:
				p.Expect("=")
				*v = p.String()
			}
			return
		}
		p.Errorf(at, "a plan has no field '%s'", name)
	})
	return a, p.Err()
}

func init() { attrReaders["plan"] = readPlan }
