package ptx

import (
	"encoding/binary"
	"fmt"

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
		p.printf("\n%s%s .align %d .b8 %s[%d]", linkage, space, alignOf(g), g.Name(), size)
		switch g.Init.(type) {
		case nil, *constant.Undef, *constant.ZeroInitializer: // variables start as zero
		default:
			bytes, err := initialBytes(make([]byte, 0, size), g.Init)
			if err != nil {
				return fmt.Errorf("@%s: %w", g.Name(), err)
			}
			if !allZero(bytes) {
				p.text(" = {", byteList(bytes), "}")
			}
		}
		p.text(";\n")
	}
	return nil
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
