package ptx

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"

	"tileiras/ir/budget"
)

// globals writes the variables of the module that live in global and constant
// memory. Shared variables stand in the kernels that use them.
func (p *printer) globals(m *ir.Module, work *budget.Budget) error {
	for _, g := range m.Globals {
		work.Step()
		space := ".global"
		switch int(g.AddrSpace) {
		case spaceShared:
			continue
		case spaceGeneric, spaceGlobal:
		case spaceConst:
			space = ".const"
		default:
			return fmt.Errorf("@%s: not supported: a variable in address space %d", g.Name(), int(g.AddrSpace))
		}
		size, _, err := sizeOf(g.ContentType)
		if err != nil {
			return fmt.Errorf("@%s: %w", g.Name(), err)
		}
		linkage := ".visible "
		switch {
		case g.Linkage == enum.LinkageInternal || g.Linkage == enum.LinkagePrivate:
			linkage = ""
		case g.Init == nil:
			linkage = ".extern "
		}
		var bytes []byte
		switch g.Init.(type) {
		case nil, *constant.Undef, *constant.ZeroInitializer: // variables start as zero
		default:
			if bytes, err = initialBytes(make([]byte, 0, size), g.Init); err != nil {
				return fmt.Errorf("@%s: %w", g.Name(), err)
			}
		}
		elem, zero := int64(1), allZero(bytes)
		if !zero {
			elem = widestElement(size, alignOf(g))
		}
		p.printf("\n%s%s .align %d .b%d %s[%d]", linkage, space, alignOf(g), 8*elem, g.Name(), size/elem)
		if !zero {
			p.elements(bytes, elem, work)
		}
		p.text(";\n")
	}
	return nil
}

// widestElement is the number of bytes of the widest element of which a variable can be an array: the wider, the shorter is what it begins as.
func widestElement(size, align int64) int64 {
	n := int64(8)
	for size%n != 0 || align%n != 0 {
		n /= 2
	}
	return n
}

// elements writes what a variable begins as, little endian.
func (p *printer) elements(b []byte, size int64, work *budget.Budget) {
	var word [8]byte
	sep := " = {"
	for ; len(b) > 0; b = b[size:] {
		p.step(work)
		copy(word[:], b[:size])
		p.text(sep)
		p.out = strconv.AppendUint(append(p.out, "0x"...), binary.LittleEndian.Uint64(word[:]), 16)
		sep = ", "
	}
	p.text("}")
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// initialBytes appends the memory image of a constant, little endian.
func initialBytes(out []byte, c constant.Constant) ([]byte, error) {
	switch c := c.(type) {
	case *constant.CharArray:
		return append(out, c.X...), nil
	case *constant.Array:
		var err error
		for _, elem := range c.Elems {
			if out, err = initialBytes(out, elem); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *constant.Int:
		size, _, err := sizeOf(c.Typ)
		if err != nil {
			return nil, err
		}
		return appendBits(out, intBits(c.X, int(c.Typ.BitSize)), size), nil
	case *constant.Float:
		size, _, err := sizeOf(c.Typ)
		if err != nil {
			return nil, err
		}
		return appendBits(out, floatBits(c), size), nil
	case *constant.ExprBitCast:
		return initialBytes(out, c.From)
	case *constant.Undef, *constant.ZeroInitializer, *constant.Null:
		size, _, err := sizeOf(c.Type())
		if err != nil {
			return nil, err
		}
		return append(out, make([]byte, size)...), nil
	}
	return nil, fmt.Errorf("not supported: an initial value %s of type %s", c.Ident(), types.Type(c.Type()))
}

func appendBits(out []byte, bits, size int64) []byte {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], uint64(bits))
	return append(out, word[:size]...)
}
