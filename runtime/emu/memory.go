package emu

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// region is a piece of memory with byte-precise bounds: a global allocation, the shared memory of a CTA,
// the local memory of a warp (all lanes), the parameters of a launch.
type region struct {
	name     string
	space    space
	base     uint64 // address of byte 0 in its space
	data     []byte
	undef    []byte // undefined bits of every byte; nil: everything is defined
	readonly bool
	mapped   bool // bytes of the caller
	heap     bool // malloc gave it
	shadow   shadow
	released map[int]*published // by offset: what a launch has released there
	barriers map[int]*mbarrier  // by offset
	owner    *cta               // of shared memory
}

// newShadow is a shadow without accesses.
func (r *region) newShadow() shadow { return shadow{bias: int(r.base & (1<<pageBits - 1))} }

// Memory is the global memory of a device: separate allocations with gaps between them, so that an access
// just outside of one never lands in another. It outlives launches; it is not for concurrent use.
type Memory struct {
	regions []*region // by address
	next    uint64
	modules map[*Module]map[*variable]*region
}

// nullPage is how far from a null pointer an access is said to be by it, where no allocation is near.
const nullPage = 1 << 12

// codeAlign is the distance of the addresses of functions, which are good for comparisons only.
const codeAlign = 16

// guardGap is the least distance between two allocations.
const guardGap = 1 << 16

// NewMemory makes an empty device memory.
func NewMemory() *Memory {
	return &Memory{next: globalBase, modules: map[*Module]map[*variable]*region{}}
}

// hostBase is where a memory that also maps memory of this process puts allocations of its own: no such process has memory there.
const hostBase = 0x3000_0000_0000

// NewHostMemory makes an empty memory for Map.
func NewHostMemory() *Memory {
	m := NewMemory()
	m.next = hostBase
	return m
}

// Mapping is memory of the caller that a program sees at an address.
type Mapping struct {
	Name     string // for messages
	Address  uint64
	Data     []byte
	Undef    bool // undefined until it is written
	ReadOnly bool
}

// Map makes memory of the caller what the program sees at the addresses given, without a copy, in place of what was mapped before. Mappings may
// not overlap each other, an allocation, or the windows of other memories in the generic address space.
func (m *Memory) Map(mappings []Mapping) error {
	m.regions = slices.DeleteFunc(m.regions, func(r *region) bool { return r.mapped })
	for _, p := range mappings {
		m.regions = append(m.regions, &region{name: p.Name, space: spGlobal, base: p.Address, data: p.Data, mapped: true, readonly: p.ReadOnly})
		if p.Undef {
			m.regions[len(m.regions)-1].undef = allUndef(len(p.Data))
		}
	}
	slices.SortStableFunc(m.regions, func(a, b *region) int { return cmp.Compare(a.base, b.base) })
	for i, r := range m.regions {
		if i > 0 && m.regions[i-1].base+uint64(len(m.regions[i-1].data)) > r.base {
			return fmt.Errorf("'%s', %d bytes at %#x, overlaps '%s'", m.regions[i-1].name, len(m.regions[i-1].data), m.regions[i-1].base, r.name)
		}
		if end := r.base + uint64(len(r.data)); end < r.base || inWindow(r.base) || inWindow(end) {
			return fmt.Errorf("'%s', %d bytes at %#x, does not fit the address space", r.name, len(r.data), r.base)
		}
	}
	return nil
}

// Alloc makes an allocation that holds data, at a multiple of align (at least 256), and gives its address.
// The data are copied.
func (m *Memory) Alloc(name string, data []byte, align int) uint64 {
	r := m.alloc(name, len(data), align)
	copy(r.data, data)
	return r.base
}

// AllocPieces makes an allocation of which only pieces exist, data[i] at offsets[i], so that arrays may be bigger than any memory: what
// lies between is out of bounds. Offsets ascend, in multiples of 256. It gives the address of offset 0.
func (m *Memory) AllocPieces(name string, offsets []uint64, data [][]byte, align int) uint64 {
	var base uint64
	for i, d := range data {
		if i > 0 {
			m.next = base + offsets[i]
		}
		r := m.alloc(name, len(d), align)
		copy(r.data, d)
		align = 256
		if i == 0 {
			base = r.base - offsets[0]
		}
		if r.base != base+offsets[i] {
			panic(fmt.Sprintf("emu: piece %d of '%s' at offset %d begins in another or off its boundary", i, name, offsets[i]))
		}
	}
	return base
}

// AllocUndef makes an allocation of n bytes that are undefined until they are written.
func (m *Memory) AllocUndef(name string, n, align int) uint64 {
	r := m.alloc(name, n, align)
	r.undef = allUndef(n)
	return r.base
}

// Bytes gives the present content of the allocation at addr (its first byte), or nil. The bytes are the
// memory itself, valid until the next launch.
func (m *Memory) Bytes(addr uint64) []byte {
	if r := m.find(addr); r != nil && r.base == addr {
		return r.data
	}
	return nil
}

