package perfsmall_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// unpromised are the kernels that the quick part runs without promises: of each kind of code that has two versions one.
var unpromised = []string{
	"attention_f16_d64_causal_128x128", "gather_rows_f16", "gemm_f16_4096_128x128x64_persistent", "gemm_f32_4096_128x128x32_tf32",
	"group_gemm_bf16_8_128x128x64", "layernorm_bf16_8192x4096", "rope_bf16_8192x32x128", "transpose_f16_8192", "vecadd_bf16_64m",
}

// TestWithoutPromises takes from kernels what their frontend promises of the alignment of arrays, which compiled code then has to test. Arrays begin at
// multiples of 16 bytes, and then an element behind.
func TestWithoutPromises(t *testing.T) {
	all := os.Getenv("TILEIRAS_PERF_SMALL") != ""
	names, err := cases.List(perf)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range unpromised {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not in the corpus", name)
		}
	}
	for _, name := range names {
		if !all && !slices.Contains(unpromised, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c, err := cases.Load(filepath.Join(perf, name))
			if err != nil {
				t.Fatal(err)
			}
			if c.Bytecode, err = withoutPromises(c.Bytecode); err != nil {
				t.Fatal(err)
			}
			res, gpu, err := compile(c)
			if err != nil {
				t.Fatal(err)
			}
			runSizes(t, c, gpu, all, func(ctx context.Context, schedules []emu.Schedule) (bool, error) {
				if changed, err := runAll(ctx, c, gpu, res, schedules); err != nil {
					return changed, err
				}
				back := shift(c)
				defer back()
				return runAll(ctx, c, gpu, res, schedules)
			})
		})
	}
}

// withoutPromises removes assumptions that numbers and addresses are multiples of others.
func withoutPromises(data []byte) ([]byte, error) {
	in, err := driver.Read(driver.NewContext(), "kernel.tileirbc", data)
	if err != nil {
		return nil, err
	}
	var promises []cudatile.Assume
	ir.Walk(in.Module, ir.PreOrder, func(op *ir.Op) {
		if a, ok := ir.As[cudatile.Assume](op); ok {
			if _, multiple := a.Predicate().(*cudatile.DivBy); multiple {
				promises = append(promises, a)
			}
		}
	})
	for _, a := range promises {
		a.Result().ReplaceAllUsesWith(a.Value())
		a.Op.Erase()
	}
	return bytecode.Write(in.Module, bytecode.WriteOptions{Origin: in.Origin})
}

// shift lets arrays begin an element further on in longer buffers; back undoes that.
func shift(c *cases.Case) (back func()) {
	params, buffers := slices.Clone(c.Params), make([]cases.Buffer, len(c.Buffers))
	moved := func(name string, offset *int) {
		if b := c.Buffer(name); b != nil && len(b.Pointers) == 0 {
			*offset += b.DType.Size
		}
	}
	for i := range c.Params {
		moved(c.Params[i].Buffer, &c.Params[i].Offset)
	}
	for i, b := range c.Buffers {
		buffers[i] = *b
		b.Pointers = slices.Clone(b.Pointers)
		for p := range b.Pointers {
			moved(b.Pointers[p].Buffer, &b.Pointers[p].Offset)
		}
		if b.Init != nil && b.Init.Values == nil {
			b.Shape, b.Data = []int{b.Elements() + 1}, nil
		}
	}
	return func() {
		c.Params = params
		for i := range buffers {
			*c.Buffers[i] = buffers[i]
		}
	}
}
