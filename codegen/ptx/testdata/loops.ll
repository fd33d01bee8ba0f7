; Phis: an induction variable, two values that swap, one that is read after the loop (its old value), a constant in a critical edge.
; emit loops.ptx sm_80 cuda
define ptx_kernel void @loops(i8 addrspace(1)* %p, i32 %n, float %x, float %y) {
entry:
  %any = icmp sgt i32 %n, 0
  br i1 %any, label %loop, label %done, !tileiras.uniform !{}
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %a = phi float [ %x, %entry ], [ %b, %loop ]
  %b = phi float [ %y, %entry ], [ %a, %loop ]
  %old = phi i32 [ 7, %entry ], [ %i, %loop ]
  %flag = phi i1 [ false, %entry ], [ %again, %loop ]
  %j = add nsw i32 %i, 1
  %again = icmp slt i32 %j, %n
  br i1 %again, label %loop, label %done, !tileiras.uniform !{}, !llvm.loop !0
done:
  %last = phi i32 [ -1, %entry ], [ %i, %loop ]
  %before = phi i32 [ -2, %entry ], [ %old, %loop ]
  %r = phi float [ 0.0, %entry ], [ %a, %loop ]
  %was = phi i1 [ true, %entry ], [ %flag, %loop ]
  %sum = add i32 %last, %before
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i8 addrspace(1)* %p, i32 0, i32 %sum)
  call void asm sideeffect "@$0 st.global.f32 [$1+$2], $3;", "b,l,n,f"(i1 %was, i8 addrspace(1)* %p, i32 4, float %r)
  ret void
}
!0 = distinct !{!0, !2, !1}
!1 = !{!"llvm.loop.unroll.disable"}
!2 = !DILocation(line: 7, column: 3, scope: !3)
!3 = distinct !DISubprogram(name: "loops", scope: !4, file: !4, line: 3)
!4 = !DIFile(filename: "loops.py", directory: "/src")
