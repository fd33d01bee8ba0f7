; The only local memory: the argument block of vprintf; and an assertion that traps.
; emit printing.ptx sm_75 cuda
@format = private addrspace(1) constant [7 x i8] c"%d %f\0A\00"
declare i32 @vprintf(i8*, i8*)
define ptx_kernel void @printing(i32 %x, float %y) {
entry:
  %block = alloca { i32, double }, align 8
  %tid = call i32 asm "mov.u32 $0, %tid.x;", "=r"()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %say, label %check
say:
  %p0 = getelementptr { i32, double }, { i32, double }* %block, i32 0, i32 0
  store i32 %x, i32* %p0
  %p1 = getelementptr { i32, double }, { i32, double }* %block, i32 0, i32 1
  %wide = fpext float %y to double
  store double %wide, double* %p1
  %args = bitcast { i32, double }* %block to i8*
  %r = call i32 @vprintf(i8* addrspacecast (i8 addrspace(1)* getelementptr ([7 x i8], [7 x i8] addrspace(1)* @format, i64 0, i64 0) to i8*), i8* %args)
  br label %check
check:
  %bad = icmp sgt i32 %x, 100
  call void asm sideeffect "@$0 trap;", "b"(i1 %bad)
  %worse = icmp sgt i32 %x, 200
  br i1 %worse, label %stop, label %fine
stop:
  call void asm sideeffect "trap;", ""()
  unreachable
fine:
  ret void
}
