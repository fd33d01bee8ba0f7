package nvidia_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"

	"tileiras/runtime/emu"
)

// Symbols of the object for the host that NVIDIA's cubins carry in section .nv.host: kernel i has a name and a function
// that writes the tensor maps among its parameters when they change.
const (
	nameSymbol = "__CUDA_TILEIR_FUNC_NAME_"
	makeSymbol = "__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_"
)

// hostMaps fills the parameters after the first given ones, which are tensor maps: the host code of the cubin makes them
// from the arguments, in the format of the machine, and they become maps of the emulator.
func hostMaps(cubin []byte, target string, e *emu.Entry, given int, args []emu.Arg) ([]emu.Arg, error) {
	code, at, err := hostCode(cubin, e.Name)
	if err != nil {
		return nil, err
	}
	bank, offsets := layOut(target, e, args)
	if err := call(code, at, bank); err != nil {
		return nil, err
	}
	for i := given; i < len(e.Params); i++ {
		m, err := machineMap(bank[offsets[i]:][:128])
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i, err)
		}
		args = append(args, m.Encode())
	}
	return args, nil
}

// hostCode gives the machine code for the host and the place of the function of a kernel.
func hostCode(cubin []byte, kernel string) (code []byte, at uint64, err error) {
	f, err := elf.NewFile(bytes.NewReader(cubin))
	if err != nil {
		return nil, 0, err
	}
	section := f.Section(".nv.host")
	if section == nil {
		return nil, 0, errors.New("the cubin has no section .nv.host")
	}
	object, err := section.Data()
	if err != nil {
		return nil, 0, err
	}
	host, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, 0, err
	}
	symbols, err := host.Symbols()
	if err != nil {
		return nil, 0, err
	}
	index := ""
	for _, s := range symbols {
		if i, ok := strings.CutPrefix(s.Name, nameSymbol); ok {
			names, err := host.Sections[s.Section].Data()
			if err != nil {
				return nil, 0, err
			}
			if string(names[s.Value:s.Value+s.Size-1]) == kernel {
				index = i
			}
		}
	}
	for _, s := range symbols {
		if index != "" && s.Name == makeSymbol+index {
			code, err := host.Sections[s.Section].Data()
			return code, s.Value, err
		}
	}
	return nil, 0, fmt.Errorf("no host code for %s", kernel)
}

// bankBase is where the parameters begin in the constant bank, by which they are aligned: a multiple of 64 from sm_100 on.
var bankBase = map[string]int{"sm_90a": 0x210}

// layOut puts the arguments where a launch has them; all parameters have their room.
func layOut(target string, e *emu.Entry, args []emu.Arg) (bank []byte, offsets []int) {
	base := bankBase[target]
	size := 0
	for _, p := range e.Params {
		size = (base+size+p.Align-1)/p.Align*p.Align - base
		offsets = append(offsets, size)
		size += p.Size
	}
	const align = 64
	room := make([]byte, size+align)
	bank = room[-uintptr(unsafe.Pointer(&room[0]))%align:][:size]
	for i, a := range args {
		copy(bank[offsets[i]:], a)
	}
	return bank, offsets
}

// call runs the function at a place of the code on the parameters, its fourth argument; it calls nothing.
func call(code []byte, at uint64, bank []byte) error {
	page, err := syscall.Mmap(-1, 0, len(code), syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer syscall.Munmap(page)
	copy(page, code)
	if r, _, _ := purego.SyscallN(uintptr(unsafe.Pointer(&page[at])), 0, 0, 0, uintptr(unsafe.Pointer(&bank[0]))); uint32(r) != 0 {
		return fmt.Errorf("the host code gives %d", r)
	}
	return nil
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
