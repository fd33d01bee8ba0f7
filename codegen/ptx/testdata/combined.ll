; A product that one sum reads becomes part of it; one that two read, or that another block has made, is made once. Negations go to guards and
; branches, and nothing is left of what was combined.
; emit combined.ptx sm_80 cuda
define ptx_kernel void @combined(i32 addrspace(1)* %p, i32 %a, i32 %b, i32 %n) {
entry:
  %once = mul i32 %a, %b
  %sum = add i32 %once, %n
  %twice = mul i32 %a, %n
  %first = add i32 %twice, %b
  %second = add i32 %a, %twice
  %outer = mul i32 %b, %n
  %less = icmp slt i32 %a, %b
  %not = xor i1 %less, true
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i32 addrspace(1)* %p, i32 0, i32 %sum)
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i32 addrspace(1)* %p, i32 4, i32 %first)
  call void asm sideeffect "@$0 st.global.b32 [$1+$2], $3;", "b,l,n,r"(i1 %not, i32 addrspace(1)* %p, i32 8, i32 %second)
  %again = xor i1 %not, true
  br i1 %again, label %then, label %end

then:
  %inner = add i32 %outer, %a
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i32 addrspace(1)* %p, i32 12, i32 %inner)
  br label %end

end:
  ret void
}
