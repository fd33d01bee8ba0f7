package ptx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"

	"tileiras/codegen/options"
	"tileiras/codegen/ptxop"
	"tileiras/ir/budget"
)

// printer writes PTX text.
type printer struct {
	out     []byte
	counted int // bytes of out that the budget knows of
	k       *kernel
	named   []name                    // of the registers; empty = unused
	free    [len(regClasses)]numbered // the next name of each type
	skipped []bool                    // blocks that are not printed
	targets []bool                    // blocks that a branch names
	meta    meta                      // last printed
}

func (p *printer) text(parts ...string) {
	for _, s := range parts {
		p.out = append(p.out, s...)
	}
}

func (p *printer) printf(format string, args ...any) { p.out = fmt.Appendf(p.out, format, args...) }

// print writes the module.
func (e *emitter) print() ([]byte, error) {
	p := &printer{}
	p.text("// PTX written by tileiras from CUDA Tile IR.\n")
	for _, s := range e.options.Header {
		p.text("// ", line(s), "\n")
	}
	for _, k := range e.kernels {
		e.options.Budget.Step()
		p.comment(k, e.options)
	}
	version, name := e.header()
	p.printf("\n.version %s\n.target %s\n.address_size 64\n", version, name)
	if e.options.Lines() && len(e.files.names) > 0 {
		p.text("\n")
		for i, name := range e.files.names {
			p.printf(".file %d %s\n", i+1, quote(name))
		}
	}
	if e.options.ABI == options.Tile {
		p.text("\n.visible .global .align 8 .b8 ___NV_TILE_LAUNCH_META_DATA___[64];\n")
	}
	if e.vprintf {
		p.text("\n.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);\n")
	}
	if err := p.globals(e.module, e.options.Budget); err != nil {
		return nil, err
	}
	p.externShared(e.kernels)
	for _, k := range e.kernels {
		p.kernel(k, e.options)
	}
	return p.out, nil
}

// quote writes a string literal of PTX. Control characters become blanks: PTX
// has no escapes for them.
func quote(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' {
			return ' '
		}
		return r
	}, s)
	return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"`
}

// line keeps a comment on its line.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

// comment says how to launch a kernel.
func (p *printer) comment(k *kernel, o *Options) {
	p.text("//\n// kernel ", k.name, "\n")
	threads := "any"
	if k.launch.threads > 0 {
		threads = strconv.FormatInt(k.launch.threads, 10)
	}
	switch {
	case o.ABI == options.Tile:
		p.printf("//   launch   1 block per tile block, block (1, 1, 1); it runs as %s threads\n", threads)
	case k.launch.cluster > 1:
		p.printf("//   launch   %d blocks per tile block along x (one cluster), block (%s, 1, 1)\n", k.launch.cluster, threads)
	default:
		p.printf("//   launch   1 block per tile block, block (%s, 1, 1)\n", threads)
	}
	switch {
	case k.dynamic && o.ABI != options.Tile:
		p.printf("//   shared   %d bytes dynamic (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)\n", k.bytes)
	default:
		p.printf("//   shared   %d bytes static, 0 dynamic\n", k.bytes)
	}
	for i, param := range k.src.Params {
		label := "params"
		if i > 0 {
			label = "      "
		}
		name := ""
		if !param.IsUnnamed() {
			name = " " + line(param.LocalName)
		}
		p.printf("//   %s   %d%s: %s\n", label, i, name, paramKind(param))
	}
}

// paramKind is a parameter in the comment: its type, as its declaration says it, and its size.
func paramKind(param *ir.Param) string {
	t := param.Typ
	if at, ok := t.(*types.PointerType); ok {
		if at.AddrSpace == spaceGlobal {
			return "pointer to global memory, 8 bytes"
		}
		return "pointer, 8 bytes"
	}
	size, _, _ := sizeOf(t)
	unit := "bytes"
	if size == 1 {
		unit = "byte"
	}
	return strings.TrimPrefix(paramType(param), ".") + ", " + strconv.FormatInt(size, 10) + " " + unit
}

// externShared declares dynamic shared memory, once per variable.
func (p *printer) externShared(kernels []*kernel) {
	done := map[*ir.Global]bool{}
	for _, k := range kernels {
		if k.dynamic && !done[k.shared[0]] {
			g := k.shared[0]
			done[g] = true
			p.printf("\n.extern .shared .align %d .b8 %s[];\n", alignOf(g), g.Name())
		}
	}
}

