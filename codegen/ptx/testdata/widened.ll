; A product of two extended numbers is one instruction if both are extended in the same way: two signed ones, two unsigned ones, not one of each. So is one by a
; constant that has 32 bits of that kind: 2^31-1 and -2^31 but not 2^31 signed, 2^32-1 but not -1 unsigned; or by 2^30 but not 2^31, signed.
; emit widened.ptx sm_80 cuda
define ptx_kernel void @widened(i64 addrspace(1)* %p, i32 %a, i32 %b) {
entry:
  %sa = sext i32 %a to i64
  %sb = sext i32 %b to i64
  %ua = zext i32 %a to i64
  %ub = zext i32 %b to i64
  %x0 = mul i64 %sa, %sb
  %x1 = mul i64 %ua, %ub
  %x2 = mul i64 %sa, %ub
  %x3 = mul i64 %sa, 2147483647
  %x4 = mul i64 %sa, 2147483648
  %x5 = mul i64 %sa, -2147483648
  %x6 = mul i64 %ua, 4294967295
  %x7 = mul i64 %ua, -1
  %x8 = shl i64 %sb, 30
  %x9 = shl i64 %sb, 31
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 0, i64 %x0)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 8, i64 %x1)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 16, i64 %x2)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 24, i64 %x3)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 32, i64 %x4)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 40, i64 %x5)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 48, i64 %x6)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 56, i64 %x7)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 64, i64 %x8)
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i64 addrspace(1)* %p, i32 72, i64 %x9)
  ret void
}
