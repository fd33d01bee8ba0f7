package cost

// Costs of a way to make a tile in pieces, in units of about a pass over a value in registers.
const (
	SliceAccumulate = 1 // the first piece is peeled off
	SliceReadAgain  = 1 // a product reads the bigger of its factors for each piece
	SliceExtract    = 3 // through shared memory, every piece
	SliceCarry      = 4 // the last row of a scan goes through shared memory, every piece
	SliceShortRuns  = 4 // memory is read in parts of cache lines
	SliceCollect    = 6 // through shared memory and back, every piece
	SliceOtherLoop  = 8 // a big tile is needed for another result first

	SliceMultiplyAgain = 8 // a product is made for each piece
)

const (
	// LineBytes is the size of a cache line: runs of it or more are read at full speed.
	LineBytes = 128
	// PieceRegisters is the most registers of a thread that a value takes in a piece. (Measured: a rolled loop over pieces of 32 values
	// costs ptxas 0.05 s, 512 values in straight code 3 s and a stack, 8192 minutes.)
	PieceRegisters = 32
	// MaxPieces is the most operations on pieces that the loops of a module may have: each becomes up to PieceRegisters values, twice where
	// the first piece stands before its loop. Outputs that share much of what they are made of would else need a file of their own size
	// squared.
	MaxPieces = 1 << 14
	// ScalarInstructions is the most multiply-adds of a thread in one product.
	ScalarInstructions = 8192
)
