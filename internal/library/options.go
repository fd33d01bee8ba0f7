package library

// Kind is what the values of an option are.
type Kind uint8

const (
	Text    Kind = iota // any text, or one of Values
	File                // the name of a file or a folder
	Flag                // 0 or 1
	Number              // an integer
	Seconds             // a time, 2.5
)

// Option is an option of the C library, and so of Python: tileiras.h and the Python package list these rows.
type Option struct {
	Name    string
	Program bool   // it is of programs that run on this machine
	Field   string // that it sets: of tileiras.Options, and where Program holds of executor.Options
	Kind    Kind
	Values  []string // of a Text or a Number, those that there are
	Default string
	Help    string
}

// Options are in the order of the documents.
var Options = []Option{
	{Name: "gpu", Field: "GPU", Help: "sm_90, or native for that of this machine"},
	{Name: "emit", Field: "Emit", Values: []string{"ptx", "cudatile", "bytecode", "tileaa", "llvm", "cubin"}, Default: "ptx", Help: "the level at which to stop"},
	{Name: "abi", Field: "ABI", Values: []string{"cuda", "tile"}, Help: "launch convention; cuda is the default of ptx, tile that of a cubin"},
	{Name: "opt", Field: "Opt", Kind: Number, Values: []string{"0", "1", "2", "3"}, Default: "3", Help: "optimization level"},
	{Name: "name", Field: "Name", Help: "of the source, in diagnostics"},
	{Name: "lineinfo", Field: "LineInfo", Kind: Flag, Help: "source lines in PTX and cubins"},
	{Name: "roles", Field: "Roles", Values: []string{"auto", "on", "off"}, Default: "auto", Help: "warps of their own that begin the copies of loops"},
	{Name: "tf32", Field: "TF32", Values: []string{"rounded", "truncated"}, Default: "rounded", Help: "how f32 becomes the tf32 that products multiply by"},
	{Name: "tma", Field: "TMA", Kind: Flag, Help: "copies to shared memory take tensor maps, where they can: from sm_90 on"},
	{Name: "slices_k", Field: "SlicesK", Kind: Number, Help: "1, 2 or 4 slices along K in which warps share products; 0 (default) is as many as cost least"},
	{Name: "max_ptx", Field: "MaxPTX", Help: "8.4: code that needs a later version of PTX is an error"},
	{Name: "max_shared", Field: "MaxShared", Kind: Number, Help: "bytes of shared memory that a thread block may have; 0 (default) is what the GPU has"},
	{Name: "ptxas", Field: "Ptxas", Kind: File, Help: "NVIDIA's ptxas, for emit=cubin; without it it is looked for"},
	{Name: "sanitize", Field: "Sanitize", Kind: Flag, Help: "have ptxas instrument a cubin for compute-sanitizer"},
	{Name: "remarks", Field: "Remarks", Kind: Flag, Help: "collect remarks"},
	{Name: "bytecode_version", Field: "BytecodeVersion", Help: "13.3, of emit=bytecode"},
	{Name: "stop_after", Field: "StopAfter", Help: "the pass after which to stop, with its module as the output"},
	{Name: "cache", Field: "Cache", Kind: File, Help: "a folder, or the http:// URL of a server of Bazel's remote cache protocol"},
	{Name: "cache_patience", Field: "CachePatience", Kind: Seconds, Help: "seconds that such a server may do nothing, 0.2 (default), before it is not asked for a while"},
	{Name: "time_limit", Field: "TimeLimit", Kind: Seconds, Help: "seconds that a compile may take, 2.5"},
	{Name: "memory_limit", Field: "MemoryLimit", Kind: Number, Help: "bytes of modules that it may hold, about"},
	{Name: "reproducer_dir", Field: "ReproducerDir", Kind: File, Help: "the folder where a fault of the compiler leaves its input; without it nowhere"},

	{Name: "engine", Program: true, Field: "Engine", Values: []string{"interp", "emu"}, Default: "interp", Help: "the interpreter of Tile IR, or our PTX on the emulator"},
	{Name: "checks", Program: true, Field: "Checks", Help: "all (default), none, or some of races, undefined, alignment with commas between; bounds are always checked"},
	{Name: "undefined", Program: true, Field: "ZeroPadding", Values: []string{"error", "zero"}, Default: "error", Help: "what the interpreter loads where a program names no padding"},
	{Name: "equal_stores", Program: true, Field: "EqualStores", Kind: Flag, Help: "unordered stores of equal values are no race"},
	{Name: "workers", Program: true, Field: "Workers", Kind: Number, Help: "tile blocks that may run at once, where the checks allow it; 0 (default) is one"},
}
