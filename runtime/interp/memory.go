package interp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"tileiras/dialects/cudatile"
)

// Memory is the address space of a launch: allocations with gaps between them, so that a stray address hits nothing.
// Bounds are exact to the byte. A Memory may serve several runs one after the other, not at once.
type Memory struct {
	allocs        []*allocation // by address
	next          uint64
	ignoreInexact bool                       // do not track inexact bytes
	last          *allocation                // of the previous access
	globals       map[cudatile.Global]uint64 // addresses of the globals that have been loaded
	sums          map[uint64]atomicSum
}

// allocation is a block of bytes. flags has the flags of each byte, or is nil while every byte is defined and exact.
type allocation struct {
	name          string
	base          uint64
	data          []byte
	flags         []uint8
	mapped        bool // bytes of the caller
	readOnly      bool // that may not be written
	ignoreInexact bool // do not track inexact bytes
}

const (
	firstAddress = 0x7000_0000_0000 // looks like no small integer
	gap          = 4096             // unmapped bytes between allocations
)

// NewMemory makes an empty address space.
func NewMemory() *Memory {
	return &Memory{next: firstAddress, globals: map[cudatile.Global]uint64{}, sums: map[uint64]atomicSum{}}
}

// hostBase is where a memory that also maps memory of this process puts allocations of its own: no such process has memory there.
const hostBase = 0x3000_0000_0000

// NewHostMemory makes an empty address space for Map. It does not remember which bytes are inexact.
func NewHostMemory() *Memory {
	mem := NewMemory()
	mem.next, mem.ignoreInexact = hostBase, true
	return mem
}

// Mapping is memory of the caller that a program sees at an address.
type Mapping struct {
	Name     string // for messages
	Address  uint64
	Data     []byte
	ReadOnly bool
}

// Map maps memory of the caller at the addresses given, without a copy, and unmaps what was mapped before. Mappings may not overlap each other or
// an allocation.
func (mem *Memory) Map(mappings []Mapping) error {
	mem.allocs = slices.DeleteFunc(mem.allocs, func(a *allocation) bool { return a.mapped })
	for _, p := range mappings {
		mem.allocs = append(mem.allocs, &allocation{name: p.Name, base: p.Address, data: p.Data, mapped: true, readOnly: p.ReadOnly, ignoreInexact: mem.ignoreInexact})
	}
	slices.SortStableFunc(mem.allocs, func(a, b *allocation) int { return cmp.Compare(a.base, b.base) })
	mem.last = nil
	for i, a := range mem.allocs {
		if a.base+uint64(len(a.data)) < a.base {
			return fmt.Errorf("%s, %d bytes at %#x, does not fit the address space", a.name, len(a.data), a.base)
		}
		if i > 0 && mem.allocs[i-1].base+uint64(len(mem.allocs[i-1].data)) > a.base {
			return fmt.Errorf("%s, %d bytes at %#x, overlaps %s", mem.allocs[i-1].name, len(mem.allocs[i-1].data), mem.allocs[i-1].base, a.name)
		}
	}
	return nil
}

// forWorker is the same memory for a worker that runs tile blocks in parallel with others; its allocations are its own.
func (mem *Memory) forWorker(worker int) *Memory {
	return &Memory{allocs: slices.Clone(mem.allocs), next: mem.next + uint64(worker+1)<<40, ignoreInexact: mem.ignoreInexact, globals: mem.globals, sums: map[uint64]atomicSum{}}
}

// Alloc puts a copy of data into a new allocation and returns its address, a multiple of align (a power of two). The
// name is for messages.
func (mem *Memory) Alloc(name string, data []byte, align int) uint64 {
	return mem.alloc(name, append([]byte(nil), data...), align).base
}

// AllocUndef makes an allocation of n bytes that hold nothing yet: what is loaded before it is stored is undefined.
func (mem *Memory) AllocUndef(name string, n, align int) uint64 {
	a := mem.alloc(name, make([]byte, n), align)
	a.flags = make([]uint8, n)
	for i := range a.flags {
		a.flags[i] = undef
	}
	return a.base
}

func (mem *Memory) alloc(name string, data []byte, align int) *allocation {
	align = max(align, 1)
	base := (mem.next + uint64(align) - 1) / uint64(align) * uint64(align)
	a := &allocation{name: name, base: base, data: data, ignoreInexact: mem.ignoreInexact}
	mem.next = base + uint64(len(data)) + gap
	if n := len(mem.allocs); n == 0 || mem.allocs[n-1].base <= base {
		mem.allocs = append(mem.allocs, a)
	} else { // something is mapped at higher addresses
		mem.allocs = slices.Insert(mem.allocs, mem.index(base)+1, a)
	}
	return a
}

