package convert

import (
	"sort"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// A tile of Tile IR is one of TileAA.
var _ [tileaa.MaxTileElements]struct{} = [cudatile.MaxTileElements]struct{}{}

// conversion is the conversion rule of one operation of cuda_tile.
type conversion struct {
	to      ir.Code // the TileAA operation; 0 when convert makes other ones
	becomes string  // what convert makes, as docs/support.md shows it, when that is not one operation
	names   string  // "lhs=x rhs=y": arguments of the TileAA op and what cuda_tile calls them
	drops   string  // attributes that are dropped
	convert func(c *converter, op *ir.Op)
	// multicast: the operation accesses multicast memory. No other may, since a plain access has no meaning there.
	multicast bool
}

// sources gives, for each argument of the TileAA op, the index of the operand or attribute of cuda_tile; -1 when it has none.
func (c conversion) sources(row *ir.OpDef) []int {
	args := tileaa.Dialect.Row(c.to).Args
	from := make([]int, len(args))
	for i, a := range args {
		from[i] = -1
		if name := c.source(row, a.Name); name != "" {
			from[i] = max(row.OperandIndex(name), row.AttrIndex(name))
		}
	}
	return from
}

// known reports whether there is a rule: operations outside of entries have none.
func (c conversion) known() bool { return c.to != 0 || c.becomes != "" }

// text is what becomes of the operation, as docs/support.md shows it.
func (c conversion) text() string {
	if c.becomes != "" {
		return c.becomes
	}
	return tileaa.Dialect.Row(c.to).Name
}

// usualNames are arguments that cuda_tile calls differently in all of its operations.
var usualNames = map[string]string{
	"rounding": "rounding_mode", "predicate": "comparison_predicate", "ordering": "comparison_ordering",
	"order": "memory_ordering_semantics", "scope": "memory_scope",
}

// source is the name in cuda_tile of an argument of the TileAA op, or "" when the operation has none.
func (c conversion) source(def *ir.OpDef, arg string) string {
	for _, pair := range strings.Fields(c.names) {
		if to, from, _ := strings.Cut(pair, "="); to == arg {
			return from
		}
	}
	for _, name := range []string{arg, usualNames[arg]} {
		if name != "" && (def.OperandIndex(name) >= 0 || def.AttrIndex(name) >= 0) {
			return name
		}
	}
	return ""
}

// conversions has one row for every operation inside an entry, by its code in cuda_tile. It is filled by init, because
// the functions in it come back to it.
var conversions ir.Table[conversion]

func init() {
	conversions = ir.Table[conversion]{
		// The operation of the same name with the same arguments.
		cudatile.OpAbsf & ir.Place:      {to: tileaa.OpAbsf},
		cudatile.OpAddf & ir.Place:      {to: tileaa.OpAddf},
		cudatile.OpSubf & ir.Place:      {to: tileaa.OpSubf},
		cudatile.OpMulf & ir.Place:      {to: tileaa.OpMulf},
		cudatile.OpDivf & ir.Place:      {to: tileaa.OpDivf},
		cudatile.OpRemf & ir.Place:      {to: tileaa.OpRemf},
		cudatile.OpMaxf & ir.Place:      {to: tileaa.OpMaxf},
		cudatile.OpMinf & ir.Place:      {to: tileaa.OpMinf},
		cudatile.OpCmpf & ir.Place:      {to: tileaa.OpCmpf},
		cudatile.OpFma & ir.Place:       {to: tileaa.OpFma},
		cudatile.OpNegf & ir.Place:      {to: tileaa.OpNegf},
		cudatile.OpCeil & ir.Place:      {to: tileaa.OpCeil},
		cudatile.OpFloor & ir.Place:     {to: tileaa.OpFloor},
		cudatile.OpSqrt & ir.Place:      {to: tileaa.OpSqrt},
		cudatile.OpRsqrt & ir.Place:     {to: tileaa.OpRsqrt},
		cudatile.OpExp & ir.Place:       {to: tileaa.OpExp},
		cudatile.OpExp2 & ir.Place:      {to: tileaa.OpExp2},
		cudatile.OpLog & ir.Place:       {to: tileaa.OpLog},
		cudatile.OpLog2 & ir.Place:      {to: tileaa.OpLog2},
		cudatile.OpSin & ir.Place:       {to: tileaa.OpSin},
		cudatile.OpCos & ir.Place:       {to: tileaa.OpCos},
		cudatile.OpTan & ir.Place:       {to: tileaa.OpTan},
		cudatile.OpSinh & ir.Place:      {to: tileaa.OpSinh},
		cudatile.OpCosh & ir.Place:      {to: tileaa.OpCosh},
		cudatile.OpTanh & ir.Place:      {to: tileaa.OpTanh},
		cudatile.OpAbsi & ir.Place:      {to: tileaa.OpAbsi},
		cudatile.OpAddi & ir.Place:      {to: tileaa.OpAddi},
		cudatile.OpSubi & ir.Place:      {to: tileaa.OpSubi},
		cudatile.OpMuli & ir.Place:      {to: tileaa.OpMuli},
		cudatile.OpNegi & ir.Place:      {to: tileaa.OpNegi},
		cudatile.OpDivi & ir.Place:      {to: tileaa.OpDivi},
		cudatile.OpRemi & ir.Place:      {to: tileaa.OpRemi},
		cudatile.OpMaxi & ir.Place:      {to: tileaa.OpMaxi},
		cudatile.OpMini & ir.Place:      {to: tileaa.OpMini},
		cudatile.OpCmpi & ir.Place:      {to: tileaa.OpCmpi},
		cudatile.OpAndi & ir.Place:      {to: tileaa.OpAndi},
		cudatile.OpOri & ir.Place:       {to: tileaa.OpOri},
		cudatile.OpXori & ir.Place:      {to: tileaa.OpXori},
		cudatile.OpShli & ir.Place:      {to: tileaa.OpShli},
		cudatile.OpShri & ir.Place:      {to: tileaa.OpShri},
		cudatile.OpBitcast & ir.Place:   {to: tileaa.OpBitcast},
		cudatile.OpIntToPtr & ir.Place:  {to: tileaa.OpIntToPtr},
		cudatile.OpPtrToInt & ir.Place:  {to: tileaa.OpPtrToInt},
		cudatile.OpPack & ir.Place:      {to: tileaa.OpPack},
		cudatile.OpUnpack & ir.Place:    {to: tileaa.OpUnpack},
		cudatile.OpConstant & ir.Place:  {to: tileaa.OpConstant},
		cudatile.OpIota & ir.Place:      {to: tileaa.OpIota},
		cudatile.OpBroadcast & ir.Place: {to: tileaa.OpBroadcast},
		cudatile.OpReshape & ir.Place:   {to: tileaa.OpReshape},
		cudatile.OpPermute & ir.Place:   {to: tileaa.OpPermute},
		cudatile.OpCat & ir.Place:       {to: tileaa.OpCat},
		cudatile.OpExtract & ir.Place:   {to: tileaa.OpExtract},
		cudatile.OpOffset & ir.Place:    {to: tileaa.OpOffset},
		cudatile.OpReduce & ir.Place:    {to: tileaa.OpReduce},
		cudatile.OpScan & ir.Place:      {to: tileaa.OpScan},
		cudatile.OpGetGlobal & ir.Place: {to: tileaa.OpGetGlobal},
		cudatile.OpAlloca & ir.Place:    {to: tileaa.OpAlloca},

		cudatile.OpFpowf & ir.Place:    {to: tileaa.OpPow, names: "lhs=source rhs=exponent"},
		cudatile.OpFpowi & ir.Place:    {to: tileaa.OpPowi},
		cudatile.OpAtan2 & ir.Place:    {to: tileaa.OpAtan2, names: "lhs=x rhs=y"},
		cudatile.OpMulhii & ir.Place:   {to: tileaa.OpMulhii, names: "lhs=x rhs=y"},
		cudatile.OpSelect & ir.Place:   {to: tileaa.OpSelect, names: "true_value=val_if_true false_value=val_if_false"},
		cudatile.OpExti & ir.Place:     {to: tileaa.OpExti, names: "source=from"},
		cudatile.OpTrunci & ir.Place:   {to: tileaa.OpTrunci, names: "source=from"},
		cudatile.OpFtof & ir.Place:     {to: tileaa.OpFtof, names: "source=from"},
		cudatile.OpFtoi & ir.Place:     {to: tileaa.OpFtoi, names: "source=from", drops: "rounding_mode"},
		cudatile.OpItof & ir.Place:     {to: tileaa.OpItof, names: "source=from", drops: "rounding_mode"},
		cudatile.OpPtrToPtr & ir.Place: {to: tileaa.OpPtrCast},
		cudatile.OpInsert & ir.Place:   {to: tileaa.OpInsert, names: "dest=destination"},
		cudatile.OpBreak & ir.Place:    {to: tileaa.OpBreak, names: "values=operands"},
		cudatile.OpContinue & ir.Place: {to: tileaa.OpContinue, names: "values=operands"},
		cudatile.OpYield & ir.Place:    {to: tileaa.OpYield, names: "values=operands"},
		cudatile.OpReturn & ir.Place:   {to: tileaa.OpReturn, drops: "operands"},

		cudatile.OpMmaf & ir.Place:       {to: tileaa.OpDot},
		cudatile.OpMmai & ir.Place:       {to: tileaa.OpDot},
		cudatile.OpMmafScaled & ir.Place: {to: tileaa.OpDot},

		cudatile.OpIf & ir.Place:     {to: tileaa.OpIf, names: "cond=condition"},
		cudatile.OpFor & ir.Place:    {to: tileaa.OpFor, names: "lower=lowerBound upper=upperBound inits=initValues unsigned=unsignedCmp"},
		cudatile.OpLoop & ir.Place:   {to: tileaa.OpLoop, names: "inits=initValues"},
		cudatile.OpAssert & ir.Place: {to: tileaa.OpAssert, names: "cond=condition"},
		cudatile.OpAssume & ir.Place: {to: tileaa.OpAssume, convert: (*converter).assume},

		cudatile.OpPrintTko & ir.Place: {to: tileaa.OpPrint, names: "format=str values=args", convert: (*converter).print},

		cudatile.OpMakeToken & ir.Place:              {to: tileaa.OpCreateMemToken},
		cudatile.OpJoinTokens & ir.Place:             {to: tileaa.OpJoinMemToken},
		cudatile.OpMemoryFenceAliasTko & ir.Place:    {to: tileaa.OpFenceAlias},
		cudatile.OpGdcWaitTko & ir.Place:             {to: tileaa.OpGdcWait},
		cudatile.OpGdcLaunchDependentsTko & ir.Place: {to: tileaa.OpGdcLaunchDependents},

		cudatile.OpLoadPtrTko & ir.Place:   {to: tileaa.OpLoad, convert: (*converter).loadPointer},
		cudatile.OpStorePtrTko & ir.Place:  {to: tileaa.OpStore, names: "ptr=destination", drops: "optimization_hints"},
		cudatile.OpAtomicRmwTko & ir.Place: {to: tileaa.OpAtomicRmw, names: "ptr=pointers"},
		cudatile.OpAtomicCasTko & ir.Place: {to: tileaa.OpAtomicCas, names: "ptr=pointers value=val"},

		cudatile.OpMakeTensorView & ir.Place:        {to: tileaa.OpMakeMemref, convert: (*converter).tensorView},
		cudatile.OpMakePartitionView & ir.Place:     {becomes: "(block_tile of each access)", convert: (*converter).tileView},
		cudatile.OpMakeStridedView & ir.Place:       {becomes: "(block_tile of each access)", convert: (*converter).tileView},
		cudatile.OpMakeGatherScatterView & ir.Place: {becomes: "(block_tile of each access)", convert: (*converter).tileView},
		cudatile.OpLoadViewTko & ir.Place:           {becomes: "block_tile, tiled_load", convert: (*converter).loadView},
		cudatile.OpStoreViewTko & ir.Place:          {becomes: "block_tile, tiled_store", convert: (*converter).storeView},
		cudatile.OpAtomicRedViewTko & ir.Place:      {becomes: "block_tile, tiled_atomic", convert: (*converter).atomicView},
		cudatile.OpGetTensorShape & ir.Place:        {becomes: "(arithmetic)", convert: (*converter).tensorShape},
		cudatile.OpGetIndexSpaceShape & ir.Place:    {becomes: "(arithmetic)", convert: (*converter).indexSpace},
		cudatile.OpGetTileBlockId & ir.Place:        {to: tileaa.OpProgramId, convert: (*converter).grid},
		cudatile.OpGetNumTileBlocks & ir.Place:      {to: tileaa.OpNumPrograms, convert: (*converter).grid},

		cudatile.OpMultimemLoadReduceViewTko & ir.Place: {becomes: "block_tile, multimem_load", convert: (*converter).multimemLoad, multicast: true},
		cudatile.OpMultimemReduceViewTko & ir.Place:     {becomes: "block_tile, multimem_reduce", convert: (*converter).multimemReduce, multicast: true},
		cudatile.OpMultimemStoreViewTko & ir.Place:      {becomes: "block_tile, multimem_store", convert: (*converter).multimemStore, multicast: true},
	}
}

// SupportRow is one line of the table of what the compiler takes.
type SupportRow struct {
	Op      string // the cuda_tile operation
	Becomes string // the TileAA operations that it becomes
}

// Support lists every operation of cuda_tile with what becomes of it, for docs/support.md.
func Support() []SupportRow {
	var rows []SupportRow
	for _, d := range cudatile.Dialect.Ops {
		if c := conversions.Of(d.Code); c.known() {
			rows = append(rows, SupportRow{Op: d.Name, Becomes: c.text()})
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Op < rows[j].Op })
	return rows
}
