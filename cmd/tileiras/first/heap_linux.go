package first

import (
	"syscall"
	"unsafe"
)

// The heap lies on huge pages: two or three are touched where there were a thousand small ones, and the system takes a microsecond or three for
// each. The runtime takes 4 MB of addresses from the system at a time, so a stack of 8 MB is asked for, which the heap has back when the stack grows.
func init() {
	var here byte // stacks lie in the heap
	lowest := uintptr(unsafe.Pointer(&here)) &^ (hugePage - 1)
	highest := deepen[[7 << 20]byte](false)
	deepen[[15 << 20]byte](false)
	if n := highest - lowest; n < 16<<20 { // neighbours, as they are unless something lies between
		syscall.RawSyscall(syscall.SYS_MADVISE, lowest, n, syscall.MADV_HUGEPAGE)
		syscall.RawSyscall(syscall.SYS_MADVISE, lowest, hugePage, collapse)
	}
}

const (
	hugePage = 2 << 20
	collapse = 25 // MADV_COLLAPSE makes a huge page of small ones, some of which have been touched
)
