package tileiras

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	_ "tileiras/internal/cache/remote" // caches may be behind servers
	"tileiras/internal/driver"
)

// Level is where a compile stops.
type Level string

// The levels, in the order of the way down. "" is PTX.
const (
	CudaTile Level = "cudatile" // the input as Tile IR text
	Bytecode Level = "bytecode" // Tile IR bytecode
	TileAA   Level = "tileaa"   // the last module that knows tiles, as text
	LLVM     Level = "llvm"     // LLVM IR text
	PTX      Level = "ptx"      // PTX text
	Cubin    Level = "cubin"    // a cubin, by NVIDIA's ptxas: docs/install.md says where it is looked for
)

// Native is the name of the GPU of this machine, for Options.GPU.
const Native = driver.Native

// ABI is the convention between a kernel and who launches it.
type ABI string

const (
	CUDA ABI = "cuda" // an ordinary CUDA kernel, lowest PTX version that has the instructions; the default of all but a Cubin
	Tile ABI = "tile" // as NVIDIA's tile compiler lays kernels out: block size (1, 1, 1), PTX 9.2 and later; the default of a Cubin
)

// Roles says which kernels have warps that do nothing but begin the copies of loops.
type Roles string

const (
	AutoRoles Roles = "auto" // those where they cost less
	WithRoles Roles = "on"   // all that can have them
	NoRoles   Roles = "off"  // none
)

// TF32 says how f32 becomes the tf32 that products multiply by.
type TF32 string

const (
	RoundedTF32   TF32 = "rounded"   // as the conversion in the program says
	TruncatedTF32 TF32 = "truncated" // the tensor unit cuts off bits, as Triton has it: faster, up to twice the error
)

// OptLevel is how hard the compiler tries. The zero value is O3.
type OptLevel uint8

const (
	DefaultOpt OptLevel = iota // O3
	O0                         // the plan with the most warps and smallest pieces, without the passes that only make code better
	O1                         // all passes and plans; ptxas tries less hard
	O2                         // as O1, but for ptxas
	O3                         // as O1, but for ptxas
)

// Options say what to compile for, where to stop, and what it may take. The zero value of every field is right for most; a value
// that a field does not know is an error of Compile.
type Options struct {
	Name      string   // of the source in diagnostics; "" is "input". Bytecode with debug information names its own sources
	GPU       string   // "sm_90"; GPUs lists them. Native is that of this machine; "" is sm_80, whose PTX later GPUs run too, but not for a Cubin
	Emit      Level    // where to stop; "" is what StopAfter gives, or PTX
	ABI       ABI      // "" is Tile for a Cubin, else CUDA
	Opt       OptLevel // how hard to try
	Roles     Roles    // "" is AutoRoles
	TF32      TF32     // "" is RoundedTF32
	TMA       bool     // copies to shared memory take tensor maps, where they can: from sm_90 on. The kernel makes them, in global memory of its module
	SlicesK   int      // slices along K in which warps share products, 1, 2 or 4; their sums are added behind the loop. 0 is as many as cost least
	MaxPTX    string   // "8.4": code that needs a later version of PTX is an error; "" is any version
	MaxShared int      // bytes of shared memory that a thread block may have, where the GPU has more; 0 is what the GPU has
	LineInfo  bool     // source lines in PTX and cubins
	Remarks   bool     // collect Result.Remarks, and of a Cubin Kernel.Usage

	Ptxas    string // the file of NVIDIA's ptxas, for a Cubin; "" looks for it
	Sanitize bool   // have ptxas instrument a Cubin for the memcheck of compute-sanitizer

	BytecodeVersion string // "13.3", that Bytecode is written in; "" is that of the input, or the newest
	Strict131       bool   // read as NVIDIA's tools of 13.1 did
	Preview         bool   // admit files that say that they use preview features

	// Cache keeps results: a folder, or the http:// URL of a server of Bazel's remote cache protocol. "" keeps none. Trouble with it is
	// a warning of the result, never an error.
	Cache string

	TimeLimit   time.Duration // after which the compile ends with context.DeadlineExceeded; 0 is none
	MemoryLimit int64         // bytes of modules that the compile may hold, about; more ends it with ErrMemory; 0 is none

	Log           io.Writer // gets the dumps below; nil shows nothing
	PrintAfterAll bool      // the module after every pass
	PrintBefore   []string  // the module before these passes
	PrintAfter    []string  // the module after these passes
	PrintChanged  bool      // what each pass changed, as a diff
	PrintFacts    bool      // what is known of integers and pointers after every pass
	DebugInfo     bool      // locations in printed modules
	VerifyEach    bool      // verify the module after every pass
	StopAfter     string    // the pass after which to stop, with its module as the output; Emit may name no other level
	ReproducerDir string    // where a fault of the compiler leaves its input; "" writes nothing
}

