package driver

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tileiras/codegen/target"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
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

var extensions = map[string]Emit{
	".ptx": EmitPTX, ".ll": EmitLLVM, ".tileir": EmitCudaTile, ".mlir": EmitCudaTile, ".tileirbc": EmitBytecode, ".cubin": EmitCubin,
}

// EmitFor is the output kind that a file name asks for: by its extension, else cubin, as NVIDIA's tileiras.
func EmitFor(file string) Emit {
	if e, ok := extensions[strings.ToLower(filepath.Ext(file))]; ok {
		return e
	}
	return EmitCubin
}

// Options of one compile.
type Options struct {
	GPU      string // "sm_80"; needed from TileAA on
	Emit     Emit
	Opt      int    // 0 to 3
	ABI      string // "cuda" or "tile"; "" is cuda for PTX and tile for cubin
	LineInfo bool   // source lines in the PTX

	Read            bytecode.ReadOptions // of bytecode
	BytecodeVersion ir.Version           // of EmitBytecode; zero: that of the input, or the newest

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
	StopAfter     string
	ReproducerDir string // where a BUG leaves its input; "" writes nothing
}

// check refuses values that no level, convention or optimization level has.
func (o *Options) check() error {
	if o.Log == nil {
		o.Log = io.Discard
	}
	switch {
	case o.Emit == EmitCubin:
		return fail(ExitUnsupported, "not supported yet: cubin, write PTX with -o FILE.ptx")
	case !slices.Contains(Emits, o.Emit):
		return fail(ExitUsage, "there is no output '%s'; outputs are: %s", o.Emit, words(Emits))
	case !slices.Contains([]string{"", "cuda", "tile"}, o.ABI):
		return fail(ExitUsage, "there is no launch convention '%s'; conventions are: cuda tile", o.ABI)
	case o.Opt < 0 || o.Opt > 3:
		return fail(ExitOptions, "invalid optimization level: %d", o.Opt)
	case o.TimeLimit < 0 || o.MemoryLimit < 0:
		return fail(ExitUsage, "a limit of time or memory is not negative; 0 is none")
	}
	if o.GPU != "" {
		if _, err := o.target(); err != nil {
			return err
		}
	}
	return nil
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

func (o *Options) abi() string {
	switch {
	case o.ABI != "":
		return o.ABI
	case o.Emit == EmitCubin:
		return "tile"
	}
	return "cuda"
}

// target finds the GPU; a missing or unknown name is a usage failure in NVIDIA's words.
func (o *Options) target() (*target.Target, error) {
	if o.GPU == "" {
		return nil, fail(ExitOptions, "no GPU architecture is given; use --gpu-name with one of %s", target.Names())
	}
	t, ok := target.ByName(o.GPU)
	if !ok {
		return nil, &Failure{Code: ExitUsage, Lines: []string{fmt.Sprintf("tileiras: for the --gpu-name option: Cannot find option named '%s'!", o.GPU)}}
	}
	return t, nil
}
