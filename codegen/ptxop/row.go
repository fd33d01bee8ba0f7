// Package ptxop is the table of PTX instructions: one [Row] per instruction
// with everything the code generator knows about it.
//
//	name        "ld.global.v2.b32"       a stable id, asked for with Lookup
//	operands    results, then arguments, each with a kind and a register type
//	effects     memory it reads and writes, barrier, convergent, ...
//	need        minimum SM, architecture suffix, minimum PTX version
//	text        PTX with holes for the operands
//
// The LLVM IR between the lowering and the PTX printer carries such an
// instruction as inline assembly. A row renders the (template, constraints)
// pair of that call, and [Find] finds the row again by exactly that pair:
//
//	ld.global.v2.b32   "ld.global.v2.b32 {$0, $1}, [$2+$3];"   "=r,=r,l,n"
//	@ld.global.v2.b32  "@$2 ld.global.v2.b32 {$0, $1}, [$5+$6];"   "=r,=r,b,0,1,l,n"
//
// The second one is the guarded form: its first argument is the i1 guard, and a
// lane whose guard is false keeps what came in the tied arguments (the fallback
// values). Arguments of a call stand in the order: guard, then as written in
// the PTX text. A tied argument stands where its register is written. An address
// is two arguments, a base and a constant byte offset.
//
// Rows come from small builders over parameters (space x width x vector x
// order), one file per group of instructions. A row is compiled when it is first
// asked for.
//
// # Building a call
//
// The producer of LLVM IR builds the call of row r like this: one ir.InlineAsm
// with r.Asm, r.Constraints and SideEffect = r.Effects.SideEffect(), whose type
// is a pointer to a function from the arguments (in the order of r.Args()) to
// nothing, to the one result, or to a named struct of r.Results fields; a call
// of it, with the attribute `convergent` when r.Effects has Convergent; one
// extractvalue per result that is used. Arguments of kinds Base and Imm take two
// forms: a Base is an i32 for shared memory and an i64 or a pointer otherwise, an
// Imm is a constant i32.
//
// The package imports the standard library and codegen/target. It must not
// import llir or any other package of this module.
package ptxop

import (
	"slices"
	"strconv"
	"strings"

	"tileiras/codegen/target"
)

// Type is the type of a register operand.
type Type uint8

// The register types. PTX registers of one size are interchangeable; the two
// float types exist because LLVM tells them from integers.
const (
	Pred Type = iota // i1
	B16              // i16; also holds 8-bit values, zero extended
	B32              // i32
	B64              // i64 or a pointer
	F32              // float
	F64              // double
)

const typeLetters = "bhrlfd" // LLVM's NVPTX constraint letters, in the order of Type

// Letter returns the LLVM inline assembly constraint of the type.
func (t Type) Letter() byte { return typeLetters[t] }

// Bits returns the width in bits, 1 for a predicate.
func (t Type) Bits() int { return [...]int{1, 16, 32, 64, 32, 64}[t] }

// Kind says what an operand is.
type Kind uint8

// The operand kinds.
const (
	Def   Kind = iota // a result
	Use               // a value that is read
	Tied              // a value that is read and sits in the register of a result
	Guard             // an i1: the instruction acts in lanes where it is true
	Base              // the base of an address; an Imm with the byte offset follows
	Imm               // an integer constant
)

// An Operand is one result or argument of a row.
type Operand struct {
	Kind Kind
	Type Type // of Imm: B32
	Def  int  // of Tied: the index of the result that shares its register
	// Const: the text may hold a constant in place of the register.
	Const bool
}

// Effects says what an instruction does beyond computing its results.
type Effects uint16

// The effects.
const (
	ReadGlobal Effects = 1 << iota
	WriteGlobal
	ReadShared
	WriteShared
	ReadLocal
	WriteLocal
	ReadConst  // memory that nothing writes while the kernel runs
	Strong     // volatile, relaxed or stronger: neither removed nor repeated
	Fence      // orders memory accesses
	Barrier    // threads wait for each other
	Async      // part of it happens later
	Convergent // lanes act together: must not be moved under or out of a branch
	Clock      // the result changes over time
	Control    // trap, sleep and the like
)

// Generic accesses may hit any space.
const (
	ReadGeneric  = ReadGlobal | ReadShared | ReadLocal
	WriteGeneric = WriteGlobal | WriteShared | WriteLocal
)

// Removable reports whether the instruction may be dropped when nobody reads
// its results.
func (e Effects) Removable() bool {
	const kept = WriteGeneric | Strong | Fence | Barrier | Async | Clock | Control
	return e&kept == 0
}

