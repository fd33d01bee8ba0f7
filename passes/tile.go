package passes

import (
	"fmt"
	"slices"
	"strconv"

	"tileiras/ir"
)

// Tile lists the passes that work on cuda_tile itself: those that NVIDIA ships in the open. They run by name, in any
// order, on a module or on one function; the way down to PTX begins with convert-to-tileaa and needs none of them.
var Tile = []*Pass{
	{"canonicalize", "Folds constants and applies local patterns until nothing changes.",
		"What other passes look for has then one form.", canonicalize},
	{"cse", "Merges pure operations that compute the same.",
		"After canonicalize, so that equal things look equal.", cse},
	{"loop-invariant-code-motion", "Moves invariant, speculatable operations out of loops.",
		"After cse, so that one copy moves.", licm},
	{"dce", "Erases pure operations that nobody uses.",
		"Last, for what other passes leave.", dce},
	{"fuse-fma", "Computes a product and the sum that takes it with one rounding.",
		"Only where the last bit does not matter: frontends mostly write fma themselves.", fuseFMA},
	{"loop-split", "Splits loops where a comparison of the counter with an invariant changes its answer.",
		"Before canonicalize, which takes what is constant in each part.", splitLoops},
	{"synthesize-debug-info-scopes", "Gives functions without debug information a subprogram of their name.",
		"Debuggers need scopes; frontends often give lines only.", synthesizeDebugInfoScopes},
	{"test-debuginfo-update-symbol-name", "Renames a symbol, in debug information too.",
		"Shows that names can change when both sides are known.", updateSymbolName},
	{"inline", "Changes nothing: cuda_tile has no operation that calls a function.",
		"Scripts for NVIDIA's tools name it.", nothing},
}

// Options lists the settings of the passes that have some.
var Options = map[string][]Option{
	"loop-split":                        {splitThreshold},
	"test-debuginfo-update-symbol-name": {symbolToRename, renameScope, newSymbolName, updateUses},
}

// Option is a setting of a pass, "loop-split{split-threshold=4}" in a pipeline.
type Option struct{ Name, Default, Help string }

// With is the pass with options set; an error names an option that it does not have.
func (p *Pass) With(values map[string]string) (*Pass, error) {
	known := Options[p.Name]
	for _, name := range sortedKeys(values) {
		if !slices.ContainsFunc(known, func(o Option) bool { return o.Name == name }) {
			return nil, fmt.Errorf("pass %s has no option '%s'", p.Name, name)
		}
	}
	q := *p
	q.Run = func(s *State) error {
		outer := s.options
		s.options = values
		defer func() { s.options = outer }()
		return p.Run(s)
	}
	return &q, nil
}

func sortedKeys(values map[string]string) []string {
	var keys []string
	for k := range values { // sorted below: the order cannot matter
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// option is the value of an option of the running pass.
func (s *State) option(o Option) string {
	if v, ok := s.options[o.Name]; ok {
		return v
	}
	return o.Default
}

// intOption is an option that is a number, not negative.
func (s *State) intOption(o Option) (int, error) {
	n, err := strconv.Atoi(s.option(o))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("option %s: '%s' is no number from 0 on", o.Name, s.option(o))
	}
	return n, nil
}

// isFunction reports whether an op is an entry or another function: a symbol whose region sees nothing of the outside.
func isFunction(op *ir.Op) bool {
	return op.Traits().Has(ir.Isolated|ir.Symbol) && op.Body() != nil && !op.Traits().Has(ir.SymbolTable)
}

// functions lists the functions of the module, or the one that it is, in order.
func (s *State) functions() []*ir.Op {
	var list []*ir.Op
	ir.Walk(s.Module, ir.PreOrder, func(op *ir.Op) {
		if isFunction(op) {
			list = append(list, op)
		}
	})
	return list
}
