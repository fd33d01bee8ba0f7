package regress

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// codes are how a kernel is compiled for each target.
var codes = []options.Code{{Opt: 0}, {Opt: 0, Roles: options.On}, {Opt: 3}, {Opt: 3, TMA: true}, {Opt: 3, Roles: options.On}, {Opt: 3, TMA: true, Roles: options.On}}

// TestRegressions runs every kernel on the interpreter and on the emulator, for every target, compiled in each way that gives another
// program, under every schedule and with all checks on: a race or a value that a schedule changes fails.
func TestRegressions(t *testing.T) {
	files, err := Files(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tileir"), func(t *testing.T) {
			t.Parallel()
			test, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			judge(t, test, "interpreter", &tilerun.Interpreter{})
			for _, gpu := range test.Targets {
				seen := map[string]bool{}
				for _, code := range codes {
					onEmulator(t, test, gpu, code, seen)
				}
			}
		})
	}
}

// onEmulator compiles once and runs what has not been seen under all schedules.
func onEmulator(t *testing.T, test *Test, gpu string, code options.Code, seen map[string]bool) {
	what := fmt.Sprintf("%s -O%d --tma=%t --roles=%s", gpu, code.Opt, code.TMA, cmp.Or(code.Roles, options.Auto))
	res, err := driver.Compile(t.Context(), test.Name, test.Bytecode, driver.Options{GPU: gpu, Code: code, Emit: driver.EmitPTX, VerifyEach: true})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if seen[string(res.Output)] {
		return
	}
	seen[string(res.Output)] = true
	for _, s := range emu.Schedules {
		judge(t, test, fmt.Sprintf("%s, %s", what, s), &tilerun.Emulator{GPU: gpu, Schedule: s, Compiled: res})
	}
}

func judge(t *testing.T, test *Test, what string, m cases.Machine) {
	if v := cases.Run(t.Context(), m, test.Case); v.Status != cases.Pass {
		t.Errorf("%s: %s", what, v)
	}
}

// TestBrokenTestsAreRefused shows that a file whose lines say nothing, or nonsense, is an error rather than a test that passes.
func TestBrokenTestsAreRefused(t *testing.T) {
	const kernel = "cuda_tile.module @m { entry @k(%p0: tile<ptr<i32>>, %p1: tile<i32>) { return } }\n"
	for lines, want := range map[string]string{
		"":                          "nothing says what p0 is",
		"//! grid=1 p0=zero:4 p1=1": "does nothing would pass",
		"//! p0=zero:4 p1=1\n//! expect p0=zero:4": "does nothing would pass",
		"//! p0=zero:4 p1=1\n//! expect p0=zero:8": "8 bytes are expected in a buffer of 4",
		"//! p0=zero:4 p1=1\n//! expect p1=hex:1":  "no buffer of this name",
		"//! p0=zero:4 p2=1":                       "no parameter of this name",
		"//! p0=zero:3 p1=1":                       "no whole number of elements",
		"//! p0=none:3 p1=1":                       "unknown kind of contents",
		"//! p0=hex:x p1=1":                        "invalid syntax",
		"//! grid=a p0=zero:4":                     "is no grid",
	} {
		if _, err := parse("k", []byte(lines+"\n"+kernel)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, expected %q", lines, err, want)
		}
	}
	text := "//! p0=hex:7,0x10*2;iota:2,5,-1;values:-1;zero:4 p1=-1\n//! expect p0=iota:7\n" + kernel
	test, err := parse("k", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%x", test.Buffers[0].Data), "07000000"+"10000000"+"10000000"+"05000000"+"04000000"+"ffffffff"+"00000000"; got != want {
		t.Errorf("the contents are %s, want %s", got, want)
	}
	if v := cases.Run(t.Context(), &tilerun.Interpreter{}, test.Case); v.Status != cases.Fail {
		t.Errorf("a kernel that leaves 7 where 0 is expected: %s", v)
	}
}
