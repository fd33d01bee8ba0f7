package driver

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
	"tileiras/ir/budget"
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

// emits lists the levels in the order of the pipeline.
var emits = []Value{{string(EmitCudaTile), "The input as Tile IR text"}, {string(EmitBytecode), "Tile IR bytecode"},
	{string(EmitTileAA), "TileAA text after all its passes"}, {string(EmitLLVM), "LLVM IR text"}, {string(EmitPTX), "PTX"},
	{string(EmitCubin), "A cubin, by NVIDIA's ptxas"}}

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
	// Called is what messages call a field, for whoever set it; nil is by its flag.
	Called func(field string) string `json:"-"`

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

	Cache         string        // a folder or the URL of a server of Bazel's remote cache protocol; "" is none
	CachePatience time.Duration // how long a server may do nothing; 0 is 200 ms

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

// InOptions is Called of those who set fields of an Options.
func InOptions(field string) string { return "Options." + field }

// called is what messages call a field.
func (o *Options) called(field string) string {
	if o.Called != nil {
		return o.Called(field)
	}
	return TileirasCommand().flagOf(field)
}

// Wrong refuses the value of a field; can is what it can be.
func (o *Options) Wrong(field string, value any, can string) error {
	if s, ok := value.(string); ok {
		value = strconv.Quote(s)
	}
	return fail(ExitUsage, "%s = %v: %s", o.called(field), value, can)
}

// logWriter is a Log whose panics are not those of the stage that writes.
type logWriter struct {
	io.Writer
	called string
}

func (w logWriter) Write(p []byte) (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			panic(&budget.Stop{Err: fail(ExitUsage, "%s panics: %v", w.called, r)})
		}
	}()
	return w.Writer.Write(p)
}

// check refuses values that fields cannot have, and names of passes that are none of these.
func (o *Options) check(names []string) error {
	if o.Log == nil {
		o.Log = io.Discard
	}
	o.Log = logWriter{o.Log, o.called("Log")}
	if err := o.stop(names); err != nil {
		return err
	}
	for _, w := range []struct {
		field, value string
		values       []Value
	}{{"Emit", string(o.Emit), emits}, {"ABI", string(o.ABI), valuesOf(options.ABIs)}, {"Roles", string(o.Roles), valuesOf(options.AllRoles)}, {"TF32", string(o.TF32), valuesOf(options.TF32s)}} {
		if names := namesOf(w.values); w.value != "" && !slices.Contains(names, w.value) {
			return o.Wrong(w.field, w.value, "it is one of "+strings.Join(names, " "))
		}
	}
	if err := o.checkNumbers(); err != nil {
		return err
	}
	if o.GPU == Native || o.GPU == "" && o.Emit != EmitCubin {
		return nil // found when it is needed
	}
	_, err := o.target(context.Background())
	return err
}

// checkNumbers refuses numbers that are out of range. Of the optimization level it says what NVIDIA's tileiras does.
func (o *Options) checkNumbers() error {
	_, ok := target.ParsePTX(o.MaxPTX)
	switch {
	case o.MaxPTX != "" && !ok:
		return o.Wrong("MaxPTX", o.MaxPTX, "a version of PTX is written 8.4")
	case o.Opt < 0 || o.Opt > 3:
		return fail(ExitOptions, "invalid optimization level: %d", o.Opt)
	case o.SlicesK < 0 || o.SlicesK > options.MostSlicesK || o.SlicesK&(o.SlicesK-1) != 0:
		return o.Wrong("SlicesK", o.SlicesK, "it is 1, 2 or 4, or 0 for as many as cost least")
	case o.MaxShared < 0:
		return o.Wrong("MaxShared", o.MaxShared, "it is a number of bytes, or 0 for what the GPU has")
	case o.CachePatience < 0:
		return o.Wrong("CachePatience", o.CachePatience, "it is a time, or 0 for 200ms")
	case o.PtxasTimeout < 0:
		return o.Wrong("PtxasTimeout", o.PtxasTimeout, "it is a time, or 0 for no limit")
	case o.TimeLimit < 0:
		return o.Wrong("TimeLimit", o.TimeLimit, "it is a time, or 0 for no limit")
	case o.MemoryLimit < 0:
		return o.Wrong("MemoryLimit", o.MemoryLimit, "it is a number of bytes, or 0 for no limit")
	}
	return nil
}

// Check refuses options that Compile would refuse, before there is anything to compile.
func (o Options) Check() error { return o.check(StageNames()) }

// stop checks the names of passes, and that what the compile is to give is what the pass gives after which it stops.
func (o *Options) stop(names []string) error {
	for _, given := range []struct {
		field string
		list  []string
	}{{"PrintBefore", o.PrintBefore}, {"PrintAfter", o.PrintAfter}, {"StopAfter", []string{o.StopAfter}}} {
		for _, n := range given.list {
			if n != "" && !slices.Contains(names, n) {
				return noPass(o.called(given.field), n, names)
			}
		}
	}
	switch gives := stopsWith(o.StopAfter); {
	case o.Emit == "":
		o.Emit = gives
	case o.StopAfter != "" && o.Emit != gives:
		return fail(ExitOptions, "a compile that stops after %s gives %s, not %s: leave out %s or %s", o.StopAfter, gives, o.Emit, o.called("StopAfter"), o.called("Emit"))
	}
	return nil
}

// noPass is the name of a pass, in an option, that is none of these.
func noPass(option, name string, names []string) error {
	if near := ir.Nearest(name, names, len(name)/3); near != "" {
		return fail(ExitUsage, "%s: there is no pass named '%s' here; did you mean '%s'?", option, name, near)
	}
	return fail(ExitUsage, "%s: there is no pass named '%s' here; passes are: %s", option, name, strings.Join(names, " "))
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
