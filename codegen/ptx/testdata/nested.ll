; A loop that always runs in a loop: what both carry is one register, and nothing is moved in the inner one. Its exit has one predecessor, and phis.
; emit nested.ptx sm_80 cuda
define ptx_kernel void @nested(i8 addrspace(1)* %p, i32 %n, float %x) {
entry:
  br label %outer, !tileiras.uniform !{}
outer:
  %i = phi i32 [ 0, %entry ], [ %next, %exit ]
  %sum = phi float [ 0.0, %entry ], [ %result, %exit ]
  br label %inner, !tileiras.uniform !{}
inner:
  %k = phi i32 [ 0, %outer ], [ %more, %inner ]
  %part = phi float [ %sum, %outer ], [ %added, %inner ]
  %added = fadd float %part, %x
  %more = add i32 %k, 1
  %again = icmp slt i32 %more, 4
  br i1 %again, label %inner, label %exit, !tileiras.uniform !{}
exit:
  %result = phi float [ %added, %inner ]
  %next = add i32 %i, 1
  %on = icmp slt i32 %next, %n
  br i1 %on, label %outer, label %done, !tileiras.uniform !{}
done:
  call void asm sideeffect "st.global.f32 [$0+$1], $2;", "l,n,f"(i8 addrspace(1)* %p, i32 0, float %result)
  ret void
}
