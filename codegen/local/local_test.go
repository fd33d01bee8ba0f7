package local

import (
	"testing"

	"github.com/llir/llvm/asm"
	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/value"
)

// all has values with and without names, calls without a result, and one of every instruction whose result the back end may meet or refuse.
const all = `
declare void @nothing()
declare i32 @may_throw()
declare i32 @personality(...)

define i32 @f(i32 %0, i32 %named, i32* %1, <4 x i32> %2, { i32, i1 } %3) personality i32 (...)* @personality {
	%5 = add i32 %0, %named
	call void @nothing()
	%sum = add i32 %5, 1
	%6 = insertvalue { i32, i1 } %3, i32 %sum, 0
	%7 = extractvalue { i32, i1 } %6, 1
	%8 = extractelement <4 x i32> %2, i32 0
	%9 = insertelement <4 x i32> %2, i32 %8, i32 1
	%10 = shufflevector <4 x i32> %9, <4 x i32> %2, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
	%11 = cmpxchg i32* %1, i32 %0, i32 %5 seq_cst seq_cst
	%12 = atomicrmw add i32* %1, i32 %0 seq_cst
	store i32 %12, i32* %1
	fence seq_cst
	%13 = select i1 %7, i32 %0, i32 %12
	%14 = invoke i32 @may_throw() to label %15 unwind label %17

15:
	%16 = freeze i32 %14
	br label %end

17:
	%18 = landingpad { i8*, i32 } cleanup
	br label %end

end:
	%19 = phi i32 [ %16, %15 ], [ %13, %17 ]
	ret i32 %19
}
`

func parse(t *testing.T) *ir.Func {
	m, err := asm.ParseString("all.ll", all)
	if err != nil {
		t.Fatal(err)
	}
	return m.Funcs[len(m.Funcs)-1]
}

func TestAssignGivesWhatTheLibraryPrints(t *testing.T) {
	f := parse(t)
	want := f.LLString() // panics where the library would number otherwise
	for _, b := range f.Blocks {
		b.LocalID = 7
		for _, inst := range b.Insts {
			Set(inst, 7)
		}
	}
	for _, p := range f.Params {
		p.LocalID = 7
	}
	n := Assign(f)
	if n != 23 { // 20 without a name, and named, sum and end
		t.Errorf("%d numbers, want 23", n)
	}
	if got := f.LLString(); got != want {
		t.Errorf("after Assign the function prints\n%s\nwant\n%s", got, want)
	}
	seen := map[int32]string{}
	see := func(v value.Value) {
		if n, ok := Number(v); ok {
			if other, twice := seen[n]; twice {
				t.Errorf("%s and %s both have number %d", other, v.Ident(), n)
			}
			seen[n] = v.Ident()
		}
	}
	for _, p := range f.Params {
		see(p)
	}
	for _, b := range f.Blocks {
		for _, inst := range b.Insts {
			if v, ok := inst.(value.Value); ok {
				see(v)
			}
		}
	}
	if len(seen) != 23-4-1 { // all but blocks, and the invocation, which is a terminator
		t.Errorf("%d values have numbers, want 18: %v", len(seen), seen)
	}
	if _, ok := Number(constant.True); ok {
		t.Error("a constant has a number")
	}
}

func TestAppendOperandsAreTheLibrarys(t *testing.T) {
	for _, b := range parse(t).Blocks {
		for _, inst := range b.Insts {
			got, want := AppendOperands(nil, inst), inst.Operands()
			if len(got) != len(want) {
				t.Fatalf("%s has operands %v, want %v", inst.LLString(), got, want)
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("operand %d of %s is another place", i, inst.LLString())
				}
			}
		}
	}
}
