package cases

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Array is the content of a .npy file: C order, little endian.
type Array struct {
	Descr string // element type as NumPy spells it: "<f4", "|u1"
	Shape []int
	Data  []byte
}

const npyMagic = "\x93NUMPY"

// The header is a Python dictionary with exactly these three keys (NEP 1).
var (
	npyDescr   = regexp.MustCompile(`'descr'\s*:\s*'([<>|=])([a-z])(\d+)'`)
	npyFortran = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9, ]*)\)`)
)

// maxBufferBytes bounds what a description may ask for.
const maxBufferBytes = 1 << 34

// ReadNpy decodes a .npy file (format versions 1 to 3). Data shares file's bytes.
func ReadNpy(file []byte) (*Array, error) {
	if len(file) < 10 || string(file[:6]) != npyMagic {
		return nil, fmt.Errorf("not a .npy file")
	}
	var size, start int
	switch major := file[6]; major {
	case 1:
		size, start = int(binary.LittleEndian.Uint16(file[8:])), 10
	case 2, 3:
		if len(file) < 12 {
			return nil, fmt.Errorf(".npy header is cut off")
		}
		size, start = int(binary.LittleEndian.Uint32(file[8:])), 12
	default:
		return nil, fmt.Errorf(".npy version %d.%d is not supported", major, file[7])
	}
	if size > len(file)-start {
		return nil, fmt.Errorf(".npy header is cut off")
	}
	header, data := string(file[start:start+size]), file[start+size:]
	descr, fortran, shape := npyDescr.FindStringSubmatch(header), npyFortran.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if descr == nil || fortran == nil || shape == nil {
		return nil, fmt.Errorf(".npy header %q is not understood", strings.TrimSpace(header))
	}
	a := &Array{Descr: descr[1] + descr[2] + descr[3], Data: data}
	if descr[1] == ">" {
		return nil, fmt.Errorf(".npy data is big endian (%s)", a.Descr)
	}
	for _, s := range strings.Split(shape[1], ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, fmt.Errorf(".npy shape (%s): %w", shape[1], err)
		}
		a.Shape = append(a.Shape, n)
	}
	if fortran[1] == "True" && len(a.Shape) > 1 {
		return nil, fmt.Errorf(".npy data is in Fortran order")
	}
	width, err := strconv.Atoi(descr[3])
	if err != nil || width < 1 || width > 16 {
		return nil, fmt.Errorf(".npy element type %s is not supported", a.Descr)
	}
	n, err := byteSize(a.Shape, width)
	if err != nil {
		return nil, fmt.Errorf(".npy file: %w", err)
	}
	if n != len(data) {
		return nil, fmt.Errorf(".npy shape (%s) of %s needs %d bytes, the file has %d", shape[1], a.Descr, n, len(data))
	}
	return a, nil
}

// WriteNpy encodes an array as a version 1.0 .npy file.
func WriteNpy(a *Array) []byte {
	var dims strings.Builder
	for _, d := range a.Shape {
		fmt.Fprintf(&dims, "%d, ", d)
	}
	shape := dims.String()
	if len(a.Shape) > 1 { // only (5,) keeps its last comma
		shape = strings.TrimSuffix(shape, ", ")
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", a.Descr, strings.TrimSuffix(shape, " "))
	// The header ends in a newline and the data starts at a multiple of 64.
	total := (10 + len(header) + 1 + 63) / 64 * 64
	header += strings.Repeat(" ", total-10-len(header)-1) + "\n"
	var out bytes.Buffer
	out.WriteString(npyMagic + "\x01\x00")
	out.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))
	out.WriteString(header)
	out.Write(a.Data)
	return out.Bytes()
}

// byteSize is the number of bytes of a shape, checked against maxBufferBytes.
func byteSize(shape []int, width int) (int, error) {
	n := width
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative extent", shape)
		}
		if d > 0 && n > maxBufferBytes/d {
			return 0, fmt.Errorf("shape %v takes more than %d bytes", shape, maxBufferBytes)
		}
		n *= d
	}
	return n, nil
}
