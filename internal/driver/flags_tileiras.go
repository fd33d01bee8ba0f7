package driver

import (
	"slices"
	"sync"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
)

// showFlags are the flags that show what happens inside; tileiras and tile-opt have them both.
var showFlags = []Flag{
	{Group: "Options that show what happens inside", Name: "print-after-all", Kind: BoolFlag, Field: func(o *Options) any { return &o.PrintAfterAll }, Help: "Print the module after every pass, to standard error"},
	{Name: "print-before", Kind: ListFlag, Meta: "pass,...", Field: func(o *Options) any { return &o.PrintBefore }, Help: "Print the module before these passes"},
	{Name: "print-after", Kind: ListFlag, Meta: "pass,...", Field: func(o *Options) any { return &o.PrintAfter }, Help: "Print the module after these passes"},
	{Name: "print-changed", Kind: BoolFlag, Field: func(o *Options) any { return &o.PrintChanged }, Help: "Print what each pass changed, as a diff"},
	{Name: "print-facts", Kind: BoolFlag, Field: func(o *Options) any { return &o.PrintFacts }, Help: "Print what is known of integers and pointers after every TileAA pass"},
	{Name: "print-debug-info", Aliases: []string{"mlir-print-debuginfo"}, Kind: BoolFlag, Field: func(o *Options) any { return &o.DebugInfo }, Help: "Print source locations in modules"},
	{Name: "pass-timing", Kind: BoolFlag, Field: func(o *Options) any { return &o.PassTiming }, Help: "Print the wall time of every stage, to standard error"},
	{Name: "verify-each", Kind: BoolFlag, Field: func(o *Options) any { return &o.VerifyEach }, Help: "Verify the module after every pass"},
	{Name: "stop-after", Kind: StringFlag, Meta: "pass", Field: func(o *Options) any { return &o.StopAfter }, Help: "Stop after this pass and write its module, whatever the extension of the output; one that says otherwise is an error"},
	{Name: "list-passes", Kind: BoolFlag, Immediate: true, Help: "List the passes in order, with the reason for each place"},
	{Name: "reproducer-dir", Kind: StringFlag, Meta: "dir", Default: ".", Field: func(o *Options) any { return &o.ReproducerDir }, Help: "Where a fault of the compiler leaves its input"},
}

// CommonFlags are those of every command; Information and PrintOptions answer them.
var CommonFlags = []Flag{
	{Group: "Generic Options", Name: "help", Aliases: []string{"h"}, Kind: BoolFlag, Immediate: true, Bare: true, Help: "Display available options (--help-hidden for more)"},
	{Name: "help-hidden", Kind: BoolFlag, Hidden: true, Immediate: true, Bare: true, Help: "Display all available options"},
	{Name: "help-list", Kind: BoolFlag, Immediate: true, Bare: true, Help: "Display list of available options (--help-list-hidden for more)"},
	{Name: "help-list-hidden", Kind: BoolFlag, Hidden: true, Immediate: true, Bare: true, Help: "Display list of all available options"},
	{Name: "print-options", Kind: BoolFlag, Hidden: true, Help: "Print non-default options after command line parsing, to standard error"},
	{Name: "print-all-options", Kind: BoolFlag, Hidden: true, Help: "Print all option values after command line parsing, to standard error"},
	{Name: "version", Kind: BoolFlag, Immediate: true, Bare: true, Help: "Display the version of this program"},
}

// GPUFlag is the row of the GPU to compile for.
func GPUFlag(help string) Flag {
	return Flag{Name: "gpu-name", Aliases: []string{"arch"}, Kind: EnumFlag, Values: gpuValues(), Advise: target.Advice, Field: func(o *Options) any { return &o.GPU }, Help: help}
}

// OptFlag is the row of the optimization level.
func OptFlag(more string) Flag {
	return Flag{Name: "opt-level", Aliases: []string{"O"}, Kind: IntFlag, Meta: "N", Default: "3", Field: func(o *Options) any { return &o.Opt },
		Help: "Optimization level: 0 takes the plan with the most warps and smallest pieces and leaves out optional passes; 1, 2 and 3 are the same" + more}
}

