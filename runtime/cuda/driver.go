// Package cuda launches kernels on NVIDIA GPUs through the CUDA driver API. The
// driver's library is loaded when it is asked for, without cgo, so programs
// that import this package build and start on machines without a GPU.
//
// It covers what running a compiled kernel needs: devices, the primary context,
// modules from PTX or cubin with the JIT's log, memory, launches, events. All
// numbers and names are those of the CUDA Driver API reference (cuda.h).
//
// It imports the standard library, purego and, for its Machine, runtime/cases.
package cuda

import (
	"fmt"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Driver is a loaded and initialised driver library.
type Driver struct {
	path string
	api  api
	lost atomic.Pointer[Error] // the first error after which it does no more work in this process
}

// api has the entry points in use. Handles are pointers of the driver, device
// memory is a 64-bit number.
type api struct {
	init               func(flags uint32) result
	driverGetVersion   func(version *int32) result
	getErrorName       func(r result, name **byte) result
	getErrorString     func(r result, text **byte) result
	deviceGetCount     func(n *int32) result
	deviceGet          func(dev *int32, ordinal int32) result
	deviceGetName      func(name *byte, size, dev int32) result
	deviceGetAttribute func(v *int32, attribute, dev int32) result
	primaryCtxRetain   func(ctx *uintptr, dev int32) result
	primaryCtxRelease  func(dev int32) result
	ctxSetCurrent      func(ctx uintptr) result
	ctxSynchronize     func() result
	moduleLoadDataEx   func(m *uintptr, image *byte, n uint32, options *uint32, values *uintptr) result
	moduleUnload       func(m uintptr) result
	moduleGetFunction  func(f *uintptr, m uintptr, name string) result
	funcGetAttribute   func(v *int32, attribute int32, f uintptr) result
	funcSetAttribute   func(f uintptr, attribute, v int32) result
	memAlloc           func(p *uint64, size uintptr) result
	memFree            func(p uint64) result
	memcpyHtoD         func(dst uint64, src *byte, size uintptr) result
	memcpyDtoH         func(dst *byte, src uint64, size uintptr) result
	memsetD8           func(dst uint64, v uint8, size uintptr) result
	launchKernel       func(f uintptr, gx, gy, gz, bx, by, bz, shared uint32, stream uintptr, params *unsafe.Pointer, extra uintptr) result
	eventCreate        func(e *uintptr, flags uint32) result
	eventDestroy       func(e uintptr) result
	eventRecord        func(e, stream uintptr) result
	eventSynchronize   func(e uintptr) result
	eventElapsedTime   func(ms *float32, from, to uintptr) result
}

// symbol is a function of the library and the variable that calls it.
type symbol struct {
	name string
	call any
}

func (a *api) symbols() []symbol {
	return []symbol{
		{"cuInit", &a.init},
		{"cuDriverGetVersion", &a.driverGetVersion},
		{"cuGetErrorName", &a.getErrorName},
		{"cuGetErrorString", &a.getErrorString},
		{"cuDeviceGetCount", &a.deviceGetCount},
		{"cuDeviceGet", &a.deviceGet},
		{"cuDeviceGetName", &a.deviceGetName},
		{"cuDeviceGetAttribute", &a.deviceGetAttribute},
		{"cuDevicePrimaryCtxRetain", &a.primaryCtxRetain},
		{"cuDevicePrimaryCtxRelease_v2", &a.primaryCtxRelease},
		{"cuCtxSetCurrent", &a.ctxSetCurrent},
		{"cuCtxSynchronize", &a.ctxSynchronize},
		{"cuModuleLoadDataEx", &a.moduleLoadDataEx},
		{"cuModuleUnload", &a.moduleUnload},
		{"cuModuleGetFunction", &a.moduleGetFunction},
		{"cuFuncGetAttribute", &a.funcGetAttribute},
		{"cuFuncSetAttribute", &a.funcSetAttribute},
		{"cuMemAlloc_v2", &a.memAlloc},
		{"cuMemFree_v2", &a.memFree},
		{"cuMemcpyHtoD_v2", &a.memcpyHtoD},
		{"cuMemcpyDtoH_v2", &a.memcpyDtoH},
		{"cuMemsetD8_v2", &a.memsetD8},
		{"cuLaunchKernel", &a.launchKernel},
		{"cuEventCreate", &a.eventCreate},
		{"cuEventDestroy_v2", &a.eventDestroy},
		{"cuEventRecord", &a.eventRecord},
		{"cuEventSynchronize", &a.eventSynchronize},
		{"cuEventElapsedTime", &a.eventElapsedTime},
	}
}

// libraries are the names under which the driver is found.
var libraries = []string{"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"}

// Open loads and initialises the driver. An empty path means the driver of
// this machine.
func Open(path string) (*Driver, error) {
	candidates := libraries
	if path != "" {
		candidates = []string{path}
	}
	var tried []string
	for _, name := range candidates {
		lib, err := dlopen(name)
		if err != nil {
			tried = append(tried, err.Error())
			continue
		}
		d := &Driver{path: name}
		if err := d.bind(lib); err != nil {
			return nil, err
		}
		if err := d.check("cuInit", d.api.init(0)); err != nil {
			return nil, err
		}
		return d, nil
	}
	return nil, fmt.Errorf("no CUDA driver found: %s: install NVIDIA's driver, or run on the interpreter or the emulator instead", strings.Join(tried, "; "))
}

// Version is the CUDA version that the driver supports, as 1000*major + 10*minor.
func (d *Driver) Version() (int, error) {
	var v int32
	err := d.check("cuDriverGetVersion", d.api.driverGetVersion(&v))
	return int(v), err
}

// Devices is the number of GPUs.
func (d *Driver) Devices() (int, error) {
	var n int32
	err := d.check("cuDeviceGetCount", d.api.deviceGetCount(&n))
	return int(n), err
}

func (d *Driver) bind(lib uintptr) error {
	for _, s := range d.api.symbols() {
		address, err := dlsym(lib, s.name)
		if err != nil {
			return fmt.Errorf("the CUDA driver %s has no %s: it is too old, install a newer one", d.path, s.name)
		}
		purego.RegisterFunc(s.call, address)
	}
	return nil
}
