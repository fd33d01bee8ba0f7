package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tileiras/runtime/cases"
)

// Image is a compiled kernel with what its launch needs to know.
type Image struct {
	Code       []byte // PTX text or a cubin
	Threads    int    // of a block; 1 in the launch convention of Tile IR kernels, where the driver takes the real number from the code
	Shared     int    // dynamic shared memory, bytes
	ParamBytes []int  // sizes of the entry's parameters; nil: not checked
}

// Machine runs cases on a GPU. A kernel that is aborted takes the GPU from the
// process: later launches fail with ErrLost.
type Machine struct {
	Context *Context
	// Compile makes the image of the entry of a launch.
	Compile func(ctx context.Context, l *cases.Launch) (*Image, error)
	// CaptureOutput collects what kernels print; it redirects the standard
	// output of the process during a launch.
	CaptureOutput bool
	// Runs is how many launches are timed by events of the device, when buffers have been read.
	Runs int
}

var (
	_ cases.Machine = (*Machine)(nil)
	_ cases.Device  = (*Machine)(nil)
)

// Multiprocessors is how many the GPU has.
func (m *Machine) Multiprocessors() int { return m.Context.Device.Multiprocessors }

// Launch compiles and runs a launch of a case.
func (m *Machine) Launch(ctx context.Context, l *cases.Launch) (*cases.Outcome, error) {
	if err := m.Context.Lost(); err != nil {
		return nil, err
	}
	image, err := m.Compile(ctx, l)
	if err != nil {
		return nil, err
	}
	module, err := m.Context.Load(image.Code)
	if err != nil {
		return nil, err
	}
	var memory []*Memory
	defer func() {
		for _, x := range memory {
			x.Free()
		}
		module.Unload()
	}()
	f, err := module.Function(l.Kernel)
	if err != nil {
		return nil, err
	}
	memory, err = m.upload(l)
	if err != nil {
		return nil, err
	}
	params, err := image.params(l, memory)
	if err != nil {
		return nil, err
	}
	out := &cases.Outcome{Stats: f}
	start := func() error { return f.Launch(image.config(l.Grid), params...) }
	out.Stdout, err = m.output(func() error {
		if err := start(); err != nil {
			return err
		}
		return m.Context.Synchronize()
	})
	if err != nil {
		return m.unfinished(out, err)
	}
	if err := collect(out, memory); err != nil {
		return nil, err
	}
	if m.Runs == 0 {
		return out, nil
	}
	if _, err := m.output(func() (err error) { out.Times, err = m.time(start); return err }); err != nil {
		return nil, err
	}
	return out, nil
}

// output runs f and returns what kernels print meanwhile, if it is collected.
func (m *Machine) output(f func() error) (string, error) {
	if m.CaptureOutput {
		return capture(f)
	}
	return "", f()
}

// unfinished handles a launch that did not finish: a trap after printing is a
// failed assertion.
func (m *Machine) unfinished(out *cases.Outcome, err error) (*cases.Outcome, error) {
	var e *Error
	if !errors.As(err, &e) || !slices.Contains([]int{DeviceAssert, IllegalInstruction, LaunchFailed}, e.Code) || !m.CaptureOutput {
		return nil, err
	}
	if out.Stdout == "" {
		return nil, fmt.Errorf("%w: it printed nothing, as a failed assertion does before it traps", err)
	}
	out.AssertFailed, out.Message = true, out.Stdout
	return out, nil
}

// collect reads what a launch left in memory.
func collect(out *cases.Outcome, memory []*Memory) error {
	for _, x := range memory {
		data, err := x.Read()
		if err != nil {
			return err
		}
		out.Buffers = append(out.Buffers, data)
		out.Addresses = append(out.Addresses, x.Address)
	}
	return nil
}

// time is what launches took.
func (m *Machine) time(launch func() error) (times []time.Duration, err error) {
	for range m.Runs {
		ms, err := m.Context.Time(launch)
		if err != nil {
			return nil, err
		}
		times = append(times, time.Duration(ms*float64(time.Millisecond)))
	}
	return times, nil
}

// upload makes the buffers of a launch. What it made is returned with an error too.
func (m *Machine) upload(l *cases.Launch) ([]*Memory, error) {
	var memory []*Memory
	var contents [][]byte
	var addresses []uint64
	for _, b := range l.Buffers {
		if len(b.Gaps) > 0 {
			return memory, fmt.Errorf("not supported yet: buffer %s has gaps: %w", b.Name, errors.ErrUnsupported)
		}
		x, err := m.Context.Alloc(len(b.Bytes))
		if err != nil {
			return memory, fmt.Errorf("buffer %s: %w", b.Name, err)
		}
		memory = append(memory, x)
		if b.Align > 0 && x.Address%uint64(b.Align) != 0 {
			return memory, fmt.Errorf("buffer %s lies at 0x%x, which is not divisible by %d", b.Name, x.Address, b.Align)
		}
		data := b.Bytes
		if len(b.Pointers) > 0 {
			data = append([]byte{}, data...)
		}
		contents, addresses = append(contents, data), append(addresses, x.Address)
	}
	l.StorePointers(contents, addresses)
	for i, x := range memory {
		if err := x.Write(contents[i]); err != nil {
			return memory, fmt.Errorf("buffer %s: %w", l.Buffers[i].Name, err)
		}
	}
	return memory, nil
}

// params writes the parameters as the kernel reads them.
func (im *Image) params(l *cases.Launch, memory []*Memory) ([][]byte, error) {
	if im.ParamBytes != nil && len(im.ParamBytes) != len(l.Params) {
		return nil, fmt.Errorf("kernel %s has %d parameters, the launch gives %d", l.Kernel, len(im.ParamBytes), len(l.Params))
	}
	var addresses []uint64
	for _, m := range memory {
		addresses = append(addresses, m.Address)
	}
	var params [][]byte
	for i, p := range l.Params {
		if im.ParamBytes != nil && im.ParamBytes[i] != p.Size() {
			return nil, fmt.Errorf("kernel %s: parameter %d has %d bytes, the launch gives %d", l.Kernel, i, im.ParamBytes[i], p.Size())
		}
		params = append(params, p.Value(addresses))
	}
	return params, nil
}

// config is the shape of the launch.
func (im *Image) config(grid [3]int) Config {
	return Config{Grid: grid, Block: [3]int{im.Threads, 1, 1}, Shared: im.Shared}
}
