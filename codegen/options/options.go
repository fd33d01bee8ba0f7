// Package options is what somebody who compiles may ask of the code itself. It is data and imports nothing: the driver's flags and the
// library fill it in, and every pass, the lowering and the printer get it whole.
package options

// Code are the wishes. Flags point at its fields (internal/driver), so one more is a field here, its row, and its use.
type Code struct {
	Opt      int    // how hard the compiler tries: 0 to 3
	ABI      ABI    // "" is CUDA, for a cubin Tile
	LineInfo bool   // source lines in the LLVM IR and the PTX
	Debug    bool   // the same, as long as there is no more debug information than source lines; the header of the PTX says so
	Roles    Roles  // whether warps of their own begin copies; "" is Auto
	MaxPTX   string // "8.4": code that needs a later version of PTX is an error; "" is any version

	TF32 TF32 // what becomes of f32 that products take as tf32; "" is Rounded

	TMA bool // copies take tensor maps that the kernel makes, where they can

	SlicesK int // slices along K that warps share of a product, wherever there can be so many; 1 is none, 0 what costs least

	MaxShared int // bytes of shared memory that a thread block may have, where the GPU has more; 0 is what the GPU has
}

// MostSlicesK is the most slices of a product: each adds as many sums to what warps exchange behind the loop.
const MostSlicesK = 4

// Value is one value that an option can have, and what it means.
type Value struct{ Name, Help string }

// Roles says which kernels have warps of their own for copies.
type Roles string

const (
	Auto Roles = "auto" // those where they cost less
	On   Roles = "on"   // all that can
	Off  Roles = "off"  // none
)

// AllRoles lists the values of Roles.
var AllRoles = []Value{{string(Auto), "Where the cost model says so"}, {string(On), "In every kernel that can have them"}, {string(Off), "Never"}}

// TF32 says how f32 becomes the tf32 that products multiply by.
type TF32 string

const (
	Rounded   TF32 = "rounded"   // as the conversion in the program says
	Truncated TF32 = "truncated" // the tensor unit takes f32 as it is, and cuts off the bits that tf32 does not have
)

// TF32s lists the values of TF32.
var TF32s = []Value{{string(Rounded), "As the conversion in the program says"},
	{string(Truncated), "The tensor unit cuts off bits, as Triton has it: faster, up to twice the error"}}

// TruncatesTF32 reports whether products may cut off bits of f32 where the program says how to round.
func (c Code) TruncatesTF32() bool { return c.TF32 == Truncated }

// Lines reports whether source lines are wanted.
func (c Code) Lines() bool { return c.LineInfo || c.Debug }

// AsksForSlices reports whether products shall have slices whatever they cost.
func (c Code) AsksForSlices() bool { return c.SlicesK > 1 }

// Slices are the numbers of slices of a product that are worth a thought.
func (c Code) Slices() (list []int) {
	for n := 2; n <= MostSlicesK; n *= 2 {
		if c.SlicesK == 0 || c.SlicesK == n {
			list = append(list, n)
		}
	}
	return list
}

// AsksForRoles reports whether kernels shall have roles whatever they cost.
func (c Code) AsksForRoles() bool { return c.Roles == On }

// ForbidsRoles reports whether no kernel shall have roles.
func (c Code) ForbidsRoles() bool { return c.Roles == Off }

// ABI is the convention between a kernel and who launches it.
type ABI string

const (
	CUDA ABI = "cuda" // .reqntid is the block size, launched like any kernel; shared memory beyond 48 KB is dynamic; the lowest PTX version that has the instructions
	Tile ABI = "tile" // as NVIDIA's tile compiler lays kernels out: .language tile, block size (1, 1, 1), launch metadata, all shared memory static, PTX 9.2 and later
)

// ABIs lists the values of ABI.
var ABIs = []Value{{string(CUDA), "An ordinary CUDA kernel, lowest PTX version"}, {string(Tile), "A Tile IR kernel, block size 1,1,1"}}
