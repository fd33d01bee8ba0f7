package nvvm

import (
	"sort"

	"tileiras/dialects/tileaa"
)

// Lowered lists the operations of TileAA that have a lowering, by name. docs/support.md is made of it.
func Lowered() []string {
	names := make([]string, 0, len(lowerings))
	for c := range lowerings { // sorted below: the order cannot matter
		names = append(names, tileaa.Dialect.Row(c).Name)
	}
	sort.Strings(names)
	return names
}
