package ptxop

import (
	"strings"
	"sync"

	"tileiras/codegen/target"
)

// A family is a group of rows that are built together. Its key is the first
// `depth` dotted words of its rows' mnemonics: "cvt" (depth 1), "ld.global"
// (depth 2), "atom.relaxed.gpu" (depth 3).
type family struct {
	build func(*builder)

	once   sync.Once
	byName map[string]*Row
	byPair map[pair]*Row
	rows   []*Row
}

type pair struct{ asm, constraints string }

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

// familyOf returns the built family of a mnemonic, nil if there is none.
func familyOf(mnemonic string) *family {
	word := mnemonic
	if i := strings.IndexByte(word, '.'); i >= 0 {
		word = word[:i]
	}
	g := groupOf[word]
	if g == nil {
		return nil
	}
	key := mnemonic
	end := -1
	for range g.depth {
		next := strings.IndexByte(mnemonic[end+1:], '.')
		if next < 0 {
			end = len(mnemonic)
			break
		}
		end += 1 + next
	}
	key = mnemonic[:end]
	for i := range g.families {
		if g.families[i].key == key {
			f := g.families[i].family
			f.once.Do(f.fill)
			return f
		}
	}
	return nil
}

func (f *family) fill() {
	b := &builder{}
	f.build(b)
	f.rows = b.rows
	f.byName = make(map[string]*Row, len(b.rows))
	f.byPair = make(map[pair]*Row, len(b.rows))
	for _, r := range b.rows {
		if f.byName[r.Name] != nil {
			panic("ptxop: two rows are named " + r.Name)
		}
		p := pair{r.Asm, r.Constraints}
		if other := f.byPair[p]; other != nil {
			panic("ptxop: rows " + r.Name + " and " + other.Name + " have the same text")
		}
		f.byName[r.Name] = r
		f.byPair[p] = r
	}
}

// Lookup returns the row with the given name, nil if there is none.
func Lookup(name string) *Row {
	f := familyOf(strings.TrimPrefix(name, "@"))
	if f == nil {
		return nil
	}
	return f.byName[name]
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
var blocks = [...]struct{ head, family string }{{byteScratch, "cvt"}, {callScratch, "call"}}

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
	return f.byPair[pair{asm, constraints}]
}

// Rows returns every row of the table, in a fixed order. It builds all
// families: it is for tests and documentation.
func Rows() []*Row {
	var all []*Row
	for _, g := range groups {
		for _, k := range g.families {
			k.family.once.Do(k.family.fill)
			all = append(all, k.family.rows...)
		}
	}
	return all
}

// A builder collects the rows of one family.
type builder struct{ rows []*Row }

// op adds the row of an instruction. Its name is the mnemonic without
// ".sync.aligned".
func (b *builder) op(mnemonic, signature string, fx Effects, need target.Need) {
	b.named(strings.Replace(mnemonic, ".sync.aligned", "", 1), mnemonic, signature, fx, need)
}

// named adds a row under a name of its own, where the mnemonic is not unique.
func (b *builder) named(name, mnemonic, signature string, fx Effects, need target.Need) {
	b.add(compile(name, mnemonic, signature, false), fx, need)
}

// guarded adds the plain row and its guarded form, named with a leading '@'. The
// results of the guarded form are tied: a lane whose guard is false keeps them.
func (b *builder) guarded(name, mnemonic, signature string, fx Effects, need target.Need) {
	b.named(name, mnemonic, signature, fx, need)
	b.add(compile("@"+name, mnemonic, strings.ReplaceAll(signature, "=", "+"), true), fx, need)
}

func (b *builder) add(r *Row, fx Effects, need target.Need) {
	r.Effects, r.Need = fx, need
	b.rows = append(b.rows, r)
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
