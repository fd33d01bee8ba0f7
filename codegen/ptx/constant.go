package ptx

import (
	"fmt"
	"math"
	"math/big"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/ptxop"
)

// LLVM's address spaces on NVPTX.
const (
	spaceGeneric = 0
	spaceGlobal  = 1
	spaceShared  = 3
	spaceConst   = 4
	spaceLocal   = 5
)

// typeOf returns the register type of an LLVM type and its width in bits (8 for
// an i8, which sits in a 16-bit register with undefined upper bits).
func typeOf(t types.Type) (ptxop.Type, int, error) {
	switch t := t.(type) {
	case *types.IntType:
		switch t.BitSize {
		case 1:
			return ptxop.Pred, 1, nil
		case 8:
			return ptxop.B16, 8, nil
		case 16:
			return ptxop.B16, 16, nil
		case 32:
			return ptxop.B32, 32, nil
		case 64:
			return ptxop.B64, 64, nil
		}
	case *types.FloatType:
		switch t.Kind {
		case types.FloatKindFloat:
			return ptxop.F32, 32, nil
		case types.FloatKindDouble:
			return ptxop.F64, 64, nil
		}
	case *types.PointerType:
		if t.AddrSpace == spaceShared {
			return ptxop.B32, 32, nil
		}
		return ptxop.B64, 64, nil
	}
	return 0, 0, fmt.Errorf("not supported: a value of type %s", t)
}

// extend sign extends the low bits of x.
func extend(x int64, bits int) int64 {
	return x << (64 - bits) >> (64 - bits)
}

// constantOf evaluates an LLVM constant to bits or to a symbol with an offset.
// generic reports that the symbol's address is wanted in the generic space.
func (s *selector) constantOf(c constant.Constant) (o operand, generic bool, err error) {
	switch c := c.(type) {
	case *constant.Int:
		return ofBits(intBits(c.X, int(c.Typ.BitSize))), false, nil
	case *constant.Float:
		return ofBits(floatBits(c)), false, nil
	case *constant.Null, *constant.Undef, *constant.Poison:
		return ofBits(0), false, nil
	case *constant.ZeroInitializer:
		if _, _, err := typeOf(c.Typ); err != nil {
			return operand{}, false, err
		}
		return ofBits(0), false, nil
	case *ir.Global:
		return s.symbolOf(c), c.Type().(*types.PointerType).AddrSpace == spaceGeneric, nil
	case *constant.ExprBitCast:
		return s.sameSize(c.From, c.To)
	case *constant.ExprIntToPtr:
		return s.sameSize(c.From, c.To)
	case *constant.ExprPtrToInt:
		return s.sameSize(c.From, c.To)
	case *constant.ExprAddrSpaceCast:
		o, generic, err := s.constantOf(c.From)
		to, ok := c.To.(*types.PointerType)
		if err == nil && (!ok || to.AddrSpace != spaceGeneric || o.kind != kindSym) {
			err = fmt.Errorf("not supported: constant %s", c.Ident())
		}
		return o, generic || err == nil, err
	case *constant.ExprGetElementPtr:
		o, generic, err := s.constantOf(c.Src)
		if err != nil {
			return o, false, err
		}
		indices := make([]value.Value, len(c.Indices))
		for i, x := range c.Indices {
			if index, ok := x.(*constant.Index); ok {
				x = index.Constant
			}
			indices[i] = x
		}
		offset, rest, err := s.offsets(c.ElemType, indices)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("not supported: constant %s", c.Ident())
		}
		o.bits += offset
		return o, generic, err
	case *constant.ExprAdd:
		return s.sum(c, c.X, c.Y, 1)
	case *constant.ExprSub:
		return s.sum(c, c.X, c.Y, -1)
	case *constant.ExprTrunc:
		return s.sameSize(c.From, c.To)
	}
	return operand{}, false, fmt.Errorf("not supported: constant %s", c.Ident())
}

// sameSize evaluates a cast that changes no bits, or drops upper ones.
func (s *selector) sameSize(from constant.Constant, to types.Type) (operand, bool, error) {
	o, generic, err := s.constantOf(from)
	if err != nil {
		return o, false, err
	}
	_, bits, err := typeOf(to)
	if err != nil {
		return o, false, err
	}
	if o.kind == kindSym {
		if s.symbolBits(o) != bits {
			err = fmt.Errorf("not supported: the address %s as %s (shared addresses have 32 bits, others 64)", s.f.symbols[o.reg].name, to)
		}
		return o, generic, err
	}
	_, had, err := typeOf(from.Type())
	if had < bits {
		o.bits &= 1<<had - 1 // pointers and integers widen with zeros
	}
	o.bits = extend(o.bits, bits)
	return o, generic, err
}

