package perfsmall_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/runtime/cases"
)

// mapless are the kernels with products that have no tensor maps on sm_90, and why.
var mapless = map[string]string{
	"gemm_f32_8192_128x256x32_tf32":         "threads round what they load",
	"gemm_scaled_f8e4m3fn_8192_128x256x128": "threads scale what they load",
	"group_gemm_bf16_8_128x128x64":          "each group has arrays of its own",
	"group_gemm_bf16_8_128x256x64":          "each group has arrays of its own",
}

// TestTensorMaps runs the kernels with products with copies by tensor maps, as TestPerfSmall runs them without; both compute the same bits.
func TestTensorMaps(t *testing.T) {
	all := os.Getenv("TILEIRAS_PERF_SMALL") != ""
	names, err := cases.List(perf)
	if err != nil {
		t.Fatal(err)
	}
	targets := []string{"sm_90", "sm_100"}
	if all {
		targets = slices.DeleteFunc(gpus(), func(gpu string) bool { return len(gpu) == len("sm_80") && gpu < "sm_90" })
	}
	for _, gpu := range targets {
		for _, name := range names {
			t.Run(gpu+"/"+name, func(t *testing.T) {
				c, err := cases.Load(filepath.Join(perf, name))
				if err != nil {
					t.Fatal(err)
				}
				res, err := compileFor(c, gpu, options.Code{TMA: true})
				if err != nil {
					t.Skip(err)
				}
				ptx := string(res.Output)
				multiplies := strings.Contains(ptx, "mma.sync") || strings.Contains(ptx, "wgmma") || strings.Contains(ptx, "tcgen05.mma")
				maps := strings.Contains(ptx, "cp.async.bulk.tensor")
				if gpu == "sm_90" && multiplies && maps == (mapless[name] != "") {
					t.Fatalf("has tensor maps: %v, %q", maps, mapless[name])
				}
				if !maps {
					return // TestPerfSmall runs it
				}
				runBeside(t, c, gpu, all, res, options.Code{})
			})
		}
	}
	for name := range mapless {
		if !slices.Contains(names, name) {
			t.Errorf("%s is listed and is no kernel", name)
		}
	}
}