func alignOf(g *ir.Global) int64 {
	_, align, _ := sizeOf(g.ContentType)
	return max(align, int64(g.Align), 1)
}

// kernel writes one entry.
func (p *printer) kernel(k *kernel, o *Options) {
	p.k, p.meta = k, meta{}
	p.threadJumps()

	p.text("\n.visible .entry ", k.name, "(")
	for i, param := range k.src.Params {
		p.step(o.Budget)
		if i > 0 {
			p.text(",")
		}
		p.text("\n\t.param ", paramType(param), " ", k.paramName(i))
	}
	if len(k.src.Params) > 0 {
		p.text("\n")
	}
	p.text(")\n")
	p.directives(k, o)

	p.nameRegisters()
	p.text("{\n")
	for class := range p.free {
		if next := &p.free[class]; next.count() != "0" {
			p.text("\t.reg ", regClasses[class].declared, " ", regClasses[class].prefix, "<", next.count(), ">;\n")
		}
	}
	if k.depot > 0 {
		p.printf("\t.local .align 16 .b8 %s[%d];\n", k.own.depot, k.depot)
	}
	if !k.dynamic || o.ABI == options.Tile {
		for _, g := range k.shared {
			size, _, _ := sizeOf(g.ContentType)
			p.printf("\t.shared .align %d .b8 %s[%d];\n", alignOf(g), g.Name(), size)
		}
	}
	p.text("\n")
	for at := range k.blocks {
		p.block(at)
	}
	p.text("}\n")
}

// A name is the text of a register in an array of fixed size: copying the whole array takes an instruction or two, copying length bytes a call.
type name struct {
	text   [15]byte
	length uint8
}

// nameRegisters names the registers, with numbers in the order of their first
// occurrence, and allocates the output.
func (p *printer) nameRegisters() {
	const lineBytes = 60 // the average line of kernels that are mostly matrix products
	p.named = make([]name, len(p.k.regs))
	for class := range p.free {
		p.free[class] = number0(regClasses[class].prefix)
	}
	lines := 0
	for _, b := range p.k.blocks {
		lines += len(b.insts) + 2
		for i := range b.insts {
			p.k.budget.Step()
			ops := b.insts[i].ops
			for k := range ops {
				if o := &ops[k]; o.kind == kindReg && p.named[o.reg].length == 0 {
					p.name(o.reg)
				}
			}
		}
		if b.cond.kind == kindReg && p.named[b.cond.reg].length == 0 {
			p.name(b.cond.reg)
		}
	}
	p.out = slices.Grow(p.out, lines*lineBytes)
}

// name gives a register the next name of its type.
func (p *printer) name(r reg) {
	next := &p.free[p.k.regs[r].typ]
	n := &p.named[r]
	n.length = uint8(copy(n.text[:], next.name))
	next.increment()
}

// numbered is a name that ends in a number.
type numbered struct {
	name   []byte
	digits int // where they begin
}

func number0(prefix string) numbered { return numbered{append([]byte(prefix), '0'), len(prefix)} }

// count is the number.
func (n *numbered) count() string { return string(n.name[n.digits:]) }

func (n *numbered) increment() {
	for i := len(n.name) - 1; i >= n.digits; i-- {
		if n.name[i] < '9' {
			n.name[i]++
			return
		}
		n.name[i] = '0'
	}
	n.name = slices.Insert(n.name, n.digits, '1')
}

// directives writes what stands between parameters and body.
func (p *printer) directives(k *kernel, o *Options) {
	l := k.launch
	if l.threads > 0 {
		p.printf(".reqntid %d\n", l.threads)
	}
	if l.maxRegs > 0 {
		p.printf(".maxnreg %d\n", l.maxRegs)
	}
	if l.cluster > 1 {
		p.printf(".reqnctapercluster %d\n", l.cluster)
		if o.ABI == options.Tile {
			p.text(".blocksareclusters\n")
		}
	}
	if o.ABI == options.Tile {
		p.text(".language 7\n")
	}
}

func paramType(param *ir.Param) string {
	if t, ok := param.Typ.(*types.PointerType); ok {
		if t.AddrSpace != spaceGlobal {
			return ".u64"
		}
		align := int64(1)
		for _, a := range param.Attrs {
			if n, ok := a.(ir.Align); ok {
				align = int64(n)
			}
		}
		return ".u64 .ptr .global .align " + strconv.FormatInt(align, 10)
	}
	_, bits, _ := typeOf(param.Typ)
	if _, ok := param.Typ.(*types.FloatType); ok {
		return ".f" + strconv.Itoa(bits)
	}
	return ".u" + strconv.Itoa(bits)
}

