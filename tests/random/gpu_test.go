package random

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/internal/driver"
	"tileiras/runtime/cuda"
)

// TestRandomModulesMeanTheSameOnAGPU holds N=TILEIRAS_RANDOM_GPU modules of TILEIRAS_RANDOM_KIND, from seed TILEIRAS_RANDOM_FROM on, on the
// GPU of this machine against the interpreter, compiled for the GPU's own target and for one of those whose PTX it runs. Modules run one after
// the other, as many as the time of the test allows; several processes keep a machine busy.
func TestRandomModulesMeanTheSameOnAGPU(t *testing.T) {
	n := number(t, "TILEIRAS_RANDOM_GPU", 0)
	if n == 0 {
		t.Skip("TILEIRAS_RANDOM_GPU is not set: it says how many modules to run on the GPU of this machine")
	}
	d, err := cuda.Open("")
	if err != nil {
		t.Fatal(err)
	}
	g := &onGPU{t: t}
	if g.ctx, err = d.Context(0); err != nil {
		t.Fatal(err)
	}
	var names []string
	own, _ := target.ByName(fmt.Sprintf("sm_%d", g.ctx.Device.SM()))
	for _, c := range target.All {
		if c.Number <= own.Number {
			names = append(names, c.Name)
		}
	}
	kind, from := kindIn(t, "TILEIRAS_RANDOM_KIND"), number(t, "TILEIRAS_RANDOM_FROM", 0)
	tried := 0
	deadline, limited := t.Deadline()
	for seed := uint64(from); seed < uint64(from+n) && g.ctx.Lost() == nil && !(limited && time.Until(deadline) < patience/4); seed++ {
		tried++
		text, _ := moduleOfKind(kind, seed)
		ref, err := interpret(t.Context(), text)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		for _, name := range slices.Compact([]string{names[seed%uint64(len(names))], own.Name}) {
			if err := g.check(ref, text, name); err != nil && !errors.Is(err, ErrUnsupported) {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
		if g.ctx.Lost() != nil {
			t.Errorf("seed %d lost the process: go on with TILEIRAS_RANDOM_FROM=%d", seed, seed+1)
		}
	}
	t.Logf("%d modules from seed %d: %d kernels ran on %s", tried, from, g.ran, g.ctx.Device.Name)
	if g.ran < tried/2 || tried == 0 {
		t.Errorf("%d kernels of %d modules ran: they test nothing", g.ran, tried)
	}
}

type onGPU struct {
	t   *testing.T
	ctx *cuda.Context
	ran int
}

// check compiles a module as the plan would have it and with warps of their own for copies, and runs both.
func (g *onGPU) check(ref *reference, text, gpu string) error {
	seen := map[string]bool{}
	for _, roles := range []options.Roles{options.Auto, options.On} {
		res, err := compile(g.t.Context(), text, gpu, options.Code{Opt: 3, Roles: roles})
		if err != nil {
			return err
		}
		if seen[string(res.Output)] {
			continue
		}
		seen[string(res.Output)] = true
		k := res.Metadata.Kernels[slices.IndexFunc(res.Metadata.Kernels, func(k driver.Kernel) bool { return k.Name == ref.entry })]
		if err := g.compare(ref, gpu, res.Output, k); err != nil {
			return fmt.Errorf("roles=%s: %w", roles, err)
		}
	}
	return nil
}

// patience is how long a kernel may take; after it the process ends, as there is no other way to stop a kernel.
const patience = 20 * time.Second

// compare runs a kernel and holds what it leaves in the buffers against the interpreter's.
func (g *onGPU) compare(ref *reference, gpu string, ptx []byte, k driver.Kernel) error {
	out, err := g.launch(ref, ptx, k)
	if err != nil {
		return &Failure{"GPU", gpu, err.Error()}
	}
	g.ran++
	for i, p := range ref.params {
		if p.bytes == nil {
			continue
		}
		if text := differences(p.elem, out[i], ref.bytes[i], ref.inexact[i]); text != "" {
			return &Failure{"differs", gpu, fmt.Sprintf("parameter %d: %s", i, text)}
		}
	}
	return nil
}

func (g *onGPU) launch(ref *reference, ptx []byte, k driver.Kernel) (out [][]byte, err error) {
	m, err := g.ctx.Load(ptx)
	if err != nil {
		return nil, err
	}
	defer m.Unload()
	f, err := m.Function(k.Name)
	if err != nil {
		return nil, err
	}
	var args [][]byte
	memory := make([]*cuda.Memory, len(ref.params))
	for i, p := range ref.params {
		bits, n := p.bits, size(p.elem)
		if p.bytes != nil {
			if memory[i], err = g.ctx.Alloc(len(p.bytes)); err != nil {
				return nil, err
			}
			defer memory[i].Free()
			if err := memory[i].Write(p.bytes); err != nil {
				return nil, err
			}
			bits, n = memory[i].Address, 8
		}
		args = append(args, binary.LittleEndian.AppendUint64(nil, bits)[:n])
	}
	defer time.AfterFunc(patience, func() { panic("a kernel does not end:\n" + strings.TrimSpace(string(ptx))) }).Stop()
	config := cuda.Config{Grid: [3]int{ref.blocks * k.Blocks[0], 1, 1}, Block: k.Block, Shared: k.Dynamic}
	if err := errors.Join(f.Launch(config, args...), g.ctx.Synchronize()); err != nil {
		return nil, err
	}
	out = make([][]byte, len(memory))
	for i, x := range memory {
		if x == nil {
			continue
		}
		if out[i], err = x.Read(); err != nil {
			return nil, err
		}
	}
	return out, nil
}
