package passes

import (
	"strings"

	"tileiras/ir"
)

// conversion is what becomes of one operation of cuda_tile.
type conversion struct {
	to      string // the TileAA operation, or a list of them for people when convert is set
	names   string // "lhs=x rhs=y": arguments of the TileAA op and what cuda_tile calls them
	drops   string // attributes that need no counterpart
	convert func(c *converter, op *ir.Op)
	// multicast: the operation accesses multicast memory; all others must not, plain accesses have no meaning there.
	multicast bool
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
func same(names string) map[string]conversion {
	m := map[string]conversion{}
	for _, n := range strings.Fields(names) {
		m[n] = conversion{to: n}
	}
	return m
}

// conversions has one row for every operation inside an entry, by its name in cuda_tile. It is filled by init, because
// the functions in it come back to it.
var conversions map[string]conversion

func init() {
	conversions = same(`
		absf addf subf mulf divf remf maxf minf cmpf fma negf ceil floor sqrt rsqrt exp exp2 log log2 sin cos tan sinh cosh
		tanh absi addi subi muli negi divi remi maxi mini cmpi andi ori xori shli shri
		bitcast int_to_ptr ptr_to_int pack unpack constant iota broadcast reshape permute cat extract offset
		reduce scan get_global alloca break continue yield return`)
	for name, row := range map[string]conversion{ // fills a map: the order cannot matter
		"fpowf":      {to: "pow", names: "lhs=source rhs=exponent"},
		"fpowi":      {to: "powi"},
		"atan2":      {to: "atan2", names: "lhs=x rhs=y"},
		"mulhii":     {to: "mulhii", names: "lhs=x rhs=y"},
		"select":     {to: "select", names: "true_value=val_if_true false_value=val_if_false"},
		"exti":       {to: "exti", names: "source=from"},
		"trunci":     {to: "trunci", names: "source=from"},
		"ftof":       {to: "ftof", names: "source=from"},
		"ftoi":       {to: "ftoi", names: "source=from", drops: "rounding_mode"},
		"itof":       {to: "itof", names: "source=from", drops: "rounding_mode"},
		"ptr_to_ptr": {to: "ptr_cast"},
		"insert":     {to: "insert", names: "dest=destination"},
		"break":      {to: "break", names: "values=operands"},
		"continue":   {to: "continue", names: "values=operands"},
		"yield":      {to: "yield", names: "values=operands"},
		"return":     {to: "return", drops: "operands"},

		"mmaf":        {to: "dot"},
		"mmai":        {to: "dot"},
		"mmaf_scaled": {to: "dot_scaled"},

		"if":     {to: "if", names: "cond=condition"},
		"for":    {to: "for", names: "lower=lowerBound upper=upperBound inits=initValues unsigned=unsignedCmp"},
		"loop":   {to: "loop", names: "inits=initValues"},
		"assert": {to: "assert", names: "cond=condition"},
		"assume": {to: "assume", convert: (*converter).assume},

		"print_tko": {to: "print", names: "format=str values=args"},

		"make_token":                {to: "create_mem_token"},
		"join_tokens":               {to: "join_mem_token"},
		"memory_fence_alias_tko":    {to: "fence_alias"},
		"gdc_wait_tko":              {to: "gdc_wait"},
		"gdc_launch_dependents_tko": {to: "gdc_launch_dependents"},

		"load_ptr_tko":   {to: "load", convert: (*converter).loadPointer},
		"store_ptr_tko":  {to: "store", names: "ptr=destination", drops: "optimization_hints"},
		"atomic_rmw_tko": {to: "atomic_rmw", names: "ptr=pointers"},
		"atomic_cas_tko": {to: "atomic_cas", names: "ptr=pointers value=val"},

		"make_tensor_view":         {to: "make_memref", convert: (*converter).tensorView},
		"make_partition_view":      {to: "(block_tile of each access)", convert: (*converter).tileView},
		"make_strided_view":        {to: "(block_tile of each access)", convert: (*converter).tileView},
		"make_gather_scatter_view": {to: "(block_tile of each access)", convert: (*converter).tileView},
		"load_view_tko":            {to: "block_tile, tiled_load", convert: (*converter).loadView},
		"store_view_tko":           {to: "block_tile, tiled_store", convert: (*converter).storeView},
		"atomic_red_view_tko":      {to: "block_tile, tiled_atomic", convert: (*converter).atomicView},
		"get_tensor_shape":         {to: "(arithmetic)", convert: (*converter).tensorShape},
		"get_index_space_shape":    {to: "(arithmetic)", convert: (*converter).indexSpace},
		"get_tile_block_id":        {to: "program_id", convert: (*converter).grid},
		"get_num_tile_blocks":      {to: "num_programs", convert: (*converter).grid},

		"multimem_load_reduce_view_tko": {to: "block_tile, multimem_load", convert: (*converter).multimemLoad, multicast: true},
		"multimem_reduce_view_tko":      {to: "block_tile, multimem_reduce", convert: (*converter).multimemReduce, multicast: true},
		"multimem_store_view_tko":       {to: "block_tile, multimem_store", convert: (*converter).multimemStore, multicast: true},
	} {
		conversions[name] = row
	}
}
