package perfsmall_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/runtime/cases"
)

// view is how a kernel takes tiles from an array: the extents of a tile, and for each of its dimensions that of the array.
type view struct{ tile, dimMap []int }

// viewsOf reads from a module the first view of every parameter, by the parameter's number, and of the arrays whose addresses
// are loaded through a parameter, by its number and a star: a view is followed back through the operands that carry the address.
func viewsOf(bytecode []byte, kernel string) (map[string]view, error) {
	in, err := driver.Read(driver.NewContext(), "kernel.tileirbc", bytecode)
	if err != nil {
		return nil, err
	}
	views := map[string]view{}
	ir.Walk(in.Module, ir.PreOrder, func(op *ir.Op) {
		if op.NumResults() != 1 {
			return
		}
		t, ok := op.Result(0).Type().(cudatile.TileView)
		if !ok {
			return
		}
		key, ok := rootOf(op.Operand(0))
		if _, seen := views[key]; !ok || seen {
			return
		}
		f := t.View()
		v := view{dimMap: f.DimMap}
		for _, d := range f.Tile.Shape {
			v.tile = append(v.tile, int(d))
		}
		views[key] = v
	})
	return views, nil
}

// rootOf follows an address to the parameter that it comes from: "3", or "3*" when it was loaded through parameter 3.
func rootOf(v *ir.Value) (string, bool) {
	stars := ""
	for {
		op := v.DefiningOp()
		if op == nil {
			return fmt.Sprint(v.Index()) + stars, ir.Is[cudatile.Entry](v.Block().ParentOp())
		}
		if op.NumOperands() == 0 {
			return "", false
		}
		if strings.HasPrefix(op.Def.Name, "load") {
			stars += "*"
		}
		v = op.Operand(0)
	}
}

// array is a buffer that a kernel sees as an array: its row in the table of kinds, its number there, its view.
type array struct {
	buffer *cases.Buffer
	dims   []string // of the tile
	number int      // in its table of addresses; 0 for a parameter
	view   view
}

// arraysOf matches the buffers of a case with a kind.
func arraysOf(c *cases.Case, k *kind) ([]array, error) {
	views, err := viewsOf(c.Bytecode, c.Kernel)
	if err != nil {
		return nil, err
	}
	var out []array
	add := func(b *cases.Buffer, row, root string, number int) error {
		dims, ok := k.arrays[row]
		if !ok {
			return fmt.Errorf("kind %q does not describe array %q", k.op, row)
		}
		out = append(out, array{b, strings.Fields(dims), number, views[root]})
		return nil
	}
	for i, p := range c.Params {
		if p.Type != nil {
			continue
		}
		b := c.Buffer(p.Buffer)
		if len(b.Pointers) == 0 {
			if err := add(b, b.Name, fmt.Sprint(i), 0); err != nil {
				return nil, err
			}
			continue
		}
		for n, to := range b.Pointers {
			if err := add(c.Buffer(to.Buffer), b.Name+"*", fmt.Sprintf("%d*", i), n); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// tilesOf gives each letter the extent of a tile along it, from the first array that has both.
func tilesOf(arrays []array) map[string]int {
	tiles := map[string]int{}
	for _, a := range arrays {
		for i, d := range a.dims {
			if _, seen := tiles[d]; !seen && i < len(a.view.tile) {
				tiles[d] = a.view.tile[i]
			}
		}
	}
	return tiles
}

// size is a row of kind.sizes: per letter the extents of the arrays of a table in turn.
type size struct {
	text    string
	always  bool
	extents map[string][]int
}

func parseSize(text string, tiles map[string]int) (size, error) {
	s := size{extents: map[string][]int{}}
	s.text, s.always = strings.CutPrefix(text, "*")
	for _, field := range strings.Fields(s.text) {
		at := strings.IndexAny(field, "=:")
		if at < 0 {
			return s, fmt.Errorf("size %q: %q is not LETTER=TILES or LETTER:ELEMENTS", text, field)
		}
		letter := field[:at]
		unit := 1
		if field[at] == '=' {
			var ok bool
			if unit, ok = tiles[letter]; !ok {
				return s, fmt.Errorf("size %q: the kernel has no tile along %s", text, letter)
			}
		}
		for _, value := range strings.Split(field[at+1:], ",") {
			head, extra := value, 0
			if i := strings.IndexAny(value, "+-"); i >= 0 {
				var err error
				if extra, err = strconv.Atoi(value[i:]); err != nil {
					return s, fmt.Errorf("size %q: %w", text, err)
				}
				head = value[:i]
			}
			n, err := strconv.Atoi(head)
			if err != nil {
				return s, fmt.Errorf("size %q: %w", text, err)
			}
			s.extents[letter] = append(s.extents[letter], n*unit+extra)
		}
	}
	return s, nil
}

// extent is the value of a dimension, "M", "K/32" or "128", for array number n of a table.
func (s size) extent(dim string, n int) (int, error) {
	if v, err := strconv.Atoi(dim); err == nil {
		return v, nil
	}
	letter, by, divided := strings.Cut(dim, "/")
	values := s.extents[letter]
	if len(values) == 0 {
		return 0, fmt.Errorf("size %q says nothing of %s", s.text, letter)
	}
	v := values[n%len(values)]
	if divided {
		d, err := strconv.Atoi(by)
		if err != nil {
			return 0, err
		}
		v = (v + d - 1) / d
	}
	return v, nil
}

// shrink gives a case the extents of a size, small integers for data and a grid that fits.
func shrink(c *cases.Case, k *kind, arrays []array, s size, tiles map[string]int) error {
	for i, a := range arrays {
		shape := make([]int, len(a.dims))
		for d, dim := range a.dims {
			v, err := s.extent(dim, a.number)
			if err != nil {
				return err
			}
			if d < len(a.view.dimMap) {
				shape[a.view.dimMap[d]] = v
			} else {
				shape[d] = v
			}
		}
		if err := c.Resize(a.buffer.Name, shape...); err != nil {
			return err
		}
		init, err := k.data(a, i, s)
		if err != nil {
			return err
		}
		a.buffer.Init = init
	}
	if c.GridRule != nil {
		c.ResolveGrid(k.blocks)
		return nil
	}
	for axis := range c.Grid {
		n := 1
		for _, letter := range strings.Fields(k.grid[axis]) {
			v, err := s.extent(letter, 0)
			if err != nil {
				return err
			}
			n *= (v + tiles[letter] - 1) / tiles[letter]
		}
		if most := k.most[axis]; most > 0 {
			n = min(n, most)
		}
		c.Grid[axis] = n
	}
	return nil
}

// sentinel is what results hold before a launch, so that a store that is missing shows.
const sentinel = -99

// data describes the content of an array: small integers, so that sums are exact in any order.
func (k *kind) data(a array, seed int, s size) (*cases.Init, error) {
	ints := func(lo, hi int64) *cases.Init {
		return &cases.Init{Kind: "uniform_int", Lo: lo, Hi: hi, Seed: uint64(seed + 1)}
	}
	switch result := a.buffer.Init.Kind == "zeros"; {
	case result && k.adds:
		return a.buffer.Init, nil
	case result:
		return ints(sentinel, sentinel+1), nil
	case k.below[a.buffer.Name] != "":
		hi, err := s.extent(k.below[a.buffer.Name], a.number)
		return ints(0, int64(hi)), err
	case slices.Contains(strings.Fields(k.powers), a.buffer.Name):
		return ints(1, 3), nil
	}
	return ints(-2, 3), nil
}