// regClasses gives the declaration and the name of each register type. Floats
// are declared by size, so that a register may change its type without a move.
var regClasses = [...]struct{ declared, prefix string }{
	ptxop.Pred: {".pred", "%p"},
	ptxop.B16:  {".b16", "%rs"},
	ptxop.B32:  {".b32", "%r"},
	ptxop.B64:  {".b64", "%rd"},
	ptxop.F32:  {".b32", "%f"},
	ptxop.F64:  {".b64", "%fd"},
}

// threadJumps lets branches skip blocks that have nothing but a branch (jump
// threading), and finds the blocks that need a label.
func (p *printer) threadJumps() {
	blocks := p.k.blocks
	p.skipped = make([]bool, len(blocks))
	for at, b := range blocks {
		p.skipped[at] = at > 0 && len(b.insts) == 0 && b.term == termBranch && !b.nounroll && !p.isEmptyCycle(at) && !p.reconverges(at)
	}
	for _, b := range blocks {
		for i, to := range b.succs {
			for p.skipped[to] {
				to = blocks[to].succs[0]
			}
			b.succs[i] = to
		}
		if b.term == termCond && b.succs[0] == b.succs[1] {
			b.term, b.succs = termBranch, b.succs[:1]
		}
	}
	p.targets = make([]bool, len(blocks))
	for at, b := range blocks {
		if p.skipped[at] {
			continue
		}
		for _, to := range b.succs {
			if to != p.next(at) {
				p.targets[to] = true
			}
		}
	}
}

// reconverges reports whether an empty block is where diverged lanes reconverge before a back edge: lanes that took different branches, or left
// an inner loop after different trip counts. Without the block the fastest lanes would begin the next iteration of the outer loop, which may have
// barriers, before the others arrive.
func (p *printer) reconverges(at int) bool {
	b, blocks := p.k.blocks[at], p.k.blocks
	if !slices.ContainsFunc(b.preds, func(from int) bool { return !blocks[from].uniform }) {
		return false
	}
	to := at
	for len(blocks[to].insts) == 0 && blocks[to].term == termBranch && to >= at {
		to = blocks[to].succs[0]
	}
	return to < at
}

// isEmptyCycle reports whether a chain of empty blocks is a cycle: an empty
// infinite loop keeps its blocks.
func (p *printer) isEmptyCycle(at int) bool {
	for range p.k.blocks {
		b := p.k.blocks[at]
		if len(b.insts) > 0 || b.term != termBranch || b.nounroll || at == 0 {
			return false
		}
		at = b.succs[0]
	}
	return true
}

// next returns the block that is printed after block at, -1 for none.
func (p *printer) next(at int) int {
	for at++; at < len(p.k.blocks); at++ {
		if !p.skipped[at] {
			return at
		}
	}
	return -1
}

func (p *printer) block(at int) {
	b := p.k.blocks[at]
	if p.skipped[at] {
		return
	}
	if p.targets[at] || b.nounroll {
		p.label(at)
		p.text(":")
		if b.name != "" {
			p.text(" // ", line(b.name))
		}
		p.text("\n")
	}
	if b.nounroll {
		p.text("\t.pragma \"nounroll\";\n")
	}
	for i := range b.insts {
		p.position(b.insts[i].meta)
		p.inst(&b.insts[i])
	}
	p.position(b.meta)
	next := p.next(at)
	switch b.term {
	case termRet:
		p.text("\tret;\n")
	case termTrap:
		if n := len(b.insts); n == 0 || b.insts[n-1].row.Name != "trap" {
			p.text("\ttrap;\n")
		}
		p.text("\tret;\n")
	case termBranch:
		if b.succs[0] != next {
			p.branch(b, b.succs[0])
		}
	case termCond:
		yes, no := b.succs[0], b.succs[1]
		guard := b.cond
		if yes == next {
			guard.not = !guard.not
			yes, no = no, yes
		}
		p.out = p.guard(append(p.out, '\t'), guard)
		p.branch(b, yes)
		if no != next {
			p.branch(b, no)
		}
	}
}

func (p *printer) label(at int) {
	p.text(p.k.own.label, strconv.Itoa(at))
}

