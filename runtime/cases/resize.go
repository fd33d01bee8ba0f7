package cases

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Resize gives the array in a described buffer a new shape, contiguous in
// row-major order: the buffer, its view, and the extents and strides that
// follow its address among the parameters or in a table of pointers. It is how
// a benchmark becomes small enough to be interpreted:
//
//	a: 4096x4096  ->  Resize("a", 128, 192):  params  a, 128, 192, 192, 1
//
// Buffers that come from files cannot be resized.
func (c *Case) Resize(name string, shape ...int) error {
	b := c.Buffer(name)
	switch {
	case b == nil:
		return fmt.Errorf("%s: no buffer %q", c.Name, name)
	case b.Init == nil:
		return fmt.Errorf("%s: buffer %q comes from a file", c.Name, name)
	case b.Init.Values != nil:
		return fmt.Errorf("%s: buffer %q has explicit values", c.Name, name)
	case b.View == nil || len(b.View.Shape) != len(shape):
		return fmt.Errorf("%s: buffer %q has no view of rank %d", c.Name, name, len(shape))
	}
	strides, size := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = size
		size *= shape[i]
	}
	if _, err := byteSize(shape, b.DType.Size); err != nil {
		return err
	}
	b.Shape, b.Data = []int{size}, nil
	b.View = &View{Shape: shape, Strides: strides}
	descriptor := append(append([]int{}, shape...), strides...)
	for i, p := range c.Params {
		if p.Buffer == name {
			if err := c.setScalars(i+1, descriptor); err != nil {
				return fmt.Errorf("%s: array %q: %w", c.Name, name, err)
			}
		}
	}
	for _, table := range c.Buffers {
		for _, p := range table.Pointers {
			if p.Buffer != name {
				continue
			}
			if table.Init == nil || len(table.Init.Values) < p.Index+1+len(descriptor) {
				return fmt.Errorf("%s: table %q has no descriptor of %q", c.Name, table.Name, name)
			}
			for i, v := range descriptor {
				table.Init.Values[p.Index+1+i] = json.Number(strconv.Itoa(v))
			}
			table.Data = nil
		}
	}
	return nil
}

// setScalars overwrites the scalar parameters from index i on.
func (c *Case) setScalars(i int, values []int) error {
	for k, v := range values {
		if i+k >= len(c.Params) || c.Params[i+k].Type == nil {
			return fmt.Errorf("parameter %d is not a scalar", i+k)
		}
		p := &c.Params[i+k]
		bits, err := p.Type.Parse(strconv.Itoa(v))
		if err != nil {
			return fmt.Errorf("parameter %d: %w", i+k, err)
		}
		p.Bits = bits
	}
	return nil
}
