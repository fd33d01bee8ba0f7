; Elements of 4 and of 12 bytes: a shift, a product.
; emit addresses.ptx sm_80 cuda
define ptx_kernel void @addresses(i32 addrspace(1)* %p, [3 x i32] addrspace(1)* %q, i64 %i, i32 %j) {
entry:
  %a = getelementptr i32, i32 addrspace(1)* %p, i64 %i
  %b = getelementptr [3 x i32], [3 x i32] addrspace(1)* %q, i64 %i, i32 %j
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i32 addrspace(1)* %a, i32 0, i32 %j)
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i32 addrspace(1)* %b, i32 0, i32 %j)
  ret void
}
