package ptx

import (
	"fmt"
	"strings"
	"testing"

	"tileiras/codegen/target"
)

// bigKernel is a kernel of about n instructions: a loop around loads, integer
// addresses, products, packed words, stores.
func bigKernel(n int) string {
	var b strings.Builder
	b.WriteString("%f4 = type { float, float, float, float }\ndefine ptx_kernel void @big(i8 addrspace(1)* %p, i32 %n) {\nentry:\n")
	b.WriteString("  %tid = call i32 asm \"mov.u32 $0, %tid.x;\", \"=r\"()\n  br label %loop\nloop:\n")
	b.WriteString("  %i = phi i32 [ 0, %entry ], [ %in, %loop ]\n")
	groups := n / 16
	for g := range groups {
		fmt.Fprintf(&b, "  %%acc%d = phi float [ 0.0, %%entry ], [ %%s%d, %%loop ]\n", g, g)
	}
	b.WriteString("  %in = add i32 %i, 1\n")
	for g := range groups {
		fmt.Fprintf(&b, "  %%o%d = add i32 %%tid, %d\n", g, g*32)
		fmt.Fprintf(&b, "  %%q%d = mul i32 %%o%d, 3\n  %%w%d = sext i32 %%q%d to i64\n  %%a%d = getelementptr i8, i8 addrspace(1)* %%p, i64 %%w%d\n", g, g, g, g, g, g)
		fmt.Fprintf(&b, "  %%c%d = icmp slt i32 %%o%d, %%n\n", g, g)
		fmt.Fprintf(&b, "  %%v%d = call %%f4 asm sideeffect \"@$4 ld.global.v4.f32 {$0, $1, $2, $3}, [$9+$10];\", \"=f,=f,=f,=f,b,0,1,2,3,l,n\"(i1 %%c%d, float 0.0, float 0.0, float 0.0, float 0.0, i8 addrspace(1)* %%a%d, i32 16)\n", g, g, g)
		for k := range 4 {
			fmt.Fprintf(&b, "  %%e%d_%d = extractvalue %%f4 %%v%d, %d\n", g, k, g, k)
		}
		fmt.Fprintf(&b, "  %%m%d = fmul float %%e%d_0, %%e%d_1\n  %%t%d = fadd float %%m%d, %%e%d_2\n", g, g, g, g, g, g)
		fmt.Fprintf(&b, "  %%s%d = call float asm \"fma.rn.f32 $0, $1, $2, $3;\", \"=f,f,f,f\"(float %%t%d, float %%e%d_3, float %%acc%d)\n", g, g, g, g)
		fmt.Fprintf(&b, "  call void asm sideeffect \"@$0 st.global.f32 [$1+$2], $3;\", \"b,l,n,f\"(i1 %%c%d, i8 addrspace(1)* %%a%d, i32 0, float %%s%d)\n", g, g, g)
	}
	b.WriteString("  %more = icmp slt i32 %in, %n\n  br i1 %more, label %loop, label %done, !tileiras.uniform !{}\ndone:\n  ret void\n}\n")
	return b.String()
}

func BenchmarkEmit10k(b *testing.B) {
	source := bigKernel(10000)
	sm, _ := target.ByName("sm_80")
	m, err := parseText("big.ll", source)
	if err != nil {
		b.Fatal(err)
	}
	lines := 0
	for b.Loop() {
		out, err := Emit(m, Options{Target: sm})
		if err != nil {
			b.Fatal(err)
		}
		lines = strings.Count(string(out), "\n")
	}
	b.ReportMetric(float64(lines), "lines")
}