// abiFlag is the row of the launch convention.
func abiFlag(standard, more string) Flag {
	return Flag{Name: "abi", Kind: EnumFlag, Default: standard, Field: func(o *Options) any { return &o.ABI }, Help: "Launch convention" + more, Values: valuesOf(options.ABIs)}
}

var lineInfoFlag = Flag{Name: "lineinfo", Kind: BoolFlag, Field: func(o *Options) any { return &o.LineInfo }, Help: "Write source lines into the output; comments of PTX have them, too"}

// CodeFlags are wishes that passes look at; tileiras, tile-opt and tilerun have them all.
func CodeFlags() []Flag {
	return []Flag{
		{Name: "roles", Kind: EnumFlag, Default: "auto", Field: func(o *Options) any { return &o.Roles }, Help: "Warps of their own that begin the copies of loops; auto is where they cost less", Values: valuesOf(options.AllRoles)},
		{Name: "tf32", Kind: EnumFlag, Default: "rounded", Field: func(o *Options) any { return &o.TF32 }, Help: "How f32 becomes the tf32 that products multiply by", Values: valuesOf(options.TF32s)},
		{Name: "tma", Kind: BoolFlag, Field: func(o *Options) any { return &o.TMA }, Help: "Copy to shared memory by tensor maps that the kernel makes, where it can: from sm_90 on"},
		{Name: "slices-k", Kind: IntFlag, Meta: "N", Default: "0", Field: func(o *Options) any { return &o.SlicesK }, Help: "Have warps share products along K in 1, 2 or 4 slices, which adds in another order; 0 is as many as cost least"},
		{Name: "max-ptx", Kind: StringFlag, Meta: "version", Field: func(o *Options) any { return &o.MaxPTX }, Help: "The latest version of PTX that the driver reads (8.4 for CUDA 12.4); code that needs a later one is an error"},
		{Name: "max-shared", Kind: IntFlag, Meta: "bytes", Default: "0", Field: func(o *Options) any { return &o.MaxShared }, Help: "The most shared memory that a thread block may have; 0 is what the GPU has"},
	}
}

