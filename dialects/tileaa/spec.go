package tileaa

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/ir"
)

// Stages are the passes that establish something about the form of a module, in order.
var Stages = []string{
	"convert-to-tileaa", "plan-kernel", "select-atoms", "assign-layouts", "split-reductions", "lower-conversions",
	"pipeline-loops", "allocate-shared", "insert-barriers",
}

// Rule is one thing that holds of every op from one stage on.
type Rule struct {
	From  string // the stage that establishes it; "" holds always
	Until string // the stage that ends it; "" never
	Says  string // what holds, for people
	// Check returns what is wrong with an op, or "".
	Check func(op *ir.Op) string
}

// Rules are the specification of TileAA between passes. CheckStage reads them; so does the documentation.
var Rules = []Rule{
	{"convert-to-tileaa", "", "All operations are TileAA's.", func(op *ir.Op) string {
		if op.Def.Dialect != Dialect.Name {
			return "is not an operation of TileAA"
		}
		return ""
	}},
	{"", "", "Rank-0 tiles have no layout.", tileTypes(func(t *TileType) string {
		if len(t.Shape) == 0 && t.Layout != nil {
			return "has a rank-0 tile with a layout"
		}
		return ""
	})},
	{"convert-to-tileaa", "", "A view is made where it can be seen: block_tile of make_memref, access of block_tile.", func(op *ir.Op) string {
		for _, of := range [][2]string{{"memref", "make_memref"}, {"block", "block_tile"}} {
			name, maker := of[0], of[1]
			if v := op.OperandNamed(name); v != nil && op.Def.OperandIndex(name) >= 0 {
				if _, ok := IsOp(v, maker); !ok {
					return "needs a " + name + " that is the result of " + maker
				}
			}
		}
		return ""
	}},
	{"convert-to-tileaa", "assign-layouts", "No layouts yet.", tileTypes(func(t *TileType) string {
		if t.Layout != nil {
			return "has a tile with a layout"
		}
		return ""
	})},
	{"convert-to-tileaa", "select-atoms", "No padded tiles yet.", not("pad")},
	{"convert-to-tileaa", "select-atoms", "No layout conversions and buffers yet.",
		not("convert_layout", "alloc_shared", "buffer_store", "buffer_load", "buffer_extract", "buffer_insert")},
	{"convert-to-tileaa", "select-atoms", "No asynchronous copies yet.", not("async_copy", "async_commit", "async_wait")},
	{"convert-to-tileaa", "insert-barriers", "No barriers yet.", not("barrier")},
	{"plan-kernel", "", "Every entry has a plan.", only("entry", func(op *ir.Op) string {
		if p, ok := op.AttrNamed("plan").(*PlanAttr); !ok || p.Warps < 1 {
			return "has no plan with at least one warp"
		}
		return ""
	})},
	{"select-atoms", "", "Every dot names its atom.", only("dot", has("atom"))},
	{"select-atoms", "", "Every access of a tile knows its width, tiled ones their masks.", accesses},
	{"assign-layouts", "", "Every tile of rank 1 or more has a layout.", tileTypes(func(t *TileType) string {
		if len(t.Shape) > 0 && t.Layout == nil {
			return "has a tile of rank 1 or more without a layout"
		}
		return ""
	})},
	{"assign-layouts", "", "Element-wise operations and pointer accesses work in one layout.", oneLayout},
	{"split-reductions", "", "Reductions combine registers and lanes only.", only("reduce", func(op *ir.Op) string {
		for _, v := range op.OperandGroupNamed("operands") {
			if t := AsTile(v); t != nil && t.Layout != nil {
				if bits, ok := t.Layout.Reduce(int(op.IntNamed("dim"))); !ok || len(bits.Warp)+len(bits.Block) > 0 {
					return "reduces across warps"
				}
			}
		}
		return ""
	})},
	{"lower-conversions", "", "Conversions that are left are renamings and shuffles.", only("convert_layout", func(op *ir.Op) string {
		from, to := AsTile(op.Operand(0)), AsTile(op.Result(0))
		if from.Layout != nil && to.Layout != nil && layout.Convert(*from.Layout, *to.Layout).Kind > layout.Shuffle {
			return "must go through shared memory"
		}
		return ""
	})},
	{"allocate-shared", "", "Every buffer has its place.", only("alloc_shared", has("offset"))},
	{"allocate-shared", "", "Every entry knows its shared memory.", only("entry", has("shared_bytes"))},
}

