package bytecode

import (
	"fmt"
	"os"
	"testing"
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

func TestDumpTypes(t *testing.T) {
	for _, n := range []string{os.Getenv("DUMP")} {
		data, err := os.ReadFile("../../../tests/corpus/cases/" + n + "/kernel.tileirbc")
		if err != nil {
			t.Skip()
		}
		dump := func(d []byte) {
			f := &failure{}
			r := &reader{failure: f, ctx: ir.NewContext(cudatile.Dialect), ops: theCodecs(), data: d}
			r.read(ReadOptions{Newest: Newest})
			for i := range r.types.entries {
				fmt.Println(i, ir.ShortType(r.typeAt(&cursor{failure: f}, uint64(i))))
			}
			for i, s := range r.strings {
				fmt.Printf("str %d %q\n", i, s)
			}
			for i, s := range r.constants.data {
				fmt.Printf("cst %d %x\n", i, s)
			}
			for i, s := range r.debug.entries {
				fmt.Printf("dbg %d %x\n", i+1, s)
			}
			for e := range r.module.Body().Ops() {
				op := r.module.Body().Ops()[e]
				fmt.Println(op.Name())
				if op.Body() == nil {
					continue
				}
				ir.Walk(op, ir.PreOrder, func(o *ir.Op) {
					fmt.Print("  ", o.Name(), " ")
					for _, v := range o.Results() {
						fmt.Print(ir.ShortType(v.Type()), " ")
					}
					fmt.Println(r.origin.debugIndex[o.Loc()])
				})
			}
			fmt.Println(f.err)
		}
		dump(data)
		fmt.Println("----- fresh")
		m, o, _ := Read(ir.NewContext(cudatile.Dialect), data, ReadOptions{})
		d2, _ := Write(m, WriteOptions{Version: o.version})
		dump(d2)
	}
}
