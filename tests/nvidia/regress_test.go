package nvidia_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/tests/regress"
)

// nvidiaFault is what is wrong in NVIDIA's PTX for a target, for all where none is named.
type nvidiaFault struct{ why, text, instead, target string }

// nvidiaFaults are kernels of which NVIDIA's PTX is wrong, each with the reason and, where one is known, what mends it: the PTX with
// `instead` in place of `text` gives what is expected, so it was this that was wrong.
var nvidiaFaults = map[string]nvidiaFault{
	"copied_then_overwritten_in_loop": {
		why:  "no cp.async.wait_group, and no mbarrier, stands between the first copies of the right operand and the ldmatrix that read it",
		text: "cp.async.commit_group;", instead: "cp.async.commit_group; cp.async.wait_all;",
	},
	"loop_split_beyond_the_largest_number": {
		why: "the number after 3*2^29 is 2^31, which is taken for negative, so below the bound: the loop never ends, and all that is left of the kernel is a jump to itself",
	},
	"itof_of_near_ties_to_bf16": {
		why: "it converts to f32 first, which rounds to the middle of two numbers, of which the second rounding takes the even one",
	},
	"print_what_does_not_apply": {
		why: "it passes an operand as it is to a conversion of another type, which prints other bytes: the dialect leaves that open",
	},
	"print_i64_as_int": {
		why: "it passes 64 bits of each element to a conversion that takes an int: the dialect leaves that open",
	},
	"alloca_in_a_loop": {
		why: "the memory of an iteration is freed before its last two stores, which run in the next one",
	},
	"gather_offset_wraps_in_pieces": {
		why: "an offset that no signed number of 64 bits is counts as negative, so rows behind it are those of the array: the dialect leaves that open",
	},
	"one_warp_beside_one_that_copies": {
		why:  "lanes read what other lanes of the warp copy, which have waited for it, without meeting them",
		text: "cp.async.wait_group \t", instead: "cp.async.wait_all; bar.warp.sync -1; cp.async.wait_group \t",
	},
	"release_in_a_loop_of_copies": {
		why:  "no cp.async.wait_group stands between the copies of the reduced tile and the loads that read it",
		text: "cp.async.commit_group;", instead: "cp.async.commit_group; cp.async.wait_all; bar.sync 0;", target: "sm_80",
	},
	"store_in_pieces_before_a_release": {
		why:  "one thread releases without meeting those that stored: the dialect leaves that open, for no token comes from the stores",
		text: "setp.ne.b32 \t%p6, %r1, 0;", instead: "bar.sync 0; setp.ne.b32 \t%p6, %r1, 0;",
	},
	"bound_of_a_role_before_a_release": {
		why: "one thread releases without meeting those that load before it: the dialect leaves that open, for no token comes from there",
	},
	"copy_of_a_role_before_a_release": {
		why: "one thread releases without meeting those that copy before it: the dialect leaves that open, for no token comes from there",
	},
	"factor_in_steps_before_a_release": {
		why: "one thread releases without meeting those that copy before it: the dialect leaves that open, for no token comes from there",
	},
	"load_in_pieces_before_a_release": {
		why: "one thread releases without meeting those that load before it: the dialect leaves that open, for no token comes from there",
	},
	"store_of_a_loop_before_a_release": {
		why: "one thread releases without meeting those that store before it: the dialect leaves that open, for no token comes from there",
	},
	"strides_i16_unsigned": {
		why:  "no barrier stands between the stores and the loads that come behind them, of memory where two rows of a view overlap",
		text: "ld.global.b32 \t%r2,", instead: "bar.sync 0; ld.global.b32 \t%r2,",
	},
	"unsigned_loop_from_beyond_its_end": {
		why:  "the loop compares its bounds without sign, but whether its last iteration, which stands alone, takes place is asked with sign",
		text: "setp.gt.s64 \t%p9, %rd3, 99;", instead: "setp.gt.u64 \t%p9, %rd3, 99;",
	},
}

// TestNvidiaGivesWhatRegressionsExpect holds the expectations of tests/regress against NVIDIA's PTX of the same texts: they are what
// its compiler makes too, not what ours came to make.
func TestNvidiaGivesWhatRegressionsExpect(t *testing.T) {
	tool(t, "tileiras")
	files, err := regress.Files("../regress")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"sm_80", "sm_89"} {
		tried, refused, agree := 0, 0, 0
		for _, file := range files {
			test, err := regress.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(target+"/"+test.Name, func(t *testing.T) {
				tried++
				text, err := nvidiaPTXOfText(t, test, target)
				switch {
				case errors.Is(err, errRefused):
					refused++
					t.Log(err)
				case err != nil:
					t.Fatal(err)
				case holds(t, test, text, target):
					agree++
				}
			})
		}
		t.Logf("%s: of %d kernels %d agree, %d are refused by NVIDIA's tileiras", target, tried, agree, refused)
		if tried == len(files) && agree == 0 {
			t.Errorf("%s: no kernel agrees", target)
		}
	}
}

// holds reports whether NVIDIA's PTX gives what a test expects. If not, it is to be a known fault, which is mended as its row says.
func holds(t *testing.T, test *regress.Test, text, target string) bool {
	fault, wrong := nvidiaFaults[test.Name]
	if fault.target != "" && fault.target != target {
		fault, wrong = nvidiaFault{}, false
	}
	report := t.Errorf
	if wrong {
		report = t.Logf
	}
	good := agrees(t, test.Case, text, nil, report)
	if good && wrong {
		t.Errorf("NVIDIA's fault is gone: %s", fault.why)
	}
	if fault.text != "" && (!strings.Contains(text, fault.text) || !agrees(t, test.Case, strings.ReplaceAll(text, fault.text, fault.instead), nil, t.Errorf)) {
		t.Errorf("%q in place of %q does not mend NVIDIA's PTX", fault.instead, fault.text)
	}
	return good
}

// agrees tells whether PTX gives what a case expects under every schedule, and reports where it does not. The cubin is for the tensor maps
// that its host code makes, nil where there are none.
func agrees(t *testing.T, c *cases.Case, ptx string, cubin []byte, report func(format string, args ...any)) bool {
	mod, err := emu.Parse(c.Name+".ptx", ptx)
	if err != nil {
		t.Fatal(err)
	}
	good := true
	for _, schedule := range emu.Schedules {
		if v := cases.Run(t.Context(), &emulator{mod: mod, cubin: cubin, schedule: schedule}, c); v.Status != cases.Pass {
			good = false
			report("%v schedule: %s", schedule, v)
		}
	}
	return good
}

// nvidiaPTXOfText gives NVIDIA's PTX of a text.
func nvidiaPTXOfText(t *testing.T, test *regress.Test, target string) (string, error) {
	cubin, err := nvidiaCubinOfText(t, test, target)
	if err != nil {
		return "", err
	}
	return embeddedPTX(cubin)
}

// nvidiaCubinOfText writes a text as bytecode and compiles that with NVIDIA's tileiras.
func nvidiaCubinOfText(t *testing.T, test *regress.Test, target string) ([]byte, error) {
	res, err := driver.Compile(t.Context(), test.Name, test.Bytecode, driver.Options{Emit: driver.EmitBytecode})
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kernel.tileirbc"), res.Output, 0o644); err != nil {
		return nil, err
	}
	return nvidiaCubin(t, &cases.Case{Name: fmt.Sprintf("regress-%s-%x", test.Name, sha256.Sum256(res.Output)), Dir: dir}, target)
}
