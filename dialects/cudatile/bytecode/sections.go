package bytecode

import (
	"fmt"
	"slices"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// magic is the first eight bytes of every file.
const magic = "\x7FTileIR\x00"

// The sections.
const (
	endSection = iota
	stringSection
	functionSection
	debugSection
	constantSection
	typeSection
	globalSection
	producerSection
	numSections
)

// sectionInfo is what the format asks of a section: the least alignment (0 for none) and the first version that has it.
var sectionInfo = [numSections]struct {
	name  string
	align int
	since ir.Version
}{
	stringSection:   {"string", 4, def.V131},
	functionSection: {"function", 8, def.V131},
	debugSection:    {"debug", 8, def.V131},
	constantSection: {"constant", 8, def.V131},
	typeSection:     {"type", 4, def.V131},
	globalSection:   {"global", 0, def.V131},
	producerSection: {"producer", 0, def.V133},
}

// Oldest and Newest bound the versions that Read and Write know.
var (
	Oldest = def.Oldest
	Newest = def.Newest
)

// section is one section as it lies in the file.
type section struct {
	id    int
	align uint64 // 0 when the header has none
	data  []byte
}

// header reads the first twelve bytes.
func header(f *failure, data []byte, o ReadOptions) ir.Version {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		f.failed, f.err = true, Error{Kind: NotBytecode, Lines: []string{magicMessage(data)}}
		return ir.Version{}
	}
	c := cursor{failure: f, data: data, pos: len(magic)}
	v := ir.V(c.byte(""), c.byte(""))
	v.Tag = c.u16("")
	if f.ok() {
		headerVersion(&c, v, o)
	}
	c.inside("failed to parse bytecode header")
	return v
}

// previewTag is the bit of the version's tag that says that a file holds preview features. The others have no meaning.
const previewTag = 1

// headerVersion checks that the version is one that the options admit. What a tag means is newer than 13.1: the strict
// reader takes any.
func headerVersion(c *cursor, v ir.Version, o ReadOptions) {
	switch {
	case o.Extension != nil && slices.Contains(o.Extension.Versions, v):
	case v.Before(Oldest) || o.newest().Before(v):
		between := " - "
		if o.Strict131 {
			between = ", "
		}
		c.fail("unsupported Tile version %d.%d.%d, this reader supports versions [%v%s%v]", v.Major, v.Minor, v.Tag, Oldest, between, o.newest())
		c.err.Kind, c.err.Version = BadVersion, v
	case o.Strict131:
	case v.Tag&^previewTag != 0:
		c.fail("header has unrecognized version tag bits (0x%X);", v.Tag&^previewTag)
	case v.Tag == 0:
	case v.Before(Newest):
		c.fail("public-preview bytecode at version %v is not readable; preview content is only valid at the current version %v", v, Newest)
		c.closed = true
	case !o.Preview:
		c.fail("public-preview bytecode requires at least one enabled preview feature")
		c.closed = true
	}
}

// magicMessage says where data begins to differ from a bytecode file.
func magicMessage(data []byte) string {
	for i := 0; i < len(magic); i++ {
		if i >= len(data) {
			return fmt.Sprintf("invalid magic number: the file ends after %d bytes", len(data))
		}
		if data[i] != magic[i] {
			return fmt.Sprintf("invalid magic number at position %d, got %d expected %d", i, data[i], magic[i])
		}
	}
	return ""
}

// collect finds the sections of a file after the header.
func collect(c *cursor, v ir.Version) (list []section) {
	var seen [numSections]bool
	for {
		s, length := sectionHeader(c, v)
		if !c.ok() {
			c.inside("failed to parse section header")
			return nil
		}
		if s.id == endSection {
			break
		}
		if seen[s.id] {
			c.fail("duplicate %s section", sectionInfo[s.id].name)
			return nil
		}
		seen[s.id] = true
		if s.payload(c, length); !c.ok() {
			return nil
		}
		list = append(list, s)
	}
	switch {
	case c.rest() > 0:
		c.fail("end section is not the last section")
	case !seen[stringSection]:
		c.fail("string section is mandatory")
	case !seen[functionSection]:
		c.fail("function section is mandatory")
	}
	return list
}

// sectionHeader reads a header and the padding after it.
func sectionHeader(c *cursor, v ir.Version) (s section, length uint64) {
	if c.done() {
		c.fail("unexpected end of data while reading section header")
		return
	}
	b := c.byte("section header")
	s.id = int(b & 0x7F)
	aligned := b&0x80 != 0
	if s.id == endSection {
		if aligned {
			c.fail("end section should not have alignment flag set")
		}
		return
	}
	if s.id >= numSections || v.Before(sectionInfo[s.id].since) {
		c.fail("unknown section ID: %d", s.id)
		return
	}
	length = c.varint("section length")
	if c.ok() && length > uint64(c.rest()) {
		c.fail("section length %d exceeds remaining data size %d", length, c.rest())
		return
	}
	if aligned {
		s.align = c.varint("section alignment")
		if c.ok() && (s.align == 0 || s.align&(s.align-1) != 0) {
			c.fail("invalid alignment value: %d", s.align)
			return
		}
		if c.ok() && s.align > uint64(len(c.data)) {
			c.fail("failed to skip padding")
			return
		}
		if c.ok() {
			c.pad(int(s.align))
		}
	}
	return
}

// payload checks that the section lies as its kind must, and takes what it holds.
func (s *section) payload(c *cursor, length uint64) {
	switch need := uint64(sectionInfo[s.id].align); {
	case need == 0:
	case s.align == 0:
		c.fail("section %d must have alignment that is a multiple of %d bytes, but has no alignment flag set", s.id, need)
	case s.align%need != 0:
		c.fail("section %d must have alignment that is a multiple of %d bytes, but has alignment of %d", s.id, need, s.align)
	}
	if c.ok() && length > uint64(c.rest()) { // padding took what was there
		c.fail("section length %d exceeds remaining bytecode data. %d", length, c.rest())
	}
	s.data = c.bytes(int(length), "section payload")
}
