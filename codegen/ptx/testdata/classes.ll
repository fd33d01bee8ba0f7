; One register for an accumulator through the loop, although it is an argument, a result and two phis.
; emit classes.ptx sm_80 cuda
%two = type { float, float }
define ptx_kernel void @classes(i8 addrspace(1)* %p, i32 %n, float %x) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %c0 = phi float [ 0.0, %entry ], [ %d0, %loop ], !tileiras.class !{i32 1}
  %c1 = phi float [ %x, %entry ], [ %d1, %loop ], !tileiras.class !{i32 2}
  %guard = icmp ne i32 %i, 3
  %d = call %two asm sideeffect "@$2 ld.global.v2.f32 {$0, $1}, [$5+$6];", "=f,=f,b,0,1,l,n"(i1 %guard, float %c0, float %c1, i8 addrspace(1)* %p, i32 0)
  %d0 = extractvalue %two %d, 0, !tileiras.class !{i32 1}
  %d1 = extractvalue %two %d, 1, !tileiras.class !{i32 2}
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %done, !tileiras.uniform !{}
done:
  call void asm sideeffect "st.global.v2.f32 [$0+$1], {$2, $3};", "l,n,f,f"(i8 addrspace(1)* %p, i32 8, float %d0, float %d1)
  ret void
}
