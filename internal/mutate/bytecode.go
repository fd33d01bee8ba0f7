// Package mutate breaks Tile IR files on purpose: bytecode along its structure (sections, tables, varints), text along the grammar
// of its operations. What it makes is a function of a seed and a number, so that a file that breaks something is two numbers. Fields of
// options it changes for tests that none is forgotten.
//
// It knows the container only, from the bytecode pages of the Tile IR specification, and imports nothing of the compiler: what the
// compiler's own reader takes for a section must not decide what is tested.
package mutate

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Bytecode makes broken files out of whole ones.
type Bytecode struct {
	Seed  uint64
	Files [][]byte // at least one
}

// File is broken file number n, and what was done to which of the files, for a report.
func (b *Bytecode) File(n uint64) (data []byte, how string) {
	m := mutator{rng: rand.New(rand.NewPCG(b.Seed, n)), files: b.Files}
	i := m.rng.IntN(len(b.Files))
	m.take(b.Files[i])
	how = fmt.Sprintf("file %d: %s", i, m.breakIt())
	return m.bytes(), how
}

// Break is one way of breaking a file that the seed chooses; others are what parts may be taken from.
func Break(data []byte, seed uint64, others [][]byte) []byte {
	m := mutator{rng: rand.New(rand.NewPCG(seed, 0)), files: slices.Concat(others, [][]byte{data})}
	m.take(data)
	m.breakIt()
	return m.bytes()
}

// mutator holds a file as sections while it can, as bytes when its sections no longer matter.
type mutator struct {
	rng      *rand.Rand
	files    [][]byte
	head     []byte // magic and version
	sections []part
	tail     []byte // what is left over: the end marker
	raw      []byte // the file, once it is bytes
}

// part is a section: what stands in its header, and its payload.
type part struct {
	id      byte // with the alignment flag
	length  uint64
	lies    bool // length is not that of the payload
	align   uint64
	payload []byte
}

const (
	headSize = 12
	padding  = 0xCB
	aligned  = 0x80
)

// take splits a file into sections as far as that goes.
func (m *mutator) take(data []byte) {
	n := min(headSize, len(data))
	m.head = slices.Clone(data[:n])
	at := n
	for at < len(data) && data[at] != 0 {
		p := part{id: data[at]}
		pos := at + 1
		var ok bool
		if p.length, pos, ok = varint(data, pos); !ok {
			break
		}
		if p.id&aligned != 0 {
			if p.align, pos, ok = varint(data, pos); !ok || p.align == 0 || p.align > 1<<16 {
				break
			}
			pos += (int(p.align) - pos%int(p.align)) % int(p.align)
		}
		if pos > len(data) || p.length > uint64(len(data)-pos) {
			break
		}
		p.payload = slices.Clone(data[pos : pos+int(p.length)])
		m.sections = append(m.sections, p)
		at = pos + int(p.length)
	}
	m.tail = slices.Clone(data[at:])
}

// bytes puts the file together again.
func (m *mutator) bytes() []byte {
	if m.raw != nil {
		return m.raw
	}
	out := slices.Clone(m.head)
	for _, p := range m.sections {
		out = append(out, p.id)
		if !p.lies {
			p.length = uint64(len(p.payload))
		}
		out = binary.AppendUvarint(out, p.length)
		if p.id&aligned != 0 {
			out = binary.AppendUvarint(out, p.align)
			if 0 < p.align && p.align < 1<<12 {
				for len(out)%int(p.align) != 0 {
					out = append(out, padding)
				}
			}
		}
		out = append(out, p.payload...)
	}
	return append(out, m.tail...)
}

// toRaw gives up the sections.
func (m *mutator) toRaw() []byte {
	if m.raw == nil {
		m.raw = append([]byte{}, m.bytes()...) // not nil, be it empty
	}
	return m.raw
}

// kinds are the ways of breaking. The first group keeps the container whole, so that what is broken is met deep inside.
var kinds = []struct {
	name   string
	weight int
	apply  func(*mutator)
}{
	{"index", 8, (*mutator).index},
	{"flip", 5, (*mutator).flipInside},
	{"value", 3, (*mutator).value},
	{"copy", 4, (*mutator).copyInside},
	{"swap", 2, (*mutator).swapInside},
	{"insert", 2, (*mutator).insertVarint},
	{"splice", 4, (*mutator).spliceInside},
	{"cut", 2, (*mutator).cutInside},
	{"count", 3, (*mutator).count},
	{"offset", 2, (*mutator).offset},
	{"transplant", 2, (*mutator).transplant},
	{"version", 1, (*mutator).version},
	{"drop", 1, (*mutator).drop},
	{"repeat", 1, (*mutator).repeat},
	{"reorder", 1, (*mutator).reorder},
	{"length", 3, (*mutator).lengthLie},
	{"alignment", 1, (*mutator).alignment},
	{"truncate", 2, (*mutator).truncate},
	{"flip anywhere", 2, (*mutator).flipAnywhere},
	{"grow", 1, (*mutator).grow},
}

