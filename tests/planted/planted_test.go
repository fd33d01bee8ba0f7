// Package planted_test switches the bugs of README.md on, one at a time, and wants each of them found.
package planted_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bugs has one row per line of README.md's table: the case that must fail and what must be said of it.
var bugs = []struct {
	name string
	file string // of the case, below tests
	says string // regular expression
}{
	{"drop-barrier", "corpus/cases/argmax_f32", `race: read of shared memory .*write by warp`},
	{"drop-warp-sync", "planted/cases/one_warp_transpose", `race: .*shared memory .*warp 0 lane`},
	{"swap-atom-lanes", "corpus/cases/mma_f16_f32_16x16x16", `elements differ`},
	{"mask-off-by-one", "corpus/cases/copy_2d_f32", `outside the array|out of bounds`},
	{"swizzle-one-side", "corpus/cases/matmul_f16", `elements differ`},
	{"lost-token", "corpus/cases/in_place_loop", `race: .*'`},
	{"atomic-every-replica", "corpus/cases/atomic_add_i32", `elements differ`},
	{"unordered-butterfly", "planted/cases/horner", `elements differ`},
	{"wrapping-bound", "planted/cases/last_step", `out of bounds`},
	{"drop-wait", "planted/cases/ring", `in flight`},
	{"early-wait", "planted/cases/ring", `in flight`},
	{"drop-ring-barrier", "planted/cases/ring", `in flight|race: `},
	{"slot-too-few", "planted/cases/ring", `elements differ`},
	{"copy-before-read", "planted/cases/turns", `elements differ`},
	{"late-copy", "planted/cases/ring", `out of bounds`},
	{"late-mask", "planted/cases/pointers", `out of bounds`},
	{"late-load", "planted/cases/listed", `out of bounds`},
	{"beside-past-end", "corpus/cases/norm_gradient_f16", `out of bounds`},
	{"tile-behind", "corpus/cases/matmul_persistent_f16", `elements differ`},
	{"copy-after-last", "planted/cases/steps", `out of bounds`},
	{"read-before-gate", "planted/cases/ring", `in flight|race: `},
	{"staged-slot", "corpus/cases/attention_f8e5m2_64x32", `elements differ|undefined`},
	{"late-turn", "corpus/cases/attention_f8e4m3fn_64x64", `elements differ`},
	{"interior-too-long", "planted/cases/interior", `out of bounds`},
	{"mask-guard-off-by-one", "planted/cases/masks", `elements differ`},
	{"unrolled-rest", "planted/cases/rows", `out\[.*elements differ`},
	{"load-past-store", "planted/cases/rows", `c\[.*elements differ|race: `},
	{"edge-off-by-one", "planted/cases/edge", `elements differ`},
	{"acquire-early", "planted/cases/roles", `in flight|race: `},
	{"wait-dropped", "planted/cases/roles", `in flight|race: `},
	{"release-unsynced", "planted/cases/roles", `race: |in flight`},
	{"slot-miscounted", "planted/cases/roles", `deadlock|elements differ|race: |in flight`},
	{"early-product-wait", "planted/cases/ring", `in flight|race: `},
	{"drop-landing", "planted/cases/ring", `in flight|before its wait|not waited`},
	{"drop-proxy-fence", "planted/cases/ring", `missing fence`},
	{"sum-unwaited", "planted/cases/tensor", `in flight|race: `},
	{"sum-not-begun", "planted/cases/tensor", `undefined`},
	{"sum-begun-again", "planted/cases/chained", `elements differ`},
	{"product-forgotten", "planted/cases/chained", `in flight`},
	{"product-unfenced", "planted/cases/tensor", `missing fence`},
	{"store-unfenced", "corpus/cases/attention_f8e4m3fn_64x64", `missing fence: read`},
	{"factor-overwritten", "planted/cases/weights", `in flight`},
	{"factor-among-sums", "planted/cases/weights_apart", `elements differ|in flight`},
	{"map-unfenced", "planted/cases/ring", `missing fence: .*proxy of tensor maps`},
	{"map-too-long", "planted/cases/edge", `elements differ|out of bounds`},
	{"empty-read", "planted/cases/empty", `elements differ`},
	{"place-taken", "corpus/cases/mma_loop_f8e5m2", `race: |missing fence`},
	{"place-scope", "corpus/cases/mma_loop_f8e5m2", `race: `},
	{"narrow-scope", "corpus/cases/last_block", `race: `},
	{"group-unawaited", "planted/cases/ring", `in flight`},
	{"shared-register", "corpus/cases/attention_f16", `elements differ|undefined|out of bounds|misaligned`},
}

