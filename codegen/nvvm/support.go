package nvvm

import "sort"

// Lowered lists the operations of TileAA that have a lowering, by name. docs/support.md is made of it.
func Lowered() []string {
	names := make([]string, 0, len(lowerings))
	for n := range lowerings { // sorted below: the order cannot matter
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
