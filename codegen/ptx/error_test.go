package ptx

import (
	"fmt"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
)

// kernelText wraps a body into a kernel with the usual parameters.
func kernelText(body string) string {
	return "%two = type { i32, i32 }\n@s = internal addrspace(3) global [65537 x i8] undef, align 16\n" +
		"define ptx_kernel void @k(i8 addrspace(1)* %p, i32 %n, float %x) {\nentry:\n" + body + "\n}\n"
}

func TestBadInputIsNamedWithItsPlace(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"assembly that is no row",
			kernelText("call void asm sideeffect \"frobnicate.b32 $0;\", \"r\"(i32 %n)\nret void"),
			`@k, block entry: inline assembly that is no row of codegen/ptxop: "frobnicate.b32 $0;", "r"`},
		{"constraints of another row",
			kernelText("call void asm sideeffect \"bar.sync $0;\", \"r\"(i32 %n)\nret void"),
			"no row of codegen/ptxop"},
		{"argument of another size",
			kernelText("%v = call i32 asm sideeffect \"ld.global.b32 $0, [$1+$2];\", \"=r,l,n\"(i32 %n, i32 0)\nret void"),
			"ld.global.b32, argument 0: a value of type i32 does not fit a register of 64 bits"},
		{"result of another size",
			kernelText("%v = call i64 asm sideeffect \"ld.global.b32 $0, [$1+$2];\", \"=r,l,n\"(i8 addrspace(1)* %p, i32 0)\nret void"),
			"ld.global.b32, result 0: a value of type i64 does not fit a register of 32 bits"},
		{"an immediate that is none",
			kernelText("call void asm sideeffect \"bar.sync $0;\", \"n\"(i32 %n)\nret void"),
			"bar.sync, argument 0: want a constant integer, not %n"},
		{"too few arguments",
			kernelText("%v = call i32 asm sideeffect \"ld.global.b32 $0, [$1+$2];\", \"=r,l,n\"(i8 addrspace(1)* %p)\nret void"),
			"ld.global.b32 takes 2 arguments, not 1"},
		{"plain load of global memory",
			kernelText("%q = bitcast i8 addrspace(1)* %p to i32 addrspace(1)*\n%v = load i32, i32 addrspace(1)* %q\nret void"),
			"a plain load or store of anything but an alloca"},
		{"switch", kernelText("switch i32 %n, label %a [ i32 0, label %b ]\na:\nret void\nb:\nret void"), "not supported: switch"},
		{"half", kernelText("%h = fptrunc float %x to half\nret void"), "not supported: a value of type half"},
		{"frem", kernelText("%h = frem float %x, %x\nret void"), "not supported: %h = frem float %x, %x"},
		{"i7", kernelText("%h = trunc i32 %n to i7\nret void"), "not supported: a value of type i7"},
		{"intrinsic", "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" + kernelText("ret void"), "@llvm.nvvm.read.ptx.sreg.tid.x: not supported: an external function"},
		{"returned value", "define ptx_kernel i32 @k(i32 %n) {\n  ret i32 %n\n}\n", "a kernel that returns a value"},
		{"function that is no kernel", "define void @f() {\n  ret void\n}\n", "@f: not supported: a function that is not a kernel"},
		{"i1 parameter", "define ptx_kernel void @k(i1 %n) {\n  ret void\n}\n", "@k, parameter 0: not supported: a parameter of type i1"},
		{"too much shared memory", strings.ReplaceAll(kernelText("call void asm sideeffect \"st.shared.b32 [$0+$1], $2;\", \"r,n,r\"(i32 ptrtoint ([65537 x i8] addrspace(3)* @s to i32), i32 0, i32 %n)\nret void"), "65537", "200000"),
			"@k: 200000 bytes of shared memory, a block of sm_80 has 166912"},
		{"class with two values alive",
			kernelText("br label %loop\nloop:\n%a = phi i32 [ 0, %entry ], [ %b, %loop ], !tileiras.class !{i32 3}\n%b = phi i32 [ 1, %entry ], [ %a, %loop ], !tileiras.class !{i32 3}\n%c = icmp slt i32 %a, %b\nbr i1 %c, label %loop, label %out\nout:\ncall void asm sideeffect \"st.global.b32 [$0+$1], $2;\", \"l,n,r\"(i8 addrspace(1)* %p, i32 0, i32 %a)\nret void"),
			"BUG: @k: register class 3: %a and %b live at the same time"},
		{"class with two sizes",
			kernelText("%a = add i32 %n, 1, !tileiras.class !{i32 3}\n%b = zext i32 %a to i64, !tileiras.class !{i32 3}\ncall void asm sideeffect \"st.global.b64 [$0+$1], $2;\", \"l,n,l\"(i8 addrspace(1)* %p, i32 0, i64 %b)\nret void"),
			"BUG: @k: register class 3: %a and %b live at the same time or differ in size"},
		{"class without a number", kernelText("%a = add i32 %n, 1, !tileiras.class !{}\nret void"), "malformed !tileiras.class"},
		{"unknown annotation", kernelText("ret void") + "!nvvm.annotations = !{!0}\n!0 = !{void (i8 addrspace(1)*, i32, float)* @k, !\"speed\", i32 9}\n", `not supported: annotation "speed" of @k`},
		{"annotation of no function", kernelText("ret void") + "!nvvm.annotations = !{!0}\n!0 = !{i32 1, !\"kernel\", i32 1}\n", "the first field is no function"},
		{"cluster before sm_90", kernelText("ret void") + "!nvvm.annotations = !{!0}\n!0 = !{void (i8 addrspace(1)*, i32, float)* @k, !\"tileiras.cluster\", i32 2}\n", "a cluster of 2 blocks on sm_80"},
		{"recursive type", "%t = type { i32, %t }\n@g = addrspace(1) global %t zeroinitializer\n", "nested more than 100 deep"},
		{"name with a dot", "@.str = private addrspace(1) constant [1 x i8] zeroinitializer\n", "not supported: the name @.str"},
		{"kernel name with a minus", "define ptx_kernel void @\"a-b\"() {\n  ret void\n}\n", "not supported: the name @a-b"},
		{"huge variable", "@g = addrspace(1) global [9223372036854775807 x i64] zeroinitializer\n", "has more than 4294967296 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := parseText("bad.ll", c.text)
			if err != nil {
				t.Fatal(err)
			}
			sm, _ := target.ByName("sm_80")
			out, err := Emit(m, Options{Target: sm})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q\n%s", err, c.want, out)
			}
		})
	}
}

