package interp

import (
	"errors"
	"fmt"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// access reads or writes elements of one type. Errors name element i of a tile of the given shape.
type access struct {
	codec
	elem  ir.Type
	shape []int64
}

func accessOf(elem ir.Type, shape []int64) access { return access{codecOf(elem), elem, shape} }

// locate finds the word at an address.
func (x *access) locate(m *machine, addr uint64, i int) (*allocation, int, error) {
	if addr&uint64(x.bytes-1) != 0 {
		return nil, 0, addressed(addr, m.failAt(Misaligned, x.shape, i, "address %#x of an %s is no multiple of %d", addr, ir.ShortType(x.elem), x.bytes))
	}
	a, off := m.mem.find(addr, x.bytes)
	if a == nil {
		return nil, 0, addressed(addr, m.failAt(OutOfBounds, x.shape, i, "%d bytes at %s", x.bytes, m.mem.describe(addr)))
	}
	return a, off, nil
}

// locateToWrite is locate for an access that writes.
func (x *access) locateToWrite(m *machine, addr uint64, i int) (*allocation, int, error) {
	a, off, err := x.locate(m, addr, i)
	if err == nil && a.readOnly {
		return nil, 0, addressed(addr, m.failAt(ReadOnly, x.shape, i, "store to read-only memory '%s'", a.name))
	}
	return a, off, err
}

// addressed adds the address to a report.
func addressed(addr uint64, err error) error {
	err.(*Report).Address = addr
	return err
}

// read gives element i of the tile the value at a place.
func (x *access) read(m *machine, to *tile, i int, addr uint64, high bool) error {
	a, off, err := x.locate(m, addr, i)
	if err != nil {
		return err
	}
	v, f := x.load(a, off, high)
	to.bits[i] = v
	if f != 0 {
		to.mark(i, f)
	}
	if f&undef != 0 && to.why == nil {
		m.because(to, func() string { return whose(x.shape, i, "reads bytes of "+a.name+" that nothing was stored to") })
	}
	return nil
}

// write puts element i of the tile to a place.
func (x *access) write(m *machine, from *tile, i int, addr uint64, high bool) error {
	f := from.flag(i)
	if f&undef != 0 && !m.opts.AnyUndefined {
		return addressed(addr, m.undefAt(from, i, "the stored value"))
	}
	a, off, err := x.locateToWrite(m, addr, i)
	if err != nil {
		return err
	}
	x.store(a, off, high, from.bits[i], f)
	return nil
}

// pointers are the operands that an access through a tile of pointers has.
type pointers struct {
	addr, mask int // slots; mask is -1 when there is none
}

// each calls do for every element that the mask lets through, after checking that its address is defined, and skip for the
// others.
func (p pointers) each(m *machine, do func(i int, addr uint64) error, skip func(i int)) error {
	ptrs := m.tile(p.addr)
	var let *tile
	if p.mask >= 0 {
		let = m.tile(p.mask)
		if err := m.checkDefined(let, "the mask"); err != nil {
			return err
		}
	}
	for i, addr := range ptrs.bits {
		if let != nil && let.bits[i] == 0 {
			if skip != nil {
				skip(i)
			}
			continue
		}
		if f := ptrs.flag(i); f != 0 {
			if err := m.checkFlag(f, ptrs, i, "the address"); err != nil {
				return err
			}
		}
		if err := do(i, addr); err != nil {
			return err
		}
	}
	return nil
}

// markUnpadded marks element i of a loaded tile, which is 0, as undefined, unless the options say that padding without a value is
// zero. It tells whether the tile lacks a cause now.
func (m *machine) markUnpadded(t *tile, i int) bool {
	if m.opts.ZeroPadding || m.opts.AnyUndefined {
		return false
	}
	t.mark(i, undef)
	return t.why == nil
}

// loadPtr gives masked elements the padding value; without one they are undefined.
func loadPtr(c *compiler, op *ir.Op) (action, error) {
	load := ir.Cast[cudatile.LoadPtrTko](op)
	p := pointers{c.slot(load.Source()), c.optional(load.Mask())}
	pad := c.optional(load.PaddingValue())
	res, tok, typ := c.slot(load.Result()), c.slot(load.ResultToken()), typeOf(load.Result())
	x := accessOf(typ.Elem, typ.Shape)
	return func(m *machine) (signal, error) {
		out := newTile(typ, int(typ.NumElements()))
		err := p.each(m, func(i int, addr uint64) error {
			return x.read(m, out, i, addr, false)
		}, func(i int) {
			if pad < 0 {
				if m.markUnpadded(out, i) {
					m.because(out, func() string { return whose(typ.Shape, i, "is masked out, and which names no padding") })
				}
				return
			}
			t := m.tile(pad)
			out.bits[i] = t.bits[i]
			if f := t.flag(i); f != 0 {
				out.mark(i, f)
			}
		})
		m.vals[res], m.vals[tok] = out, token{}
		return next, err
	}, nil
}

func storePtr(c *compiler, op *ir.Op) (action, error) {
	store := ir.Cast[cudatile.StorePtrTko](op)
	p := pointers{c.slot(store.Destination()), c.optional(store.Mask())}
	src, tok, typ := c.slot(store.Value()), c.slot(store.ResultToken()), typeOf(store.Value())
	x := accessOf(typ.Elem, typ.Shape)
	return func(m *machine) (signal, error) {
		v := m.tile(src)
		m.vals[tok] = token{}
		return next, p.each(m, func(i int, addr uint64) error { return x.write(m, v, i, addr, false) }, nil)
	}, nil
}

// maxAlloca is how many bytes one alloca may ask for.
const maxAlloca = 1 << 30

// alloca makes memory that is undefined until it is stored to and gone when the block of operations ends.
func alloca(c *compiler, op *ir.Op) (action, error) {
	res, typ := c.slot(op.Result(0)), typeOf(op.Result(0))
	x := codecOf(typ.Elem.(*cudatile.PtrType).Elem)
	a := ir.Cast[cudatile.Alloca](op)
	n, align := int(a.NumElem()), int(a.Alignment())
	if n < 0 || n > maxAlloca/x.bytes || align > maxAlloca {
		return nil, fmt.Errorf("not supported yet: %d elements of %s aligned to %d bytes, the limit is %d bytes: %w", n, typ.Elem, align, maxAlloca, errors.ErrUnsupported)
	}
	size := n * x.bytes
	if x.nibble {
		size = (n + 1) / 2
	}
	return func(m *machine) (signal, error) {
		base := m.mem.AllocUndef("an alloca", size, align)
		m.locals = append(m.locals, m.mem.at(base))
		t := newTile(typ, 1)
		t.bits[0] = base
		m.vals[res] = t
		return next, nil
	}, nil
}

func getGlobal(c *compiler, op *ir.Op) (action, error) {
	g := c.prog.globals[ir.Cast[cudatile.GetGlobal](op).Name()]
	res, typ := c.slot(op.Result(0)), typeOf(op.Result(0))
	return func(m *machine) (signal, error) {
		t := newTile(typ, 1)
		t.bits[0] = m.mem.globals[g]
		m.vals[res] = t
		return next, nil
	}, nil
}
