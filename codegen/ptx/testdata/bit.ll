; A bit has no size in memory.
; error sm_80 cuda not supported: a plain load or store of an i1
define ptx_kernel void @bit(i32 %n) {
entry:
  %slot = alloca i1, align 1
  %flag = icmp eq i32 %n, 3
  store i1 %flag, i1* %slot, align 1
  ret void
}
