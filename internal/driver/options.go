package driver

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
	"tileiras/passes"
)

// Emit is the level at which a compile stops.
type Emit string

const (
	EmitCudaTile Emit = "cudatile" // the input as text
	EmitTileAA   Emit = "tileaa"   // the last module that knows tiles, as text
	EmitLLVM     Emit = "llvm"     // LLVM IR
	EmitPTX      Emit = "ptx"
	EmitBytecode Emit = "bytecode" // Tile IR bytecode
	EmitCubin    Emit = "cubin"
)

// Emits lists the levels in the order of the pipeline.
var Emits = []Emit{EmitCudaTile, EmitBytecode, EmitTileAA, EmitLLVM, EmitPTX, EmitCubin}

// extensions say what a file is to hold; the first of a kind is the one that messages name.
var extensions = []struct {
	name string
	emit Emit
}{
	{".ptx", EmitPTX}, {".ll", EmitLLVM}, {".tileir", EmitCudaTile}, {".mlir", EmitCudaTile}, {".tileirbc", EmitBytecode},
	{".cubin", EmitCubin}, {".o", EmitCubin}, {".elf", EmitCubin},
}

// EmitFor is the output kind that a file name asks for: by its extension; without one a cubin, as with NVIDIA's tileiras. Standard
// output and unknown extensions ask for nothing: "".
func EmitFor(file string) Emit {
	ext := strings.ToLower(filepath.Ext(file))
	if file != "-" && (ext == "" || ext == filepath.Base(file)) { // a name such as .hidden has none
		return EmitCubin
	}
	for _, e := range extensions {
		if e.name == ext {
			return e.emit
		}
	}
	return ""
}

// Code is the part of the options that passes, lowering and printer get.
type (
	Code  = options.Code
	ABI   = options.ABI
	Roles = options.Roles
	TF32  = options.TF32
)

// Options of one compile.
type Options struct {
	GPU  string // "sm_80", or "native" for the GPU of this machine; "" is sm_80 for all but a cubin
	Emit Emit   // "" is what StopAfter gives, or PTX

	Code

	// Of a cubin.
	Ptxas        string        // NVIDIA's ptxas; "" looks for it (internal/ptxas)
	PtxasTimeout time.Duration // how long it may take; 0 is for ever
	Sanitize     bool          // have it instrument the code for compute-sanitizer's memcheck
	Remarks      bool          // collect remarks; of a cubin also what ptxas says of registers

	Read            bytecode.ReadOptions // of bytecode
	BytecodeVersion ir.Version           // of EmitBytecode; zero: that of the input, or the newest

	Cache string // a folder or the URL of a server of Bazel's remote cache protocol; "" is none

	TimeLimit   time.Duration // 0 = none
	MemoryLimit int64         // bytes that the compile may hold, about; 0 = none

	// What to show on the way; all of it goes to Log, nil shows nothing.
	Log           io.Writer
	PrintAfterAll bool
	PrintBefore   []string
	PrintAfter    []string
	PrintChanged  bool
	PrintFacts    bool
	DebugInfo     bool // locations in printed modules
	PassTiming    bool

	VerifyEach    bool
	StopAfter     string // a pass of StageNames; "" goes to the end
	ReproducerDir string // where a BUG leaves its input; "" writes nothing
}

// check refuses values that no level, convention or optimization level has, and names of passes that are none of these.
func (o *Options) check(names []string) error {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if err := o.stop(names); err != nil {
		return err
	}
	_, ok := target.ParsePTX(o.MaxPTX)
	switch {
	case !slices.Contains(Emits, o.Emit):
		return fail(ExitUsage, "there is no output '%s'; outputs are: %s", o.Emit, words(Emits))
	case !slices.Contains([]ABI{"", options.CUDA, options.Tile}, o.ABI):
		return fail(ExitUsage, "there is no launch convention '%s'; conventions are: cuda tile", o.ABI)
	case !slices.Contains([]options.TF32{"", options.Rounded, options.Truncated}, o.TF32):
		return fail(ExitUsage, "f32 cannot become tf32 '%s'; it can be: rounded truncated", o.TF32)
	case !slices.Contains([]options.Roles{"", options.Auto, options.On, options.Off}, o.Roles):
		return fail(ExitUsage, "there are no roles '%s'; they are: auto on off", o.Roles)
	case o.MaxPTX != "" && !ok:
		return fail(ExitUsage, "'%s' is no version of PTX; one is written 8.4", o.MaxPTX)
	case o.Opt < 0 || o.Opt > 3:
		return fail(ExitOptions, "invalid optimization level: %d", o.Opt)
	case o.SlicesK < 0 || o.SlicesK > options.MostSlicesK || o.SlicesK&(o.SlicesK-1) != 0:
		return fail(ExitUsage, "there are no %d slices of a product; there are 1, 2 or 4, or 0 for as many as cost least", o.SlicesK)
	case o.MaxShared < 0:
		return fail(ExitUsage, "shared memory is not negative; 0 is what the GPU has")
	case o.PtxasTimeout < 0:
		return fail(ExitUsage, "a limit of time is not negative; 0 is none")
	case o.TimeLimit < 0 || o.MemoryLimit < 0:
		return fail(ExitUsage, "a limit of time or memory is not negative; 0 is none")
	}
	if o.GPU == Native || o.GPU == "" && o.Emit != EmitCubin {
		return nil // found when it is needed
	}
	_, err := o.target(context.Background())
	return err
}

// Check refuses options that Compile would refuse, before there is anything to compile.
func (o Options) Check() error { return o.check(StageNames()) }

// stop checks the names of passes, and that what the compile is to give is what the pass gives after which it stops.
func (o *Options) stop(names []string) error {
	for _, list := range [][]string{o.PrintBefore, o.PrintAfter, {o.StopAfter}} {
		for _, n := range list {
			if n != "" && !slices.Contains(names, n) {
				return noPass(n, names)
			}
		}
	}
	switch gives := stopsWith(o.StopAfter); {
	case o.Emit == "":
		o.Emit = gives
	case o.StopAfter != "" && o.Emit != gives:
		return fail(ExitOptions, "a compile that stops after %s gives %s, not %s: leave out one of the two", o.StopAfter, gives, o.Emit)
	}
	return nil
}

// noPass is the name of a pass that is none of these.
func noPass(name string, names []string) error {
	return fail(ExitUsage, "there is no pass named '%s' here; passes are: %s", name, strings.Join(names, " "))
}

// stopsWith is what a compile gives that stops after a pass; "" is none.
func stopsWith(pass string) Emit {
	switch pass {
	case "", emitPTX:
		return EmitPTX
	case lowerToLLVM:
		return EmitLLVM
	}
	return EmitTileAA
}

// choosesAll reports whether a compile goes through all passes that choose something.
func (o *Options) choosesAll() bool {
	if o.Emit == EmitCudaTile || o.Emit == EmitBytecode {
		return false
	}
	all := passes.Pipeline()
	return o.decided(all[len(all)-1].Name)
}

// GPUs lists the names of the targets.
func GPUs() []string { return strings.Fields(target.Names()) }

func words[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return strings.Join(out, " ")
}

// code is what the stages get: what was left open is decided.
func (o *Options) code() Code {
	c := o.Code
	switch {
	case c.ABI != "":
	case o.Emit == EmitCubin:
		c.ABI = options.Tile
	default:
		c.ABI = options.CUDA
	}
	c.Roles = cmp.Or(c.Roles, options.Auto)
	c.TF32 = cmp.Or(c.TF32, options.Rounded)
	return c
}