// breakIt applies one to three kinds and names them.
func (m *mutator) breakIt() string {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	var names []string
	for n := 1 + m.rng.IntN(6)/4 + m.rng.IntN(8)/7; n > 0; n-- {
		at := m.rng.IntN(total)
		for _, k := range kinds {
			if at -= k.weight; at < 0 {
				k.apply(m)
				names = append(names, k.name)
				break
			}
		}
	}
	return strings.Join(names, ", ")
}

// region is bytes that may be changed in place: the payload of a section, or the whole file.
func (m *mutator) region() []byte {
	if m.raw != nil {
		return m.raw
	}
	if p := m.section(); p != nil {
		return p.payload
	}
	return m.toRaw()
}

// section chooses a section, the larger ones more often; nil when there is none.
func (m *mutator) section() *part {
	if m.raw != nil {
		return nil
	}
	total := 0
	for _, p := range m.sections {
		total += 16 + len(p.payload)
	}
	if total == 0 {
		return nil
	}
	at := m.rng.IntN(total)
	for i := range m.sections {
		if at -= 16 + len(m.sections[i].payload); at < 0 {
			return &m.sections[i]
		}
	}
	return nil
}

// run is a stretch of n bytes of b, from a to z.
func (m *mutator) run(b []byte, most int) (a, z int) {
	if len(b) == 0 {
		return 0, 0
	}
	a = m.rng.IntN(len(b))
	return a, min(len(b), a+1+m.rng.IntN(most))
}

// index changes what is likely to be an index, an opcode, a tag or a small count into another.
func (m *mutator) index() {
	b := m.region()
	for tries := 0; tries < 16 && len(b) > 0; tries++ {
		at := m.rng.IntN(len(b))
		if b[at] < 0x80 && (at == 0 || b[at-1] < 0x80) {
			if m.rng.IntN(3) == 0 {
				b[at] = byte(int(b[at])+m.rng.IntN(5)-2) & 0x7F
			} else {
				b[at] = byte(m.rng.IntN(128)) >> m.rng.IntN(5)
			}
			return
		}
	}
}

// flipInside flips bits without breaking the container.
func (m *mutator) flipInside() {
	b := m.region()
	for n := 1 + m.rng.IntN(4); n > 0 && len(b) > 0; n-- {
		b[m.rng.IntN(len(b))] ^= 1 << m.rng.IntN(8)
	}
}

// edges are bytes where something begins or ends.
var edges = []byte{0, 1, 2, 0x3F, 0x40, 0x7F, 0x80, 0x81, 0xCB, 0xFE, 0xFF}

func (m *mutator) value() {
	if b := m.region(); len(b) > 0 {
		b[m.rng.IntN(len(b))] = edges[m.rng.IntN(len(edges))]
	}
}

// copyInside copies a run over another place of the same section.
func (m *mutator) copyInside() {
	b := m.region()
	a, z := m.run(b, 8)
	if len(b) > 0 {
		copy(b[m.rng.IntN(len(b)):], slices.Clone(b[a:z]))
	}
}

func (m *mutator) swapInside() {
	if b := m.region(); len(b) > 1 {
		i := m.rng.IntN(len(b) - 1)
		j := i + 1 + m.rng.IntN(min(16, len(b)-1-i))
		b[i], b[j] = b[j], b[i]
	}
}

// numbers are counts, lengths and indices at which a reader may go wrong.
var numbers = []uint64{0, 1, 2, 3, 7, 8, 127, 128, 255, 256, 1 << 14, 1<<16 - 1, 1 << 24, 1<<24 + 1, 1<<31 - 1, 1 << 31,
	1<<32 - 2, 1<<32 - 1, 1 << 32, 1 << 40, 1 << 61, 1 << 62, 1<<63 - 1, 1 << 63, math.MaxUint64}

func (m *mutator) number(near uint64) uint64 {
	switch m.rng.IntN(3) {
	case 0:
		return near + uint64(m.rng.IntN(9)) - 4
	case 1:
		return uint64(m.rng.IntN(1 << (1 + m.rng.IntN(20))))
	}
	return numbers[m.rng.IntN(len(numbers))]
}

// encode writes a varint, now and then one that is longer than it needs to be, or than it may be.
func (m *mutator) encode(v uint64) []byte {
	b := binary.AppendUvarint(nil, v)
	if m.rng.IntN(8) == 0 {
		b[len(b)-1] |= 0x80
		for n := m.rng.IntN(12); n > 0; n-- {
			b = append(b, 0x80)
		}
		b = append(b, byte(m.rng.IntN(2)))
	}
	return b
}

