package cuda

import (
	"bytes"
	"fmt"
	"runtime"
)

// Device attributes (cuda.h, CUdevice_attribute).
const (
	AttrMultiprocessors     = 16
	AttrMajor               = 75
	AttrMinor               = 76
	AttrMaxSharedOptin      = 97
	attrMaxDynamicShared    = 8 // CUfunction_attribute
	attrSharedSizeBytes     = 1
	attrMaxThreadsPerBlockF = 0
	attrNumRegs             = 4
	attrLocalSizeBytes      = 3
)

// Device describes a GPU.
type Device struct {
	Ordinal         int
	Name            string
	Major, Minor    int // compute capability
	Multiprocessors int
	SharedOptin     int // bytes of shared memory that a block can get
}

// SM is the compute capability as one number: 90 for 9.0.
func (d Device) SM() int { return 10*d.Major + d.Minor }

// Context is the primary context of a device. Its methods may be called from
// any goroutine; the driver binds contexts to threads, so each method makes it
// current on its own thread first. Once a kernel was aborted, the methods call
// the driver no more and return ErrLost.
type Context struct {
	Device Device
	drv    *Driver
	dev    int32
	handle uintptr
}

// Device describes a GPU without opening it.
func (d *Driver) Device(ordinal int) (Device, error) {
	c, err := d.describe(ordinal)
	if err != nil {
		return Device{}, err
	}
	return c.Device, nil
}

// Context opens the primary context of a device.
func (d *Driver) Context(ordinal int) (*Context, error) {
	c, err := d.describe(ordinal)
	if err != nil {
		return nil, err
	}
	if err := d.lostError(); err != nil {
		return nil, err
	}
	if err := d.check("cuDevicePrimaryCtxRetain", d.api.primaryCtxRetain(&c.handle, c.dev)); err != nil {
		return nil, err
	}
	return c, nil
}

// describe is a context that is not open.
func (d *Driver) describe(ordinal int) (*Context, error) {
	c := &Context{drv: d, Device: Device{Ordinal: ordinal}}
	if err := d.check(fmt.Sprintf("cuDeviceGet(%d)", ordinal), d.api.deviceGet(&c.dev, int32(ordinal))); err != nil {
		return nil, err
	}
	var name [256]byte
	if err := d.check("cuDeviceGetName", d.api.deviceGetName(&name[0], int32(len(name)), c.dev)); err != nil {
		return nil, err
	}
	if n := bytes.IndexByte(name[:], 0); n >= 0 {
		c.Device.Name = string(name[:n])
	}
	for _, a := range []struct {
		attribute int
		to        *int
	}{{AttrMajor, &c.Device.Major}, {AttrMinor, &c.Device.Minor}, {AttrMultiprocessors, &c.Device.Multiprocessors}, {AttrMaxSharedOptin, &c.Device.SharedOptin}} {
		v, err := c.Attribute(a.attribute)
		if err != nil {
			return nil, err
		}
		*a.to = v
	}
	return c, nil
}

// Attribute reads a device attribute by its number in cuda.h.
func (c *Context) Attribute(attribute int) (int, error) {
	var v int32
	err := c.drv.check(fmt.Sprintf("cuDeviceGetAttribute(%d)", attribute), c.drv.api.deviceGetAttribute(&v, int32(attribute), c.dev))
	return int(v), err
}

// Close releases the context.
func (c *Context) Close() error {
	return c.drv.check("cuDevicePrimaryCtxRelease", c.drv.api.primaryCtxRelease(c.dev))
}

// Lost is nil until a kernel was aborted, then an error that wraps ErrLost.
// Resetting the context does not help: retaining it again fails too.
func (c *Context) Lost() error { return c.drv.lostError() }

// Synchronize waits until the device has finished. It reports what went wrong
// in kernels launched before.
func (c *Context) Synchronize() error {
	return c.do("cuCtxSynchronize", func(a *api) result { return a.ctxSynchronize() })
}

// do calls the driver with the context current on this thread.
func (c *Context) do(call string, f func(a *api) result) error {
	if err := c.Lost(); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.drv.check("cuCtxSetCurrent", c.drv.api.ctxSetCurrent(c.handle)); err != nil {
		return err
	}
	return c.drv.check(call, f(&c.drv.api))
}