// free removes an allocation; its addresses are never given out again.
func (mem *Memory) free(a *allocation) {
	i := mem.index(a.base)
	mem.allocs = append(mem.allocs[:i:i], mem.allocs[i+1:]...)
	mem.last = nil
}

// index is the position of the last allocation that begins at or below addr, or -1.
func (mem *Memory) index(addr uint64) int {
	return sort.Search(len(mem.allocs), func(i int) bool { return mem.allocs[i].base > addr }) - 1
}

// find is the allocation that holds n bytes from addr, with the offset in it; nil when none does.
func (mem *Memory) find(addr uint64, n int) (*allocation, int) {
	a := mem.last
	if a == nil || addr < a.base || addr-a.base >= uint64(len(a.data)) {
		i := mem.index(addr)
		if i < 0 {
			return nil, 0
		}
		a = mem.allocs[i]
		mem.last = a
	}
	off := addr - a.base
	if off > uint64(len(a.data)) || uint64(len(a.data))-off < uint64(n) {
		return nil, 0
	}
	return a, int(off)
}

// at is the allocation that begins at addr; it panics when there is none.
func (mem *Memory) at(addr uint64) *allocation {
	if i := mem.index(addr); i >= 0 && mem.allocs[i].base == addr {
		return mem.allocs[i]
	}
	panic(fmt.Sprintf("interp: no allocation begins at %#x", addr))
}

// Bytes is the content of the allocation that begins at addr, shared with the memory. It panics when there is none.
func (mem *Memory) Bytes(addr uint64) []byte { return mem.at(addr).data }

// Inexact says of each byte of the allocation that begins at addr whether another correct implementation may leave
// another value there; nil means none. It panics when there is no such allocation.
func (mem *Memory) Inexact(addr uint64) []bool { return mem.at(addr).flagged(inexact) }

// Undefined says of each byte of the allocation that begins at addr whether nothing has been stored there; nil means none.
func (mem *Memory) Undefined(addr uint64) []bool { return mem.at(addr).flagged(undef) }

func (a *allocation) flagged(f uint8) []bool {
	var out []bool
	for i, b := range a.flags {
		if b&f != 0 {
			if out == nil {
				out = make([]bool, len(a.data))
			}
			out[i] = true
		}
	}
	return out
}

// describe says where an address lies, for messages.
func (mem *Memory) describe(addr uint64) string {
	i := mem.index(addr)
	switch {
	case i < 0 && len(mem.allocs) == 0:
		return fmt.Sprintf("address %#x; nothing is allocated", addr)
	case i < 0:
		return fmt.Sprintf("address %#x, %d bytes before %s", addr, mem.allocs[0].base-addr, mem.allocs[0].name)
	}
	a := mem.allocs[i]
	off := addr - a.base
	size := uint64(len(a.data))
	if off < size {
		return fmt.Sprintf("address %#x, byte %d of the %d of %s", addr, off, size, a.name)
	}
	text := fmt.Sprintf("address %#x, %d bytes past the end of %s, which has %d", addr, off-size, a.name, size)
	if i+1 < len(mem.allocs) && mem.allocs[i+1].base-addr < off-size {
		next := mem.allocs[i+1]
		text = fmt.Sprintf("address %#x, %d bytes before %s", addr, next.base-addr, next.name)
	}
	return text
}

// word reads n bytes, little endian, with the flags of all of them.
func (a *allocation) word(off, n int) (v uint64, flags uint8) {
	p := a.data[off:]
	switch n {
	case 1:
		v = uint64(p[0])
	case 2:
		v = uint64(binary.LittleEndian.Uint16(p))
	case 4:
		v = uint64(binary.LittleEndian.Uint32(p))
	default:
		v = binary.LittleEndian.Uint64(p)
	}
	if a.flags != nil {
		for _, f := range a.flags[off : off+n] {
			flags |= f
		}
	}
	return v, flags
}

// setWord writes n bytes and gives each of them the flags.
func (a *allocation) setWord(off, n int, v uint64, flags uint8) {
	p := a.data[off:]
	switch n {
	case 1:
		p[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(p, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(p, uint32(v))
	default:
		binary.LittleEndian.PutUint64(p, v)
	}
	if a.mapped {
		flags = 0
	} else if a.ignoreInexact {
		flags &^= inexact
	}
	if flags != 0 && a.flags == nil {
		a.flags = make([]uint8, len(a.data))
	}
	if a.flags != nil {
		for i := range n {
			a.flags[off+i] = flags
		}
	}
}
