package nvvm

import (
	"fmt"
	"slices"
	"strings"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/ptxop"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/ir/printf"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpPrint & ir.Place:  print_,
		tileaa.OpAssert & ir.Place: assert,
	})
}

// printer is what the module needs to print: the runtime's function and the strings.
type printer struct {
	vprintf *llvm.Func
	texts   map[string]*llvm.Global
}

// vprintf calls the device runtime's function: a format, and the arguments in a block of local memory, each aligned to its size,
// promoted as in C (CUDA C++ Programming Guide, "Formatted Output").
func (f *fn) vprintf(format string, args []reg) {
	p := &f.printer
	if f.taken[ptxop.Vprintf] {
		f.unsupported("%s, which a symbol of the module is named", ptxop.Vprintf)
	}
	if p.vprintf == nil {
		p.vprintf = f.m.NewFunc(ptxop.Vprintf, types.I32, llvm.NewParam("", types.I8Ptr), llvm.NewParam("", types.I8Ptr))
		p.texts = map[string]*llvm.Global{}
	}
	var block value.Value = constant.NewNull(types.I8Ptr)
	if len(args) > 0 {
		block = f.argumentBlock(args)
	}
	f.emit(llvm.NewCall(p.vprintf, f.text(format), block))
}

// argumentBlock stores the arguments. The block is allocated at the start of the kernel and shared by all calls.
func (f *fn) argumentBlock(args []reg) value.Value {
	const slots = 32 // vprintf takes at most 32 arguments
	if f.args == nil {
		a := llvm.NewAlloca(types.NewArray(slots, types.I64))
		a.Align = 8
		f.start.Insts = append([]llvm.Instruction{a}, f.start.Insts...)
		f.args = a
	}
	offset := int64(0)
	for _, x := range args {
		size := int64(x.k.bits() / 8)
		offset = (offset + size - 1) / size * size
		at := llvm.NewGetElementPtr(types.I8, f.bytePointer(), constant.NewInt(types.I64, offset))
		f.emit(at)
		to := llvm.NewBitCast(at, types.NewPointer(x.k.llvm()))
		f.emit(to)
		f.emit(llvm.NewStore(f.value(x), to))
		offset += size
	}
	return f.bytePointer()
}

// bytePointer is the argument block as an i8 pointer.
func (f *fn) bytePointer() value.Value {
	c := llvm.NewBitCast(f.args, types.I8Ptr)
	f.emit(c)
	return c
}

// text is the generic address of a string that ends in a zero byte.
func (f *fn) text(s string) value.Value {
	g := f.printer.texts[s]
	if g == nil {
		g = f.data(f.fresh(fmt.Sprintf("printfFormat_%d", len(f.printer.texts))), append([]byte(s), 0), 1)
		g.Linkage = enum.LinkageInternal
		f.printer.texts[s] = g
	}
	bytes := types.NewPointer(types.I8)
	bytes.AddrSpace = globalSpace
	return constant.NewAddrSpaceCast(constant.NewBitCast(g, bytes), types.I8Ptr)
}

// print_: one thread prints. A tile, of which that thread holds every element, prints as [[a, b, ...], ...] with one conversion for each.
func print_(f *fn, op *ir.Op) {
	p := ir.Cast[tileaa.Print](op)
	values := p.Values()
	pieces, rest, err := printf.Split(p.Format())
	if err != nil || len(pieces) != len(values) {
		f.bug("%d conversions for %d values: %v", len(pieces), len(values), err)
	}
	args := make([][]reg, len(values))
	for i, v := range values {
		args[i] = f.printed(v)
	}
	one := f.oneOwner()
	f.ifThenDo(one, func() {
		for i, v := range values {
			if pieces[i].TakesInt() {
				for k, x := range args[i] {
					if x.k == kI64 {
						args[i][k] = f.trunc(x, kI32)
					}
				}
			}
			f.printValue(pieces[i], args[i], tileaa.AsTile(v).Shape)
		}
		if rest != "" {
			f.vprintf(rest, nil)
		}
	})
}

