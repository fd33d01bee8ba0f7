package random

import (
	"fmt"
	"slices"
	"strings"
)

// pointee is the memory to which pointers point.
func (f *flow) pointee(elem string) *journal {
	return f.inputs[slices.IndexFunc(f.inputs, func(j *journal) bool { return "ptr<"+j.elem+">" == elem })]
}

// accessed is the shape of a tile of which a thread mostly has several elements.
func (f *flow) accessed() []int {
	return choose(f.generator, []int{256}, []int{512}, []int{1024}, []int{2048}, []int{16, 32}, []int{64, 16}, []int{8, 128}, []int{32, 64}, []int{128}, []int{16}, []int{4, 8})
}

// array is an array that begins somewhere in memory; the compiler sees where, or not.
func (f *flow) array(j *journal, shape []int) *layer {
	shift, room := choose(f.generator, 0, 0, 4, 16, 64/widths[j.elem], 3*64/widths[j.elem], f.r.IntN(32)), half-32
	a := &area{elem: j.elem, param: j.param, pointer: j.pointer.name, length: half, limit: 1 << 62, written: slices.Contains(f.journals, j), after: j.token}
	a.first = func(m *machine) int { return int(m.block)*half + shift }
	if shift > 0 {
		a.pointer = f.offset(j.pointer, f.boundary("i32", shift)).name
	}
	l := &layer{area: a, tile: typ{j.elem, shape}, pointer: a.pointer, steps: slices.Clone(shape), sparse: -1, shape: make([]int, len(shape)), strides: make([]int, len(shape))}
	stride := 1
	for i := range shape {
		d := len(shape) - 1 - i
		tiles := max(1, min(1+f.r.IntN(5), room/stride/shape[d]))
		l.shape[d], l.strides[d] = max(1, tiles*shape[d]-choose(f.generator, 0, 0, 1, f.r.IntN(shape[d]))), stride
		if stride *= l.shape[d]; f.chance(60) {
			stride += choose(f.generator, 1, 2, 4, 8, (16-stride%16)%16)
		}
	}
	if f.chance(15) { // the last dimension is that of the array's rows
		slices.Reverse(l.strides)
		slices.Reverse(l.shape)
	}
	return l
}

// sizes are those of an array and its strides, as a view names them, and in its type.
type sizes struct {
	number       string
	names, types [2][]string
}

// sizesOf writes the numbers that are not in the type.
func (f *flow) sizesOf(l *layer) sizes {
	s := sizes{number: choose(f.generator, "i32", "i32", "i64")}
	for k, list := range [2][]int{l.shape, l.strides} {
		for _, n := range list {
			name, kind := fmt.Sprint(n), fmt.Sprint(n)
			if f.chance(60) {
				kind, name = "?", f.hidden(s.number, n).name
			}
			s.names[k], s.types[k] = append(s.names[k], name), append(s.types[k], kind)
		}
	}
	return s
}

// look writes the view.
func (f *flow) look(l *layer, s sizes) {
	of := ""
	if slices.Contains(slices.Concat(s.types[0], s.types[1]), "?") {
		of = scalar(s.number).String() + " -> "
	}
	vt := fmt.Sprintf("tensor_view<%sx%s, strides=[%s]>", strings.Join(s.types[0], "x"), l.elem, strings.Join(s.types[1], ","))
	view := f.fresh()
	f.emit("%s = make_tensor_view %s, shape = [%s], strides = [%s] : %s%s", view, l.pointer, joined(s.names[0]), joined(s.names[1]), of, vt)
	l.at, l.kind = f.fresh(), fmt.Sprintf("partition_view<tile=(%s), padding_value = zero, %s>", strings.TrimSuffix(dims(l.tile.shape), "x"), vt)
	f.emit("%s = make_partition_view %s : %s", l.at, view, l.kind)
}

