package cudatile

import (
	"fmt"
	"slices"

	"tileiras/codegen/target"
	"tileiras/ir"
)

// oldestTileIR is the compute capability from which NVIDIA's tools compile Tile IR.
const oldestTileIR = 80

// isHintKey reports whether optimization hints may stand under a key: a GPU, or "default" for all others.
func isHintKey(key string) bool {
	t, ok := target.ByName(key)
	return key == "default" || ok && t.Number >= oldestTileIR
}

// hintRules are the hints: the operations that have them, and what is wrong with a value ("" when nothing is). k is the key.
var hintRules = map[string]struct {
	ops   []ir.Code
	check func(k string, a ir.Attribute) string
}{
	"num_cta_in_cga":           {entries, blocksHint},
	"num_worker_warps_per_cta": {entries, powerHint(32)},
	"occupancy":                {entries, rangeHint(32)},
	"latency":                  {[]ir.Code{OpLoadPtrTko, OpStorePtrTko, OpLoadViewTko, OpStoreViewTko}, rangeHint(10)},
	"allow_tma":                {[]ir.Code{OpLoadViewTko, OpStoreViewTko}, boolHint},
}

var entries = []ir.Code{OpEntry}

func boolHint(_ string, a ir.Attribute) string {
	if _, ok := a.(ir.BoolAttr); !ok {
		return "boolean value expected for "
	}
	return ""
}

// rangeHint is an integer from 1 on.
func rangeHint(most int64) func(string, ir.Attribute) string {
	return func(_ string, a ir.Attribute) string {
		n, ok := a.(ir.IntegerAttr)
		switch {
		case !ok:
			return "integer value expected for "
		case n.SInt() < 1 || n.SInt() > most:
			return fmt.Sprintf("integer value in the range [1, %d] is expected for ", most)
		}
		return ""
	}
}

// blocksHint is the thread blocks of a cluster: 1 where there are no clusters.
func blocksHint(k string, a ir.Attribute) string {
	if why := powerHint(16)(k, a); why != "" {
		return why
	}
	if gpu, named := target.ByName(k); named && gpu.ClusterMax == 1 && a.(ir.IntegerAttr).SInt() != 1 {
		return "expected 1 for "
	}
	return ""
}

// powerHint is a power of two.
func powerHint(most int64) func(string, ir.Attribute) string {
	return func(k string, a ir.Attribute) string {
		n, ok := a.(ir.IntegerAttr)
		v := n.SInt()
		switch {
		case !ok:
			return "integer value expected for "
		case v < 1 || v > most || v&(v-1) != 0:
			return fmt.Sprintf("expected power-of-two ≤ %d for ", most)
		}
		return ""
	}
}

// CheckHints warns of optimization hints that no compiler will follow: unknown keys, hints that the operation has not, values
// out of range. With asErrors an operation with such a hint is an error too, and the result false.
func CheckHints(c *ir.Context, module *ir.Op, asErrors bool) bool {
	good := true
	ir.WalkOf(module, ir.PreOrder, func(op HintedOp) {
		fine := true
		for _, e := range op.OptimizationHints() {
			if msg := checkHint(op.Op.Code(), e); msg != "" {
				c.Diags.Add(ir.Warning, op.Op.Loc(), "%s", msg)
				fine = false
			}
		}
		if !fine && asErrors {
			good = c.Error(op.Op, "Optimization hints verification failed")
		}
	})
	return good
}

// checkHint says what is wrong with the hints under one key.
func checkHint(op ir.Code, key ir.NamedAttr) string {
	if !isHintKey(key.Name) {
		return "unknown hint key " + key.Name
	}
	hints, _ := key.Value.(ir.DictAttr)
	for _, h := range hints {
		if msg := HintFault(op, key.Name, h); msg != "" {
			return msg
		}
	}
	return ""
}

// HintFault says what is wrong with a hint that an operation has under a key, "" when nothing is. A hint with a fault has no effect.
func HintFault(op ir.Code, key string, hint ir.NamedAttr) string {
	rule, ok := hintRules[hint.Name]
	if !ok || !slices.Contains(rule.ops, op) {
		return hint.Name + " is not known hint for current Operation"
	}
	if msg := rule.check(key, hint.Value); msg != "" {
		return msg + key + "." + hint.Name
	}
	return ""
}