// compileFlags are what NVIDIA's tileiras has too, and our own.
func compileFlags() []Flag {
	gpu := GPUFlag("GPU to compile for; without it PTX is for " + DefaultGPU + ", which runs on every later GPU too, and a cubin is refused")
	gpu.Group = "Options of the compiler"
	return slices.Concat([]Flag{
		gpu,
		{Name: "output-file", Aliases: []string{"o"}, Kind: StringFlag, Meta: "file", Default: "elf.o", Writes: ValueOf("output-file"), Help: "Output file name; - is standard output"},
		{Name: "emit", Kind: EnumFlag, Field: func(o *Options) any { return &o.Emit }, Help: "What to write; by default the extension of the output file decides (.ptx .ll .tileir .tileirbc .cubin .o), a cubin without one or where it says nothing", Values: emits},
		OptFlag(" but for ptxas, which gets the number"),
		abiFlag("", "; cuda is the default of PTX, tile that of a cubin"),
		lineInfoFlag,
	}, CodeFlags(), []Flag{
		{Name: "device-debug", Aliases: []string{"g"}, Kind: BoolFlag, Field: func(o *Options) any { return &o.Debug }, Help: "Debug information; needs -O0 (source lines only, as --lineinfo)"},
		{Name: "sanitize", Kind: EnumFlag, Field: func(o *Options) any { return &o.Sanitize }, Help: "Have ptxas instrument the cubin for this tool of compute-sanitizer", Values: []Value{{"memcheck", "Sanitize memory accesses"}}},
		{Name: "ptxas", Kind: StringFlag, Meta: "file", Reads: ValueOf("ptxas"), Field: func(o *Options) any { return &o.Ptxas }, Help: "NVIDIA's ptxas, for cubins (else TILEIRAS_PTXAS, beside this program, CUDA_HOME, PATH, a pip package)"},
		{Name: "ptxas-timeout", Kind: SecondsFlag, Meta: "seconds", Default: "600", Field: func(o *Options) any { return &o.PtxasTimeout }, Help: "How long ptxas may take; 0 is for ever"},
		{Name: "time-limit", Kind: SecondsFlag, Meta: "seconds", Default: "0", Field: func(o *Options) any { return &o.TimeLimit }, Help: "How long the compile may take, ptxas included; 0 is for ever"},
		{Name: "explain", Kind: BoolFlag, Help: "Print a page for each kernel: launch, plan, instructions, widths, conversions, and why"},
		{Name: "cache", Kind: StringFlag, Meta: "place", Field: func(o *Options) any { return &o.Cache }, Help: "Keep results in a folder, or on an http:// server of Bazel's remote cache protocol"},
		{Name: "cache-patience", Kind: SecondsFlag, Meta: "seconds", Default: "0", Field: func(o *Options) any { return &o.CachePatience }, Help: "How long such a server may do nothing before it is not asked for 30 seconds; 0 is 0.2"},
		{Name: "metadata", Kind: StringFlag, Meta: "file.json", Writes: ValueOf("metadata"), Help: "Write how to launch the kernels, as JSON"},
		previewFlag,
		{Name: "l", Kind: ListFlag, Meta: "path", Help: "Tile libraries to load; needs --preview=simt (not supported yet)"},
		{Name: "host-arch", Kind: EnumFlag, Help: "Accepted; there is no host code in our cubins", Values: []Value{{"x86_64", "x86_64"}, {"aarch64", "aarch64"}}},
		{Name: "host-os", Kind: EnumFlag, Help: "Accepted; there is no host code in our cubins", Values: []Value{{"linux", "linux"}, {"windows", "windows"}}},
		{Name: "apply-controls", Kind: StringFlag, Meta: "path", Help: "Refused: controls are for NVIDIA's own code generator"},
		{Name: "list-versions", Kind: BoolFlag, Immediate: true, Help: "List the bytecode versions that can be read"},
		strictFlag,
	})
}

var remarkCategories = []Value{{"none", "None"}, {"all", "All"}, {"memory", "Of memory"}, {"tensorcore", "Of tensor cores"}}

// remarkFlags choose what the compiler says of its choices.
var remarkFlags = []Flag{
	{Group: "Options of remarks", Name: "remarks", Kind: EnumFlag, Values: remarkCategories, Help: "Remarks of every type (passed, missed, failed, analysis) in this category"},
	{Name: "remarks-passed", Kind: EnumFlag, Values: remarkCategories, Help: "Remarks on what was optimized"},
	{Name: "remarks-missed", Kind: EnumFlag, Values: remarkCategories, Help: "Remarks on what was not optimized"},
	{Name: "remarks-failed", Kind: EnumFlag, Values: remarkCategories, Help: "Remarks on what could not be optimized"},
	{Name: "remarks-analysis", Kind: EnumFlag, Values: remarkCategories, Help: "Remarks on what was found out"},
	{Name: "remark-format", Kind: EnumFlag, Default: "command-line", Help: "Where and how remarks are written", Values: []Value{
		{"command-line", "As text, on standard output"}, {"yaml", "As YAML, into a file"}, {"json", "As JSON, into a file"}}},
	{Name: "remarks-output-file", Kind: StringFlag, Meta: "file", Default: "tileir_remarks.yaml", Writes: remarkFiles, Help: "The file of YAML or JSON remarks; - is standard output"},
}

// TileirasCommand is the table of the flags of tileiras.
var TileirasCommand = sync.OnceValue(func() *Command {
	return &Command{
		Name:     "tileiras",
		Usage:    "[options] <input file>",
		Overview: "tileiras compiles CUDA Tile IR, bytecode or text, to PTX and cubins",
		MaxArgs:  1,
		Variable: "TILEIRAS_FLAGS",
		Flags:    slices.Concat(compileFlags(), remarkFlags, showFlags, CommonFlags),
	}
})
