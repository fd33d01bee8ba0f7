; Floats in the default rounding are never left to be contracted; constants keep every bit.
; emit floats.ptx sm_75 cuda
define ptx_kernel void @floats(i8 addrspace(1)* %p, float %x, double %y, i32 %i, i64 %l, i8 %c) {
entry:
  %a = fmul float %x, bitcast (i32 1036831949 to float)
  %b = fadd float %a, bitcast (i32 2143289345 to float)
  %c1 = fsub float bitcast (i32 -2147483648 to float), %b
  %d = fdiv float %c1, %x
  %e = fneg float %d
  %f = fpext float %e to double
  %g = fadd double %f, bitcast (i64 4607182418800017408 to double)
  %h = fmul double %g, %y
  %k = fptrunc double %h to float
  %m = fcmp olt float %k, %x
  %n = fcmp une double %h, %y
  %o = fcmp uno float %k, 0.0
  %o1 = fcmp ord float %x, %x
  %q = select i1 %m, float %k, float 1.0
  %r = and i1 %n, %o
  %r1 = or i1 %r, %o1
  %s = select i1 %r1, double %h, double %y
  %t = fptosi float %q to i32
  %u = fptoui double %s to i64
  %v = sitofp i32 %i to float
  %w = uitofp i64 %l to double
  %w1 = sitofp i8 %c to float
  %z = bitcast float %v to i32
  %z1 = add i32 %z, %t
  %z2 = bitcast i32 %z1 to float
  %z3 = fadd float %z2, %w1
  call void asm sideeffect "st.global.v2.f32 [$0+$1], {$2, $3};", "l,n,f,f"(i8 addrspace(1)* %p, i32 0, float %z3, float bitcast (i32 1065353216 to float))
  call void asm sideeffect "st.global.f64 [$0+$1], $2;", "l,n,d"(i8 addrspace(1)* %p, i32 8, double %w)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i8 addrspace(1)* %p, i32 16, i64 %u)
  ret void
}
