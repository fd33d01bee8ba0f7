package cuda

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Config is the shape of a launch.
type Config struct {
	Grid   [3]int
	Block  [3]int
	Shared int // dynamic shared memory, bytes
}

// defaultShared is the dynamic shared memory that a kernel may use without
// asking (CUDA C++ programming guide, shared memory per block).
const defaultShared = 48 << 10

// Launch starts the kernel with parameters given as their bytes in memory, each
// as long as its .param declaration. It does not wait; what goes wrong inside
// the kernel is reported by Synchronize.
func (f *Function) Launch(c Config, params ...[]byte) error {
	if limit := f.ctx.Device.SharedOptin; f.StaticBytes+c.Shared > limit {
		return fmt.Errorf("kernel %s needs %d bytes of shared memory, %s gives a block %d: compile for this target, or with fewer stages or smaller tiles",
			f.Name, f.StaticBytes+c.Shared, f.ctx.Device.Name, limit)
	}
	if c.Shared+f.StaticBytes > defaultShared && c.Shared > 0 {
		err := f.ctx.do("cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)", func(a *api) result {
			return a.funcSetAttribute(f.handle, attrMaxDynamicShared, int32(c.Shared))
		})
		if err != nil {
			return err
		}
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pointers := make([]unsafe.Pointer, len(params)+1) // never empty, ends in nil
	for i, p := range params {
		if len(p) == 0 {
			return fmt.Errorf("kernel %s: parameter %d is empty", f.Name, i)
		}
		pin.Pin(&p[0])
		pointers[i] = unsafe.Pointer(&p[0])
	}
	g, b := c.Grid, c.Block
	for i := range 3 {
		if g[i] < 1 || b[i] < 1 {
			return fmt.Errorf("kernel %s: grid %v of blocks %v is empty", f.Name, g, b)
		}
	}
	return f.ctx.do(fmt.Sprintf("cuLaunchKernel(%s, grid %v, block %v, %d shared bytes)", f.Name, g, b, c.Shared), func(a *api) result {
		return a.launchKernel(f.handle, uint32(g[0]), uint32(g[1]), uint32(g[2]), uint32(b[0]), uint32(b[1]), uint32(b[2]),
			uint32(c.Shared), 0, &pointers[0], 0)
	})
}

// Time runs f, which launches kernels, and returns the milliseconds between
// two events of the device around it.
func (c *Context) Time(f func() error) (ms float64, err error) {
	var from, to uintptr
	var elapsed float32
	step := func(call string, g func(a *api) result) {
		if err == nil {
			err = c.do(call, g)
		}
	}
	step("cuEventCreate", func(a *api) result { return a.eventCreate(&from, 0) })
	if err != nil {
		return 0, err
	}
	defer c.do("cuEventDestroy", func(a *api) result { return a.eventDestroy(from) })
	step("cuEventCreate", func(a *api) result { return a.eventCreate(&to, 0) })
	if err != nil {
		return 0, err
	}
	defer c.do("cuEventDestroy", func(a *api) result { return a.eventDestroy(to) })
	step("cuEventRecord", func(a *api) result { return a.eventRecord(from, 0) })
	if err == nil {
		err = f()
	}
	step("cuEventRecord", func(a *api) result { return a.eventRecord(to, 0) })
	step("cuEventSynchronize", func(a *api) result { return a.eventSynchronize(to) })
	step("cuEventElapsedTime", func(a *api) result { return a.eventElapsedTime(&elapsed, from, to) })
	return float64(elapsed), err
}