func allUndef(n int) []byte {
	u := make([]byte, n)
	for i := range u {
		u[i] = 0xff
	}
	return u
}

func (m *Memory) alloc(name string, n, align int) *region {
	a := uint64(max(align, 256))
	r := &region{name: name, space: spGlobal, base: alignUp(m.next, a), data: make([]byte, n)}
	m.next = r.base + uint64(n) + guardGap
	if k := len(m.regions); k == 0 || m.regions[k-1].base <= r.base {
		m.regions = append(m.regions, r)
	} else { // something is mapped at higher addresses
		m.regions = slices.Insert(m.regions, sort.Search(k, func(i int) bool { return m.regions[i].base > r.base }), r)
	}
	return r
}

// drop removes the allocation at addr: later accesses there are out of bounds.
func (m *Memory) drop(addr uint64) {
	m.regions = slices.DeleteFunc(m.regions, func(r *region) bool { return r.base == addr })
}

// find gives the last region that begins at or below addr.
func (m *Memory) find(addr uint64) *region {
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].base > addr })
	if i == 0 {
		return nil
	}
	return m.regions[i-1]
}

// describe says where addr lies with respect to the nearest allocation. Addresses wrap: one that was counted below 0 lies before the first.
func (m *Memory) describe(addr uint64, n int) string {
	if len(m.regions) == 0 {
		return "there are no allocations"
	}
	i := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].base > addr })
	next := m.regions[i%len(m.regions)]
	before := next.base - addr
	last := m.regions[(i+len(m.regions)-1)%len(m.regions)]
	after := addr - last.base - uint64(len(last.data))
	switch inside := addr-last.base < uint64(len(last.data)); {
	case addr == 0 && !inside:
		return "a null pointer"
	case addr < nullPage && before > nullPage && !inside:
		return fmt.Sprintf("%d bytes after a null pointer", addr)
	case inside:
		return fmt.Sprintf("the last %d of %d bytes lie after the end of %s", after+uint64(n), n, last.describeGlobal())
	case after <= before:
		return fmt.Sprintf("%d bytes after the end of %s", after, last.describeGlobal())
	}
	return fmt.Sprintf("%d bytes before %s", before, next.describeGlobal())
}

// describeGlobal names an allocation.
func (r *region) describeGlobal() string {
	return fmt.Sprintf("'%s' (%d bytes at %#x)", r.name, len(r.data), r.base)
}

// read gives n (1, 2, 4 or 8) bytes as a little-endian number.
func (r *region) read(off, n int) uint64 { return readBytes(r.data, off, n) }

func readBytes(b []byte, off, n int) uint64 {
	switch n {
	case 1:
		return uint64(b[off])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b[off:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b[off:]))
	}
	return binary.LittleEndian.Uint64(b[off:])
}

func writeBytes(b []byte, off, n int, v uint64) {
	switch n {
	case 1:
		b[off] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b[off:], uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b[off:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(b[off:], v)
	}
}

// readUndef gives the undefined bits of n bytes.
func (r *region) readUndef(off, n int) uint64 {
	if r.undef == nil {
		return 0
	}
	return readBytes(r.undef, off, n)
}

// write stores a number of n bytes with its undefined bits.
func (r *region) write(off, n int, v, undef uint64) {
	writeBytes(r.data, off, n, v)
	if r.undef != nil {
		writeBytes(r.undef, off, n, undef)
	} else if undef&widthMask(8*n) != 0 {
		r.undef = make([]byte, len(r.data))
		writeBytes(r.undef, off, n, undef)
	}
}

// load lays out the module-scope variables of a module in memory, once per Memory: they keep their
// values from launch to launch.
func (m *Memory) load(mod *Module) (map[*variable]*region, error) {
	if g := m.modules[mod]; g != nil {
		return g, nil
	}
	g := map[*variable]*region{}
	for _, v := range mod.globals {
		r := m.alloc(v.name, v.size, v.align)
		copy(r.data, v.init)
		r.readonly = v.space == spConst
		g[v] = r
	}
	for _, v := range mod.globals {
		for _, ref := range v.refs {
			base, ok := uint64(0), false
			if t := g[mod.root.variable(ref.name)]; t != nil {
				base, ok = t.base, true
			} else if f := slices.Index(mod.order, mod.funcs[ref.name]); f >= 0 {
				base, ok = uint64(f+1)*codeAlign, true
			}
			if !ok {
				return nil, fmt.Errorf("initial value of '%s': '%s' has no address in memory", v.name, ref.name)
			}
			addr := base + uint64(ref.add)
			if ref.oneByte {
				addr = addr >> ref.shift & 0xff
			}
			writeBytes(g[v].data, ref.at, ref.size, addr)
		}
	}
	m.modules[mod] = g
	return g, nil
}
