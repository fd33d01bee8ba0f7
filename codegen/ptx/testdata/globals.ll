; Variables with floats and with nothing in them, and one of another module.
; emit globals.ptx sm_80 cuda
@floats = internal addrspace(1) constant [3 x float] [float 1.5, float -2.0, float 0x7FF0000000000000], align 4
@doubles = internal addrspace(1) constant [2 x double] [double 0.5, double undef], align 8
@zeros = addrspace(1) global [4 x i16] zeroinitializer, align 2
@other = external addrspace(1) global [4 x i32], align 4

define ptx_kernel void @globals() {
entry:
  %f = call float asm sideeffect "ld.global.f32 $0, [$1+$2];", "=f,l,n"(float addrspace(1)* getelementptr ([3 x float], [3 x float] addrspace(1)* @floats, i32 0, i32 1), i32 0)
  %d = call double asm sideeffect "ld.global.f64 $0, [$1+$2];", "=d,l,n"([2 x double] addrspace(1)* @doubles, i32 0)
  %h = call i32 asm sideeffect "ld.global.b32 $0, [$1+$2];", "=r,l,n"([4 x i16] addrspace(1)* @zeros, i32 4)
  %i = fptosi float %f to i32
  %j = fptosi double %d to i32
  %s = add i32 %i, %j
  %t = add i32 %s, %h
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"([4 x i32] addrspace(1)* @other, i32 12, i32 %t)
  ret void
}
