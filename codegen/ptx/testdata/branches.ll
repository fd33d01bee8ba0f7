; Blocks that hold only a branch are passed over, an empty endless loop is not, a block that nothing reaches is dropped.
; emit branches.ptx sm_80 cuda
define ptx_kernel void @branches(i8 addrspace(1)* %p, i32 %n) {
entry:
  %a = icmp sgt i32 %n, 0
  %b = icmp sgt i32 %n, 9
  br i1 %a, label %empty, label %other
empty:
  br label %join
other:
  br i1 %b, label %left, label %right
left:
  br label %join
right:
  br label %join
never:
  br label %join
join:
  %v = phi i32 [ 1, %empty ], [ 2, %left ], [ 2, %right ], [ 3, %never ]
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i8 addrspace(1)* %p, i32 0, i32 %v)
  br i1 %b, label %same, label %also
same:
  br label %after
also:
  br label %after
after:
  %c = xor i1 %a, true
  br i1 %c, label %spin, label %done
spin:
  br label %spun
spun:
  br label %spin
done:
  ret void
}