// touring goes over tiles of an array in a nest of loops, and reads or writes them; perhaps over those of another array of its form as well.
func (f *flow) touring() {
	if f.depth+2 >= deepNest || f.left <= 0 {
		return
	}
	j := choose(f.generator, f.inputs...)
	writes := f.open() != nil && f.chance(30)
	if writes {
		j = f.open()
	}
	l := f.array(j, f.accessed())
	s := f.sizesOf(l)
	f.look(l, s)
	f.shows("loop over an array")
	visit := func(index []value) { f.visit(j, l, index, writes) }
	if f.chance(35) {
		f.shows("loop over two arrays")
		other, first := f.array(choose(f.generator, f.inputs...), l.tile.shape), visit
		other.shape, other.strides = l.shape, l.strides
		f.look(other, s)
		visit = func(index []value) {
			f.visit(nil, other, index, false)
			first(index)
		}
	}
	if !writes {
		j = nil
	}
	f.tour(l, nil, j, visit)
}

// tour writes the loops over the dimensions that have no index yet, and what is done with a tile; a journal that this writes goes through them.
func (f *flow) tour(l *layer, index []value, j *journal, visit func(index []value)) {
	if len(index) == len(l.shape) {
		visit(index)
		return
	}
	n, t := l.tiles(len(index)), scalar(choose(f.generator, "i32", "i32", "i32", "i64", "i16"))
	if f.chance(20) {
		f.tour(l, append(slices.Clone(index), f.boundary(t.elem, f.r.IntN(n))), j, visit)
		return
	}
	first := f.r.IntN(n) * f.r.IntN(2) * f.r.IntN(2)
	lower, upper, step := f.boundary(t.elem, first), f.boundary(t.elem, n), f.constant(t, int64(choose(f.generator, 1, 1, 1, 1, 2)))
	switch f.r.IntN(5) {
	case 0:
		upper = f.combine(lesser, upper, f.combine(added, f.loaded(t.elem), f.boundary(t.elem, n/2)))
	case 1:
		lower = f.combine(lesser, f.cast(f.block, t.elem), upper)
	case 2, 3:
		if len(index) > 0 {
			f.shows("loop over an array up to an index")
			upper = f.combine(lesser, upper, f.combine(added, f.cast(index[len(index)-1], t.elem), f.constant(t, 1)))
		}
	}
	list := f.slotsOf(f.someJournals(80), f.r.IntN(2))
	if j != nil && !hasJournal(list, j) {
		list = append(list, f.slotsOf([]*journal{j}, 0)...)
	}
	f.rounds(lower, upper, step, f.chance(20), list, func(r *round) {
		f.tour(l, append(slices.Clone(index), r.counter), j, visit)
	})
}

// visit reads or writes a tile.
func (f *flow) visit(j *journal, l *layer, index []value, writes bool) {
	for d := range index {
		index[d].bound = l.tiles(d) - 1
	}
	f.steps = append(f.steps, func(m *machine) signal {
		for _, v := range index {
			if x := m.one(v); x < 0 || x > int64(v.bound) {
				return f.undefined()
			}
		}
		return onward
	})
	if writes {
		f.shows("tile of an array that is written")
		l.after = j.token
		f.program.store(f.want(l.tile), l, index)
		j.token = l.after
		return
	}
	f.shows("tile of an array that is read")
	v := f.program.load(l, index)
	v.bound = 0
	f.gathered(f.keep(v))
}

// gathered does something with a tile that has been read.
func (f *flow) gathered(v value) {
	switch f.r.IntN(4) {
	case 0:
		f.uses(v)
	case 1:
		f.folded(v)
	case 2:
		f.keep(f.combine(added, v, f.want(v.typ)))
	}
	f.statements(f.r.IntN(2))
}

// gathering reads or writes elements side by side, or as quotients and remainders say, where a mask says so.
func (f *flow) gathering() {
	f.aligned = f.chance(50)
	shape, elem := f.accessed(), choose(f.generator, "i32", "i32", "i64")
	t := typ{elem, shape}
	if t.n() <= 128 && f.chance(40) {
		t.elem = choose(f.generator, "i8", "i16")
	}
	x := f.combine(added, f.widened(f.cast(f.firstOf(t.n()), t.elem), shape), f.numbers(t, 0))
	j, writes := choose(f.generator, f.inputs...), f.open() != nil && f.chance(30)
	if writes {
		j = f.open()
	}
	mask, place := f.masked(x), f.placed(x, elem, writes)
	place = f.combine(added, place, f.constant(place.typ, int64(choose(f.generator, 0, 256, 2048))))
	f.aligned = false
	f.through(j, f.offset(f.widened(j.pointer, shape), place), mask, writes)
}

