package ptxop

import (
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
	build func(*builder)

	mu       sync.RWMutex
	recipes  []recipe // in table order; nil before the first question
	byName   map[string]*Row
	byPair   map[pair]*Row
	complete bool // every row is compiled
}

type pair struct{ asm, constraints string }

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
	word     string
	depth    int
	families []keyed
}

type keyed struct {
	key    string
	family *family
}

// groups is the whole table. Order is the order of Rows.
var groups []*group

var groupOf = map[string]*group{}

// define adds a family to the table; called from init functions only.
func define(key string, build func(*builder)) {
	word, _, _ := strings.Cut(key, ".")
	g := groupOf[word]
	if g == nil {
		g = &group{word: word, depth: strings.Count(key, ".") + 1}
		groupOf[word] = g
		groups = append(groups, g)
	}
	g.families = append(g.families, keyed{key, &family{build: build}})
}

// familyOf returns the family of a mnemonic, nil if there is none.
func familyOf(mnemonic string) *family {
	word := mnemonic
	if i := strings.IndexByte(word, '.'); i >= 0 {
		word = word[:i]
	}
	g := groupOf[word]
	if g == nil {
		return nil
	}
	end := -1
	for range g.depth {
		next := strings.IndexByte(mnemonic[end+1:], '.')
		if next < 0 {
			end = len(mnemonic)
			break
		}
		end += 1 + next
	}
	key := mnemonic[:end]
	for i := range g.families {
		if g.families[i].key == key {
			return g.families[i].family
		}
	}
	return nil
}

// describe fills in the recipes. The caller holds the lock.
func (f *family) describe() {
	if f.recipes != nil {
		return
	}
	b := &builder{recipes: make([]recipe, 0, 32)}
	f.build(b)
	f.recipes = b.recipes
	f.byName = make(map[string]*Row, 16)
	f.byPair = make(map[pair]*Row, 16)
}

// compile makes the row of a recipe, or finds it made. The caller holds the lock.
func (f *family) compile(c *recipe, guard bool) *Row {
	name, signature := c.name, c.signature
	if guard {
		// Lanes whose guard is false keep the results: they are tied.
		name, signature = "@"+name, strings.ReplaceAll(signature, "=", "+")
	}
	if r := f.byName[name]; r != nil {
		return r
	}
	var r *Row
	if c.text {
		r = compileText(name, c.mnemonic, signature)
	} else {
		r = compile(name, c.mnemonic, signature, guard)
	}
	r.Effects, r.Need = c.fx, c.need
	p := pair{r.Asm, r.Constraints}
	if other := f.byPair[p]; other != nil {
		panic("ptxop: rows " + name + " and " + other.Name + " have the same text")
	}
	f.byName[name] = r
	f.byPair[p] = r
	return r
}

// compileAll compiles every row. The caller holds the lock.
func (f *family) compileAll() {
	f.describe()
	for i := range f.recipes {
		f.compile(&f.recipes[i], false)
		if f.recipes[i].guarded {
			f.compile(&f.recipes[i], true)
		}
	}
	f.complete = true
}

// Lookup returns the row with the given name, nil if there is none.
func Lookup(name string) *Row {
	plain, guard := strings.CutPrefix(name, "@")
	f := familyOf(plain)
	if f == nil {
		return nil
	}
	f.mu.RLock()
	r := f.byName[name]
	f.mu.RUnlock()
	if r != nil {
		return r
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.describe()
	for i := range f.recipes {
		if c := &f.recipes[i]; c.name == plain && (c.guarded || !guard) {
			return f.compile(c, guard)
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
	f := familyOf(mnemonic)
	if f == nil {
		return nil
	}
	p := pair{asm, constraints}
	f.mu.RLock()
	r, complete := f.byPair[p], f.complete
	f.mu.RUnlock()
	if r != nil || complete {
		return r
	}
	// A text that this process did not render: read from a file, perhaps.
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compileAll()
	return f.byPair[p]
}

// Rows returns every row of the table, in a fixed order. It compiles them all:
// it is for tests and documentation.
func Rows() []*Row {
	var all []*Row
	for _, g := range groups {
		for _, k := range g.families {
			f := k.family
			f.mu.Lock()
			f.compileAll()
			for i := range f.recipes {
				c := &f.recipes[i]
				all = append(all, f.byName[c.name])
				if c.guarded {
					all = append(all, f.byName["@"+c.name])
				}
			}
			f.mu.Unlock()
		}
	}
	return all
}

// A builder collects the recipes of one family.
type builder struct{ recipes []recipe }

// op describes an instruction. Its name is the mnemonic without ".sync.aligned".
func (b *builder) op(mnemonic, signature string, fx Effects, need target.Need) {
	b.named(strings.Replace(mnemonic, ".sync.aligned", "", 1), mnemonic, signature, fx, need)
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

// Needs that recur in the tables: "sm80" is "sm_80, PTX 7.0".
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
