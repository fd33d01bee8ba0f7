package pass

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tileiras/ir"
)

// Option is a setting of a pass, "loop-split{split-threshold=4}" in a pipeline.
type Option struct{ Name, Default, Help string }

// With is the pass with options set; it is an error to set one that the pass does not have.
func (p *Pass) With(values map[string]string) (*Pass, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(p.Options, func(o Option) bool { return o.Name == name }) {
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

// Option is the value of an option of the running pass.
func (s *State) Option(o Option) string {
	if v, ok := s.options[o.Name]; ok {
		return v
	}
	return o.Default
}

// IntOption is the value of an option that is a non-negative number.
func (s *State) IntOption(o Option) (int, error) {
	n, err := strconv.Atoi(s.Option(o))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("option %s: '%s' is no number from 0 on", o.Name, s.Option(o))
	}
	return n, nil
}

// IsFunction reports whether an op is an entry or another function: a symbol with an isolated region.
func IsFunction(op *ir.Op) bool {
	return op.Traits().Has(ir.Isolated|ir.Symbol) && op.Body() != nil && !op.Traits().Has(ir.SymbolTable)
}

// Functions lists the functions of the module, or the module itself if it is one, in order.
func (s *State) Functions() []*ir.Op {
	var list []*ir.Op
	ir.Walk(s.Module, ir.PreOrder, func(op *ir.Op) {
		if IsFunction(op) {
			list = append(list, op)
		}
	})
	return list
}