// CheckStage checks what must hold after a stage. A pass that is no stage establishes nothing: after it only what always
// holds is checked. Modules of other dialects are not looked at.
func CheckStage(module *ir.Op, stage string) error {
	if module.Def.Dialect != Dialect.Name {
		return nil
	}
	at := slices.Index(Stages, stage)
	var wrong error
	ir.Walk(module, ir.PreOrder, func(op *ir.Op) {
		for _, r := range Rules {
			from, until := slices.Index(Stages, r.From), slices.Index(Stages, r.Until)
			if wrong != nil || from > at || r.Until != "" && until <= at {
				continue
			}
			if says := r.Check(op); says != "" {
				wrong = fmt.Errorf("after %s: '%s' op %s, but: %s\n%s", stage, op.Name(), says, r.Says, ir.OpText(op))
			}
		}
	})
	return wrong
}

// only applies a check to one op.
func only(name string, check func(op *ir.Op) string) func(op *ir.Op) string {
	return func(op *ir.Op) string {
		if op.Def != rows[name] {
			return ""
		}
		return check(op)
	}
}

// not forbids ops.
func not(names ...string) func(op *ir.Op) string {
	return func(op *ir.Op) string {
		if op.Def.Dialect == Dialect.Name && slices.Contains(names, op.Def.Name) {
			return "is not legal yet"
		}
		return ""
	}
}

// has asks for an attribute.
func has(attr string) func(op *ir.Op) string {
	return func(op *ir.Op) string {
		if op.AttrNamed(attr) == nil {
			return "has no " + attr
		}
		return ""
	}
}

// tileTypes applies a check to the tile types of all results and block arguments.
func tileTypes(check func(t *TileType) string) func(op *ir.Op) string {
	return func(op *ir.Op) string {
		for _, r := range op.Results() {
			if t := AsTile(r); t != nil {
				if wrong := check(t); wrong != "" {
					return wrong
				}
			}
		}
		for _, r := range op.Regions() {
			for _, b := range r.Blocks() {
				for _, a := range b.Args() {
					if t := AsTile(a); t != nil {
						if wrong := check(t); wrong != "" {
							return wrong
						}
					}
				}
			}
		}
		return ""
	}
}

func accesses(op *ir.Op) string {
	switch op.Def {
	case rows["tiled_load"], rows["tiled_store"], rows["tiled_atomic"],
		rows["multimem_store"], rows["multimem_reduce"], rows["multimem_load"]:
		if op.AttrNamed("masked") == nil {
			return "has no masked"
		}
		return has("vec")(op)
	case rows["load"], rows["store"]:
		if t := tileArg(op, "ptr"); t != nil && len(t.Shape) > 0 {
			return has("vec")(op)
		}
	}
	return ""
}

// oneLayout compares the layouts of all tiles of rank 1 or more of an op.
func oneLayout(op *ir.Op) string {
	pointerAccess := slices.Contains([]string{"load", "store", "atomic_rmw", "atomic_cas"}, op.Def.Name)
	if op.Def.Dialect != Dialect.Name || !op.Traits().Has(ir.Elementwise) && !pointerAccess {
		return ""
	}
	var first *layout.Layout
	for _, v := range append(op.Operands(), op.Results()...) {
		t := AsTile(v)
		if t == nil || t.Layout == nil {
			continue
		}
		if first == nil {
			first = t.Layout
		} else if !first.Equal(*t.Layout) {
			return "mixes layouts"
		}
	}
	return ""
}
