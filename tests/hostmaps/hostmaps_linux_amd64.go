package hostmaps

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Symbols of the object for the host that NVIDIA's cubins carry in section .nv.host: kernel i has a name and a function
// that writes the tensor maps among its parameters when they change.
const (
	nameSymbol = "__CUDA_TILEIR_FUNC_NAME_"
	makeSymbol = "__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_"
)

// Make gives the parameters after those that args gives.
func Make(cubin []byte, target, kernel string, params []Param, args [][]byte) ([][]byte, error) {
	code, at, err := hostCode(cubin, kernel)
	if err != nil {
		return nil, err
	}
	bank, offsets := layOut(target, params, args)
	if err := call(code, at, bank); err != nil {
		return nil, err
	}
	var made [][]byte
	for i := len(args); i < len(params); i++ {
		made = append(made, bank[offsets[i]:][:params[i].Size])
	}
	return made, nil
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
func layOut(target string, params []Param, args [][]byte) (bank []byte, offsets []int) {
	base := bankBase[target]
	size := 0
	for _, p := range params {
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
