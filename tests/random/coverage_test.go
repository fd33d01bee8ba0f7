package random

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// enough is how often a run of manyModules must make each legal pair of an operation and an element type.
const enough = 50

// exemption says why modules do not have what the rows allow: operations (none named: all of them) with elements (none named: any).
type exemption struct {
	ops, elems, why string
}

const formats = "tf32 f8E4M3FN f8E5M2 f8E8M0FNU f4E2M1FN"

// exempt lists them. The test holds that modules really have none of these pairs.
var exempt = []exemption{
	{"print_tko", "", "what several tile blocks print has no order; the corpus compares printed text"},
	{"multimem_load_reduce_view_tko multimem_reduce_view_tko multimem_store_view_tko", "", "multicast memory is for GPUs from sm_90 on; tests/lit has it"},
	{"module entry return global", "*", "no operand or result in an entry has a type there"},
	{"load_view_tko store_view_tko load_ptr_tko store_ptr_tko offset ptr_to_int int_to_ptr ptr_to_ptr alloca get_global make_tensor_view make_partition_view " +
		"make_gather_scatter_view make_strided_view get_tensor_shape get_index_space_shape", "i4 f4E2M1FN", "elements of 4 bits are not supported in memory"},
	{"load_view_tko store_view_tko load_ptr_tko store_ptr_tko offset ptr_to_int int_to_ptr ptr_to_ptr alloca get_global make_tensor_view make_partition_view " +
		"make_gather_scatter_view make_strided_view get_tensor_shape get_index_space_shape", "tf32 f8E8M0FNU", "kernels convert what they load to these"},
	{"atomic_cas_tko", "i8 i16 f16 bf16 i4 " + formats, "the verifier wants 32 or 64 bits"},
	{"atomic_rmw_tko atomic_red_view_tko", "i4 " + formats, "the verifier knows no mode for them"},
	{"atomic_rmw_tko", "i8 i16", "the verifier wants 32 or 64 bits"},
	{"alloca", "i1 f8E4M3FN f8E5M2", "memory of a tile block is of numbers that the program computes with"},
	{"reduce", formats, "no operation on them commutes"},
	{"scan", "f8E8M0FNU f4E2M1FN", "identities of these types are not written"},
	{"bitcast", "i1 f4E2M1FN", "nothing else has as many bits"},
	{"select", "i4 f4E2M1FN", "the verifier wants whole bytes"},
	{"bitcast", "tf32", "bits beyond the precision of tf32 are nobody's promise"},
	{"itof", "f8E8M0FNU", "the verifier wants another float type first"},
	{"iota", "i1", "two numbers only; constants of i1 are drawn instead"},
	{"assume", "i4 tf32 f8E8M0FNU f4E2M1FN", "promises are about integers and pointers to what is in memory"},
	{"pack unpack", "f8E4M3FN f8E5M2 f8E8M0FNU", "the verifier wants another width"},
	{"unpack", "tf32", "bits beyond the precision of tf32 are nobody's promise"},
	{"atomic_red_view_tko", "i1", "a number of one bit counts two tiles"},
}

func exempted(op, elem string) (string, bool) {
	for _, e := range exempt {
		if slices.Contains(strings.Fields(e.ops), op) && (e.elems == "*" && elem != "" || e.elems == "" || slices.Contains(strings.Fields(e.elems), elem)) {
			return e.why, true
		}
	}
	return "", false
}

