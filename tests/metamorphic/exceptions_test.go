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
