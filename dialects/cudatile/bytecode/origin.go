package bytecode

import "tileiras/ir"

// Origin is what a file said and a module cannot: the order and alignment of the sections, the padding after them, the
// order of the tables and the entries that nothing uses. It belongs to the module that Read returned with it. A module that
// has been changed since may be written with its Origin too: what is new goes to the end of the tables.
type Origin struct {
	version  ir.Version
	sections []sectionShape

	strings   []string
	wild      bool // the strings overlap in the file; Write makes tables of its own
	types     [][]byte
	constants [][]byte
	debug     [][]byte
	slots     []uint32
	indices   []byte

	// Where the objects of the module stand in their tables.
	typeIndex     map[ir.Type]uint64
	constantIndex map[*ir.DenseAttr]uint64
	debugIndex    map[any]uint64
	functions     map[*ir.Op]uint64 // slot in the debug section, from 1; 0 is none
	// wide are the tenth bytes of the varints of an op, in order, for ops where one of them is above 01.
	wide map[*ir.Op][]byte
}

// sectionShape is how a section lay in the file.
type sectionShape struct {
	id    int
	align uint64 // 0: the header has none
	tail  int    // bytes of padding at the end of the payload
}

func newOrigin(v ir.Version) *Origin {
	return &Origin{
		version:       v,
		typeIndex:     map[ir.Type]uint64{},
		constantIndex: map[*ir.DenseAttr]uint64{},
		debugIndex:    map[any]uint64{},
		functions:     map[*ir.Op]uint64{},
		wide:          map[*ir.Op][]byte{},
	}
}

// Version is the version of the file.
func (o *Origin) Version() ir.Version { return o.version }
