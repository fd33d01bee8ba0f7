package tilerun_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
)

// scalePTX stores x * k of 64 threads by way of its scratch memory and of dynamic shared memory.
const scalePTX = `.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dyn[];
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 k, .param .u64 scratch, .param .u64 none)
{
	.reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %rd<9>; .reg .pred %p;
	ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [k]; ld.param.u64 %rd3, [scratch]; ld.param.u64 %rd8, [none];
	mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
	mad.lo.u32 %r4, %r2, %r3, %r1;
	mul.wide.u32 %rd4, %r4, 4;
	add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
	ld.global.f32 %f2, [%rd5];
	mul.rn.f32 %f2, %f2, %f1;
	st.global.f32 [%rd7], %f2;
	ld.global.f32 %f3, [%rd7];
	mov.u32 %r5, dyn;
	mad.lo.u32 %r5, %r1, 4, %r5;
	st.shared.f32 [%r5], %f3;
	ld.shared.f32 %f3, [%r5];
	setp.eq.u64 %p, %rd8, 0;
	@%p st.global.f32 [%rd6], %f3;
	ret;
}
`

// TestLaunchOfWhatWasCompiled: the compile says how its kernels are launched; no comment of the PTX does.
func TestLaunchOfWhatWasCompiled(t *testing.T) {
	for _, shared := range []int{128, 64} { // the kernel needs 128
		m := &tilerun.Emulator{Compiled: &driver.Result{Output: []byte(scalePTX), Metadata: &driver.Metadata{Kernels: []driver.Kernel{
			{Name: "scale", Block: [3]int{32, 1, 1}, Blocks: [3]int{1, 1, 1}, Cluster: [3]int{1, 1, 1}, Dynamic: shared}}}}}
		f32, err := cases.DTypeByName("f32")
		u64, err64 := cases.DTypeByName("u64")
		if err = errors.Join(err, err64); err != nil {
			t.Fatal(err)
		}
		two := make([]byte, 128)
		for i := 0; i < len(two); i += 4 {
			binary.LittleEndian.PutUint32(two[i:], math.Float32bits(2))
		}
		l := &cases.Launch{Kernel: "scale", Grid: [3]int{1, 1, 1}, Buffers: []cases.LaunchBuffer{{Name: "x", Bytes: two}, {Name: "y", Bytes: make([]byte, 128)}, {Name: "scratch", Bytes: make([]byte, 128)}},
			Params: []cases.LaunchParam{{Buffer: 0}, {Buffer: 1}, {Type: f32, Bits: uint64(math.Float32bits(2.5))}, {Buffer: 2}, {Type: u64}}}
		out, err := m.Launch(t.Context(), l)
		switch {
		case shared < 128 && (err == nil || !strings.Contains(err.Error(), "shared")):
			t.Errorf("%d bytes are enough for 128: %v", shared, err)
		case shared == 128 && err != nil:
			t.Error(err)
		case shared == 128:
			for i := 0; i < len(two); i += 4 {
				if got := math.Float32frombits(binary.LittleEndian.Uint32(out.Buffers[1][i:])); got != 5 {
					t.Errorf("element %d is %v, not 5", i/4, got)
				}
			}
		}
	}
}

const scaleRecord = `{"entry": "scale", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 128, "scratch": 128, "source": "by hand", "sm": 80,
 "params": [{"buffer": "x"}, {"buffer": "y"}, {"f32": 2.5}, {"global_scratch": true}, {"null": true}],
 "buffers": {"x": {"dtype": "f32", "shape": [64], "init": {"kind": "uniform_int", "lo": 3, "hi": 4, "seed": 1}}, "y": {"dtype": "f32", "shape": [64], "init": null}},
 "expect": {"y": {"file": "y.expect.npy", "rtol": 0, "atol": 0}}}`

// A PTX file runs with its launch record, alone and in a folder, and is held against the expected output.
func TestLaunchRecord(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	expect := func(v uint64) {
		var data []byte
		for range 64 {
			data = binary.LittleEndian.AppendUint64(data, v)
		}
		put("y.expect.npy", string(cases.WriteNpy(&cases.Array{Descr: "<f8", Shape: []int{64}, Data: data})))
	}
	run := func(args ...string) (int, string) {
		var out bytes.Buffer
		code := tilerun.Run(args, nil, &out, &out)
		return code, out.String()
	}
	ptx, record := put("kernel.ptx", scalePTX), put("launch.json", scaleRecord)
	expect(0x401e000000000000) // 7.5
	for _, args := range [][]string{{"--on", "emu", "--launch", record, ptx}, {"--on", "emu", dir}, {"--on", "emu", record}} {
		if code, out := run(args...); code != 0 || !strings.Contains(out, "1 passed, 0 failed") {
			t.Errorf("%v: exit code %d:\n%s", args, code, out)
		}
	}
	if code, out := run("--on", "interp", record); code == 0 || !strings.Contains(out, "the interpreter runs Tile IR, not PTX: --on emu or --on gpu\n") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	expect(0x4020000000000000) // 8
	if code, out := run("--on", "emu", record); code == 0 || !strings.Contains(out, "got 7.5") {
		t.Errorf("a wrong result passes: exit code %d:\n%s", code, out)
	}
	for _, c := range [][2]string{
		{`"scratch": 128`, `"scratch": -1`}, {`"dtype": "f32"`, `"dtype": "f33"`}, {`{"null": true}`, `{"null": false}`},
		{`"grid"`, `"gird"`}, {`{"buffer": "x"}`, `{"buffer": "z"}`}, {`y.expect`, `../y.expect`},
	} {
		put("launch.json", strings.Replace(scaleRecord, c[0], c[1], 1))
		if code, out := run("--on", "emu", record); code != 1 || !strings.Contains(out, "launch.json: ") {
			t.Errorf("%s: exit code %d:\n%s", c[1], code, out)
		}
	}
}