// Driver is what internal/driver calls these options, for programs of this module; values that have no such thing are an *Error.
func (o *Options) Driver() (driver.Options, error) {
	d := driver.Options{
		GPU: o.GPU, Emit: driver.Emit(o.Emit), Code: driver.Code{Opt: 3, ABI: driver.ABI(o.ABI), Roles: driver.Roles(o.Roles), TF32: driver.TF32(o.TF32), TMA: o.TMA, SlicesK: o.SlicesK, MaxPTX: o.MaxPTX, MaxShared: o.MaxShared, LineInfo: o.LineInfo}, Remarks: o.Remarks, Cache: o.Cache,
		Ptxas: o.Ptxas, Sanitize: o.Sanitize,
		TimeLimit: o.TimeLimit, MemoryLimit: o.MemoryLimit,
		Log: o.Log, PrintAfterAll: o.PrintAfterAll, PrintBefore: o.PrintBefore, PrintAfter: o.PrintAfter, PrintChanged: o.PrintChanged,
		PrintFacts: o.PrintFacts, DebugInfo: o.DebugInfo, VerifyEach: o.VerifyEach, StopAfter: o.StopAfter,
		ReproducerDir: o.ReproducerDir,
	}
	d.Read.Strict131, d.Read.Preview = o.Strict131, o.Preview
	switch {
	case o.Opt > O3:
		return d, optionError("Opt", fmt.Sprint(uint8(o.Opt)), []string{"O0", "O1", "O2", "O3"})
	case o.Opt > DefaultOpt:
		d.Opt = int(o.Opt - O0)
	}
	if v := o.BytecodeVersion; v != "" {
		if !slices.Contains(driver.Versions(), v) {
			return d, optionError("BytecodeVersion", v, driver.Versions())
		}
		d.BytecodeVersion, _ = driver.ParseVersion(v)
	}
	levels := []Level{"", CudaTile, Bytecode, TileAA, LLVM, PTX, Cubin}
	if !slices.Contains(levels, o.Emit) {
		return d, optionError("Emit", string(o.Emit), texts(levels[1:]))
	}
	if abis := []ABI{"", CUDA, Tile}; !slices.Contains(abis, o.ABI) {
		return d, optionError("ABI", string(o.ABI), texts(abis[1:]))
	}
	if roles := []Roles{"", AutoRoles, WithRoles, NoRoles}; !slices.Contains(roles, o.Roles) {
		return d, optionError("Roles", string(o.Roles), texts(roles[1:]))
	}
	if kinds := []TF32{"", RoundedTF32, TruncatedTF32}; !slices.Contains(kinds, o.TF32) {
		return d, optionError("TF32", string(o.TF32), texts(kinds[1:]))
	}
	if gpus := append(driver.GPUs(), Native); !slices.Contains(gpus, o.GPU) && (o.GPU != "" || o.Emit == Cubin) {
		return d, optionError("GPU", o.GPU, gpus)
	}
	if o.TimeLimit < 0 {
		return d, optionError("TimeLimit", o.TimeLimit.String(), []string{"0, no limit,", "more"})
	}
	if o.MemoryLimit < 0 {
		return d, optionError("MemoryLimit", fmt.Sprint(o.MemoryLimit), []string{"0, no limit,", "more"})
	}
	return d, nil
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

func optionError(field, value string, valid []string) *Error {
	return newError(driver.ExitUsage, Diagnostic{ID: "option",
		Message: fmt.Sprintf("Options.%s = %q: it is one of %s", field, value, strings.Join(valid, " "))})
}
