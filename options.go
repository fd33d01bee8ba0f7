package tileiras

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tileiras/codegen/options"
	_ "tileiras/internal/cache/remote" // caches may be behind servers
	"tileiras/internal/driver"
	"tileiras/internal/library"
)

// Level is where a compile stops.
type Level string

// The levels, in the order of the way down. "" is PTX.
const (
	CudaTile = Level(driver.EmitCudaTile) // the input as Tile IR text
	Bytecode = Level(driver.EmitBytecode) // Tile IR bytecode
	TileAA   = Level(driver.EmitTileAA)   // the last module that knows tiles, as text
	LLVM     = Level(driver.EmitLLVM)     // LLVM IR text
	PTX      = Level(driver.EmitPTX)      // PTX text
	Cubin    = Level(driver.EmitCubin)    // a cubin, by NVIDIA's ptxas: docs/install.md says where it is looked for
)

// Native is the name of the GPU of this machine, for Options.GPU.
const Native = driver.Native

// ABI is the convention between a kernel and who launches it.
type ABI string

const (
	CUDA = ABI(options.CUDA) // an ordinary CUDA kernel, lowest PTX version that has the instructions; the default of all but a Cubin
	Tile = ABI(options.Tile) // as NVIDIA's tile compiler lays kernels out: block size (1, 1, 1), PTX 9.2 and later; the default of a Cubin
)

// Roles says which kernels have warps that do nothing but begin the copies of loops.
type Roles string

const (
	AutoRoles = Roles(options.Auto) // those where they cost less
	WithRoles = Roles(options.On)   // all that can have them
	NoRoles   = Roles(options.Off)  // none
)

// TF32 says how f32 becomes the tf32 that products multiply by.
type TF32 string

const (
	RoundedTF32   = TF32(options.Rounded)   // as the conversion in the program says
	TruncatedTF32 = TF32(options.Truncated) // the tensor unit cuts off bits, as Triton has it: faster, up to twice the error
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
	Cache         string
	CachePatience time.Duration // how long a server may do nothing before it is not asked for 30 s; 0 is 200 ms

	TimeLimit   time.Duration // after which the compile ends with context.DeadlineExceeded; 0 is none
	MemoryLimit int64         // bytes of modules that the compile may hold, about; more ends it with ErrMemory; 0 is none

	Log           io.Writer // gets the dumps below; nil shows nothing
	PrintAfterAll bool      // the module after every pass
	PrintBefore   []string  // the module before these passes; Passes lists them
	PrintAfter    []string  // the module after these passes; Passes lists them
	PrintChanged  bool      // what each pass changed, as a diff
	PrintFacts    bool      // what is known of integers and pointers after every pass
	DebugInfo     bool      // locations in printed modules
	VerifyEach    bool      // verify the module after every pass
	StopAfter     string    // the pass of Passes after which to stop, with its module as the output; Emit may name no other level
	ReproducerDir string    // where a fault of the compiler leaves its input; "" writes nothing

	called func(field string) string // what messages call a field; nil is Options.Field
}

// driver is what internal/driver calls these options; a level or version that it has no word for is an *Error.
func (o *Options) driver() (driver.Options, error) {
	d := driver.Options{
		Called: o.called,
		GPU:    o.GPU, Emit: driver.Emit(o.Emit),
		Code: driver.Code{
			Opt: 3, ABI: driver.ABI(o.ABI), Roles: driver.Roles(o.Roles), TF32: driver.TF32(o.TF32), TMA: o.TMA, SlicesK: o.SlicesK,
			MaxPTX: o.MaxPTX, MaxShared: o.MaxShared, LineInfo: o.LineInfo,
		},
		Remarks: o.Remarks, Ptxas: o.Ptxas, Sanitize: o.Sanitize,
		Cache: o.Cache, CachePatience: o.CachePatience,
		TimeLimit: o.TimeLimit, MemoryLimit: o.MemoryLimit,
		Log: o.Log, PrintAfterAll: o.PrintAfterAll, PrintBefore: o.PrintBefore, PrintAfter: o.PrintAfter, PrintChanged: o.PrintChanged,
		PrintFacts: o.PrintFacts, DebugInfo: o.DebugInfo, VerifyEach: o.VerifyEach, StopAfter: o.StopAfter,
		ReproducerDir: o.ReproducerDir,
	}
	if d.Called == nil {
		d.Called = driver.InOptions
	}
	d.Read.Strict131, d.Read.Preview = o.Strict131, o.Preview
	switch {
	case o.Opt > O3:
		return d, optionError(d.Called("Opt"), fmt.Sprint(uint8(o.Opt)), "O0 O1 O2 O3")
	case o.Opt > DefaultOpt:
		d.Opt = int(o.Opt - O0)
	}
	if v := o.BytecodeVersion; v != "" {
		if !slices.Contains(driver.Versions(), v) {
			return d, optionError(d.Called("BytecodeVersion"), strconv.Quote(v), strings.Join(driver.Versions(), " "))
		}
		d.BytecodeVersion, _ = driver.ParseVersion(v)
	}
	return d, nil
}

func optionError(option, value, valid string) *Error {
	return newError(driver.ExitUsage, Diagnostic{Kind: KindOption, Message: fmt.Sprintf("%s = %s: it is one of %s", option, value, valid)})
}

func init() {
	library.Driver = func(o any) (driver.Options, error) { return o.(*Options).driver() }
	library.Call = func(o any, called func(field string) string) { o.(*Options).called = called }
	library.Error = func(err error) error { return errorOf(err) }
	driver.AsLibrary = func(f *driver.Failure, target any) bool {
		e, ok := target.(**Error)
		if ok {
			*e = errorFrom(f)
		}
		return ok
	}
}
