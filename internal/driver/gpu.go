package driver

import (
	"context"
	"fmt"
	"slices"

	"tileiras/codegen/target"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/internal/native"
	"tileiras/ir"
)

// Native is the name of the GPU of this machine.
const Native = "native"

// DefaultGPU is what PTX is for when no GPU is named: nearly everything compiles for it, and its PTX runs on every later GPU.
const DefaultGPU = "sm_80"

// gpuValues are the values of --gpu-name.
func gpuValues() []Value {
	var vs []Value
	for _, t := range target.All {
		vs = append(vs, Value{t.Name, fmt.Sprintf("SM %d", t.Number)})
	}
	return append(vs, Value{Native, "The GPU of this machine"})
}

// target finds the GPU to compile for, with no more shared memory than a block may have, in PTX that may be used.
func (o *Options) target(ctx context.Context) (*target.Target, error) {
	t, err := o.Named(ctx)
	if err != nil {
		return nil, err
	}
	if limit, ok := target.ParsePTX(o.MaxPTX); ok && t.PTX > limit {
		return nil, fail(ExitUnsupported, "%s needs PTX %s, and at most %s may be used", t.Name, t.PTX, limit)
	}
	if o.MaxShared == 0 || o.MaxShared >= t.SharedOptIn {
		return t, nil
	}
	limited := *t
	limited.SharedOptIn = o.MaxShared
	return &limited, nil
}

// Named finds the GPU that is named. A cubin needs a name; everything before it is for DefaultGPU without one. What is wrong with a name is a [Failure].
func (o *Options) Named(ctx context.Context) (*target.Target, error) {
	switch {
	case o.GPU == "" && o.Emit == EmitCubin:
		return nil, fail(ExitOptions, "a cubin is for one of these: %s", o.nameAGPU())
	case o.GPU == "":
		t, _ := target.ByName(DefaultGPU)
		return t, nil
	case o.GPU == Native:
		return o.nativeTarget(ctx)
	}
	t, ok := target.ByName(o.GPU)
	if !ok {
		return nil, o.Wrong("GPU", o.GPU, target.Advice(o.GPU))
	}
	return t, nil
}

// nameAGPU says how.
func (o *Options) nameAGPU() string {
	return fmt.Sprintf("give %s with %s, or with native for the GPU of this machine", o.called("GPU"), target.Names())
}

// checkHeader refuses what is no module, bytecode of a version that is not known, and a cubin of bytecode for no GPU: in NVIDIA's words, which name one that
// nobody has, and then in ours. guess is what there is to say of an output whose name does not say that it is a cubin, "" of others.
func checkHeader(src []byte, o *Options, guess string) error {
	version, text := ir.Version{}, isText(src)
	if !text {
		v, err := bytecode.VersionOf(src, o.Read)
		if err != nil {
			return readFailure(err)
		}
		version = v
	}
	if o.GPU != "" || o.Emit != EmitCubin || text && guess == "" {
		return nil
	}
	f := fail(ExitOptions, "GPU architecture sm_0 is not supported by this version of tileiras. "+
		"You may need a newer toolchain that supports this architecture (bytecode in file is version %s).", version)
	if guess != "" {
		f = fail(ExitOptions, "%s", guess)
	}
	f.Lines = append(f.Lines, "note: no GPU was named, and a cubin is for one: "+o.nameAGPU())
	return f
}

// nativeTarget is the target of the first GPU of this machine, which is the one that programs use by default.
func (o *Options) nativeTarget(ctx context.Context) (*target.Target, error) {
	gpus, err := native.Query(ctx)
	if err != nil {
		return nil, fail(ExitOptions, "%s = native: cannot find out which GPU this machine has: %v; name one of %s", o.called("GPU"), err, target.Names())
	}
	if t, ok := target.ByNumber(gpus[0].Number); ok {
		return t, nil
	}
	return nil, fail(ExitOptions, "%s = native: the GPU of this machine, %s, has compute capability %d.%d, which is none of %s",
		o.called("GPU"), gpus[0].Name, gpus[0].Number/10, gpus[0].Number%10, target.Names())
}

// assumed is the note of a failed compile whose GPU nobody named: another one may take the kernel.
func (o *Options) assumed(err error) error {
	f, ok := err.(*Failure)
	if !ok || o.GPU != "" || f.Kind != KindUnsupported && f.Kind != KindTarget {
		return err
	}
	note := fmt.Sprintf("note: no %s was given, so this was compiled for %s", o.called("GPU"), DefaultGPU)
	g := *f
	g.Lines = append(slices.Clone(f.Lines), note)
	return &g
}

// header is what the PTX says of what was not asked for in so many words.
func (o *Options) header() []string {
	var lines []string
	if o.GPU == "" {
		lines = append(lines, "for "+DefaultGPU+", as no GPU was named; later GPUs run it too")
	}
	if o.Debug {
		lines = append(lines, "with source lines, as by --lineinfo: --device-debug has no more to write yet")
	}
	return lines
}
