; Addresses of one space become addresses of another; an address of shared memory has 32 bits where it is not generic.
; emit spaces.ptx sm_80 cuda
@s = internal addrspace(3) global [64 x i32] undef, align 16
@c = internal addrspace(1) constant [2 x i32] [i32 3, i32 4], align 4

define ptx_kernel void @spaces(i8 addrspace(1)* %g, i8* %any, i64 %n) {
entry:
  %g0 = addrspacecast i8 addrspace(1)* %g to i8*
  call void asm sideeffect "st.b32 [$0+$1], $2;", "l,n,r"(i8* %g0, i32 0, i32 1)
  %s1 = getelementptr [64 x i32], [64 x i32] addrspace(3)* @s, i32 0, i64 %n
  %s0 = addrspacecast i32 addrspace(3)* %s1 to i32*
  call void asm sideeffect "st.b32 [$0+$1], $2;", "l,n,r"(i32* %s0, i32 0, i32 2)
  %back = addrspacecast i8* %any to i8 addrspace(1)*
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i8 addrspace(1)* %back, i32 0, i32 3)
  %inside = addrspacecast i8* %any to i8 addrspace(3)*
  call void asm sideeffect "st.shared.b32 [$0+$1], $2;", "r,n,r"(i8 addrspace(3)* %inside, i32 0, i32 4)
  %symbol = addrspacecast [64 x i32] addrspace(3)* @s to [64 x i32]*
  call void asm sideeffect "st.b32 [$0+$1], $2;", "l,n,r"([64 x i32]* %symbol, i32 0, i32 5)
  call void asm sideeffect "st.b32 [$0+$1], $2;", "l,n,r"(i32* addrspacecast (i32 addrspace(1)* getelementptr ([2 x i32], [2 x i32] addrspace(1)* @c, i32 0, i32 1) to i32*), i32 0, i32 6)
  %made = inttoptr i64 %n to i8 addrspace(1)*
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i8 addrspace(1)* %made, i32 0, i32 7)
  ret void
}

; What constant expressions compute, and arithmetic of one bit, which is logic.
define ptx_kernel void @constants(i8 addrspace(1)* %g, i32 %n) {
entry:
  %z = freeze i32 %n
  %a = add i32 %z, add (i32 5, i32 6)
  %b = xor i32 %a, sub (i32 5, i32 6)
  %c = mul i32 %b, trunc (i64 4294967299 to i32)
  %p = icmp slt i32 %c, 9
  %q = icmp sgt i32 %c, 4
  %r = add i1 %p, %q
  %s = mul i1 %r, %q
  %t = sub i1 %s, %p
  %v = select i1 %t, i32 %c, i32 zeroinitializer
  %low = ptrtoint i8 addrspace(1)* inttoptr (i64 4096 to i8 addrspace(1)*) to i64
  %at = inttoptr i64 %low to i8 addrspace(1)*
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i8 addrspace(1)* %at, i32 0, i32 %v)
  ret void
}
