package random

import (
	"encoding/binary"
	"fmt"

	"tileiras/ir"
)

// machine is one tile block of a program: every element of a tile and of memory is an integer, also where its type is of floats.
type machine struct {
	block  int64
	tiles  map[string][]int64 // by name, in row-major order
	memory map[int][]int64    // by parameter
	out    [][]int64          // what the region that has just ended gives
}

// action is what a statement does.
type action func(*machine) signal

// signal is how a statement ends: a terminator ends its region.
type signal int

const (
	onward signal = iota
	yielded
	continued
	broken
	returned
)

func (m *machine) run(steps []action) signal {
	for _, s := range steps {
		if how := s(m); how != onward {
			return how
		}
	}
	return onward
}

func (m *machine) one(v value) int64 { return m.tiles[v.name][0] }

func (m *machine) many(vals []value) (list [][]int64) {
	for _, v := range vals {
		list = append(list, m.tiles[v.name])
	}
	return list
}

func (m *machine) bind(vals []value, contents [][]int64) {
	for i, v := range vals {
		m.tiles[v.name] = contents[i]
	}
}

// evaluate runs the program on what buffers hold at first, one tile block after the other, and gives what they must hold then, by parameter.
func (p *program) evaluate(params []param) map[int][]int64 {
	memory := map[int][]int64{}
	for i, param := range params {
		if param.bytes != nil {
			memory[i] = numbers(param.bytes, param.elem)
		}
	}
	for block := range int64(grid) {
		m := &machine{block: block, tiles: map[string][]int64{p.block.name: {block}}, memory: memory}
		m.run(p.steps)
	}
	return memory
}

// numbers are the elements of a buffer that holds integers only.
func numbers(content []byte, elem ir.Type) []int64 {
	n := size(elem)
	list := make([]int64, len(content)/n)
	for i := range list {
		list[i] = integer(content[i*n:(i+1)*n], elem)
	}
	return list
}

// integer is the number that an element is; what is no integer is not in memory of programs, and counts as a number that nothing is.
func integer(content []byte, elem ir.Type) int64 {
	var word [8]byte
	copy(word[:], content)
	bits := binary.LittleEndian.Uint64(word[:])
	f, ok := elem.(*ir.FloatType)
	if !ok {
		unused := 64 - 8*len(content)
		return int64(bits<<unused) >> unused
	}
	x := f.Format.Decode(f.Format.FromStorage(bits))
	if x != float64(int64(x)) {
		return 1 << 62
	}
	return int64(x)
}

// misses describes the first elements of the interpreter's buffers that are not what the program's own evaluation says.
func (ref *reference) misses(want map[int][]int64) string {
	for i, p := range ref.params {
		if p.bytes == nil || want[i] == nil {
			continue
		}
		for at, n := range numbers(ref.bytes[i], p.elem) {
			if n != want[i][at] {
				return fmt.Sprintf("parameter %d: element %d is %d, the evaluation of the program has %d", i, at, n, want[i][at])
			}
		}
	}
	return ""
}

// over calls f for every place of a shape in row-major order.
func over(shape []int, f func(i int, at []int)) {
	at := make([]int, len(shape))
	for i := range (typ{"", shape}).n() {
		f(i, at)
		for d := len(shape) - 1; d >= 0; d-- {
			if at[d]++; at[d] < shape[d] {
				break
			}
			at[d] = 0
		}
	}
}

// placeOf is the number of a place of a shape in row-major order.
func placeOf(shape, at []int) int {
	i := 0
	for d, n := range shape {
		i = i*n + at[d]
	}
	return i
}
