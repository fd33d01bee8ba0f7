package executor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tileiras/codegen/options"
	"tileiras/dialects/cudatile"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/runtime/emu"
	"tileiras/runtime/interp"
)

// Engine is what runs a program.
type Engine string

const (
	Interpreter Engine = "interp" // the module as it is, on the reference interpreter
	Emulator    Engine = "emu"    // compiled to PTX, on the PTX emulator
)

// Options say how a program is compiled, run and checked.
type Options struct {
	Called func(field string) string // what messages call an option of the compile; nil is by its field

	Name   string       // of the source, in messages; "" is "kernel"
	Engine Engine       // "" is Interpreter
	GPU    string       // "sm_90", to compile for; "" is sm_80
	Code   options.Code // what is asked of the code that the emulator runs; source lines it has always
	Checks Checks
	// ZeroPadding loads zeros where a program names no padding, instead of undefined values, on the interpreter; the emulator loads what the compiled
	// code pads with.
	ZeroPadding bool
	// Strict reports, on the interpreter, values that another correct implementation may round otherwise where they reach anything but float arithmetic
	// and stores, and false promises about strides that no address depends on.
	Strict bool
	// Workers is how many tile blocks may run in parallel if only a race could show it: 0 is one. Where the kernel races, several race on
	// the memory of its regions, which Go's race detector reports.
	Workers  int
	Schedule emu.Schedule // in which order the emulator interleaves warps
	// EqualStores makes notes, not faults, of unordered stores of equal values, as a program that scatters to duplicate indices has them.
	EqualStores bool
	// Foreign is for PTX of other compilers, which may rely on converged lanes of a warp running in lockstep.
	Foreign bool
	Stats   bool // count sectors, bank conflicts and opcodes on the emulator
	// ReproducerDir is where a fault of the compiler leaves its input; "" writes nothing.
	ReproducerDir string
	TimeLimit     time.Duration // of Load; 0 is none
	MemoryLimit   int64         // bytes of modules that Load may hold, about; 0 is none
}

// Checks switches checks off; the zero value has all on. Bounds are always checked, to the byte.
type Checks struct {
	NoRaces     bool // emulator: conflicting accesses without a happens-before order
	NoUndefined bool // undefined values in addresses, conditions and stores
	NoAlignment bool // emulator: addresses that are no multiple of the access size
}

// ChecksOf reads "all", "none", or the names of the checks that are on, with commas between.
func ChecksOf(v string) (Checks, bool) {
	c := Checks{NoRaces: true, NoUndefined: true, NoAlignment: true}
	for name := range strings.SplitSeq(v, ",") {
		switch name {
		case "all":
			c = Checks{}
		case "none":
		case "races":
			c.NoRaces = false
		case "undefined":
			c.NoUndefined = false
		case "alignment":
			c.NoAlignment = false
		default:
			return c, false
		}
	}
	return c, true
}

// Kernel is an entry of a program.
type Kernel struct {
	Name   string
	Params []Param
}

// Param is a parameter of a kernel.
type Param struct {
	Type    string // of Tile IR, "ptr<f16>"; of PTX, ".u64"
	Size    int    // bytes
	Pointer bool
	Elem    string // what a pointer leads to: "f16"
	Float   bool
	value   func(bits uint64) uint64 // what the interpreter holds for the bits in memory
}

// Program is a module ready to run. It may be used from several goroutines; launches of one program run one after the other, because it may have
// global variables, which keep their values from launch to launch.
type Program struct {
	opts    Options
	kernels []Kernel

	turn         chan struct{} // full while a launch runs
	interp       *interp.Program
	interpMemory *interp.Memory
	ptx          *emu.Module
	emuMemory    *emu.Memory
	shapes       map[string]launchShape // of the kernels in the PTX
}

func newProgram(o Options) *Program { return &Program{opts: o, turn: make(chan struct{}, 1)} }

// launchShape is the launch configuration of a kernel on the emulator.
type launchShape struct {
	block, cluster [3]int
	shared         int // dynamic, bytes
}

// Load reads, verifies and prepares Tile IR, bytecode or text. Every error is a *tileiras.Error to errors.As; what an engine cannot do wraps
// errors.ErrUnsupported.
func Load(ctx context.Context, source []byte, o Options) (*Program, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.TimeLimit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
	}
	in, err := driver.Verified(ctx, o.Name, source, o.driver())
	if err != nil {
		return nil, err
	}
	p := newProgram(o)
	p.kernels = kernelsOf(in.Module)
	if o.Engine == Emulator {
		if err := p.compile(ctx, source); err != nil {
			return nil, in.Refuse(err)
		}
		return p, nil
	}
	if p.interp, err = interp.New(in.Module); err != nil {
		return nil, in.Refuse(err)
	}
	p.interpMemory = interp.NewHostMemory()
	return p, nil
}

func (o *Options) check() error {
	if o.Name == "" {
		o.Name = "kernel"
	}
	if o.Engine == "" {
		o.Engine = Interpreter
	}
	d := o.driver()
	if o.Engine != Interpreter && o.Engine != Emulator {
		return d.Wrong("Engine", string(o.Engine), fmt.Sprintf("it is one of %s %s", Interpreter, Emulator))
	}
	if o.Workers < 0 {
		return d.Wrong("Workers", o.Workers, "it is a number of tile blocks, or 0 for one")
	}
	if o.GPU == "" {
		o.GPU = driver.DefaultGPU
	}
	return nil
}

