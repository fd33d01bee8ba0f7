package def

import "tileiras/ir"

// Interfaces are what rows share, for code that treats them alike.
var Interfaces = []ir.InterfaceDef{
	{Name: "SymbolOp", Doc: "is an op that others name.", Args: []string{"sym_name"}},
	{Name: "SignedOp", Doc: "is an op whose meaning depends on how it reads the sign bit.", Args: []string{"signedness"}},
	{Name: "RoundedOp", Doc: "is an op that rounds its result.", Args: []string{"rounding_mode"}},
	{Name: "FlushingOp", Doc: "is an op that may flush subnormal numbers to zero.", Args: []string{"flush_to_zero"}},
	{Name: "NaNOp", Doc: "is an op that says what becomes of NaN.", Args: []string{"propagate_nan"}},
	{Name: "OverflowOp", Doc: "is an op with promises about overflow.", Args: []string{"overflow"}},
	{Name: "MemoryOp", Doc: "is an access to memory.", Args: []string{"memory_ordering_semantics", "memory_scope", "%token"}, Results: []string{"result_token"}},
	{Name: "ViewAccess", Doc: "is an access to a tile of a view.", Args: []string{"memory_ordering_semantics", "memory_scope", "inbounds", "%view", "%index", "%token"}, Results: []string{"result_token"}},
	{Name: "ReducingOp", Doc: "is an op that reduces over the copies of multicast memory.", Args: []string{"reduction"}},
	{Name: "TileOp", Doc: "is an op that writes a tile to the memory of a view, or reduces it there.", Args: []string{"%tile", "%view"}},
	{Name: "HintedOp", Doc: "is an op with optimization hints.", Args: []string{"optimization_hints"}},
	{Name: "TokenOp", Doc: "is an op that comes after what its token comes after.", Args: []string{"%token"}},
	{Name: "AggregateOp", Doc: "is an op that combines the elements of tiles along a dimension by a region.", Args: []string{"dim", "identities", "%operands"}, Results: []string{"results"}},
}