// printed is the elements of a value in row-major order, promoted for vprintf: integers to 32 or 64 bits, floats to double.
func (f *fn) printed(v *ir.Value) []reg {
	t := tileaa.AsTile(v)
	x := f.tileFor(v)
	n := int(t.NumElements())
	out := make([]reg, n)
	l := layoutOf(t, f.warps)
	if len(t.Shape) > 0 && (l.Regs() != n || !layoutIsWhole(l.RegReps())) {
		f.unsupported("a tile that one thread does not hold whole")
	}
	if _, ok := t.Elem.(*ir.FloatType); ok {
		if !x.k.float() {
			x = f.widened(x)
		}
		if x.k == kF32 {
			x = f.each(f.ctx.Float(float.F64), func(r []reg) reg { return f.op1("cvt.f64.f32", r[0]) }, x)
		}
	}
	for r := range n {
		e := f.reg(x, r)
		switch e.k {
		case kI1:
			e = f.zext(e, kI32)
		case kI8, kI16:
			if tileaa.ElemBits(t.Elem) == 4 && ir.IsInt(t.Elem) {
				e = f.ashr(f.shl(e, 4), 4)
			}
			e = f.sext(e, kI32)
		}
		at := 0
		if len(t.Shape) > 0 {
			at = int(l.Apply(r, 0, 0, 0))
		}
		out[at] = e
	}
	return out
}

func layoutIsWhole(reps []int) bool {
	for r, rep := range reps {
		if r != rep {
			return false
		}
	}
	return true
}

// printValue prints one value after the text before it: a tile as nested lists, piece by piece, since vprintf takes 32 arguments.
func (f *fn) printValue(piece printf.Piece, args []reg, shape []int64) {
	text := piece.Text
	const each = 16
	for i := 0; i < len(args); i += each {
		part := args[i:min(i+each, len(args))]
		for k := range part {
			begin, end := brackets(shape, i+k)
			if i+k > 0 {
				text += ", "
			}
			text += strings.Repeat("[", begin) + piece.Conversion + strings.Repeat("]", end)
		}
		f.vprintf(text, part)
		text = ""
	}
}

// brackets is how many lists of a tile of a shape, written row by row, begin before and end after element i.
func brackets(shape []int64, i int) (begin, end int) {
	n := 1
	for _, extent := range slices.Backward(shape) {
		n *= int(extent)
		if i%n == 0 {
			begin++
		}
		if (i+1)%n == 0 {
			end++
		}
	}
	return begin, end
}

// assert prints and traps where an element is false; its owner thread does. The message is that of NVIDIA's compiler.
func assert(f *fn, op *ir.Op) {
	a := ir.Cast[tileaa.Assert](op)
	v := a.Cond()
	c := f.tileFor(v)
	l := f.tileLayout(v)
	owner := f.owners(l)
	file, line, _, ok := ir.FileLine(op.Loc())
	if !ok {
		file = "unknown"
	}
	for _, r := range ownRegs(l) {
		failed := f.and(owner, f.not(f.reg(c, r)))
		if failed.is(0) {
			continue
		}
		f.ifThenDo(failed, func() {
			args := []reg{}
			for _, axis := range "xyz" {
				args = append(args, f.op1("mov.u32.%ctaid."+string(axis)))
			}
			text := strings.ReplaceAll(fmt.Sprintf("%s:%d: ", file, line), "%", "%%") + "tile block: [%d, %d, %d], position: ["
			for d := range l.Shape() {
				if d > 0 {
					text += ", "
				}
				text += "%d"
				args = append(args, f.at(f.coordinateOf(l, d), r))
			}
			text += "]: " + strings.ReplaceAll(a.Message(), "%", "%%") + "\n"
			f.vprintf(text, args)
			f.op("trap")
		})
	}
}
