package ptxop

import (
	"slices"
	"strings"
	"sync"

	"tileiras/codegen/target"
)

// A family is a group of rows that are described together. Its key is the first
// `depth` dotted words of its rows' mnemonics: "cvt" (depth 1), "ld.global"
// (depth 2), "atom.relaxed.gpu" (depth 3). A process compiles only the rows it
// asks for: describing a family takes microseconds, compiling all of the table
// milliseconds.
type family struct {
	key       string
	next      *family // of its group
	build     func(*builder)
	rest      []func(*builder) // further parts, described on demand
	described int              // how many parts of rest are in recipes
	recipes   []recipe         // in table order
	complete  bool             // every row is compiled
}

type pair struct{ asm, constraints string }

// compiled are the rows that were compiled so far, of all families. Its lock also guards the families.
var compiled = struct {
	sync.RWMutex
	byName map[string]*Row
	byPair map[pair]*Row
}{byName: make(map[string]*Row, 64), byPair: make(map[pair]*Row, 64)}

// A recipe describes a row, and with guarded also its guarded form.
type recipe struct {
	name, mnemonic, signature string
	text                      bool // mnemonic is the whole text with holes
	guarded                   bool
	fx                        Effects
	need                      target.Need
}

// A group is all families that share the first word of their keys.
type group struct {
	depth       int
	first, last *family
}

// groups is the whole table. Order is the order of Rows.
var groups = make([]group, 0, 128)

// groupOf is the index of a group in groups by the first word of its keys.
var groupOf = make(map[string]int, 128)

// define adds a family to the table; called from init functions only. A big family has parts: the later ones are described when
// a row is asked for that the earlier ones do not have.
func define(key string, build func(*builder), rest ...func(*builder)) {
	f := families.one(family{key: key, build: build, rest: rest})
	word, _, _ := strings.Cut(key, ".")
	i, known := groupOf[word]
	if !known {
		groupOf[word] = len(groups)
		groups = append(groups, group{strings.Count(key, ".") + 1, f, f})
		return
	}
	g := &groups[i]
	g.last.next, g.last = f, f
}

// familyOf returns the family of a mnemonic, nil if there is none.
func familyOf(mnemonic string) *family {
	word := mnemonic
	if i := strings.IndexByte(word, '.'); i >= 0 {
		word = word[:i]
	}
	i, known := groupOf[word]
	if !known {
		return nil
	}
	end := -1
	for range groups[i].depth {
		next := strings.IndexByte(mnemonic[end+1:], '.')
		if next < 0 {
			end = len(mnemonic)
			break
		}
		end += 1 + next
	}
	f := groups[i].first
	for f != nil && f.key != mnemonic[:end] {
		f = f.next
	}
	return f
}

// An arena allocates lists that are built one after another. The lock of compiled guards it, after the init functions.
type arena[T any] struct{ room []T }

var (
	families arena[family]
	recipes  arena[recipe]
	items    arena[item]
	operands arena[Operand]
	pieces   arena[Piece]
)

// open begins a list that has room for n elements.
func (s *arena[T]) open(n int) []T {
	if cap(s.room) < n {
		s.room = make([]T, 0, max(n, 128))
	}
	return s.room
}

// close ends the list. The memory of a list that is not closed is reused by the next one.
func (s *arena[T]) close(list []T) []T {
	s.room = list[len(list):]
	return slices.Clip(list)
}

// one allocates a single element.
func (s *arena[T]) one(x T) *T { return &s.close(append(s.open(1), x))[0] }

// describe adds the recipes of the next part, if there is one. The caller holds the lock.
func (f *family) describe() bool {
	build := f.build
	switch {
	case f.described > len(f.rest):
		return false
	case f.described > 0:
		build = f.rest[f.described-1]
	}
	f.described++
	b := &builder{recipes: append(recipes.open(32), f.recipes...)}
	build(b)
	f.recipes = recipes.close(b.recipes)
	return true
}

// compile makes the row of a recipe unless it exists. The caller holds the lock.
func (c *recipe) compile(guard bool) *Row {
	name, signature := c.name, c.signature
	if guard {
		// Lanes whose guard is false keep the results: they are tied.
		name, signature = "@"+name, strings.ReplaceAll(signature, "=", "+")
	}
	if r := compiled.byName[name]; r != nil {
		return r
	}
	var r *Row
	if c.text {
		r = compileText(name, c.mnemonic, signature, guard)
	} else {
		r = compile(name, c.mnemonic, signature, guard)
	}
	r.Effects, r.Need, r.Number = c.fx, c.need, len(compiled.byName)
	p := pair{r.Asm, r.Constraints}
	if other := compiled.byPair[p]; other != nil {
		panic("ptxop: rows " + name + " and " + other.Name + " have the same text")
	}
	compiled.byName[name] = r
	compiled.byPair[p] = r
	return r
}

// compileAll compiles every row. The caller holds the lock.
func (f *family) compileAll() {
	for f.describe() {
	}
	for i := range f.recipes {
		f.recipes[i].compile(false)
		if f.recipes[i].guarded {
			f.recipes[i].compile(true)
		}
	}
	f.complete = true
}

