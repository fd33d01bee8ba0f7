package nvidia_test

import (
	"encoding/binary"
	"fmt"

	"tileiras/runtime/emu"
	"tileiras/tests/hostmaps"
)

// hostMaps fills the parameters after the first given ones, which are tensor maps: the host code of the cubin makes them
// from the arguments, in the format of the machine, and they become maps of the emulator.
func hostMaps(cubin []byte, target string, e *emu.Entry, args []emu.Arg) ([]emu.Arg, error) {
	var params []hostmaps.Param
	var given [][]byte
	for _, p := range e.Params {
		params = append(params, hostmaps.Param{Size: p.Size, Align: p.Align})
	}
	for _, a := range args {
		given = append(given, a)
	}
	made, err := hostmaps.Make(cubin, target, e.Name, params, given)
	if err != nil {
		return nil, err
	}
	for i, b := range made {
		m, err := machineMap(b)
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", len(given)+i, err)
		}
		args = append(args, m.Encode())
	}
	return args, nil
}

// machineMap reads a tensor map as the machine has it: words of 64 bits,
//
//	0     address
//	1     rank-1 at bit 4, element type 7-10, swizzle 13-14, tf32 16, atoms of 32 bytes 19, stride of dimension 1 over 16 from bit 32
//	2, 3  strides of dimensions 2 to 5 over 16
//	4-6   extents-1 of 32 bits; element strides-1 above them
//	6, 7  extents-1 of the box in bytes, from byte 7 of word 6
func machineMap(b []byte) (m emu.TensorMap, err error) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	half := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	flags := uint32(word(1))
	m = emu.TensorMap{Address: word(0), Rank: int(flags>>4&7) + 1, Type: uint8(flags >> 7 & 15), Swizzle: uint8(flags >> 13 & 3), Atomicity: uint8(flags >> 19 & 1)}
	const f32, tf32 = 7, 11
	if flags>>16&1 != 0 {
		if m.Type != f32 {
			return m, fmt.Errorf("a tensor map of tf32 with element type %d", m.Type)
		}
		m.Type = tf32
	}
	// bit 1 and the promotion to the second level cache (17, 18) are in all maps, bit 21 says that the tensor is large
	if rest := flags &^ (7<<4 | 15<<7 | 3<<13 | 1<<16 | 1<<19 | 1<<21); rest != 0x40002 || word(6)>>32&0xffffff != 0 {
		return m, fmt.Errorf("a tensor map with unknown bits: %#x %#x", flags, word(6))
	}
	for i := range m.Dims {
		m.Dims[i], m.Box[i], m.Steps[i] = half(32+4*i)+1, uint16(b[55+i])+1, 1
		if i > 0 {
			m.Strides[i-1] = uint64(half(12+4*(i-1))) << 4
		}
	}
	return m, nil
}
