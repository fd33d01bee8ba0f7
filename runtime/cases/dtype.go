package cases

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tileiras/ir/float"
)

// DType is the element type of a buffer or a scalar parameter.
type DType struct {
	Name   string
	Size   int           // bytes of an element in memory
	Format *float.Format // nil for integers
	Signed bool          // integers only
	npy    string        // how .npy files describe the storage
}

// dtypes has one row per type; formats that .npy lacks are stored as the
// unsigned integer of their bits.
var dtypes = []*DType{
	{Name: "bool", Size: 1, npy: "|u1"},
	{Name: "i1", Size: 1, npy: "|b1"},
	{Name: "i8", Size: 1, Signed: true, npy: "|i1"},
	{Name: "i16", Size: 2, Signed: true, npy: "<i2"},
	{Name: "i32", Size: 4, Signed: true, npy: "<i4"},
	{Name: "i64", Size: 8, Signed: true, npy: "<i8"},
	{Name: "u8", Size: 1, npy: "|u1"},
	{Name: "u16", Size: 2, npy: "<u2"},
	{Name: "u32", Size: 4, npy: "<u4"},
	{Name: "u64", Size: 8, npy: "<u8"},
	{Name: "f16", Size: 2, Format: float.F16, npy: "<f2"},
	{Name: "bf16", Size: 2, Format: float.BF16, npy: "<u2"},
	{Name: "f32", Size: 4, Format: float.F32, npy: "<f4"},
	{Name: "f64", Size: 8, Format: float.F64, npy: "<f8"},
	{Name: "f8e4m3fn", Size: 1, Format: float.F8E4M3FN, npy: "|u1"},
	{Name: "f8e5m2", Size: 1, Format: float.F8E5M2, npy: "|u1"},
	{Name: "f8e8m0fnu", Size: 1, Format: float.F8E8M0FNU, npy: "|u1"},
	{Name: "fnv8e5m3fnu", Size: 1, Format: float.F8E5M3FNU, npy: "|u1"},
}

// DTypeByName returns the row of a type name as case files spell it.
func DTypeByName(name string) (*DType, error) {
	for _, d := range dtypes {
		if d.Name == name {
			return d, nil
		}
	}
	var names []string
	for _, d := range dtypes {
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("unknown dtype %q; there are %s", name, strings.Join(names, " "))
}

// bits reads element i of data.
func (d *DType) bits(data []byte, i int) uint64 {
	p := data[i*d.Size:]
	switch d.Size {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		return uint64(binary.LittleEndian.Uint32(p))
	}
	return binary.LittleEndian.Uint64(p)
}

// setBits writes element i of data.
func (d *DType) setBits(data []byte, i int, bits uint64) {
	p := data[i*d.Size:]
	switch d.Size {
	case 1:
		p[0] = byte(bits)
	case 2:
		binary.LittleEndian.PutUint16(p, uint16(bits))
	case 4:
		binary.LittleEndian.PutUint32(p, uint32(bits))
	default:
		binary.LittleEndian.PutUint64(p, bits)
	}
}

// value decodes bits; integers beyond 2^53 are rounded.
func (d *DType) value(bits uint64) float64 {
	switch {
	case d.Format != nil:
		return d.Format.Decode(bits)
	case d.Signed:
		return float64(d.signExtend(bits))
	}
	return float64(bits)
}

func (d *DType) signExtend(bits uint64) int64 {
	shift := 64 - 8*d.Size
	return int64(bits<<shift) >> shift
}

// encode rounds a number to the type; integers take its integer part.
func (d *DType) encode(v float64) uint64 {
	if d.Format != nil {
		return d.Format.Encode(v, float.NearestEven)
	}
	bits, _ := float.F64.ToInt(float.F64.Encode(v, float.NearestEven), 8*d.Size, d.Signed, float.TowardZero)
	return bits
}

// text prints an element for a message.
func (d *DType) text(bits uint64) string {
	switch {
	case d.Format != nil:
		return fmt.Sprintf("%s (0x%0*x)", strconv.FormatFloat(d.Format.Decode(bits), 'g', -1, 64), 2*d.Size, bits)
	case d.Signed:
		return strconv.FormatInt(d.signExtend(bits), 10)
	}
	return strconv.FormatUint(bits, 10)
}

// OfNpy is the first row that a .npy file of this description may hold, or nil: "<f4" is f32.
func OfNpy(descr string) *DType {
	for _, d := range dtypes {
		if d.npy == descr && d.Name != "bool" {
			return d
		}
	}
	return nil
}

// Npy is how a .npy file describes elements of the type.
func (d *DType) Npy() string { return d.npy }

// Append appends an element in memory's order of bytes.
func (d *DType) Append(data []byte, bits uint64) []byte {
	data = append(data, make([]byte, d.Size)...)
	d.setBits(data, len(data)/d.Size-1, bits)
	return data
}

// FromInt gives the bits of an integer: rounded by a float type, wrapped by an integer type.
func (d *DType) FromInt(v int64) uint64 {
	if d.Format != nil {
		return d.Format.Encode(float64(v), float.NearestEven)
	}
	return uint64(v) & (1<<(8*d.Size) - 1)
}

// Stores reports whether elements of the type, as a .npy file has them, may be those of a type of Tile IR. Integers have signs or none, and bits stand
// for formats that .npy lacks and for types without a row.
func (d *DType) Stores(name string) bool {
	want, err := DTypeByName(name)
	switch {
	case err != nil: // i4, f4E2M1FN, a pointer
		return d.Format == nil
	case d.Size != want.Size:
		return false
	case d.Format == nil && want.Format != nil:
		return d.npy == want.npy
	}
	return d.Format == want.Format
}

// Parse reads a JSON number as a value of the type.
func (d *DType) Parse(number string) (uint64, error) {
	if f := d.Format; f != nil {
		bits, ok := f.ParseDecimal(number)
		v, _ := strconv.ParseFloat(number, 64)
		switch most := f.Decode(f.Max()); {
		case !ok:
			return 0, fmt.Errorf("%q is no %s", number, d.Name)
		case !f.IsFinite(bits), !f.HasInf() && math.Abs(v) > most, !f.Signed() && v < 0:
			return 0, fmt.Errorf("%s is beyond %s, which has numbers from %.6g to %.6g", number, d.Name, f.Decode(f.Lowest()), most)
		}
		return bits, nil
	}
	var bits uint64
	var err error
	if d.Signed {
		var v int64
		v, err = strconv.ParseInt(number, 10, 8*d.Size)
		bits = uint64(v) << (64 - 8*d.Size) >> (64 - 8*d.Size)
	} else {
		bits, err = strconv.ParseUint(number, 10, 8*d.Size)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is beyond %s, which has %d bits", number, d.Name, 8*d.Size)
	case err != nil:
		return 0, fmt.Errorf("%q is no %s", number, d.Name)
	}
	return bits, nil
}
