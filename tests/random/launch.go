package random

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"tileiras/dialects/cudatile"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/ir/float"
)

// How a module is launched: its one entry by this name, on this many tile blocks along x. A parameter that is a pointer is a
// buffer of its own with this many elements, whose content follows from its type and its place among the parameters; a scalar
// is scalarValue of its place.
const (
	entry    = "k"
	grid     = 2
	elements = 4 * maxElements
)

// isSmallBuffer reports whether a buffer at this place among the parameters holds integers from -4 to 4 only, so that sums and products
// of what it holds are exact.
func isSmallBuffer(i int) bool { return i%4 == 3 }

// scalarValue is the value of parameter number i: never zero, sometimes odd.
func scalarValue(i int) int64 { return int64(3 + 5*i) }

// param is one parameter of a launch: a buffer or a scalar.
type param struct {
	elem  ir.Type // of the buffer, or of the scalar
	bytes []byte  // of the buffer; nil for a scalar
	bits  uint64
}

// parameters reads from a module what to launch an entry with.
func parameters(m *ir.Op, entry string) ([]param, error) {
	for _, e := range ir.OpsOf[cudatile.Entry](m.Body()) {
		op := e.Op
		if e.SymName() != entry {
			continue
		}
		var out []param
		for i, a := range op.Body().Args() {
			t, ok := a.Type().(*cudatile.TileType)
			if !ok || t.Rank() != 0 {
				return nil, fmt.Errorf("parameter %d is a %s", i, ir.TypeString(a.Type()))
			}
			if p, ok := t.Elem.(*cudatile.PtrType); ok {
				out = append(out, param{elem: p.Elem, bytes: initialContent(p.Elem, i)})
			} else {
				out = append(out, param{elem: t.Elem, bits: uint64(scalarValue(i))})
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("the module has no entry @%s", entry)
}

// size of an element in memory.
func size(elem ir.Type) int { return max(1, ir.BitWidth(elem)/8) }

// initialContent keeps what buffers hold at first, for reading only: most of the time of a run would be spent on making it again.
func initialContent(elem ir.Type, place int) []byte {
	key := fmt.Sprintf("%s %d", ir.ShortType(elem), place)
	if kept, ok := kept.Load(key); ok {
		return kept.([]byte)
	}
	made := makeContent(elem, place)
	kept.Store(key, made)
	return made
}

var kept sync.Map

// makeContent is what a buffer holds at first: mostly small numbers, some extreme ones, for floats infinities and NaN too.
func makeContent(elem ir.Type, place int) []byte {
	r := rand.New(rand.NewPCG(uint64(place), uint64(ir.BitWidth(elem))))
	n := size(elem)
	out := make([]byte, 0, n*elements)
	for range elements {
		bits := element(r, elem)
		if isSmallBuffer(place) {
			bits = smallInteger(r, elem)
		}
		out = append(out, binary.LittleEndian.AppendUint64(nil, bits)[:n]...)
	}
	return out
}

func smallInteger(r *rand.Rand, elem ir.Type) uint64 {
	v := r.IntN(9) - 4
	f, isFloat := elem.(*ir.FloatType)
	switch {
	case isFloat:
		return f.Format.ToStorage(f.Format.Encode(float64(v), float.NearestEven))
	case ir.BitWidth(elem) == 1:
		return uint64(v & 1)
	}
	return uint64(v)
}

func element(r *rand.Rand, elem ir.Type) uint64 {
	width := ir.BitWidth(elem)
	f, isFloat := elem.(*ir.FloatType)
	kind := r.IntN(100)
	switch {
	case width == 1:
		return uint64(r.IntN(2))
	case isFloat && kind < 60:
		return f.Format.ToStorage(f.Format.Encode(float64(r.IntN(17)-8), float.NearestEven))
	case isFloat && kind < 80:
		return f.Format.ToStorage(f.Format.Encode(float64(r.IntN(4096)-2048)/64, float.NearestEven))
	case isFloat && kind < 85:
		return f.Format.ToStorage(f.Format.Encode([]float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 1e-40}[r.IntN(5)], float.NearestEven))
	case !isFloat && kind < 60:
		return uint64(r.IntN(33) - 16)
	case !isFloat && kind < 65:
		return uint64(1) << (width - 1)
	}
	return r.Uint64()
}

// read makes a verified module of text.
func read(text string) (*driver.Input, error) {
	in, err := driver.Read(driver.NewContext(), "random.tileir", []byte(text))
	if err != nil {
		return nil, err
	}
	if !ir.Verify(in.Ctx, in.Module) {
		return nil, fmt.Errorf("%s", in.Ctx.Diags.String())
	}
	return in, nil
}
