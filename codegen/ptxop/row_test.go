package ptxop

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

func TestRowsRenderAsInlineAssembly(t *testing.T) {
	for _, c := range []struct{ name, asm, constraints string }{
		{"ld.global.v2.b32", "ld.global.v2.b32 {$0, $1}, [$2+$3];", "=r,=r,l,n"},
		{"@ld.global.v2.b32", "@$2 ld.global.v2.b32 {$0, $1}, [$5+$6];", "=r,=r,b,0,1,l,n"},
		{"st.shared.b64", "st.shared.b64 [$0+$1], $2;", "r,n,l"},
		{"@st.global.v4.f32", "@$0 st.global.v4.f32 [$1+$2], {$3, $4, $5, $6};", "b,l,n,f,f,f,f"},
		{"cp.async.cg.shared.global.16.zfill", "cp.async.cg.shared.global [$0+$1], [$2+$3], 16, $4;", "r,n,l,n,r"},
		{"bar.sync", "bar.sync $0;", "n"},
		{"mov.u32.%tid.x", "mov.u32 $0, %tid.x;", "=r"},
		{"mov.unpack.b64", "mov.b64 {$0, $1}, $2;", "=r,=r,l"},
		{"mma.m16n8k16.row.col.f32.f16.f16.f32",
			"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};",
			"=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"},
		{"elect.sync", "elect.sync _|$0, $1;", "=b,r"},
		{"cvt.rn.f16x2.e2m1x2", "{ .reg .b8 b; cvt.u8.u16 b, $1; cvt.rn.f16x2.e2m1x2 $0, b; }", "=r,h"},
		{"@trap", "@$0 trap;", "b"},
	} {
		r := Lookup(c.name)
		if r == nil {
			t.Errorf("no row %s", c.name)
			continue
		}
		if r.Asm != c.asm || r.Constraints != c.constraints {
			t.Errorf("%s:\n got %q %q\nwant %q %q", c.name, r.Asm, r.Constraints, c.asm, c.constraints)
		}
	}
}

func TestEveryRowIsFoundByNameAndByItsPair(t *testing.T) {
	rows := Rows()
	names := map[string]bool{}
	for _, r := range rows {
		if names[r.Name] {
			t.Errorf("two rows are named %s", r.Name)
		}
		names[r.Name] = true
	}
	if len(rows) < 5000 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, r := range rows {
		if got := Lookup(r.Name); got != r {
			t.Errorf("Lookup(%s) = %v", r.Name, got)
		}
		if got := Find(r.Asm, r.Constraints); got != r {
			t.Errorf("Find(%s) = %v", r.Name, got)
		}
		if got := Find(r.Asm+" ", r.Constraints); got != nil {
			t.Errorf("%s is found by a text that is not its own", r.Name)
		}
	}
	for _, bad := range []string{"", "@", "ld", "ld.global", "ld.global.v3.b32", "frobnicate.b32", "@add.s32"} {
		if r := Lookup(bad); r != nil {
			t.Errorf("Lookup(%q) = %v", bad, r)
		}
	}
}

func TestOperandsOfEveryRowAreWellFormed(t *testing.T) {
	for _, r := range Rows() {
		used := make([]bool, len(r.Operands))
		for _, p := range r.Text {
			if p.Operand < 0 {
				continue
			}
			used[p.Operand] = true
			if p.Address {
				used[p.Operand+1] = true
				if r.Operands[p.Operand].Kind != Base || r.Operands[p.Operand+1].Kind != Imm {
					t.Errorf("%s: address operand %d is not base and offset", r.Name, p.Operand)
				}
			}
		}
		for i, o := range r.Operands {
			if (i < r.Results) != (o.Kind == Def) {
				t.Errorf("%s: operand %d is on the wrong side of the results", r.Name, i)
			}
			switch o.Kind {
			case Tied:
				if r.Operands[o.Def].Type != o.Type {
					t.Errorf("%s: operand %d is tied to a result of another type", r.Name, i)
				}
			case Guard:
				if i != r.GuardOperand || o.Type != Pred {
					t.Errorf("%s: operand %d is a misplaced guard", r.Name, i)
				}
			default:
				passes := func(row string) bool { return strings.HasPrefix(r.Name, row) } // registers, and says when they are whose
				if !used[i] && !passes("wgmma.wait_group.") && !passes("wgmma.fence.") && !passes("tcgen05.wait::ld.") {
					t.Errorf("%s: operand %d does not appear in the text", r.Name, i)
				}
			}
		}
		if (r.GuardOperand >= 0) != strings.HasPrefix(r.Name, "@") {
			t.Errorf("%s: name and guard disagree", r.Name)
		}
	}
}