// firstOf is the number of the first of n elements.
func (f *flow) firstOf(n int) value {
	first := f.below(f.someScalar(), 8)
	if len(f.around) > 0 && f.chance(60) {
		if r := f.around[len(f.around)-1]; r.counted {
			first = r.counter
		}
	}
	by, back := choose(f.generator, n, n, n/2, 1, 3), choose(f.generator, 1, 4, 8, 16, min(n, 64))
	if f.aligned {
		by, back = n, choose(f.generator, 16, 64)
	}
	if by != 1 {
		first = f.combine(multiplied, first, f.constant(first.typ, int64(by)))
	}
	if f.chance(30) {
		first = f.combine(subtracted, first, f.boundary(first.elem, back))
	}
	return first
}

// placed is where elements of some numbers lie, each at another place if they are written.
func (f *flow) placed(x value, elem string, writes bool) value {
	s := scalar(x.elem)
	bounded := f.positive(s)
	if f.aligned || f.chance(60) {
		bounded = f.boundary(x.elem, choose(f.generator, 1, 2, 3, 8, 16, 32, 7, 64))
	}
	by := f.widened(bounded, x.shape)
	what := f.r.IntN(10)
	if writes {
		what = max(what, 4)
	}
	switch what {
	case 0, 1:
		f.shows("place of a remainder")
		x = f.combine(choose(f.generator, divisions[len(divisions)-3:]...), x, by)
	case 2:
		f.shows("place of a quotient")
		x = f.combine(choose(f.generator, divisions[:len(divisions)-3]...), x, by)
	case 3:
		f.shows("place of a selection")
		x = f.selected(f.masked(x), x, f.combine(subtracted, x, by))
	case 4: // rows of some elements, farther apart
		f.shows("place of a quotient and a remainder")
		wide := f.combine(added, by, f.widened(f.boundary(x.elem, choose(f.generator, 0, 1, 4, 8)), x.shape))
		quotient, rest := divided, remaining
		if f.chance(40) {
			quotient, rest = divisions[2], divisions[len(divisions)-2]
		}
		x = f.combine(added, f.combine(multiplied, f.combine(quotient, x, by), wide), f.combine(rest, x, by))
	case 5:
		f.shows("place of a difference")
		x = f.combine(subtracted, x, by)
	}
	x = f.cast(x, elem)
	if what == 6 && len(x.shape) == 2 { // rows as far apart as a parameter says
		f.shows("place of a row and a column")
		columns := int64(x.shape[1])
		p, is := f.parameter()
		if elem = x.elem; !writes || int64(is) >= columns {
			t := f.constant(x.typ, columns)
			x = f.combine(added, f.combine(multiplied, f.combine(divided, x, t), f.widened(f.cast(p, elem), x.shape)), f.combine(remaining, x, t))
		}
	}
	return x
}

// pointing goes over memory with pointers that it carries, and reads where a mask says so.
func (f *flow) pointing() {
	if f.depth+1 >= deepNest || f.left <= 0 {
		return
	}
	j, shape := choose(f.generator, f.inputs...), f.accessed()
	t, n := typ{"i32", shape}, f.r.IntN(5)
	list := f.slotsOf(f.someJournals(80), f.r.IntN(2))
	at := f.r.IntN(len(list) + 1)
	list = slices.Insert(list, at, slot{typ: typ{"ptr<" + j.elem + ">", shape}, counts: true})
	s := scalar("i32")
	f.shows("pointers that a loop carries")
	f.rounds(f.constant(s, 0), f.boundary("i32", n), f.constant(s, 1), f.chance(20), list, func(r *round) {
		first := f.combine(multiplied, r.counter, f.constant(s, int64(t.n())))
		f.through(j, r.args[at], f.masked(f.combine(added, f.widened(first, shape), f.numbers(t, 0))), false)
	})
}

