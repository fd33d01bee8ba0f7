package cuda

import (
	"errors"
	"fmt"
	"unsafe"
)

// result is CUresult.
type result int32

// Result codes that callers treat differently (cuda.h, CUresult).
const (
	Success            = 0
	OutOfMemory        = 2
	NoDevice           = 100
	NoBinaryForGPU     = 209
	InvalidPTX         = 218
	UnsupportedPTX     = 222
	NotFound           = 500
	IllegalAddress     = 700
	LaunchOutOfRes     = 701
	LaunchTimeout      = 702
	ContextIsDestroyed = 709
	DeviceAssert       = 710
	HardwareStackError = 714
	IllegalInstruction = 715
	MisalignedAddress  = 716
	InvalidAddrSpace   = 717
	InvalidPC          = 718
	LaunchFailed       = 719
	TensorMemoryLeak   = 721
)

// ErrLost is wrapped by the errors of calls after a kernel was aborted.
var ErrLost = errors.New("a kernel was aborted before, and the driver does no more work in this process: start a new one")

// fatal says whether a result leaves the process unable to use the driver:
// "the process must be terminated and relaunched" (cuda.h).
func fatal(r result) bool {
	switch r {
	case IllegalAddress, LaunchTimeout, ContextIsDestroyed, DeviceAssert, HardwareStackError, IllegalInstruction,
		MisalignedAddress, InvalidAddrSpace, InvalidPC, LaunchFailed, TensorMemoryLeak:
		return true
	}
	return false
}

// Error is a failed call of the driver.
type Error struct {
	Call string // the function, and what it was called for
	Code int    // CUresult
	Name string // CUDA_ERROR_...
	Text string // the driver's sentence
	Log  string // the JIT's messages, when there are any
}

// hints say what to do about a code.
var hints = map[int]string{
	OutOfMemory:        "the buffers do not fit into the GPU's memory: use a smaller case or free the GPU",
	NoDevice:           "no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES",
	NoBinaryForGPU:     "the kernel was compiled for another GPU: compile for this one's compute capability",
	InvalidPTX:         "the driver's compiler rejects the PTX: see the log, or run ptxas on it",
	UnsupportedPTX:     "the PTX is newer than the driver: lower its .version or install a newer driver",
	NotFound:           "the module has no such symbol: check the kernel's name",
	IllegalAddress:     "the kernel accessed memory outside its buffers: run it in the emulator, which names the instruction",
	LaunchOutOfRes:     "too many threads, registers or shared bytes for one block: compare with .reqntid and the header of the PTX",
	DeviceAssert:       "an assertion of the kernel failed",
	IllegalInstruction: "the kernel trapped, perhaps by a failed assertion",
	MisalignedAddress:  "the kernel accessed a misaligned address: check the divisibility promises of the bytecode",
	LaunchFailed:       "the kernel was aborted: run it in the emulator, which names the instruction",
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s failed: %s (%d): %s", e.Call, e.Name, e.Code, e.Text)
	if h := hints[e.Code]; h != "" {
		s += ": " + h
	}
	if e.Log != "" {
		s += "\n" + e.Log
	}
	return s
}

// lostError is nil, or says by which error the driver was lost.
func (d *Driver) lostError() error {
	if e := d.lost.Load(); e != nil {
		return fmt.Errorf("%w (%s: %s)", ErrLost, e.Call, e.Name)
	}
	return nil
}

// check turns a result into an error, or nil. It notes that the driver is lost.
func (d *Driver) check(call string, r result) error {
	if r == Success {
		return nil
	}
	e := &Error{Call: call, Code: int(r), Name: "unknown error"}
	var p *byte
	if d.api.getErrorName(r, &p) == Success && p != nil {
		e.Name = cString(p)
	}
	p = nil
	if d.api.getErrorString(r, &p) == Success && p != nil {
		e.Text = cString(p)
	}
	if fatal(r) {
		first := *e
		d.lost.CompareAndSwap(nil, &first)
	}
	return e
}

// cString copies a C string; one without an end is cut at 4 KB.
func cString(p *byte) string {
	const limit = 4096
	n := 0
	for n < limit && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
