; The shape of a tensor core loop: asynchronous copy, barrier, matrix loads, mma, all marks of a pipelined loop.
; emit matmul.ptx sm_80 cuda
; emit matmul_sm90.ptx sm_90 tile
; error sm_75 cuda not supported: cp.async.cg.shared.global.16.zfill on sm_75 (it needs sm_80 and later, PTX 7.0)
%f4 = type { float, float, float, float }
%r4 = type { i32, i32, i32, i32 }
%r2 = type { i32, i32 }
@smem = internal addrspace(3) global [4096 x i8] undef, align 128
define ptx_kernel void @matmul(i8 addrspace(1)* align 16 %a, i8 addrspace(1)* align 16 %c, i32 %k) {
entry:
  %tid = call i32 asm "mov.u32 $0, %tid.x;", "=r"()
  %row = shl i32 %tid, 4
  %at = add i32 %row, ptrtoint ([4096 x i8] addrspace(3)* @smem to i32)
  %wide = zext i32 %row to i64
  %src0 = getelementptr i8, i8 addrspace(1)* %a, i64 %wide
  br label %loop, !tileiras.uniform !{}
loop:
  %i = phi i32 [ 0, %entry ], [ %in, %loop ]
  %src = phi i8 addrspace(1)* [ %src0, %entry ], [ %srcn, %loop ]
  %c0 = phi float [ 0.0, %entry ], [ %d0, %loop ]
  %c1 = phi float [ 0.0, %entry ], [ %d1, %loop ]
  %c2 = phi float [ 0.0, %entry ], [ %d2, %loop ]
  %c3 = phi float [ 0.0, %entry ], [ %d3, %loop ]
  call void asm sideeffect "cp.async.cg.shared.global [$0+$1], [$2+$3], 16, $4;", "r,n,l,n,r"(i32 %at, i32 0, i8 addrspace(1)* %src, i32 0, i32 %k), !tileiras.source !{!"async_copy"}
  call void asm sideeffect "cp.async.commit_group;", ""()
  call void asm sideeffect "cp.async.wait_group $0;", "n"(i32 0)
  call void asm sideeffect "bar.sync $0;", "n"(i32 0) #0
  %ra = call %r4 asm sideeffect "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4+$5];", "=r,=r,=r,=r,r,n"(i32 %at, i32 0) #0, !tileiras.source !{!"dot"}
  %a0 = extractvalue %r4 %ra, 0
  %a1 = extractvalue %r4 %ra, 1
  %a2 = extractvalue %r4 %ra, 2
  %a3 = extractvalue %r4 %ra, 3
  %rb = call %r2 asm sideeffect "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0, $1}, [$2+$3];", "=r,=r,r,n"(i32 %at, i32 2048) #0, !tileiras.source !{!"dot"}
  %b0 = extractvalue %r2 %rb, 0
  %b1 = extractvalue %r2 %rb, 1
  %d = call %f4 asm "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};", "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1, float %c0, float %c1, float %c2, float %c3) #0, !tileiras.source !{!"dot"}
  %d0 = extractvalue %f4 %d, 0
  %d1 = extractvalue %f4 %d, 1
  %d2 = extractvalue %f4 %d, 2
  %d3 = extractvalue %f4 %d, 3
  call void asm sideeffect "bar.sync $0;", "n"(i32 0) #0
  %srcn = getelementptr i8, i8 addrspace(1)* %src, i64 4096
  %in = add i32 %i, 16
  %more = icmp slt i32 %in, %k
  br i1 %more, label %loop, label %store, !tileiras.uniform !{}, !llvm.loop !2
store:
  call void asm sideeffect "st.global.v4.f32 [$0+$1], {$2, $3, $4, $5};", "l,n,f,f,f,f"(i8 addrspace(1)* %c, i32 0, float %d0, float %d1, float %d2, float %d3), !tileiras.source !{!"tiled_store"}
  ret void
}
attributes #0 = { convergent nounwind }
!nvvm.annotations = !{!0, !1}
!0 = !{void (i8 addrspace(1)*, i8 addrspace(1)*, i32)* @matmul, !"kernel", i32 1}
!1 = !{void (i8 addrspace(1)*, i8 addrspace(1)*, i32)* @matmul, !"reqntidx", i32 128}
!2 = distinct !{!2, !3}
!3 = !{!"llvm.loop.unroll.disable"}