func (s *selector) sum(c, x, y constant.Constant, sign int64) (operand, bool, error) {
	a, generic, err := s.constantOf(x)
	if err != nil {
		return a, false, err
	}
	b, otherGeneric, err := s.constantOf(y)
	if err != nil {
		return b, false, err
	}
	if b.kind == kindSym && sign > 0 {
		a, b = b, a
	}
	if b.kind == kindSym || otherGeneric || generic {
		return a, false, fmt.Errorf("not supported: constant %s", c.Ident())
	}
	a.bits += sign * b.bits
	return a, false, nil
}

// symbolBits returns the size of the symbol's address.
func (s *selector) symbolBits(o operand) int {
	if s.f.symbols[o.reg].space == spaceShared {
		return 32
	}
	return 64
}

// intBits returns the low 64 bits of x, sign extended from the given width.
func intBits(x *big.Int, bits int) int64 {
	var v int64
	switch {
	case x.IsInt64():
		v = x.Int64()
	case x.IsUint64():
		v = int64(x.Uint64())
	default:
		v = int64(new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
	}
	return extend(v, bits)
}

// floatBits returns the bits of a float constant. The producer writes floats as
// bitcasts of integers; this is for texts written by hand.
func floatBits(c *constant.Float) int64 {
	double := c.Typ.Kind == types.FloatKindDouble
	switch {
	case c.NaN && double:
		return int64(math.Float64bits(math.NaN()))
	case c.NaN:
		return 0x7FC00000
	case double:
		v, _ := c.X.Float64()
		return int64(math.Float64bits(v))
	}
	v, _ := c.X.Float32()
	return int64(int32(math.Float32bits(v)))
}

// maxBytes bounds the size of a variable.
const maxBytes = 1 << 32

// sizeOf returns the size and alignment of a type in memory, in bytes.
func sizeOf(t types.Type) (size, align int64, err error) { return sizeWithin(t, 0) }

func alignUp(n, align int64) int64 { return (n + align - 1) / align * align }

// typeDepth bounds the nesting of types: a named struct may contain itself.
const typeDepth = 100

func sizeWithin(t types.Type, depth int) (size, align int64, err error) {
	if depth > typeDepth {
		return 0, 0, fmt.Errorf("not supported: a type nested more than %d deep", typeDepth)
	}
	switch t := t.(type) {
	case *types.ArrayType:
		size, align, err = sizeWithin(t.ElemType, depth+1)
		if err == nil && (t.Len > maxBytes || size > maxBytes/max(int64(t.Len), 1)) {
			err = fmt.Errorf("not supported: %s has more than %d bytes", t, maxBytes)
		}
		return size * int64(t.Len), align, err
	case *types.StructType:
		align = 1
		for _, field := range t.Fields {
			s, a, err := sizeWithin(field, depth+1)
			if err != nil {
				return 0, 0, err
			}
			if t.Packed {
				a = 1
			}
			if size = alignUp(size, a) + s; size > maxBytes {
				return 0, 0, fmt.Errorf("not supported: %s has more than %d bytes", t, maxBytes)
			}
			align = max(align, a)
		}
		return alignUp(size, align), align, nil
	case *types.PointerType:
		return 8, 8, nil
	}
	_, bits, err := typeOf(t)
	n := max(int64(bits)/8, 1)
	return n, n, err
}

// indexed is a term of an address: index times scale bytes.
type indexed struct {
	index value.Value
	scale int64
}

// offsets splits getelementptr indices into a constant byte offset and the
// terms that are not constant.
func (s *selector) offsets(elem types.Type, indices []value.Value) (offset int64, rest []indexed, err error) {
	t := elem
	for i, index := range indices {
		if i > 0 {
			switch at := t.(type) {
			case *types.ArrayType:
				t = at.ElemType
			case *types.StructType:
				c, ok := index.(*constant.Int)
				if !ok || !c.X.IsInt64() || c.X.Int64() < 0 || c.X.Int64() >= int64(len(at.Fields)) {
					return 0, nil, fmt.Errorf("malformed getelementptr: field index of %s", at)
				}
				n := int(c.X.Int64())
				for j := 0; j <= n; j++ {
					size, align, err := sizeOf(at.Fields[j])
					if err != nil {
						return 0, nil, err
					}
					if !at.Packed {
						offset = alignUp(offset, align)
					}
					if j < n {
						offset += size
					}
				}
				t = at.Fields[n]
				continue
			default:
				return 0, nil, fmt.Errorf("malformed getelementptr: index into %s", t)
			}
		}
		size, _, err := sizeOf(t)
		if err != nil {
			return 0, nil, err
		}
		if c, ok := index.(*constant.Int); ok {
			offset += size * intBits(c.X, int(c.Typ.BitSize))
			continue
		}
		rest = append(rest, indexed{index, size})
	}
	return offset, rest, nil
}
