; The address of a shared array has a register in each block that gives it to a phi: those of another predecessor are not there.
; emit phis.ptx sm_80 cuda
@g = internal addrspace(3) global [64 x i32] undef, align 16

define ptx_kernel void @phis(i32 %c, i32 addrspace(1)* %p) {
entry:
  %t = icmp eq i32 %c, 0
  br i1 %t, label %a, label %b
a:
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i32 addrspace(1)* %p, i32 0, i32 1)
  br label %m
b:
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i32 addrspace(1)* %p, i32 0, i32 2)
  br label %m
m:
  %q = phi [64 x i32] addrspace(3)* [ @g, %a ], [ @g, %b ]
  %r = getelementptr [64 x i32], [64 x i32] addrspace(3)* %q, i32 0, i32 %c
  call void asm sideeffect "st.shared.b32 [$0+$1], $2;", "r,n,r"(i32 addrspace(3)* %r, i32 0, i32 3)
  ret void
}
