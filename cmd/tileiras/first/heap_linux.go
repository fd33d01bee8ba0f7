package first

import (
	"iter"
	"syscall"
	"unsafe"
)

// The heap lies on huge pages: two or three are touched where there were a thousand small ones, and the system takes a microsecond or three for
// each. The runtime takes 4 MB of addresses from the system at a time, so a coroutine asks for a stack of 8 MB, which the heap has back when it ends.
func init() {
	next = new([8 << 10]byte)
	lowest := uintptr(unsafe.Pointer(next)) &^ (hugePage - 1)
	highest := lowest
	run, _ := iter.Pull(func(func(byte) bool) {
		var here byte // on the stack, which moves as it grows
		deepen[[6 << 20]byte](false)
		highest = uintptr(unsafe.Pointer(&here))
	})
	run()
	if n := highest - lowest; n < 32<<20 { // neighbours, as they are unless something lies between
		syscall.RawSyscall(syscall.SYS_MADVISE, lowest, n, syscall.MADV_HUGEPAGE)
		for range 3 {
			if _, _, err := syscall.RawSyscall(syscall.SYS_MADVISE, lowest, hugePage, collapse); err != syscall.EAGAIN {
				break // else a page is in use elsewhere for a moment
			}
		}
	}
}

// next lies where the heap goes on.
var next *[8 << 10]byte

const (
	hugePage = 2 << 20
	collapse = 25 // MADV_COLLAPSE makes a huge page of small ones, some of which have been touched
)
