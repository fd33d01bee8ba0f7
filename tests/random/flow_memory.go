package random

import (
	"fmt"
	"slices"
)

// journal is memory of a tile block in which entries stand in the order in which they are made: a token and the place of the next one go from entry to entry.
type journal struct {
	elem    string
	param   int
	pointer value
	token   string
	at      value // where the next entry stands: a number, a pointer, or a tile of pointers, which counts elements
	closed  bool  // here no entry is made
}

// memory is a part of a buffer for each tile block.
func (f *flow) memory(elem, use string) *journal {
	name := f.smallBuffer(elem, use)
	j := &journal{elem: elem, param: len(f.params) - 1, pointer: value{name: f.fresh(), typ: scalar("ptr<" + elem + ">")}, token: f.start}
	s := scalar("i32")
	size := f.generator.number(scalar("i32"), half).name
	base := f.define(s, "muli %s, %s : %s", f.block.name, size, s)
	f.emit("%s = offset %s, %s : tile<ptr<%s>>, %s -> tile<ptr<%s>>", j.pointer.name, name, base.name, elem, s, elem)
	if f.chance(25) {
		f.note("memory of which a promise says how it is aligned")
		promised := f.fresh()
		f.emit("%s = assume div_by<%d>, %s : tile<ptr<%s>>", promised, choose(f.generator, 16, 16, 8, 128), j.pointer.name, elem)
		j.pointer.name = promised
	}
	f.do(func(m *machine) { m.tiles[j.pointer.name] = []int64{0} })
	return j
}

// keeps makes a journal.
func (f *flow) keeps(elem string, i int) {
	j := f.memory(elem, fmt.Sprint("journal", i))
	f.journals = append(f.journals, j)
	switch f.r.IntN(5) {
	case 0:
		j.at = j.pointer
	case 1:
		j.at = f.spread(j.pointer, choose(f.generator, f.shapes[1:]...))
	default:
		j.at = f.boundary(choose(f.generator, "i32", "i32", "i64"), 0)
	}
}

// spread is a tile of pointers to elements side by side.
func (f *flow) spread(pointer value, shape []int) value {
	return f.offset(f.widened(pointer, shape), f.numbers(typ{"i32", shape}, 0))
}

// offset is pointers that are moved.
func (f *flow) offset(pointers, by value) value {
	return f.elementwise(pointers.typ, 0, []value{pointers, by}, func(v []int64) int64 { return v[0] + v[1] }, "offset %s, %s : %s, %s -> %s", pointers.name, by.name, pointers.typ, by.typ, pointers.typ)
}

// placesAt is pointers to a tile of elements from a place on.
func (f *flow) placesAt(j *journal, at value, shape []int) value {
	switch {
	case len(at.shape) > 0:
		return at
	case isInt(at.elem):
		at = f.offset(j.pointer, at)
	}
	if len(shape) > 0 {
		return f.spread(at, shape)
	}
	return at
}

// each calls do with the memory of the places.
func (f *flow) each(m *machine, j *journal, places value, do func(i int, cell *int64)) signal {
	for i, at := range m.tiles[places.name] {
		if at < 0 || at >= half {
			return f.undefined()
		}
		do(i, &m.memory[j.param][int(m.block)*half+int(at)])
	}
	return onward
}

// store writes a tile, behind a token if there is one.
func (f *flow) store(j *journal, places, v value, token string) (after string) {
	after = f.fresh()
	f.emit("%s = store_ptr_tko weak %s, %s%s : %s, %s -> token", after, places.name, v.name, tokenClause(token), places.typ, v.typ)
	f.steps = append(f.steps, func(m *machine) signal {
		return f.each(m, j, places, func(i int, cell *int64) { *cell = m.tiles[v.name][i] })
	})
	return after
}

// load reads a tile, behind a token if there is one.
func (f *flow) load(j *journal, places value, token string) (v value, after string) {
	v, after = value{name: f.fresh(), typ: typ{j.elem, places.shape}}, f.fresh()
	f.emit("%s, %s = load_ptr_tko weak %s%s : %s -> %s, token", v.name, after, places.name, tokenClause(token), places.typ, v.typ)
	f.steps = append(f.steps, func(m *machine) signal {
		out := make([]int64, v.n())
		how := f.each(m, j, places, func(i int, cell *int64) { out[i] = *cell })
		m.tiles[v.name] = out
		return how
	})
	return v, after
}

