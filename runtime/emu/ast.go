package emu

import (
	"errors"
	"fmt"
)

// argKind says what an operand of an instruction is.
type argKind uint8

const (
	argName  argKind = iota // register, variable, label or special register
	argInt                  // integer literal, two's complement
	argFloat                // 0fXXXXXXXX, 0dXXXXXXXXXXXXXXXX or a decimal: f64 bits in val unless hex32
	argVec                  // {a, b, c}
	argAddr                 // [base], [base+off], [base, {coordinates}]
	argList                 // (a, b): the lists of a call
)

// arg is one operand as written.
type arg struct {
	kind     argKind
	name     string
	val      uint64 // integer, or float bits
	hex32    bool   // argFloat: val holds the 32 bits of a 0f literal
	unsigned bool   // argInt: in a constant expression
	off      int64  // argAddr: the addend; argName: the addend of sym+4
	neg      bool   // !p, or -r
	list     []arg  // argVec, argList, and what follows the base of an argAddr
	base     *arg   // argAddr
	pair     *arg   // p|q: the second destination
}

// stmt is an instruction or a label.
type stmt struct {
	line, col int
	loc       int32  // index into Module.locs; 0: unknown
	label     string // set: a label, nothing else
	guard     string // register of @p, or ""
	guardNeg  bool
	op        string // with modifiers, as written
	args      []arg
	text      string // as written, for reports
	scope     *scope
}

// variable is a named object of a state space: size bytes, aligned.
type variable struct {
	name   string
	space  space
	elem   typ
	size   int
	align  int
	extern bool // .extern: dynamic shared memory
	init   []byte
	refs   []initRef // addresses inside init
	offset int       // in its space, once placed
	bank   bool      // a parameter of an entry: lives in the parameter bank
}

// home is the space in which the variable lies: .param variables of functions live in local memory.
func (v *variable) home() space {
	if v.space == spParam && !v.bank {
		return spLocal
	}
	return v.space
}

// initRef is an address that an initialiser mentions.
type initRef struct {
	at, size int
	name     string
	add      int64
	oneByte  bool // of the address, from bit shift on
	shift    int
}

// function is an entry or a device function.
type function struct {
	name    string
	entry   bool
	line    int
	params  []*variable
	rets    []*variable
	body    []stmt
	defined bool
	reqntid [3]int
	maxnreg int // 0: not given
	minctas int
	maxntid [3]int
	cluster [3]int
	// .blocksareclusters: the grid of a launch counts clusters
	clusters bool
	scope    *scope
	pcOf     []int // place in the program of each statement, while it is compiled

	callees   []*function // with a body
	compiled  bool        // for an entry
	visit     int         // when the search for components met it, from 1
	component int         // of the graph of calls: a call within one is recursive
}

// scope holds the names between a pair of braces. Its maps are made for the first name: text may be braces and little else.
type scope struct {
	up     *scope
	depth  int
	regs   map[string]*regDecl // by name
	ranges map[string]*regDecl // by prefix: %r<10>
	least  map[string]int32    // by prefix: the least number of a register that is declared by itself
	vars   map[string]*variable
	labels map[string]int // index into the body
	lists  map[string][]string
}

func newScope(up *scope) *scope {
	s := &scope{up: up}
	if up != nil {
		s.depth = up.depth + 1
	}
	return s
}

// put stores a value in a map of a scope.
func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

// regDecl is one .reg declaration: a single register (count -1) or a range prefix<count>.
type regDecl struct {
	typ   typ
	count int
}

// declare adds registers: one, or name0 to name<count-1> (section 5.5: a numbered declaration is short for all
// of these, and the bare name is none of them). It tells whether the names are new in the scope.
func (s *scope) declare(name string, d *regDecl) bool {
	if d.count >= 0 {
		least, numbered := s.least[name]
		fresh := s.ranges[name] == nil && !(numbered && int(least) < d.count)
		put(&s.ranges, name, d)
		return fresh
	}
	fresh := s.regs[name] == nil
	if prefix, num, ok := splitRange(name); ok {
		if r := s.ranges[prefix]; r != nil && int(num) < r.count {
			fresh = false
		}
		if old, ok := s.least[prefix]; !ok || num < old {
			put(&s.least, prefix, num)
		}
	}
	put(&s.regs, name, d)
	return fresh
}

// reg finds a register by name; the number is its index in a range (0 for a single one).
func (s *scope) reg(name string) (*regDecl, int32, bool) {
	prefix, num, ranged := splitRange(name)
	for ; s != nil; s = s.up {
		if d, ok := s.regs[name]; ok {
			return d, 0, true
		}
		if ranged {
			if d, ok := s.ranges[prefix]; ok && num < int32(d.count) {
				return d, num, true
			}
		}
	}
	return nil, 0, false
}

// splitRange cuts the trailing number off a name: %r12 -> %r, 12.
func splitRange(name string) (prefix string, num int32, ok bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	if i == len(name) || len(name)-i > 8 || (name[i] == '0' && len(name)-i > 1) {
		return name, 0, false
	}
	for _, c := range name[i:] {
		num = num*10 + int32(c-'0')
	}
	return name[:i], num, true
}

func (s *scope) variable(name string) *variable {
	for ; s != nil; s = s.up {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return nil
}

func (s *scope) label(name string) (int, bool) {
	for ; s != nil; s = s.up {
		if i, ok := s.labels[name]; ok {
			return i, true
		}
	}
	return 0, false
}

func (s *scope) targets(name string) ([]string, bool) {
	for ; s != nil; s = s.up {
		if l, ok := s.lists[name]; ok {
			return l, true
		}
	}
	return nil, false
}

// SyntaxError is a malformed PTX text: its place and what is wrong there.
type SyntaxError struct {
	File      string
	Line, Col int
	Msg       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// UnsupportedError is PTX text that the emulator cannot read: its place and what is not implemented, or above a limit. It wraps errors.ErrUnsupported.
type UnsupportedError struct {
	File      string
	Line, Col int
	Msg       string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s:%d:%d: not supported: %s", e.File, e.Line, e.Col, e.Msg)
}

func (e *UnsupportedError) Unwrap() error { return errors.ErrUnsupported }