// masked is where numbers are less than one bound or two.
func (f *flow) masked(x value) value {
	if len(x.shape) > 1 && f.chance(30) {
		f.shows("mask in another shape")
		return f.reshaped(f.masked(f.reshaped(x, []int{x.n()})), x.shape)
	}
	if f.chance(25) {
		f.shows("mask of quotients")
		by := f.boundary(x.elem, choose(f.generator, 2, 3, 4, 8, 8, 16))
		x = f.combine(choose(f.generator, divisions[:6]...), x, f.widened(by, x.shape))
	}
	end := func() value {
		n := x.n() * (1 + f.r.IntN(3))
		var bound value
		switch s := scalar(x.elem); f.r.IntN(3) {
		case 0:
			bound = f.constant(s, int64(f.r.IntN(n+2)-1))
		case 1: // a multiple, as most sizes are
			bound = f.combine(multiplied, f.boundary(x.elem, 1+f.r.IntN(12)), f.constant(s, choose(f.generator, 4, int64(max(1, x.n()/4)))))
		default:
			bound = f.combine(added, f.loaded(x.elem), f.constant(s, int64(f.r.IntN(n))))
		}
		word := choose(f.generator, "less_than", "less_than", "less_than", "less_than_or_equal")
		return f.compared(word, x, f.widened(bound, x.shape), f.chance(25))
	}
	mask := end()
	if f.chance(30) {
		mask = f.combine(anded, mask, end())
	}
	if f.chance(25) && x.elem != "i1" {
		f.shows("mask of a comparison with a tile")
		other := f.combine(anded, x, f.constant(x.typ, choose[int64](f.generator, 1, 3, 12)))
		other = f.combine(added, other, f.widened(f.boundary(x.elem, f.r.IntN(50)), x.shape))
		mask = f.combine(anded, mask, f.compared("less_than_or_equal", x, other, false))
	}
	switch f.r.IntN(8) {
	case 0:
		mask = f.combine(anded, mask, f.widened(f.condition(), x.shape))
	case 1:
		f.shows("mask that is selected")
		mask = f.selected(mask, f.widened(f.condition(), x.shape), f.widened(f.condition(), x.shape))
	}
	return mask
}

// through reads or writes elements of memory where a mask says so.
func (f *flow) through(j *journal, places, mask value, writes bool) {
	t, after := typ{j.elem, places.shape}, f.fresh()
	each := func(m *machine, do func(i int, cell *int64)) signal {
		for i, at := range m.tiles[places.name] {
			switch {
			case m.tiles[mask.name][i] == 0:
			case at < 0 || at >= half:
				return f.undefined()
			default:
				do(i, &m.memory[j.param][int(m.block)*half+int(at)])
			}
		}
		return onward
	}
	if writes {
		v := f.want(t)
		f.shows("store under a mask")
		f.emit("%s = store_ptr_tko weak %s, %s, %s token=%s : %s, %s, %s -> token", after, places.name, v.name, mask.name, j.token, places.typ, t, mask.typ)
		f.steps = append(f.steps, func(m *machine) signal {
			return each(m, func(i int, cell *int64) { *cell = m.tiles[v.name][i] })
		})
		j.token = after
		return
	}
	f.shows("load under a mask")
	v, other := value{name: f.fresh(), typ: t}, f.want(t)
	f.emit("%s, %s = load_ptr_tko weak %s, %s, %s : %s, %s, %s -> %s, token", v.name, after, places.name, mask.name, other.name, places.typ, mask.typ, t, t)
	f.steps = append(f.steps, func(m *machine) signal {
		out := slices.Clone(m.tiles[other.name])
		how := each(m, func(i int, cell *int64) { out[i] = *cell })
		m.tiles[v.name] = out
		return how
	})
	f.gathered(f.keep(v))
}

// parameter is one of the kernel that is a number, which the compiler does not see.
func (f *flow) parameter() (value, int) {
	p, is := f.scalarParameter()
	f.do(func(m *machine) { m.tiles[p.name] = []int64{int64(is)} })
	return value{name: p.name, typ: p.typ}, is
}

// hidden is a number that the compiler mostly does not see.
func (f *flow) hidden(elem string, n int) value {
	if f.chance(20) {
		return f.constant(scalar(elem), int64(n))
	}
	x, is := f.parameter()
	if x = f.cast(x, elem); n != is {
		x = f.combine(added, x, f.constant(x.typ, int64(n-is)))
	}
	return x
}
