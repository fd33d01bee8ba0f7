package convert

import (
	"sort"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// conversion is what becomes of one operation of cuda_tile.
type conversion struct {
	to      ir.Code // the TileAA operation; 0 when convert makes other ones
	becomes string  // what convert makes, for people, when that is not one operation
	names   string  // "lhs=x rhs=y": arguments of the TileAA op and what cuda_tile calls them
	drops   string  // attributes that need no counterpart
	convert func(c *converter, op *ir.Op)
	// multicast: the operation accesses multicast memory; all others must not, plain accesses have no meaning there.
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

// text is what becomes of the operation, for people.
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

// same is a conversion to the operation of the same name with the same arguments.
func same(names string) map[ir.Code]conversion {
	m := map[ir.Code]conversion{}
	for _, n := range strings.Fields(names) {
		m[cudatile.Dialect.Op(n).Code] = conversion{to: tileaa.Dialect.Op(n).Code}
	}
	return m
}

// conversions has one row for every operation inside an entry, by its code in cuda_tile. It is filled by init, because
// the functions in it come back to it.
var conversions map[ir.Code]conversion

func init() {
	conversions = same(`
		absf addf subf mulf divf remf maxf minf cmpf fma negf ceil floor sqrt rsqrt exp exp2 log log2 sin cos tan sinh cosh
		tanh absi addi subi muli negi divi remi maxi mini cmpi andi ori xori shli shri
		bitcast int_to_ptr ptr_to_int pack unpack constant iota broadcast reshape permute cat extract offset
		reduce scan get_global alloca break continue yield return`)
	for code, row := range map[ir.Code]conversion{ // fills a map: the order cannot matter
		cudatile.OpFpowf:    {to: tileaa.OpPow, names: "lhs=source rhs=exponent"},
		cudatile.OpFpowi:    {to: tileaa.OpPowi},
		cudatile.OpAtan2:    {to: tileaa.OpAtan2, names: "lhs=x rhs=y"},
		cudatile.OpMulhii:   {to: tileaa.OpMulhii, names: "lhs=x rhs=y"},
		cudatile.OpSelect:   {to: tileaa.OpSelect, names: "true_value=val_if_true false_value=val_if_false"},
		cudatile.OpExti:     {to: tileaa.OpExti, names: "source=from"},
		cudatile.OpTrunci:   {to: tileaa.OpTrunci, names: "source=from"},
		cudatile.OpFtof:     {to: tileaa.OpFtof, names: "source=from"},
		cudatile.OpFtoi:     {to: tileaa.OpFtoi, names: "source=from", drops: "rounding_mode"},
		cudatile.OpItof:     {to: tileaa.OpItof, names: "source=from", drops: "rounding_mode"},
		cudatile.OpPtrToPtr: {to: tileaa.OpPtrCast},
		cudatile.OpInsert:   {to: tileaa.OpInsert, names: "dest=destination"},
		cudatile.OpBreak:    {to: tileaa.OpBreak, names: "values=operands"},
		cudatile.OpContinue: {to: tileaa.OpContinue, names: "values=operands"},
		cudatile.OpYield:    {to: tileaa.OpYield, names: "values=operands"},
		cudatile.OpReturn:   {to: tileaa.OpReturn, drops: "operands"},

		cudatile.OpMmaf:       {to: tileaa.OpDot},
		cudatile.OpMmai:       {to: tileaa.OpDot},
		cudatile.OpMmafScaled: {to: tileaa.OpDotScaled},

		cudatile.OpIf:     {to: tileaa.OpIf, names: "cond=condition"},
		cudatile.OpFor:    {to: tileaa.OpFor, names: "lower=lowerBound upper=upperBound inits=initValues unsigned=unsignedCmp"},
		cudatile.OpLoop:   {to: tileaa.OpLoop, names: "inits=initValues"},
		cudatile.OpAssert: {to: tileaa.OpAssert, names: "cond=condition"},
		cudatile.OpAssume: {to: tileaa.OpAssume, convert: (*converter).assume},

		cudatile.OpPrintTko: {to: tileaa.OpPrint, names: "format=str values=args"},

		cudatile.OpMakeToken:              {to: tileaa.OpCreateMemToken},
		cudatile.OpJoinTokens:             {to: tileaa.OpJoinMemToken},
		cudatile.OpMemoryFenceAliasTko:    {to: tileaa.OpFenceAlias},
		cudatile.OpGdcWaitTko:             {to: tileaa.OpGdcWait},
		cudatile.OpGdcLaunchDependentsTko: {to: tileaa.OpGdcLaunchDependents},

		cudatile.OpLoadPtrTko:   {to: tileaa.OpLoad, convert: (*converter).loadPointer},
		cudatile.OpStorePtrTko:  {to: tileaa.OpStore, names: "ptr=destination", drops: "optimization_hints"},
		cudatile.OpAtomicRmwTko: {to: tileaa.OpAtomicRmw, names: "ptr=pointers"},
		cudatile.OpAtomicCasTko: {to: tileaa.OpAtomicCas, names: "ptr=pointers value=val"},

		cudatile.OpMakeTensorView:        {to: tileaa.OpMakeMemref, convert: (*converter).tensorView},
		cudatile.OpMakePartitionView:     {becomes: "(block_tile of each access)", convert: (*converter).tileView},
		cudatile.OpMakeStridedView:       {becomes: "(block_tile of each access)", convert: (*converter).tileView},
		cudatile.OpMakeGatherScatterView: {becomes: "(block_tile of each access)", convert: (*converter).tileView},
		cudatile.OpLoadViewTko:           {becomes: "block_tile, tiled_load", convert: (*converter).loadView},
		cudatile.OpStoreViewTko:          {becomes: "block_tile, tiled_store", convert: (*converter).storeView},
		cudatile.OpAtomicRedViewTko:      {becomes: "block_tile, tiled_atomic", convert: (*converter).atomicView},
		cudatile.OpGetTensorShape:        {becomes: "(arithmetic)", convert: (*converter).tensorShape},
		cudatile.OpGetIndexSpaceShape:    {becomes: "(arithmetic)", convert: (*converter).indexSpace},
		cudatile.OpGetTileBlockId:        {to: tileaa.OpProgramId, convert: (*converter).grid},
		cudatile.OpGetNumTileBlocks:      {to: tileaa.OpNumPrograms, convert: (*converter).grid},

		cudatile.OpMultimemLoadReduceViewTko: {becomes: "block_tile, multimem_load", convert: (*converter).multimemLoad, multicast: true},
		cudatile.OpMultimemReduceViewTko:     {becomes: "block_tile, multimem_reduce", convert: (*converter).multimemReduce, multicast: true},
		cudatile.OpMultimemStoreViewTko:      {becomes: "block_tile, multimem_store", convert: (*converter).multimemStore, multicast: true},
	} {
		conversions[code] = row
	}
}

// SupportRow is one line of the table of what the compiler takes.
type SupportRow struct {
	Op      string // the cuda_tile operation
	Becomes string // the TileAA operations that it becomes
}

// Support lists every operation of cuda_tile with what becomes of it. docs/support.md is made of it.
func Support() []SupportRow {
	rows := make([]SupportRow, 0, len(conversions))
	for code, c := range conversions { // sorted below: the order cannot matter
		rows = append(rows, SupportRow{Op: cudatile.Dialect.Row(code).Name, Becomes: c.text()})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Op < rows[j].Op })
	return rows
}
