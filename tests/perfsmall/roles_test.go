package perfsmall_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// oneRole are the kernels with products whose copies warps of their own cannot begin on sm_80, and why.
var oneRole = map[string]string{
	"gemm_f8e4m3fn_4096_128x128x128_nt":     "f8 is converted on its way",
	"gemm_f8e4m3fn_8192_128x256x128_nt":     "f8 is converted on its way",
	"gemm_scaled_f8e4m3fn_8192_128x256x128": "f8 is converted on its way",
	"attention_f16_d128_128x128":            fewRegisters,
	"attention_f16_d128_128x64":             fewRegisters,
	"attention_f16_d128_causal_128x128":     fewRegisters,
	"attention_f16_d128_causal_128x64":      fewRegisters,
	"gemm_bf16_4096_128x256x64":             fewRegisters,
	"gemm_bf16_4096_128x256x64_nt":          fewRegisters,
	"gemm_bf16_8192_128x256x64":             fewRegisters,
	"gemm_bf16_8192_128x256x64_persistent":  fewRegisters,
	"gemm_bf16_8192_256x256x64_2cta":        fewRegisters,
	"gemm_f16_4096_128x256x64":              fewRegisters,
	"gemm_f32_8192_128x256x32_tf32":         fewRegisters,
	"group_gemm_bf16_8_128x256x64":          fewRegisters,
}

const fewRegisters = "threads of more than eight warps have 168 registers, as one scheduler has three of the warps"

// TestRoles runs the kernels with products with warps of their own for copies, as TestPerfSmall runs them without; both compute the same bits. Threads that add up
// slices of products have no registers to leave to such warps.
func TestRoles(t *testing.T) {
	all := os.Getenv("TILEIRAS_PERF_SMALL") != ""
	names, err := cases.List(perf)
	if err != nil {
		t.Fatal(err)
	}
	gpu := gpus()[0]
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			c, err := cases.Load(filepath.Join(perf, name))
			if err != nil {
				t.Fatal(err)
			}
			res, err := compileFor(c, gpu, options.Code{Roles: options.On, SlicesK: 1})
			if err != nil {
				t.Skip(err)
			}
			ptx := string(res.Output)
			if !strings.Contains(ptx, "mma.sync") && !strings.Contains(ptx, "wgmma") && !strings.Contains(ptx, "tcgen05.mma") {
				return
			}
			roles := strings.Contains(ptx, "mbarrier.arrive.shared")
			if gpu == "sm_80" && roles == (oneRole[name] != "") {
				t.Fatalf("has roles: %v, %q", roles, oneRole[name])
			}
			if !roles {
				return // TestPerfSmall runs it
			}
			runBeside(t, c, gpu, all, res, options.Code{Roles: options.Off, SlicesK: 1})
		})
	}
	for name := range oneRole {
		if !slices.Contains(names, name) {
			t.Errorf("%s is listed and is no kernel", name)
		}
	}
}

// runBeside runs a program and wants the bits of another one.
func runBeside(t *testing.T, c *cases.Case, gpu string, all bool, res *driver.Result, code options.Code) {
	t.Helper()
	other, err := compileFor(c, gpu, code)
	if err != nil {
		t.Fatal(err)
	}
	runSizes(t, c, gpu, all, func(ctx context.Context, schedules []emu.Schedule) (bool, error) {
		changed, err := runAll(ctx, c, gpu, res, schedules)
		if err == nil {
			err = sameBits(ctx, c, res, other)
		}
		return changed, err
	})
}

// sameBits holds what two programs leave in memory against each other.
func sameBits(ctx context.Context, c *cases.Case, res, other *driver.Result) error {
	l, err := c.NewLaunch()
	if err != nil {
		return err
	}
	a, err := emulate(ctx, l, res, emu.RoundRobin)
	if err != nil {
		return err
	}
	b, err := emulate(ctx, l, other, emu.RoundRobin)
	if err != nil {
		return err
	}
	for i := range a.Buffers {
		if !bytes.Equal(a.Buffers[i], b.Buffers[i]) {
			return fmt.Errorf("%s: other bits than of the other program", c.Buffers[i].Name)
		}
	}
	return nil
}