// A shared variable without a size has what the launch gives it; in the tile convention a launch gives nothing.
func TestExternalSharedMemory(t *testing.T) {
	text := "@s = external addrspace(3) global [0 x i8], align 16\n" + kernelText("call void asm sideeffect \"st.shared.b32 [$0+$1], $2;\", "+
		"\"r,n,r\"(i32 ptrtoint ([0 x i8] addrspace(3)* @s to i32), i32 0, i32 %n)\nret void") +
		"!nvvm.annotations = !{!0}\n!0 = !{void (i8 addrspace(1)*, i32, float)* @k, !\"tileiras.dynshared\", i32 512}\n"
	text = strings.Replace(text, "@s = internal addrspace(3) global [65537 x i8] undef, align 16\n", "", 1)
	sm, _ := target.ByName("sm_80")
	for abi, want := range map[options.ABI]string{options.CUDA: ".extern .shared .align 16 .b8 s[];", options.Tile: "@k: not supported: dynamic shared memory in the tile convention"} {
		m, err := parseText("extern.ll", text)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Emit(m, Options{Target: sm, Code: options.Code{ABI: abi}})
		if got := string(out) + fmt.Sprint(err); !strings.Contains(got, want) {
			t.Errorf("convention %v: %s, want %q", abi, got, want)
		}
	}
}
