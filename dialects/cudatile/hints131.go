package cudatile

import (
	"slices"

	"tileiras/ir"
)

// hintKeys131 are the architectures of the tools of 13.1, which no new GPU joins; hints131 the hints that they knew.
var (
	hintKeys131 = []string{"sm_80", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"}
	hints131    = []string{"num_cta_in_cga", "occupancy", "latency", "allow_tma"}
)

// CheckHints131 says what the tools of 13.1 refuse in the hints of an operation, by the code of the operation: unlike later ones
// they took an unknown architecture, an unknown hint and a bad value for an error. It is "" when there is nothing.
func CheckHints131(op ir.Code, hints ir.DictAttr) string {
	for _, e := range hints {
		if !slices.Contains(hintKeys131, e.Name) {
			return "unallowed key " + e.Name
		}
		inner, _ := e.Value.(ir.DictAttr)
		for _, h := range inner {
			if !slices.Contains(hints131, h.Name) {
				return "unknown param " + h.Name + " for " + e.Name
			}
			rule := hintRules[h.Name]
			if !slices.Contains(rule.ops, op) {
				return h.Name + " is not allowed for current Operation"
			}
			if msg := rule.check("", h.Value); msg != "" { // no key: clusters were not yet denied to any GPU
				return msg + e.Name + "." + h.Name
			}
		}
	}
	return ""
}
