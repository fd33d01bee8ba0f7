package driver

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tileiras/codegen/options"
	"tileiras/codegen/ptx"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// metadataVersion is the version of the form of --metadata: it goes up when a key changes its meaning or goes.
const metadataVersion = 1

// Metadata is what a program that launches kernels must know of a module; docs/launch.md explains it.
type Metadata struct {
	Version    int      `json:"version"`
	Build      string   `json:"build"`
	GPU        string   `json:"gpu"`         // "sm_90"
	PTXTarget  string   `json:"ptx_target"`  // "sm_90", or "sm_90a" where an instruction needs it
	PTXVersion string   `json:"ptx_version"` // "8.0"
	ABI        string   `json:"abi"`         // "cuda" or "tile"
	Kernels    []Kernel `json:"kernels"`
}

// Kernel is one kernel.
type Kernel struct {
	Name     string  `json:"name"`
	Function string  `json:"function"` // as the source calls it
	File     string  `json:"file"`     // of the source; "" when it is not known
	Line     int     `json:"line"`
	Column   int     `json:"column"`          // 0 when it is not known
	Block    [3]int  `json:"block"`           // of a launch, in threads
	Blocks   [3]int  `json:"blocks_per_tile"` // the grid of a launch is that of the tile blocks times this
	Cluster  [3]int  `json:"cluster"`         // in blocks; 1, 1, 1 is none
	Threads  int     `json:"threads"`         // that run; more than Block says where abi is tile
	Static   int     `json:"shared_static"`   // bytes
	Dynamic  int     `json:"shared_dynamic"`  // bytes to ask for at the launch; beyond 48 KB the function needs the attribute
	MaxRegs  int     `json:"max_registers"`   // .maxnreg; 0 when ptxas decides
	Usage    *Usage  `json:"usage,omitempty"` // what ptxas says, when it has been asked
	Params   []Param `json:"params"`
}

// Usage is what ptxas made of a kernel.
type Usage struct {
	Registers   int `json:"registers"`
	SpillStores int `json:"spill_stores"` // bytes
	SpillLoads  int `json:"spill_loads"`  // bytes
	Stack       int `json:"stack"`        // bytes
}

// Param is one parameter of a kernel, in order.
type Param struct {
	Name string `json:"name"` // "arg0" where the source has none
	Type string `json:"type"` // of Tile IR: "ptr<f16>", "i32"
	PTX  string `json:"ptx"`  // ".u64"
	Size int    `json:"size"` // bytes
}

// JSON is the text of --metadata.
func (m *Metadata) JSON() []byte {
	out := *m
	out.Build = BuildVersion() // here, because who asks for no metadata need not read the file of the program
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(&out); err != nil {
		panic("BUG: " + err.Error()) // strings and numbers only
	}
	return b.Bytes()
}

// metadata joins what the back end knows of kernels with what the source does.
func (b *backend) metadata(out *ptx.Module) *Metadata {
	m := &Metadata{Version: metadataVersion, GPU: b.target.Name, PTXTarget: out.Target,
		PTXVersion: fmt.Sprint(out.Version), ABI: string(b.code.ABI), Kernels: []Kernel{}}
	entries := b.run.input.entries()
	for _, l := range out.Kernels {
		b.run.budget.Step()
		k := Kernel{Name: l.Name, Function: l.Name, Block: [3]int{int(l.Threads), 1, 1}, Blocks: [3]int{int(l.Cluster), 1, 1},
			Cluster: [3]int{int(l.Cluster), 1, 1}, Threads: int(l.Threads), Static: int(l.SharedStatic), Dynamic: int(l.SharedDynamic),
			MaxRegs: int(l.MaxRegisters), Params: []Param{}}
		if b.code.ABI == options.Tile {
			k.Block, k.Blocks = [3]int{1, 1, 1}, [3]int{1, 1, 1}
		}
		for i, p := range l.Params {
			k.Params = append(k.Params, Param{Name: fmt.Sprintf("arg%d", i), Type: p.Type, PTX: p.Type, Size: int(p.Size)})
		}
		if op := entries[k.Name]; op != nil {
			describe(&k, b.run.input.Ctx, op)
		}
		m.Kernels = append(m.Kernels, k)
	}
	return m
}

// entries are the kernels of the module that was read, by name.
func (in *Input) entries() map[string]*ir.Op {
	out := map[string]*ir.Op{}
	if in.Module == nil || in.Module.Body() == nil {
		return out
	}
	for op := in.Module.Body().First(); op != nil; op = op.Next() {
		if e, ok := ir.As[cudatile.Entry](op); ok {
			out[e.SymName()] = op
		} else if e, ok := ir.As[tileaa.Entry](op); ok {
			out[e.SymName()] = op
		}
	}
	return out
}

// describe adds what the source says of a kernel.
func describe(k *Kernel, c *ir.Context, op *ir.Op) {
	if file, line, col, ok := ir.FileLine(op.Loc()); ok {
		k.File, k.Line, k.Column = file, int(line), int(col)
	}
	k.Function = cudatile.SourceName(op.Loc(), k.Name)
	for i, a := range op.Body().Args() {
		if i >= len(k.Params) {
			break
		}
		if name := c.ParamName(a); name != "" {
			k.Params[i].Name = name
		}
		k.Params[i].Type = elementType(a.Type())
	}
}

// elementType is the type of a scalar parameter without the tile around it.
func elementType(t ir.Type) string {
	switch t := t.(type) {
	case *cudatile.TileType:
		return ir.ShortType(t.Elem)
	case *tileaa.TileType:
		return ir.ShortType(t.Elem)
	}
	return ir.ShortType(t)
}
