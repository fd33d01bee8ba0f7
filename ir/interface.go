package ir

import "strings"

// InterfaceDef names arguments that several rows have in common. Package opgen makes a Go type of it, through which operations of
// all these rows are read and changed alike: an interface in the sense of MLIR, found by the rows and not declared by them.
type InterfaceDef struct {
	Name    string   // of the Go type
	Doc     string   // the comment of the Go type, after its name
	Args    []string // what a row must have: operands as "%name", attributes as "name"
	Results []string // results that it must have
}

// Implements reports whether a row has what the interface names.
func (d *OpDef) Implements(f *InterfaceDef) bool {
	for _, name := range f.Args {
		if operand, ok := strings.CutPrefix(name, "%"); ok && d.OperandIndex(operand) < 0 || !ok && d.AttrIndex(name) < 0 {
			return false
		}
	}
	for _, name := range f.Results {
		if d.ResultIndex(name) < 0 {
			return false
		}
	}
	return true
}

// ResultIndex is the place of a declared result, or -1.
func (d *OpDef) ResultIndex(name string) int {
	for i := range d.Results {
		if d.Results[i].Name == name {
			return i
		}
	}
	return -1
}