// legal are the element types that rows allow for an operation, in any place.
func legal(d *ir.OpDef) []string {
	var out []string
	add := func(set string) {
		for _, e := range inElems(set) {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	for _, a := range d.Args {
		if a.Constraint != "" {
			add(a.Constraint)
		}
	}
	for _, r := range d.Results {
		add(r.Constraint)
	}
	return out
}

// elemOf is the element type of a tile, of what its pointers point to, or of a view; "" for tokens.
func elemOf(t ir.Type) string {
	switch t := t.(type) {
	case *cudatile.TileType:
		if p, ok := t.Elem.(*cudatile.PtrType); ok {
			return ir.ShortType(p.Elem)
		}
		return ir.ShortType(t.Elem)
	case *cudatile.TensorViewType:
		return ir.ShortType(t.Elem)
	case cudatile.TileView:
		return ir.ShortType(t.View().Tile.Elem)
	}
	return ""
}

// TestTheGeneratorMakesEveryPair counts how often modules have each operation of each element type, and prints the table.
func TestTheGeneratorMakesEveryPair(t *testing.T) {
	n := number(t, "TILEIRAS_RANDOM", programs)
	counts := map[[2]string]int{}
	ops, repeated := map[string]int{}, map[string]int{}
	words := map[[3]string]int{}
	for seed := range uint64(n) {
		in, err := read(moduleOf(seed))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		ir.Walk(in.Module, ir.PreOrder, func(op *ir.Op) {
			seen := map[string]bool{}
			for _, v := range slices.Concat(op.Operands(), op.Results()) {
				if e := elemOf(v.Type()); e != "" {
					seen[e] = true
				}
			}
			for e := range seen { // counts do not depend on the order
				counts[[2]string{op.Def.Name, e}]++
			}
			ops[op.Def.Name]++
			countWords(op, words)
			if n := op.NumOperands(); n > 1 && op.Operand(0) == op.Operand(1) {
				repeated[op.Def.Name]++
			}
		})
	}
	columns := append(slices.Clone(def.Numbers), "i4")
	var table strings.Builder
	fmt.Fprintf(&table, "%-26s %7s", "operation", "all")
	for _, e := range columns {
		fmt.Fprintf(&table, " %7s", strings.TrimPrefix(e, "f8"))
	}
	for _, d := range cudatile.Dialect.Ops {
		fmt.Fprintf(&table, "\n%-26s %7d", d.Name, ops[d.Name])
		allowed := legal(d)
		if _, spared := exempted(d.Name, ""); ops[d.Name] == 0 && !spared {
			t.Errorf("no module of %d has %s", n, d.Name)
		}
		if fullyDescribed(d) && d.NumOperandDefs() > 1 && repeated[d.Name] == 0 {
			t.Errorf("no module of %d has %s of one value twice", n, d.Name)
		}
		if fullyDescribed(d) && n >= manyModules {
			for _, missing := range wordsWithout(d, words) {
				t.Errorf("%d modules have %s too rarely", n, missing)
			}
		}
		for _, e := range columns {
			c := counts[[2]string{d.Name, e}]
			text := fmt.Sprint(c)
			_, spared := exempted(d.Name, e)
			switch {
			case !slices.Contains(allowed, e):
				text = "."
			case spared:
				text = "-"
				if c > 0 {
					t.Errorf("modules have %s of %s, which the table of exemptions denies", d.Name, e)
				}
			case n >= manyModules && c < enough:
				t.Errorf("%d modules have %s of %s %d times, %d in %d are wanted", n, d.Name, e, c, enough, manyModules)
			}
			fmt.Fprintf(&table, " %7s", text)
		}
	}
	t.Log(table.String())
}

// countWords counts the words of enumerations that an operation has.
func countWords(op *ir.Op, words map[[3]string]int) {
	for i, a := range op.Attrs() {
		if e, ok := a.(ir.EnumAttr); ok {
			words[[3]string{op.Def.Name, op.Def.AttrDef(i).Name, e.Enum.Case(e.Value).Keyword}]++
		}
	}
}

// wordsWithout lists the words of the enumerations that a row wants that are there too rarely.
func wordsWithout(d *ir.OpDef, words map[[3]string]int) (missing []string) {
	for _, a := range chosen(d) {
		for _, c := range a.Enum.Cases {
			if n := words[[3]string{d.Name, a.Name, c.Keyword}]; n < enough {
				missing = append(missing, fmt.Sprintf("%s with %s %s: %d times, %d are wanted", d.Name, a.Name, c.Keyword, n, enough))
			}
		}
	}
	return missing
}
