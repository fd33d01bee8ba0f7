package nvvm

import (
	"sort"

	"tileiras/dialects/tileaa"
)

// Lowered lists the operations of TileAA that have a lowering, by name. docs/support.md is made of it.
func Lowered() []string {
	var names []string
	for _, d := range tileaa.Dialect.Ops {
		if lowerings.Of(d.Code) != nil {
			names = append(names, d.Name)
		}
	}
	sort.Strings(names)
	return names
}