func (p *printer) branch(b *block, to int) {
	if p.out[len(p.out)-1] == '\n' {
		p.text("\t")
	}
	if b.uniform {
		p.text("bra.uni ")
	} else {
		p.text("bra ")
	}
	p.label(to)
	p.text(";\n")
}

// position prints the note and the debug location of an instruction when they
// change.
func (p *printer) position(n int32) {
	if n == 0 {
		return
	}
	m := p.k.metas[n]
	if m.note != "" && m.note != p.meta.note {
		p.text("\t// ", line(m.note), "\n")
		p.meta.note = m.note
	}
	if m.file > 0 && (m.file != p.meta.file || m.line != p.meta.line || m.column != p.meta.column) {
		p.printf("\t.loc %d %d %d\n", m.file, m.line, m.column)
		p.meta.file, p.meta.line, p.meta.column = m.file, m.line, m.column
	}
}

// textCopies is how many times the text is in memory, about, until it is written.
const textCopies = 2

// step counts a piece of text, and what was written since the last one.
func (p *printer) step(b *budget.Budget) {
	b.Step()
	if n := len(p.out) - p.counted; n > 0 {
		b.Hold(textCopies * int64(n))
		p.counted = len(p.out)
	}
}

func (p *printer) inst(in *inst) {
	p.step(p.k.budget)
	out := append(p.out, '\t')
	if g := in.row.GuardOperand; g >= 0 {
		out = p.guard(out, in.ops[g])
	}
	text := in.row.Text
	for i := range text {
		piece := &text[i]
		out = append(out, piece.Lit...)
		switch {
		case piece.Operand < 0:
		case piece.Address:
			out = p.address(out, in.ops[piece.Operand], in.ops[piece.Operand+1].bits)
		default:
			if o := &in.ops[piece.Operand]; o.kind == kindReg {
				out = p.reg(out, o.reg)
			} else {
				out = p.constant(out, o, in.row.Operands[piece.Operand].Type, in.row)
			}
		}
	}
	if !in.row.Block {
		out = append(out, ';')
	}
	p.out = append(out, '\n')
}

// What follows appends a piece of a line to a text.

func (p *printer) guard(out []byte, o operand) []byte {
	out = append(out, '@')
	if o.not {
		out = append(out, '!')
	}
	return append(p.reg(out, o.reg), ' ')
}

func (p *printer) address(out []byte, base operand, offset int64) []byte {
	out = append(out, '[')
	switch base.kind {
	case kindReg:
		out = p.reg(out, base.reg)
	case kindSym:
		out = append(out, p.k.symbols[base.reg].name...)
		offset += base.bits
	}
	if offset != 0 {
		out = strconv.AppendInt(append(out, '+'), offset, 10)
	}
	return append(out, ']')
}

// constant appends a symbol or a number.
func (p *printer) constant(out []byte, o *operand, t ptxop.Type, row *ptxop.Row) []byte {
	if o.kind == kindSym {
		out = append(out, p.k.symbols[o.reg].name...)
		if o.bits != 0 {
			out = strconv.AppendInt(append(out, '+'), o.bits, 10)
		}
		return out
	}
	switch t {
	case ptxop.F32:
		return appendHex(append(out, "0f"...), uint64(uint32(o.bits)), 8)
	case ptxop.F64:
		return appendHex(append(out, "0d"...), uint64(o.bits), 16)
	case ptxop.Pred:
		return strconv.AppendInt(out, o.bits&1, 10)
	}
	return appendInteger(out, o.bits, t, row)
}

// appendHex appends the bits of a float.
func appendHex(out []byte, bits uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		out = append(out, "0123456789ABCDEF"[bits>>shift&15])
	}
	return out
}

// appendInteger appends a constant: decimal, but long bit patterns hexadecimal.
func appendInteger(out []byte, bits int64, t ptxop.Type, row *ptxop.Row) []byte {
	const short = 1 << 16
	if -short <= bits && bits < short || !strings.Contains(row.Text[0].Lit, ".b") {
		return strconv.AppendInt(out, bits, 10)
	}
	u := uint64(bits)
	if t == ptxop.B32 {
		u = uint64(uint32(bits))
	}
	return strconv.AppendUint(append(out, "0x"...), u, 16)
}

func (p *printer) reg(out []byte, r reg) []byte {
	n := &p.named[r]
	return append(out, n.text[:]...)[:len(out)+int(n.length)]
}