// SideEffect reports whether LLVM must take the instruction for one with side
// effects (the `sideeffect` keyword of inline assembly).
func (e Effects) SideEffect() bool { return e&^(Convergent|ReadConst) != 0 }

// A Piece is a part of a row's PTX text.
type Piece struct {
	Lit     string // literal text, printed before the operand
	Operand int    // index into Operands, -1 for none
	Address bool   // Operand is a Base: print "[base+imm]" with the Imm after it
}

// A Row is one PTX instruction. Rows are shared and must not be changed.
type Row struct {
	Name string
	// Number tells the rows of a process apart; those that are asked for first have the small ones.
	Number int
	// Asm and Constraints are the LLVM inline assembly pair.
	Asm, Constraints string
	// Operands holds the Results first, then the arguments in the order in
	// which a call passes them.
	Operands []Operand
	Results  int
	// Tied is, for each result, the index of the Tied operand that shares its
	// register, -1 for none; it is empty if no result has one.
	Tied []int
	// GuardOperand is the index of the Guard operand, -1 for none.
	GuardOperand int
	Effects      Effects
	Need         target.Need
	// Text is the PTX text without the guard and without the final semicolon. A
	// Block is "{ ... }" and has none.
	Text  []Piece
	Block bool
}

// Args returns the operands that a call passes.
func (r *Row) Args() []Operand { return r.Operands[r.Results:] }

// String returns the row's name.
func (r *Row) String() string { return r.Name }

// compile makes a row from its signature, a list of operands in the order of
// the PTX text separated by blanks:
//
//	=r          result             {=r*4}   four results in braces
//	r           argument           {r,r}    two arguments in braces
//	+r          tied: a result and the argument that comes in its register
//	[l]         address with 64-bit base; [r] with 32-bit base (shared memory)
//	n           integer constant
//	'text       literal text
//	R           argument that PTX wants in a register
//
// Letters are those of Type. A constant may take the place of an argument
// unless that is a predicate, stands in braces or has a capital letter (halves
// and packed halves have no constants in PTX).
func compile(name, mnemonic, signature string, guard bool) *Row {
	items := parseSignature(signature)
	// A tied result and an address are two operands, a guard is one.
	r := &Row{Name: name, GuardOperand: -1, Operands: operands.open(2*len(items) + 1), Text: pieces.open(len(items) + 1)}
	// Results first, so that their numbers are known.
	for i := range items {
		if items[i].result {
			items[i].def = len(r.Operands)
			r.Operands = append(r.Operands, Operand{Kind: Def, Type: items[i].typ})
		}
	}
	r.Results = len(r.Operands)
	if guard {
		r.GuardOperand = len(r.Operands)
		r.Operands = append(r.Operands, Operand{Kind: Guard, Type: Pred})
	}
	text, ends, separator := append(make([]byte, 0, 128), mnemonic...), make([]int, 0, 32), " "
	if mnemonic == "" {
		separator = ""
	}
	piece := func(operand int, address bool) {
		r.Text, ends = append(r.Text, Piece{Operand: operand, Address: address}), append(ends, len(text))
	}
	for _, it := range items {
		text = append(text, separator...)
		if it.open {
			text = append(text, '{')
		}
		switch {
		case it.literal != "":
			text = append(text, it.literal...)
		case it.address:
			base := len(r.Operands)
			r.Operands = append(r.Operands, Operand{Kind: Base, Type: it.typ, Const: true}, Operand{Kind: Imm, Type: B32, Const: true})
			piece(base, true)
		case it.imm:
			r.Operands = append(r.Operands, Operand{Kind: Imm, Type: B32, Const: true})
			piece(len(r.Operands)-1, false)
		case it.result:
			if it.tied {
				r.Operands = append(r.Operands, Operand{Kind: Tied, Type: it.typ, Def: it.def})
			}
			piece(it.def, false)
		default:
			r.Operands = append(r.Operands, Operand{Kind: Use, Type: it.typ, Const: !it.braced && !it.fixed && it.typ != Pred})
			piece(len(r.Operands)-1, false)
		}
		if it.close {
			text = append(text, '}')
		}
		separator = ", "
	}
	if n := len(ends); n == 0 && len(text) > 0 || n > 0 && ends[n-1] < len(text) {
		piece(-1, false)
	}
	r.cut(string(text), ends)
	r.Operands, r.Text, r.Tied = operands.close(r.Operands), pieces.close(r.Text), tied(r.Operands, r.Results)
	r.render()
	return r
}

// cut gives each piece its part of a text, up to where the next one begins.
func (r *Row) cut(text string, ends []int) {
	from := 0
	for i, to := range ends {
		r.Text[i].Lit, from = text[from:to], to
	}
}

