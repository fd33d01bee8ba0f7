; Debug locations become .file and .loc.
; emit lines.ptx sm_80 cuda lineinfo
; emit lines_off.ptx sm_80 cuda
define ptx_kernel void @lines(i8 addrspace(1)* %p, i32 %x) !dbg !4 {
entry:
  %a = add i32 %x, 1, !dbg !7
  %b = mul i32 %a, %x, !dbg !7
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i8 addrspace(1)* %p, i32 0, i32 %b), !dbg !8
  %c = icmp slt i32 %b, 0, !dbg !8
  br i1 %c, label %more, label %done, !dbg !9
more:
  call void asm sideeffect "st.global.b32 [$0+$1], $2;", "l,n,r"(i8 addrspace(1)* %p, i32 4, i32 %b), !dbg !8
  br label %done, !dbg !9
done:
  ret void, !dbg !8
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "tileiras", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "kern.py", directory: "/home/u")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "lines", linkageName: "lines", scope: !1, file: !1, line: 10, type: !5, scopeLine: 10, spFlags: DISPFlagDefinition, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 12, column: 5, scope: !4)
!8 = !DILocation(line: 13, column: 9, scope: !4)
!9 = !DILocation(line: 14, column: 3, scope: !4)