// driver is what the compiler calls these options. The time limit is that of all of Load.
func (o *Options) driver() driver.Options {
	d := driver.Options{Called: o.Called, GPU: o.GPU, Code: o.Code, Emit: driver.EmitPTX, ReproducerDir: o.ReproducerDir, MemoryLimit: o.MemoryLimit}
	if d.Called == nil {
		d.Called = driver.InOptions
	}
	d.LineInfo = true
	return d
}

// compile makes the PTX and reads it into the emulator.
func (p *Program) compile(ctx context.Context, source []byte) error {
	res, err := driver.Compile(ctx, p.opts.Name, source, p.opts.driver())
	if err != nil {
		return err
	}
	return p.take(res)
}

// take reads what a compile made into the emulator.
func (p *Program) take(res *driver.Result) error {
	p.shapes = map[string]launchShape{}
	for _, k := range res.Metadata.Kernels {
		p.shapes[k.Name] = launchShape{block: k.Block, cluster: k.Cluster, shared: k.Dynamic}
	}
	return p.parsePTX(string(res.Output))
}

func (p *Program) parsePTX(text string) (err error) {
	if p.ptx, err = emu.Parse(p.opts.Name, text); err != nil {
		return err
	}
	p.emuMemory = emu.NewHostMemory()
	return nil
}

// LoadCompiled prepares the PTX of a compile for the emulator, for commands of this module; others have LoadPTX. Of parameters it says the sizes.
func LoadCompiled(res *driver.Result, o Options) (*Program, error) {
	o.Engine = Emulator
	if err := o.check(); err != nil {
		return nil, err
	}
	p := newProgram(o)
	if err := p.take(res); err != nil {
		return nil, err
	}
	p.kernels = p.entries()
	return p, nil
}

// LoadPTX prepares PTX text for the emulator; block, cluster and the dynamic shared memory of a launch are the same for all of its kernels, and zeros are
// what a kernel says itself. Malformed PTX is an *emu.SyntaxError.
func LoadPTX(text string, block, cluster [3]int, shared int, o Options) (*Program, error) {
	o.Engine = Emulator
	if err := o.check(); err != nil {
		return nil, err
	}
	p := newProgram(o)
	p.shapes = map[string]launchShape{}
	if err := p.parsePTX(text); err != nil {
		return nil, err
	}
	p.kernels = p.entries()
	for _, k := range p.kernels {
		p.shapes[k.Name] = launchShape{block: block, cluster: cluster, shared: shared}
	}
	return p, nil
}

// entries are the kernels of the PTX.
func (p *Program) entries() (out []Kernel) {
	for _, name := range p.ptx.Entries() {
		k := Kernel{Name: name}
		for _, q := range p.ptx.Entry(name).Params {
			k.Params = append(k.Params, Param{Type: fmt.Sprintf("%d bytes", q.Size), Size: q.Size})
		}
		out = append(out, k)
	}
	return out
}

// Kernels are the entries, in the order of the module.
func (p *Program) Kernels() []Kernel { return p.kernels }

// Kernel finds an entry; the error names those there are.
func (p *Program) Kernel(name string) (Kernel, error) {
	i := slices.IndexFunc(p.kernels, func(k Kernel) bool { return k.Name == name })
	if i >= 0 {
		return p.kernels[i], nil
	}
	var names []string
	for _, k := range p.kernels {
		names = append(names, k.Name)
	}
	return Kernel{}, fmt.Errorf("there is no kernel %q; there are %q", name, names)
}

func kernelsOf(module *ir.Op) (out []Kernel) {
	for _, op := range module.Body().Ops() {
		if e, ok := ir.As[cudatile.Entry](op); ok {
			k := Kernel{Name: e.SymName()}
			for _, a := range op.Body().Args() {
				k.Params = append(k.Params, paramOf(a.Type()))
			}
			out = append(out, k)
		}
	}
	return out
}

// paramOf says how a parameter is passed, as the driver API does it: a pointer is an address of 8 bytes, an i1 a byte that is 0 or not.
func paramOf(t ir.Type) Param {
	if tile, ok := t.(*cudatile.TileType); ok {
		t = tile.Elem
	}
	p := Param{Type: ir.ShortType(t), Size: 8, value: func(bits uint64) uint64 { return bits }}
	switch t := t.(type) {
	case *ir.IntegerType:
		p.Size = max(t.Width/8, 1)
		p.value = func(bits uint64) uint64 { return bits & (math.MaxUint64 >> (64 - t.Width)) }
		if t.Width == 1 {
			p.value = func(bits uint64) uint64 { return min(bits&0xff, 1) }
		}
	case *ir.FloatType:
		p.Size, p.Float = max(t.Format.StorageBits()/8, 1), true
		p.value = t.Format.FromStorage
	case *cudatile.PtrType:
		p.Pointer, p.Elem = true, ir.ShortType(t.Elem)
	default:
		p.Pointer = true
	}
	return p
}
