; Every integer instruction on every width; what is not read is dropped, so all meet in stores.
; emit integers.ptx sm_80 cuda
define ptx_kernel void @integers(i8 addrspace(1)* align 16 %p, i8 %b, i16 %h, i32 %w, i64 %l) {
entry:
  %b1 = add i8 %b, 7
  %b2 = sub i8 1, %b1
  %b3 = mul i8 %b2, %b1
  %b4 = udiv i8 %b3, %b1
  %b5 = sdiv i8 %b3, %b4
  %b6 = urem i8 %b5, 10
  %b7 = srem i8 %b6, %b1
  %b8 = shl i8 %b7, %b1
  %b9 = lshr i8 %b8, 1
  %b10 = ashr i8 %b9, %b1
  %b11 = icmp slt i8 %b10, %b1
  %b12 = icmp ugt i8 %b10, -3
  %b13 = zext i8 %b10 to i16
  %b14 = sext i8 %b10 to i32
  %b15 = zext i8 %b10 to i64
  %h1 = add i16 %h, %b13
  %h2 = mul i16 %h1, 3
  %h3 = ashr i16 %h2, %h
  %h4 = icmp ne i16 %h3, -1
  %h5 = sext i16 %h3 to i64
  %h6 = zext i16 %h3 to i32
  %h7 = trunc i16 %h3 to i8
  %h8 = select i1 %b11, i8 %h7, i8 %b10
  %w1 = add i32 %h6, %b14
  %w2 = and i32 %w1, 255
  %w3 = or i32 4096, %w2
  %w4 = xor i32 %w3, -1
  %w5 = lshr i32 %w4, %w
  %w6 = sdiv i32 %w5, %w
  %w7 = urem i32 %w6, 12345
  %w8 = select i1 %b12, i32 %w7, i32 5
  %w9 = icmp ule i32 %w8, %w
  %w10 = sub i32 %w8, %w
  %l1 = add i64 %l, %h5
  %l2 = mul i64 %l1, %b15
  %l3 = shl i64 %l2, %l
  %l4 = udiv i64 %l3, 1000000000000
  %l5 = trunc i64 %l4 to i32
  %l6 = trunc i64 %l4 to i16
  %l7 = trunc i64 %l4 to i8
  %l8 = trunc i64 %l4 to i1
  %p1 = and i1 %l8, %w9
  %p2 = xor i1 %p1, true
  %p3 = or i1 %p2, %h4
  %p4 = select i1 %p3, i1 %b12, i1 %w9
  %p5 = icmp eq i1 %p4, %p1
  %p6 = zext i1 %p5 to i32
  %p7 = sext i1 %p5 to i64
  %s1 = add i32 %l5, %p6
  %s2 = add i32 %s1, %w10
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i8 addrspace(1)* %p, i32 0, i32 %s2)
  %s3 = add i64 %l4, %p7
  call void asm sideeffect "st.global.b64 [$0+$1], $2;", "l,n,l"(i8 addrspace(1)* %p, i32 8, i64 %s3)
  %s4 = zext i8 %h8 to i16
  %s5 = add i16 %s4, %l6
  %s6 = sext i8 %l7 to i16
  %s7 = add i16 %s5, %s6
  call void asm sideeffect "st.global.b16 [$0+$1], $2;", "l,n,h"(i8 addrspace(1)* %p, i32 16, i16 %s7)
  ret void
}