// warpgroups are the bugs of products of warpgroups, clusters those that take the scope of a cluster, tensor those of products of the
// tensor unit, maps those of copies by tensor maps.
var (
	maps       = []string{"map-unfenced", "map-too-long", "empty-read", "place-taken", "place-scope", "group-unawaited"}
	warpgroups = []string{"early-product-wait", "drop-landing", "drop-proxy-fence"}
	clusters   = []string{"narrow-scope"}
	tensor     = []string{"sum-unwaited", "sum-not-begun", "sum-begun-again", "product-forgotten", "product-unfenced", "store-unfenced", "factor-overwritten", "factor-among-sums"}
)

// gpuOf is the GPU for which a case is compiled to find a bug.
func gpuOf(bug string) string {
	switch {
	case slices.Contains(warpgroups, bug), slices.Contains(clusters, bug), slices.Contains(maps, bug):
		return "sm_90"
	case slices.Contains(tensor, bug):
		return "sm_100"
	}
	return "sm_80"
}

// timeout is for bugs that make a loop without end; a case takes milliseconds.
const timeout = 2 * time.Minute

func TestEveryPlantedBugIsFound(t *testing.T) {
	tilerun := filepath.Join(t.TempDir(), "tilerun")
	build := exec.Command("go", "build", "-tags", "planted", "-o", tilerun, "tileiras/cmd/tilerun")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build -tags planted: %v\n%s", err, out)
	}
	run := func(bug, of, file string) (passed bool, log string) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, tilerun, "--on", "emu", "--gpu-name", gpuOf(of), "--roles="+roles(file), "--tma="+strconv.FormatBool(slices.Contains(maps, of)),
			filepath.Join("..", file))
		cmd.Env = append(os.Environ(), "TILEIRAS_PLANT="+bug)
		out, err := cmd.CombinedOutput()
		return err == nil, string(out)
	}
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			if passed, log := run("", b.name, b.file); !passed {
				t.Fatalf("%s fails without a bug:\n%s", b.file, log)
			}
			switch passed, log := run(b.name, b.name, b.file); {
			case passed:
				t.Errorf("nobody noticed in %s", b.file)
			case !regexp.MustCompile(b.says).MatchString(log):
				t.Errorf("%s fails, but not for the reason %q:\n%s", b.file, b.says, log)
			}
		})
	}
}

// roles is whether a case is compiled with warps of their own for copies.
func roles(file string) string {
	switch filepath.Base(file) {
	case "roles", "weights": // else copies wait for the products that read what was there before
		return "on"
	}
	return "off"
}

// TestTheListHasEveryBug holds the table of the test against that of README.md.
func TestTheListHasEveryBug(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllSubmatch(text, -1) {
		listed = append(listed, string(m[1]))
	}
	var tested []string
	for _, b := range bugs {
		tested = append(tested, b.name)
	}
	if strings.Join(listed, " ") != strings.Join(tested, " ") {
		t.Errorf("README.md lists %q, the test has %q", listed, tested)
	}
	for _, name := range tested {
		out, err := exec.Command("grep", "-rlF", "--include=*.go", `planted.On("`+name+`")`, "../../passes", "../../codegen").Output()
		if err != nil || len(bytes.Fields(out)) == 0 {
			t.Errorf("nothing in passes and codegen asks for %s", name)
		}
	}
}
