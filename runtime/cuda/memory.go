package cuda

import "fmt"

// Memory is a block of device memory, aligned to at least 256 bytes.
type Memory struct {
	ctx     *Context
	Address uint64
	Size    int
}

// Alloc reserves size bytes, at least one: an empty buffer has an address too.
func (c *Context) Alloc(size int) (*Memory, error) {
	m := &Memory{ctx: c, Size: size}
	err := c.do(fmt.Sprintf("cuMemAlloc of %d bytes", size), func(a *api) result {
		return a.memAlloc(&m.Address, uintptr(max(size, 1)))
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Free releases the memory.
func (m *Memory) Free() error {
	return m.ctx.do("cuMemFree", func(a *api) result { return a.memFree(m.Address) })
}

// Write copies data to the start of the memory.
func (m *Memory) Write(data []byte) error {
	if len(data) > m.Size {
		return fmt.Errorf("cannot copy %d bytes into %d bytes of device memory", len(data), m.Size)
	}
	if len(data) == 0 {
		return nil
	}
	return m.ctx.do("cuMemcpyHtoD", func(a *api) result { return a.memcpyHtoD(m.Address, &data[0], uintptr(len(data))) })
}

// Read copies the memory to the host. It waits for kernels launched before.
func (m *Memory) Read() ([]byte, error) {
	data := make([]byte, m.Size)
	if m.Size == 0 {
		return data, nil
	}
	err := m.ctx.do("cuMemcpyDtoH", func(a *api) result { return a.memcpyDtoH(&data[0], m.Address, uintptr(m.Size)) })
	return data, err
}

// Fill sets every byte.
func (m *Memory) Fill(v byte) error {
	if m.Size == 0 {
		return nil
	}
	return m.ctx.do("cuMemsetD8", func(a *api) result { return a.memsetD8(m.Address, v, uintptr(m.Size)) })
}
