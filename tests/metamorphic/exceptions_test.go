package metamorphic

import (
	"slices"
	"strings"
)

// exceptions are free rewritings that cost something today, by GPU and kernel, with the reason. A row is as wide as it must be: a pair in it that costs
// nothing fails as well.
var exceptions = []struct {
	rewriting     string
	gpus, kernels string
	because       string
}{
	{"for-as-do-while", "sm_80 sm_90 sm_100", "softmax_f32_8192x4096", "the step is an extent of the grid, so a counter that is ahead may wrap"},
	{"for-as-while", "sm_80 sm_90 sm_100", "softmax_f32_8192x4096", "the step is an extent of the grid, so a counter that is ahead may wrap"},
	{
		"turn-product", "sm_80 sm_90 sm_100",
		"attention_f16_d128_128x128 attention_f16_d128_causal_128x128 attention_f16_d128_causal_128x64 attention_f16_d64_128x128 attention_f16_d64_128x64 " +
			"attention_f16_d64_causal_128x128 attention_f16_d64_causal_128x64",
		"a turned sum, and the factor that threads compute, move between threads",
	},
	{"turn-product", "sm_80 sm_90", "attention_f16_d128_128x64", "a turned sum, and the factor that threads compute, move between threads"},
	{"turn-product", "sm_100", "gemm_bf16_8192_256x256x64_2cta gemm_f32_4096_128x128x32_tf32", "a turned sum leaves tensor memory, or is cut the other way"},
	{"turn-product", "sm_90 sm_100", "gemm_f32_8192_128x256x32_tf32", "a turned sum has the other shape of instruction"},
	{"turn-product", "sm_90", "gemm_f8e4m3fn_4096_128x128x128_nt gemm_f8e4m3fn_8192_128x256x128_nt", "a turned sum has the other shape of instruction"},
	{"turn-tile", "sm_100", "attention_f16_d128_causal_128x64 attention_f16_d64_causal_128x64", "a factor whose tile is turned and permuted back is priced otherwise"},
	{"turn-tile", "sm_90", "gemm_f8e4m3fn_4096_128x128x128_nt", "a factor whose tile is turned and permuted back is priced otherwise"},
}

// excused is the reason why a rewriting of a kernel costs something, or "".
func excused(rewriting, kernel, gpu string) string {
	for _, e := range exceptions {
		if e.rewriting == rewriting && slices.Contains(strings.Fields(e.gpus), gpu) && slices.Contains(strings.Fields(e.kernels), kernel) {
			return e.because
		}
	}
	return ""
}