func TestEffectsDecideWhatMayBeRemoved(t *testing.T) {
	for name, want := range map[string]struct{ removable, side bool }{
		"add.rn.f32":                          {true, false},
		"ld.global.nc.b32":                    {true, false},
		"ld.global.b32":                       {true, true},
		"ld.relaxed.gpu.global.b32":           {false, true},
		"st.shared.b32":                       {false, true},
		"shfl.sync.bfly.b32":                  {true, false},
		"bar.sync":                            {false, true},
		"cp.async.commit_group":               {false, true},
		"atom.relaxed.gpu.global.add.f32":     {false, true},
		"mov.u64.%globaltimer":                {false, true},
		"griddepcontrol.launch_dependents":    {false, true},
		"ldmatrix.m8n8.x4.shared.b16":         {true, true},
		"mma.m16n8k8.row.col.f32.f16.f16.f32": {true, false},
	} {
		fx := Must(name).Effects
		if fx.Removable() != want.removable || fx.SideEffect() != want.side {
			t.Errorf("%s: removable %v, side effect %v; want %v", name, fx.Removable(), fx.SideEffect(), want)
		}
	}
}

// llvmModule writes one call per row.
func llvmModule(rows []*Row) string {
	types := [...]string{"i1", "i16", "i32", "i64", "float", "double"}
	var out strings.Builder
	out.WriteString("target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k(i1 %v0, i16 %v1, i32 %v2, i64 %v3, float %v4, double %v5) {\n")
	for i, r := range rows {
		result := "void"
		var results, args []string
		for _, o := range r.Operands {
			switch {
			case o.Kind == Def:
				results = append(results, types[o.Type])
			case o.Kind == Imm:
				args = append(args, "i32 4")
			default:
				args = append(args, fmt.Sprintf("%s %%v%d", types[o.Type], o.Type))
			}
		}
		switch len(results) {
		case 0:
		case 1:
			result = results[0]
		default:
			result = "{" + strings.Join(results, ", ") + "}"
		}
		if result != "void" {
			fmt.Fprintf(&out, "  %%r%d = ", i)
		}
		fmt.Fprintf(&out, "call %s asm sideeffect \"%s\", \"%s\"(%s)\n", result, r.Asm, r.Constraints, strings.Join(args, ", "))
	}
	out.WriteString("  ret void\n}\n")
	return out.String()
}

func TestLLVMAcceptsEveryRow(t *testing.T) {
	text := llvmModule(Rows())
	for _, tool := range [][]string{
		{"llvm-as-14", "-o", "/dev/null"},
		{"llc-16", "-mtriple=nvptx64-nvidia-cuda", "-mcpu=sm_80", "-O0", "-opaque-pointers=0", "-o", "/dev/null"},
	} {
		t.Run(tool[0], func(t *testing.T) {
			path, err := exec.LookPath(tool[0])
			if err != nil {
				t.Skipf("not run: %s is not installed", tool[0])
			}
			cmd := exec.Command(path, tool[1:]...)
			cmd.Stdin = strings.NewReader(text)
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%.2000s", err, output)
			}
		})
	}
}

func TestAQuestionForAKnownRowAllocatesNothing(t *testing.T) {
	r := Must("mma.m16n8k16.row.col.f32.f16.f16.f32")
	if n := testing.AllocsPerRun(10, func() { Lookup(r.Name); Find(r.Asm, r.Constraints) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFind(b *testing.B) {
	r := Must("mma.m16n8k16.row.col.f32.f16.f16.f32")
	asm, constraints := strings.Clone(r.Asm), strings.Clone(r.Constraints)
	for b.Loop() {
		if Find(asm, constraints) != r {
			b.Fatal("not found")
		}
	}
}

func BenchmarkBuildAllRows(b *testing.B) {
	for b.Loop() {
		forget()
		for _, g := range groups {
			for of := g.first; of != nil; of = of.next {
				f := family{build: of.build, rest: of.rest}
				f.compileAll()
			}
		}
	}
}

// forget has a process compile its rows again, as a new one does.
func forget() {
	clear(compiled.byName)
	clear(compiled.byPair)
}

// What one compile of a usual kernel costs: the first question to each family.
func BenchmarkFirstQuestions(b *testing.B) {
	names := []string{"ld.global.v4.b32", "@st.global.v4.b32", "ld.shared.v4.b32", "cvt.rn.f16x2.f32", "mma.m16n8k16.row.col.f32.f16.f16.f32", "setp.lt.s32", "add.s32", "mov.b32"}
	for b.Loop() {
		forget()
		for _, name := range names {
			of := familyOf(strings.TrimPrefix(name, "@"))
			f := family{build: of.build, rest: of.rest}
			for f.describe() {
			}
			for i := range f.recipes {
				if f.recipes[i].name == name {
					f.recipes[i].compile(false)
				}
			}
		}
	}
}

// Compiles run at the same time; they all see the same rows.
func TestRowsAreSharedBetweenGoroutines(t *testing.T) {
	var group sync.WaitGroup
	found := make([]*Row, 16)
	for i := range found {
		group.Go(func() {
			if i%2 == 0 {
				found[i] = Lookup("redux.sync.xor.b32")
			} else {
				found[i] = Find("redux.sync.xor.b32 $0, $1, $2;", "=r,r,r")
			}
		})
	}
	group.Wait()
	for i, r := range found {
		if r == nil || r != found[0] {
			t.Errorf("goroutine %d found %v", i, r)
		}
	}
}
