; Addresses absorb constants; a fallback that lives on or is a constant is copied, one that dies is not.
; emit memory.ptx sm_80 cuda
; emit memory_tile.ptx sm_90 tile
%four = type { float, float, float, float }
@table = addrspace(1) constant [3 x i16] [i16 1, i16 -2, i16 3], align 4
@text = private addrspace(4) constant [3 x i8] c"hi\00"
@counter = addrspace(1) global i32 zeroinitializer, align 4
@tile = internal addrspace(3) global [65536 x i8] undef, align 1024
define ptx_kernel void @memory(i8 addrspace(1)* align 16 %p, i32 %n) {
entry:
  %tid = call i32 asm "mov.u32 $0, %tid.x;", "=r"()
  %in = icmp slt i32 %tid, %n
  %out = xor i1 %in, true
  %o = sext i32 %tid to i64
  %bytes = shl i64 %o, 4
  %at = getelementptr i8, i8 addrspace(1)* %p, i64 %bytes
  %next = getelementptr i8, i8 addrspace(1)* %at, i64 512
  %int = ptrtoint i8 addrspace(1)* %next to i64
  %far = add i64 %int, 4096
  %v = call %four asm sideeffect "@$4 ld.global.v4.f32 {$0, $1, $2, $3}, [$9+$10];", "=f,=f,=f,=f,b,0,1,2,3,l,n"(i1 %in, float 0.0, float 0.0, float 0.0, float 0.0, i64 %far, i32 16)
  %v0 = extractvalue %four %v, 0
  %v3 = extractvalue %four %v, 3
  %keep = call i32 asm sideeffect "@$1 ld.global.b32 $0, [$3+$4];", "=r,b,0,l,n"(i1 %out, i32 %tid, i8 addrspace(1)* null, i32 0)
  %die = call i32 asm sideeffect "@$1 ld.global.b32 $0, [$3+$4];", "=r,b,0,l,n"(i1 %out, i32 %keep, i8 addrspace(1)* %at, i32 -4)
  %sum = add i32 %die, %tid
  %w = mul i32 %tid, 20
  %s = add i32 %w, ptrtoint ([65536 x i8] addrspace(3)* @tile to i32)
  %s8 = add i32 %s, 8
  call void asm sideeffect "st.shared.v2.f32 [$0+$1], {$2, $3};", "r,n,f,f"(i32 %s8, i32 -8, float %v0, float %v3)
  call void asm sideeffect "st.shared.b32 [$0+$1], $2;", "r,n,r"(i32 ptrtoint (i8 addrspace(3)* getelementptr ([65536 x i8], [65536 x i8] addrspace(3)* @tile, i32 0, i32 1024) to i32), i32 4, i32 %sum)
  call void asm sideeffect "bar.sync $0;", "n"(i32 0) #0
  %t = call i16 asm sideeffect "ld.global.b16 $0, [$1+$2];", "=h,l,n"(i8 addrspace(1)* bitcast (i16 addrspace(1)* getelementptr ([3 x i16], [3 x i16] addrspace(1)* @table, i64 0, i64 1) to i8 addrspace(1)*), i32 0)
  %tw = zext i16 %t to i32
  %a = call i32 asm sideeffect "atom.relaxed.gpu.global.add.u32 $0, [$1+$2], $3;", "=r,l,n,r"(i8 addrspace(1)* bitcast (i32 addrspace(1)* @counter to i8 addrspace(1)*), i32 0, i32 %tw)
  ret void
}
attributes #0 = { convergent nounwind }
!nvvm.annotations = !{!0}
!0 = !{void (i8 addrspace(1)*, i32)* @memory, !"reqntidx", i32 128, !"maxnreg", i32 128}