// Lookup returns the row with the given name, nil if there is none.
func Lookup(name string) *Row {
	compiled.RLock()
	r := compiled.byName[name]
	compiled.RUnlock()
	if r != nil {
		return r
	}
	plain, guard := strings.CutPrefix(name, "@")
	f := familyOf(plain)
	if f == nil {
		return nil
	}
	compiled.Lock()
	defer compiled.Unlock()
	for i := 0; i < len(f.recipes) || f.describe(); i++ {
		if c := &f.recipes[i]; c.name == plain && (c.guarded || !guard) {
			return c.compile(guard)
		}
	}
	return nil
}

// Must returns the row with the given name and panics if there is none. It is
// for names that stand in the source of the compiler.
func Must(name string) *Row {
	r := Lookup(name)
	if r == nil {
		panic("ptxop: no row " + name)
	}
	return r
}

// blocks names the families of rows whose text is a block of statements.
var blocks = [...]struct{ head, family string }{
	{byteScratch, "cvt"}, {callScratch, "call"}, {arriveScratch, "mbarrier"}, {waitScratch, "mbarrier"},
}

// Find returns the row that renders to exactly the given inline assembly
// template and constraints, nil if there is none.
func Find(asm, constraints string) *Row {
	p := pair{asm, constraints}
	compiled.RLock()
	r := compiled.byPair[p]
	compiled.RUnlock()
	if r != nil {
		return r
	}
	f := familyOfText(asm)
	if f == nil {
		return nil
	}
	// A row that was not compiled: the text may come from a file.
	compiled.Lock()
	defer compiled.Unlock()
	if !f.complete {
		f.compileAll()
	}
	return compiled.byPair[p]
}

// familyOfText returns the family of a row by its inline assembly template, nil if there is none.
func familyOfText(asm string) *family {
	mnemonic := asm
	if strings.HasPrefix(mnemonic, "@") {
		i := strings.IndexByte(mnemonic, ' ')
		if i < 0 {
			return nil
		}
		mnemonic = mnemonic[i+1:]
	}
	for _, b := range blocks {
		if strings.HasPrefix(mnemonic, b.head) {
			mnemonic = b.family
		}
	}
	if i := strings.IndexAny(mnemonic, " ;"); i >= 0 {
		mnemonic = mnemonic[:i]
	}
	return familyOf(mnemonic)
}

// Rows returns every row of the table, in a fixed order. It compiles them all:
// it is for tests and documentation.
func Rows() []*Row {
	compiled.Lock()
	defer compiled.Unlock()
	var all []*Row
	for _, g := range groups {
		for f := g.first; f != nil; f = f.next {
			f.compileAll()
			for i := range f.recipes {
				c := &f.recipes[i]
				all = append(all, compiled.byName[c.name])
				if c.guarded {
					all = append(all, compiled.byName["@"+c.name])
				}
			}
		}
	}
	return all
}

// A builder collects the recipes of one family.
type builder struct{ recipes []recipe }

// op describes an instruction. Its name is the mnemonic without ".sync.aligned".
func (b *builder) op(mnemonic, signature string, fx Effects, need target.Need) {
	name := mnemonic
	if head, tail, ok := strings.Cut(mnemonic, ".sync.aligned"); ok {
		name = head + tail
	}
	b.named(name, mnemonic, signature, fx, need)
}

// named describes an instruction under a name of its own, where the mnemonic is
// not unique.
func (b *builder) named(name, mnemonic, signature string, fx Effects, need target.Need) {
	b.recipes = append(b.recipes, recipe{name: name, mnemonic: mnemonic, signature: signature, fx: fx, need: need})
}

// guarded describes an instruction and its guarded form, whose name has a
// leading '@'.
func (b *builder) guarded(name, mnemonic, signature string, fx Effects, need target.Need) {
	b.recipes = append(b.recipes, recipe{name: name, mnemonic: mnemonic, signature: signature, guarded: true, fx: fx, need: need})
}

// text describes an instruction by its whole text; see compileText.
func (b *builder) text(name, text, signature string, fx Effects, need target.Need) {
	b.recipes = append(b.recipes, recipe{name: name, mnemonic: text, signature: signature, text: true, fx: fx, need: need})
}

// guardedText describes an instruction by its whole text, and its guarded form.
func (b *builder) guardedText(name, text, signature string, fx Effects, need target.Need) {
	b.recipes = append(b.recipes, recipe{name: name, mnemonic: text, signature: signature, text: true, guarded: true, fx: fx, need: need})
}

// Needs that occur often in the tables: "sm80" is "sm_80, PTX 7.0".
var (
	anySM = target.Need{}
	sm75  = target.Need{SM: 75, PTX: target.V(6, 5)}
	sm80  = target.Need{SM: 80, PTX: target.V(7, 0)}
	sm89  = target.Need{SM: 89, PTX: target.V(8, 1)}
	sm90  = target.Need{SM: 90, PTX: target.V(7, 8)}
)

func ptx(major, minor int) target.Need { return target.Need{PTX: target.V(major, minor)} }

func sm(number, major, minor int) target.Need {
	return target.Need{SM: number, PTX: target.V(major, minor)}
}
