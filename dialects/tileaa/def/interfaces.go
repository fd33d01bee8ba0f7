package def

import "tileiras/ir"

// Interfaces are what rows share, for code that treats them alike.
var Interfaces = []ir.InterfaceDef{
	{Name: "UnaryOp", Doc: "is an op that computes its result from one tile.", Args: []string{"%source"}, Results: []string{"result"}},
	{Name: "BinaryOp", Doc: "is an op with two operands lhs and rhs.", Args: []string{"%lhs", "%rhs"}, Results: []string{"result"}},
	{Name: "SignedOp", Doc: "is an op whose meaning depends on how it reads the sign bit.", Args: []string{"signedness"}},
	{Name: "OverflowOp", Doc: "is an op with promises about overflow.", Args: []string{"overflow"}},
	{Name: "RoundedOp", Doc: "is an op that rounds its result.", Args: []string{"rounding"}},
	{Name: "FlushingOp", Doc: "is an op that may flush subnormal numbers to zero.", Args: []string{"flush_to_zero"}},
	{Name: "NaNOp", Doc: "is an op that says what becomes of NaN.", Args: []string{"propagate_nan"}},
	{Name: "CombineOp", Doc: "is an op that combines the elements of tiles along a dimension by a region.",
		Args: []string{"dim", "identities", "%operands"}, Results: []string{"results"}},
	{Name: "DimOp", Doc: "is an op along one dimension of its tiles.", Args: []string{"dim"}},
	{Name: "SymbolOp", Doc: "is an op that others name.", Args: []string{"sym_name"}},
	{Name: "GridOp", Doc: "is a question about the grid.", Args: []string{"axis"}, Results: []string{"result"}},
	{Name: "IndexedOp", Doc: "is an op on one slice of a tile or buffer.", Args: []string{"%indices"}},

	{Name: "TokenOp", Doc: "is an op that comes after what its token comes after.", Args: []string{"%token"}},
	{Name: "MemoryOp", Doc: "is an access to memory outside the kernel's buffers, of a block or through pointers.",
		Args: []string{"%token", "order", "scope"}, Results: []string{"result_token"}},
	{Name: "BlockAccess", Doc: "is an access to a block of an array.", Args: []string{"%block", "%token", "order", "scope", "masked"}, Results: []string{"result_token"}},
	{Name: "PtrAccess", Doc: "is an access through a tile of pointers.", Args: []string{"%ptr", "%mask", "%token", "order", "scope"}, Results: []string{"result_token"}},
	{Name: "MaskedOp", Doc: "is what reads or writes through a tile of pointers with a mask that may cut its accesses.", Args: []string{"%ptr", "%mask", "%left"}},
	{Name: "BlockOp", Doc: "is an op with a block as operand: an access, or a copy from it.", Args: []string{"%block"}},
	{Name: "AccessOp", Doc: "is a memory op whose width, masks and offsets select-atoms decides.", Args: []string{"vec", "fast", "narrow", "masked", "coordinate_bits", "ragged"}},
	{Name: "ValueOp", Doc: "is an op with a value that it stores, combines with memory, or passes on.", Args: []string{"%value"}},
	{Name: "LatencyOp", Doc: "is a load with the frontend's hint.", Args: []string{"latency"}},
	{Name: "AtomicOp", Doc: "is an access that combines a value with what memory holds.", Args: []string{"mode"}},
	{Name: "BufferOp", Doc: "is an access to a buffer.", Args: []string{"%buffer"}},
	{Name: "PipelineOp", Doc: "is what a thread does at a slot of a pipeline.", Args: []string{"%pipeline", "%position"}},
	{Name: "PredicatedOp", Doc: "is an op that does something, or gives something that matters, only if a condition holds.", Args: []string{"%when"}},
	{Name: "TensorOp", Doc: "is an op on tensor memory.", Args: []string{"%memory"}},
	{Name: "MapsOp", Doc: "is an op on tensor maps, or one that may take one.", Args: []string{"%maps"}},
	{Name: "SumsOp", Doc: "is an op on a tile that is in tensor memory, or comes there.", Args: []string{"%source", "%memory", "column", "lane"}, Results: []string{"result"}},
	{Name: "PlacedOp", Doc: "is memory of a tile block, of which allocate-shared says where it lies.", Args: []string{"offset"}, Results: []string{"result"}},
	{Name: "BufferWrite", Doc: "is an op that writes a tile to a buffer.", Args: []string{"%value", "%buffer"}},
}
