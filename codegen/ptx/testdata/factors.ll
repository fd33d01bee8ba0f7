; What ptxas may know of the factors of a matrix product, and would misread: -1 and -1, also by way of a phi, a shuffle or a selection, or as what
; instructions make of constants. Not hidden: what is loaded, 1 and 1, what a lane computes of its number, and factors of two registers.
; emit factors.ptx sm_80 cuda
%r2 = type { i32, i32 }
%f4 = type { float, float, float, float }
define ptx_kernel void @factors(i32 addrspace(1)* %p, i32 %n) {
entry:
  %tid = call i32 asm "mov.u32 $0, %tid.x;", "=r"()
  %a = call i32 asm sideeffect "ld.global.b32 $0, [$1+$2];", "=r,l,n"(i32 addrspace(1)* %p, i32 0)
  %moved = call i32 asm "shfl.sync.idx.b32 $0, $1, $2, $3, $4;", "=r,r,r,r,r"(i32 -1140802560, i32 %tid, i32 31, i32 -1) #0
  %made = call i32 asm "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r"(i32 48128, i32 0, i32 4112)
  %lane = call i32 asm "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r"(i32 48128, i32 %tid, i32 4112)
  %one = icmp eq i32 %n, 1
  %chosen = select i1 %one, i32 -1140802560, i32 %a
  %d0 = call %r2 asm "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3}, {$4}, {$5, $6};", "=r,=r,r,r,r,r,r"(i32 %a, i32 %a, i32 %moved, i32 0, i32 0) #0
  %c0 = extractvalue %r2 %d0, 0
  %d1 = call %r2 asm "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3}, {$4}, {$5, $6};", "=r,=r,r,r,r,r,r"(i32 %a, i32 %a, i32 %made, i32 %c0, i32 0) #0
  %c1 = extractvalue %r2 %d1, 0
  %d2 = call %r2 asm "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3}, {$4}, {$5, $6};", "=r,=r,r,r,r,r,r"(i32 %a, i32 %a, i32 %chosen, i32 %c1, i32 0) #0
  %c2 = extractvalue %r2 %d2, 0
  %d3 = call %r2 asm "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3}, {$4}, {$5, $6};", "=r,=r,r,r,r,r,r"(i32 %a, i32 %a, i32 %lane, i32 %c2, i32 0) #0
  %c3 = extractvalue %r2 %d3, 0
  %d4 = call %r2 asm "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3}, {$4}, {$5, $6};", "=r,=r,r,r,r,r,r"(i32 %a, i32 %a, i32 1006648320, i32 %c3, i32 0) #0
  %c4 = extractvalue %r2 %d4, 0
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %in, %loop ]
  %b = phi i32 [ -1140802560, %entry ], [ %bn, %loop ]
  %c = phi i32 [ %c4, %entry ], [ %c6, %loop ]
  %bn = call i32 asm sideeffect "ld.global.b32 $0, [$1+$2];", "=r,l,n"(i32 addrspace(1)* %p, i32 0)
  %d5 = call %r2 asm "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3}, {$4}, {$5, $6};", "=r,=r,r,r,r,r,r"(i32 %a, i32 %a, i32 %b, i32 %c, i32 0) #0
  %c5 = extractvalue %r2 %d5, 0
  %d6 = call %r2 asm "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {$0, $1}, {$2, $3}, {$4}, {$5, $6};", "=r,=r,r,r,r,r,r"(i32 %c5, i32 %a, i32 %b, i32 %c5, i32 0) #0
  %c6 = extractvalue %r2 %d6, 0
  %in = add i32 %i, 1
  %more = icmp slt i32 %in, %n
  br i1 %more, label %loop, label %end
end:
  %d7 = call %f4 asm "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};", "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"(i32 %a, i32 %a, i32 %a, i32 %c6, i32 -1140802560, i32 -1140802560, float 0.0, float 0.0, float 0.0, float 0.0) #0
  %c7 = extractvalue %f4 %d7, 0
  call void asm sideeffect "st.global.f32 [$0+$1], $2;", "l,n,f"(i32 addrspace(1)* %p, i32 0, float %c7)
  ret void
}
attributes #0 = { convergent }