// tied is Row.Tied of a row with these operands.
func tied(operands []Operand, results int) (list []int) {
	for i, o := range operands {
		if o.Kind == Tied {
			if list == nil {
				list = slices.Repeat([]int{-1}, results)
			}
			list[o.Def] = i
		}
	}
	return list
}

// compileText makes a row whose text does not follow the pattern "mnemonic
// operand, operand, ...": text has holes $0, $1, ... numbered as results, then
// arguments, which a guard does not change; signature lists them in that order and is otherwise as in compile.
func compileText(name, text, signature string, guard bool) *Row {
	r := compile(name, "", signature, guard)
	r.Text = nil
	numbered := func(operand int) int {
		if guard && operand >= r.Results {
			return operand + 1
		}
		return operand
	}
	r.Block = text[0] == '{'
	for text != "" {
		at := strings.IndexByte(text, '$')
		if at < 0 {
			r.Text = append(r.Text, Piece{Lit: text, Operand: -1})
			break
		}
		end := at + 1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		operand, _ := strconv.Atoi(text[at+1 : end])
		address := "[$" + strconv.Itoa(operand) + "+$" + strconv.Itoa(operand+1) + "]"
		if before := strings.TrimSuffix(text[:at], "["); len(before) < at && strings.HasPrefix(text[len(before):], address) {
			r.Text = append(r.Text, Piece{Lit: before, Operand: numbered(operand), Address: true})
			text = text[len(before)+len(address):]
			continue
		}
		r.Text = append(r.Text, Piece{Lit: text[:at], Operand: numbered(operand)})
		text = text[end:]
	}
	r.render()
	return r
}

// render fills Asm and Constraints from Text and Operands.
func (r *Row) render() {
	asm, constraints := make([]byte, 0, 64), make([]byte, 0, 32)
	hole := func(i int) {
		asm = append(asm, '$')
		asm = strconv.AppendInt(asm, int64(i), 10)
	}
	if r.GuardOperand >= 0 {
		asm = append(asm, '@')
		hole(r.GuardOperand)
		asm = append(asm, ' ')
	}
	for _, p := range r.Text {
		asm = append(asm, p.Lit...)
		switch {
		case p.Operand < 0:
		case p.Address:
			asm = append(asm, '[')
			hole(p.Operand)
			asm = append(asm, '+')
			hole(p.Operand + 1)
			asm = append(asm, ']')
		default:
			hole(p.Operand)
		}
	}
	if !r.Block {
		asm = append(asm, ';')
	}
	for i, o := range r.Operands {
		if i > 0 {
			constraints = append(constraints, ',')
		}
		switch o.Kind {
		case Def:
			constraints = append(constraints, '=', o.Type.Letter())
		case Tied:
			constraints = strconv.AppendInt(constraints, int64(o.Def), 10)
		case Imm:
			constraints = append(constraints, 'n')
		default:
			constraints = append(constraints, o.Type.Letter())
		}
	}
	r.Asm, r.Constraints = string(asm), string(constraints)
}

// item is one parsed element of a signature.
type item struct {
	literal     string
	typ         Type
	result      bool
	tied        bool
	imm         bool
	address     bool
	braced      bool
	fixed       bool // written with a capital letter
	open, close bool // a brace stands before, after
	def         int
}

// parseSignature panics on a malformed signature: they are written by hand. The list is valid until the next call.
func parseSignature(s string) []item {
	list := items.open(1 + strings.Count(s, " ") + strings.Count(s, ","))
	for word := range strings.FieldsSeq(s) {
		switch {
		case word[0] == '\'':
			list = append(list, item{literal: word[1:]})
		case word[0] == '[':
			list = append(list, item{address: true, typ: typeOf(word[1])})
		case word[0] == '{':
			first := len(list)
			for _, w := range strings.Split(word[1:len(word)-1], ",") {
				count := 1
				if head, n, ok := strings.Cut(w, "*"); ok {
					w = head
					count, _ = strconv.Atoi(n)
				}
				it := register(w)
				it.braced = true
				for range count {
					list = append(list, it)
				}
			}
			list[first].open = true
			list[len(list)-1].close = true
		default:
			list = append(list, register(word))
		}
	}
	return list
}

func register(w string) item {
	switch w[0] {
	case '=':
		return item{result: true, typ: typeOf(w[1] | 0x20)}
	case '+':
		return item{result: true, tied: true, typ: typeOf(w[1] | 0x20)}
	case 'n':
		return item{imm: true}
	}
	letter := w[0] | 0x20
	return item{typ: typeOf(letter), fixed: letter != w[0]}
}

func typeOf(letter byte) Type {
	i := strings.IndexByte(typeLetters, letter)
	if i < 0 {
		panic("ptxop: no register type " + string(letter))
	}
	return Type(i)
}