// replaceVarint puts another number where one stands.
func (m *mutator) replaceVarint(b []byte, at int) []byte {
	v, end, ok := varint(b, at)
	if !ok {
		return b
	}
	return slices.Replace(b, at, end, m.encode(m.number(v))...)
}

// edit changes the length of a section, or of the file.
func (m *mutator) edit(change func([]byte) []byte) {
	if p := m.section(); p != nil {
		p.payload = change(p.payload)
		return
	}
	m.raw = change(m.toRaw())
}

func (m *mutator) insertVarint() {
	m.edit(func(b []byte) []byte { return m.replaceVarint(b, m.rng.IntN(len(b)+1)) })
}

// spliceInside puts a run of a section of the same kind of any file over or between bytes.
func (m *mutator) spliceInside() {
	if p := m.section(); p != nil {
		q := m.foreign(p.id)
		a, z := m.run(q, 64)
		from := m.rng.IntN(len(p.payload) + 1)
		to := from
		if m.rng.IntN(2) == 0 {
			to = min(len(p.payload), from+z-a)
		}
		p.payload = slices.Replace(p.payload, from, to, q[a:z]...)
	}
}

// foreign is the payload of a section of any file.
func (m *mutator) foreign(id byte) []byte {
	other := mutator{}
	other.take(m.files[m.rng.IntN(len(m.files))])
	for _, p := range other.sections {
		if p.id == id {
			return p.payload
		}
	}
	return nil
}

func (m *mutator) cutInside() {
	m.edit(func(b []byte) []byte {
		a, z := m.run(b, 1+m.rng.IntN(32))
		return slices.Delete(b, a, z)
	})
}

// count lies about the number of entries of a table.
func (m *mutator) count() { m.edit(func(b []byte) []byte { return m.replaceVarint(b, 0) }) }

// offset changes an aligned word near the start of a section, where the offsets of a table stand.
func (m *mutator) offset() {
	b := m.region()
	size := 4 + 4*m.rng.IntN(2)
	if words := len(b) / size; words > 1 {
		word := b[size*(1+m.rng.IntN(min(words-1, 1+len(b)/(4*size)))):]
		v := binary.LittleEndian.Uint32(word)
		binary.LittleEndian.PutUint32(word, uint32(m.number(uint64(v))))
	}
}

// transplant takes a whole section of another file in the place of ours.
func (m *mutator) transplant() {
	if p := m.section(); p != nil {
		if q := m.foreign(p.id); q != nil {
			p.payload = slices.Clone(q)
		}
	}
}

func (m *mutator) version() {
	if m.raw == nil && len(m.head) == headSize {
		switch m.rng.IntN(8) {
		case 0:
			m.head[m.rng.IntN(headSize)] ^= 1 << m.rng.IntN(8)
		default:
			m.head[9] = byte(1 + m.rng.IntN(5))
		}
	}
}

func (m *mutator) drop() {
	if n := len(m.sections); n > 0 {
		i := m.rng.IntN(n)
		m.sections = slices.Delete(m.sections, i, i+1)
	}
}

func (m *mutator) repeat() {
	if n := len(m.sections); n > 0 {
		m.sections = append(m.sections, m.sections[m.rng.IntN(n)])
		m.sections[n].payload = slices.Clone(m.sections[n].payload)
	}
}

func (m *mutator) reorder() {
	m.rng.Shuffle(len(m.sections), func(i, j int) { m.sections[i], m.sections[j] = m.sections[j], m.sections[i] })
}

func (m *mutator) lengthLie() {
	if p := m.section(); p != nil {
		p.lies, p.length = true, m.number(uint64(len(p.payload)))
	}
}

func (m *mutator) alignment() {
	if p := m.section(); p != nil {
		if m.rng.IntN(4) == 0 {
			p.id ^= aligned
		} else {
			p.align = m.number(p.align)
		}
	}
}

func (m *mutator) truncate() {
	b := m.toRaw()
	m.raw = b[:m.rng.IntN(len(b)+1)]
}

func (m *mutator) flipAnywhere() {
	b := m.toRaw()
	for n := 1 + m.rng.IntN(3); n > 0 && len(b) > 0; n-- {
		b[m.rng.IntN(len(b))] ^= 1 << m.rng.IntN(8)
	}
}

// grow puts bytes after the end.
func (m *mutator) grow() {
	m.tail = append(m.tail, edges[m.rng.IntN(len(edges))])
}

// varint reads an unsigned LEB128 number.
func varint(b []byte, at int) (v uint64, end int, ok bool) {
	if at >= len(b) {
		return 0, at, false
	}
	v, n := binary.Uvarint(b[at:])
	return v, at + n, n > 0
}