// open is a journal that takes entries here.
func (f *flow) open() *journal {
	var list []*journal
	for _, j := range f.journals {
		if !j.closed {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return choose(f.generator, list...)
}

// entering makes an entry.
func (f *flow) entering() {
	j := f.open()
	if j == nil {
		f.adding()
		return
	}
	v, ok := f.found(func(v value) bool { return isInt(v.elem) })
	if !ok || f.chance(15) {
		v = f.want(typ{choose(f.generator, integers...), choose(f.generator, f.shapes...)})
	}
	f.enter(j, v)
}

// uses writes a value where it is seen.
func (f *flow) uses(v value) {
	if j := f.open(); j != nil {
		f.enter(j, v)
	} else if first, ok := f.cellsFor(1); ok && len(v.shape) == 0 {
		f.adds(first, f.cast(v, "i32"))
	}
}

// enter writes a value into a journal, mostly where the next entry stands.
func (f *flow) enter(j *journal, v value) {
	if v = f.cast(v, j.elem); len(j.at.shape) > 0 {
		for len(v.shape) > 0 && !slices.Equal(v.shape, j.at.shape) {
			v = f.want(typ{j.elem, j.at.shape})
		}
		v = f.widened(v, j.at.shape)
	}
	if at := f.someScalar(); f.chance(10) && len(j.at.shape) == 0 { // any place
		f.shows("entry at a place that numbers say")
		j.token = f.store(j, f.placesAt(j, f.below(at, 64), v.shape), v, j.token)
		return
	}
	f.shows("entry")
	j.token = f.store(j, f.placesAt(j, j.at, v.shape), v, j.token)
	j.at = f.advanced(j.at, v.n())
}

// advanced is a place so many elements further.
func (f *flow) advanced(at value, n int) value {
	if isInt(at.elem) {
		return f.combine(added, at, f.constant(at.typ, int64(n)))
	}
	return f.offset(at, f.constant(at.typ.with(choose(f.generator, "i32", "i64")), int64(n)))
}

// below is a number from 0 to n - 1, which is a power of two.
func (f *flow) below(x value, n int) value {
	x = f.cast(x, "i32")
	return f.combine(anded, x, f.constant(x.typ, int64(n-1)))
}

// readingBack reads what may have been written.
func (f *flow) readingBack() {
	j := f.open()
	if j == nil {
		return
	}
	shape := choose(f.generator, f.shapes...)
	var v value
	v, j.token = f.load(j, f.placesAt(j, f.below(f.someScalar(), 32), shape), j.token)
	f.shows("journal that is read")
	f.keep(v)
}

// reading reads numbers that the compiler does not see.
func (f *flow) reading() {
	if p, ok := f.found(func(v value) bool { return isPointer(v.elem) }); ok && f.chance(60) {
		f.shows("load through pointers of a value")
		v, _ := f.load(f.pointee(p.elem), p, "")
		f.keep(v)
		return
	}
	j := choose(f.generator, f.inputs...)
	shape := choose(f.generator, f.shapes...)
	v, _ := f.load(j, f.placesAt(j, f.below(f.someScalar(), 32), shape), "")
	f.keep(v)
}

// cellsFor are cells that belong to a statement; the first is a multiple of 8.
func (f *flow) cellsFor(n int) (first value, ok bool) {
	n = (n + 7) &^ 7
	if f.free+n > half {
		return value{}, false
	}
	first = f.constant(scalar("i32"), int64(f.free))
	f.free += n
	return first, true
}

// adding adds to a cell, which needs no order.
func (f *flow) adding() {
	first, ok := f.cellsFor(8)
	if !ok {
		return
	}
	if f.chance(60) {
		first = f.combine(ored, first, f.below(f.someScalar(), 8))
	}
	f.adds(first, f.want(scalar("i32")))
}

// adds adds a number to a cell.
func (f *flow) adds(first, v value) {
	place, s := f.offset(f.cells.pointer, first), scalar("i32")
	f.emit("%s, %s = atomic_rmw_tko relaxed device %s, add, %s : %s, %s -> %s, token", f.fresh(), f.fresh(), place.name, v.name, place.typ, s, s)
	f.shows("atomic sum")
	f.steps = append(f.steps, func(m *machine) signal {
		return f.each(m, f.cells, place, func(_ int, cell *int64) { *cell = wrapped("i32", *cell+m.one(v)) })
	})
}

// storing stores what is stored once, which needs no order.
func (f *flow) storing() {
	v := f.want(typ{"i32", choose(f.generator, f.shapes...)})
	if first, ok := f.cellsFor(v.n()); ok && len(f.around) == 0 {
		f.store(f.cells, f.placesAt(f.cells, first, v.shape), v, "")
		f.shows("store without order")
	}
}

// storingByRound stores what each round of the loops around has a place for.
func (f *flow) storingByRound() {
	var at value
	for _, r := range f.around {
		if !r.counted {
			return
		}
		round := f.cast(f.combine(divided, f.combine(subtracted, r.counter, r.lower), r.step), "i32")
		f.steps = append(f.steps, func(m *machine) signal {
			if x := m.one(round); x < 0 || x >= 8 {
				return f.undefined()
			}
			return onward
		})
		if at.name == "" {
			at = round
		} else {
			at = f.combine(added, f.combine(multiplied, at, f.constant(at.typ, 8)), round)
		}
	}
	if len(f.around) == 0 || len(f.around) > 3 {
		return
	}
	if first, ok := f.cellsFor(8 * 8 * 8); ok {
		f.store(f.cells, f.placesAt(f.cells, f.combine(added, at, first), nil), f.want(scalar("i32")), "")
		f.shows("store by round")
	}
}
