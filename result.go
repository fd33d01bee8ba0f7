package tileiras

import (
	"time"

	"tileiras/internal/driver"
	"tileiras/internal/remark"
)

// Result is what a compile made.
type Result struct {
	Emit        Level        // of the output
	GPU         string       // that it is for; "" of CudaTile and Bytecode
	Output      []byte       // the text, the bytecode or the cubin
	Kernels     []Kernel     // how to launch what is in the output; of PTX and Cubin
	Diagnostics []Diagnostic // warnings; a compile with errors has no result
	Remarks     []Remark     // what was chosen and why, in the order of the source, when the options ask for it
	Stages      []Stage      // how long each took, in order; none when the result comes from a cache
	Cached      bool         // the result comes from Options.Cache, or from an equal compile with that cache at the same time

	result *driver.Result
}

// Stage is the wall time of one stage of a compile.
type Stage struct {
	Name string        // of the pass, or "read", "verify", "ptxas"
	Time time.Duration // on the clock
}

// Kernel says how to launch a kernel. One tile block is launched as Block threads times BlocksPerTile blocks.
type Kernel struct {
	Name          string  // in the output
	Function      string  // as the source calls it
	Place         Place   // of the source
	Block         [3]int  // threads of a block, for the launch
	BlocksPerTile [3]int  // the grid of a launch is that of the tile blocks times this
	Cluster       [3]int  // in blocks; {1, 1, 1} is none
	Threads       int     // of a block that run; Block says 1 for ABI Tile
	SharedStatic  int     // bytes
	SharedDynamic int     // bytes to ask for at the launch; beyond 48 KB the function needs the attribute
	MaxRegisters  int     // of a thread; 0 when ptxas decides
	Usage         *Usage  // what ptxas made of it: of a Cubin with Options.Remarks, else nil
	Params        []Param // in order
}

// Usage is what a thread of a kernel takes, as ptxas says.
type Usage struct {
	Registers   int // in number
	SpillStores int // bytes that go to local memory because there are not more registers
	SpillLoads  int // bytes that come back
	Stack       int // bytes
}

// Param is a parameter of a kernel.
type Param struct {
	Name string // "arg0" where the source has none
	Type string // of Tile IR: "ptr<f16>", "i32"
	Size int    // bytes
}

// Remark is a choice of the compiler, or a fact; docs/remarks.md lists them.
type Remark struct {
	Pass   string // "Memory"
	Kind   string // "passed", "missed", "failed", "analysis"
	ID     string // "RemarkMemoryLoadInstructionSelected"
	Text   string // one sentence without a full stop
	Kernel string // the name of the one that it is about
	Place  Place  // of the source
	Args   []Arg  // the facts, in order
}

// Arg is a fact of a remark.
type Arg struct {
	Key   string // "Instruction"
	Value any    // a string or an int
}

// Metadata is the file that the command writes with --metadata; nil when the output is neither PTX nor a cubin.
func (r *Result) Metadata() []byte {
	if r.result == nil || r.result.Metadata == nil {
		return nil
	}
	return r.result.Metadata.JSON()
}

// Explain is the page for each kernel that the command prints with --explain, of a compile with Options.Remarks.
func (r *Result) Explain() string {
	if r.result == nil {
		return ""
	}
	return string(r.result.Page())
}

// RemarksYAML is the remarks in the form of LLVM's optimization records, which opt-viewer reads.
func (r *Result) RemarksYAML() []byte { return remark.YAML(r.remarks()) }

// RemarksJSON is the remarks as an array of objects.
func (r *Result) RemarksJSON() []byte { return remark.JSON(r.remarks()) }

// remarks are those of the compile; a Result that none has made has none.
func (r *Result) remarks() []remark.Remark {
	if r.result == nil {
		return nil
	}
	return r.result.Remarks
}

func resultFrom(r *driver.Result) *Result {
	out := &Result{Emit: Level(r.Kind), GPU: r.GPU, Output: r.Output, Cached: r.Cached, result: r}
	for _, d := range r.Warnings {
		out.Diagnostics = append(out.Diagnostics, diagnosticFrom(d.Diagnostic, Kind(d.Kind)))
	}
	for _, t := range r.Timing {
		out.Stages = append(out.Stages, Stage{t.Stage, t.Time})
	}
	for i := range r.Remarks {
		m := &r.Remarks[i]
		q := Remark{Pass: m.Pass, Kind: m.Kind.Word(), ID: m.ID, Text: m.Text, Kernel: m.Kernel, Place: placeFrom(m.Loc)}
		for _, a := range m.Args {
			q.Args = append(q.Args, Arg(a))
		}
		out.Remarks = append(out.Remarks, q)
	}
	if r.Metadata != nil {
		for _, k := range r.Metadata.Kernels {
			out.Kernels = append(out.Kernels, kernelFrom(k))
		}
	}
	return out
}

func kernelFrom(k driver.Kernel) Kernel {
	out := Kernel{Name: k.Name, Function: k.Function, Block: k.Block, BlocksPerTile: k.Blocks, Cluster: k.Cluster, Threads: k.Threads,
		SharedStatic: k.Static, SharedDynamic: k.Dynamic, MaxRegisters: k.MaxRegs}
	if u := k.Usage; u != nil {
		out.Usage = &Usage{u.Registers, u.SpillStores, u.SpillLoads, u.Stack}
	}
	if k.File != "" {
		out.Place = Place{File: k.File, Line: k.Line, Column: k.Column}
	}
	for _, p := range k.Params {
		out.Params = append(out.Params, Param{p.Name, p.Type, p.Size})
	}
	return out
}
