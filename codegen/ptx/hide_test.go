package ptx

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
)

// minusOne is -1 in all elements of a register of a factor, by the type of the factor. Those of one element a register have their sign where ptxas
// looks for it.
var minusOne = map[string]int32{"f16": -0x43ff4400, "bf16": -0x407f4080, "e4m3": -0x47474748, "e5m2": -0x43434344, "e2m1": -0x55555556}

// factorTypes are the types of A and B at the end of the name of a product, with that of C, and that of scales where it has some.
var factorTypes = regexp.MustCompile(`\.(\w+)\.(\w+)\.f\d+(?:\.ue\w+)?$`)

// knownFactor is a kernel with one product, of which the registers of A or of B are the constant -1 and all else is loaded.
func knownFactor(name string, row *ptxop.Row, from, to int, constant int32) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, "  "+format+"\n", args...) }
	var args []string
	for i, o := range row.Args() {
		v := fmt.Sprintf("%%a%d", i)
		switch {
		case o.Kind == ptxop.Imm:
			v = "0"
		case i >= from && i < to:
			v = fmt.Sprint(constant)
		case o.Type == ptxop.F32:
			line(`%s = call float asm sideeffect "ld.global.f32 $0, [$1+$2];", "=f,l,n"(i8 addrspace(1)* %%p, i32 %d)`, v, 4*i)
		default:
			line(`%s = call i32 asm sideeffect "ld.global.b32 $0, [$1+$2];", "=r,l,n"(i8 addrspace(1)* %%p, i32 %d)`, v, 4*i)
		}
		args = append(args, map[ptxop.Type]string{ptxop.B32: "i32", ptxop.F32: "float"}[o.Type]+" "+v)
	}
	result, letter := "float", "f"
	if row.Operands[0].Type == ptxop.B32 {
		result, letter = "i32", "r"
	}
	all := "{ " + strings.TrimSuffix(strings.Repeat(result+", ", row.Results), ", ") + " }"
	line(`%%d = call %s asm %q, %q(%s) #0`, all, row.Asm, row.Constraints, strings.Join(args, ", "))
	for i := range row.Results {
		line(`%%d%d = extractvalue %s %%d, %d`, i, all, i)
		line(`call void asm sideeffect "st.global.%s [$0+$1], $2;", "l,n,%s"(i8 addrspace(1)* %%p, i32 %d, %s %%d%d)`, map[string]string{"f": "f32", "r": "b32"}[letter], letter, 4*i, result, i)
	}
	return "define ptx_kernel void @" + name + "(i8 addrspace(1)* %p) {\n" + out.String() + "  ret void\n}\n"
}

// ptxas multiplies what a product with known factors says, whichever GPU it is for: it never leaves a sign to the matrix unit, which changes that of
// all elements in a register, not only of the one where ptxas has seen it.
func TestFactorsThatPtxasKnows(t *testing.T) {
	dir := os.Getenv(toolFolder)
	if dir == "" {
		t.Skipf("not run: ptxas is judge here; set %s to its folder", toolFolder)
	}
	product := regexp.MustCompile(`\b[HQO]MMA\.`)
	for _, gpu := range target.All {
		source, of := "", map[string]string{}
		for _, row := range ptxop.Rows() {
			types := factorTypes.FindStringSubmatch(row.Name)
			if !strings.HasPrefix(row.Name, "mma.") || types == nil || minusOne[types[1]] == 0 || !row.Need.On(gpu) {
				continue
			}
			c, _ := row.Accumulators()
			b := c * 2 / 3 // A has twice the registers of B
			for side, part := range [][2]int{{0, b}, {b, c}} {
				name := fmt.Sprintf("k%d", len(of))
				of[name] = fmt.Sprintf("%s, factor %d", row.Name, side)
				source += knownFactor(name, row, part[0], part[1], minusOne[types[1+side]])
			}
		}
		out, err := Emit(parse(t, gpu.Name, source+"attributes #0 = { convergent }\n"), Options{Target: gpu})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(file+".ptx", out, 0o666); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(filepath.Join(dir, "ptxas"), "-arch", gpu.ArchName(), file+".ptx", "-o", file+".cubin").CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", gpu.Name, err, said)
		}
		code, err := exec.Command(filepath.Join(dir, "nvdisasm"), "-c", file+".cubin").Output()
		if err != nil {
			t.Fatal(err)
		}
		kernel, products := "", map[string]bool{}
		for _, l := range strings.Split(string(code), "\n") {
			if after, ok := strings.CutPrefix(l, ".text."); ok {
				kernel = strings.TrimSuffix(after, ":")
			}
			if !product.MatchString(l) {
				continue
			}
			if products[kernel] = true; strings.Contains(l, ", -") {
				t.Errorf("%s: %s: %s", gpu.Name, of[kernel], strings.Join(strings.Fields(l), " "))
			}
		}
		if len(products) != len(of) {
			t.Errorf("%s: %d kernels, %d with a matrix product", gpu.Name, len(of), len(products))
		}
	}
}

// Each of many values is one of the two before it, on 2^60 paths: what ptxas may know of a value is found once.
func TestFactorsThatComeOnManyPaths(t *testing.T) {
	for start, hidden := range map[string]bool{"-1140868096": true, "1006648320": false} {
		var out strings.Builder
		line := func(format string, args ...any) { fmt.Fprintf(&out, "  "+format+"\n", args...) }
		line(`%%x0 = add i32 %%n, 0`)
		line(`%%c = icmp eq i32 %%n, 7`)
		line(`%%y0 = select i1 %%c, i32 %s, i32 %%x0`, start)
		for i := range 60 {
			line(`%%x%d = select i1 %%c, i32 %%x%d, i32 %%y%d`, i+1, i, i)
			line(`%%y%d = select i1 %%c, i32 %%y%d, i32 %%x%d`, i+1, i, i)
		}
		row := ptxop.Lookup("mma.m16n8k8.row.col.f32.f16.f16.f32")
		results := "{ float, float, float, float }"
		line(`%%d = call %s asm %q, %q(i32 %%x60, i32 %%x60, i32 %%x60, float 0.0, float 0.0, float 0.0, float 0.0) #0`, results, row.Asm, row.Constraints)
		line(`%%d0 = extractvalue %s %%d, 0`, results)
		line(`call void asm sideeffect "st.global.f32 [$0+$1], $2;", "l,n,f"(i8 addrspace(1)* %%p, i32 0, float %%d0)`)
		source := "define ptx_kernel void @many(i8 addrspace(1)* %p, i32 %n) {\n" + out.String() + "  ret void\n}\nattributes #0 = { convergent }\n"
		gpu, _ := target.ByName("sm_80")
		ptx, err := Emit(parse(t, "many", source), Options{Target: gpu})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(ptx), "activemask"); got != hidden {
			t.Errorf("from %s: hidden is %v, should be %v\n%s", start, got, hidden, ptx)
		}
	}
}
