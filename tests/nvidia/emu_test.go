// Package nvidia_test holds the tests that need NVIDIA's command-line tools. They are skipped unless
// TILEIRAS_NVIDIA_BIN names the folder with tileiras and ptxas.
package nvidia_test

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

const corpus = "../corpus/cases"

// agreeing is how many corpus cases must agree, by target, when the emulator runs NVIDIA's own PTX.
var agreeing = map[string]int{"sm_80": 300, "sm_89": 300, "sm_90": 340, "sm_100": 340, "sm_120": 340}

// faults are cases whose PTX breaks a rule of the ISA: what the emulator must say of them, why, and what mends them. The PTX with
// `instead` in place of `text` must agree, so it was this that was wrong.
var faults = map[string]struct{ says, why, text, instead string }{
	"spin_lock": {"in flight: read of 'total'", "the lock is released after cp.async.bulk.wait_group.read: the tensor store has read its source, but may not be complete",
		"cp.async.bulk.wait_group.read", "cp.async.bulk.wait_group"},
}

// tool finds one of NVIDIA's programs or skips the test.
func tool(t *testing.T, name string) string {
	dir := os.Getenv("TILEIRAS_NVIDIA_BIN")
	if dir == "" {
		t.Skip("TILEIRAS_NVIDIA_BIN is not set: it names the folder with NVIDIA's tileiras and ptxas")
	}
	return filepath.Join(dir, name)
}

// errRefused says that NVIDIA's compiler does not take a case for a target, or does not end.
var errRefused = errors.New("NVIDIA's tileiras refuses")

// patience is how long NVIDIA's compiler may take, which most kernels take a second of: for an element of a big tile it takes all memory.
const patience = 2 * time.Minute

// nvidiaCubin compiles bytecode with NVIDIA's tileiras. TILEIRAS_NVIDIA_CACHE names a folder that keeps the cubins from run to
// run.
func nvidiaCubin(t *testing.T, c *cases.Case, target string) ([]byte, error) {
	cache := os.Getenv("TILEIRAS_NVIDIA_CACHE")
	kept := filepath.Join(cache, c.Name+"."+target+".cubin")
	if cache != "" {
		if b, err := os.ReadFile(kept); err == nil {
			return b, nil
		}
	}
	cubin := filepath.Join(t.TempDir(), "k.cubin")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool(t, "tileiras"), "--gpu-name", target, "--lineinfo", filepath.Join(c.Dir, "kernel.tileirbc"), "-o", cubin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %v\n%s", errRefused, cmp.Or(ctx.Err(), err), out)
	}
	b, err := os.ReadFile(cubin)
	if err == nil && cache != "" {
		err = os.WriteFile(kept, b, 0o644)
	}
	return b, err
}

// embeddedPTX gives the PTX that a --lineinfo cubin carries: a section of lines that end in NUL.
func embeddedPTX(cubin []byte) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(cubin))
	if err != nil {
		return "", err
	}
	s := f.Section(".nv_debug_ptx_txt")
	if s == nil {
		return "", errors.New("the cubin has no section .nv_debug_ptx_txt")
	}
	b, err := s.Data()
	if err == nil && !bytes.HasPrefix(bytes.TrimLeft(b, "\x00\n\t "), []byte(".version")) && !bytes.HasPrefix(b, []byte("//")) {
		err = errors.New("section .nv_debug_ptx_txt does not begin like PTX")
	}
	return string(bytes.ReplaceAll(b, []byte{0}, []byte{'\n'})), err
}

// emulator runs NVIDIA's PTX of a case.
type emulator struct {
	mod      *emu.Module
	cubin    []byte // whose host code makes the tensor maps among the parameters
	schedule emu.Schedule
	result   emu.Result
}

func (e *emulator) Launch(ctx context.Context, l *cases.Launch) (*cases.Outcome, error) {
	mem := emu.NewMemory()
	out := &cases.Outcome{}
	out.Addresses = tilerun.Place(mem, l)
	var args []emu.Arg
	for i, p := range l.Params {
		v := p.Bits
		if p.Type == nil {
			v = out.Addresses[p.Buffer] + uint64(p.Offset)
		}
		var b [8]byte
		for k := range b {
			b[k] = byte(v >> (8 * k))
		}
		entry := e.mod.Entry(l.Kernel)
		if entry == nil || i >= len(entry.Params) {
			return nil, fmt.Errorf("%s does not take %d parameters", l.Kernel, len(l.Params))
		}
		args = append(args, b[:entry.Params[i].Size])
	}
	if entry := e.mod.Entry(l.Kernel); entry != nil && len(entry.Params) > len(args) {
		var err error
		if args, err = hostMaps(e.cubin, e.mod.Target(), entry, args); err != nil {
			return nil, err
		}
	}
	var stdout bytes.Buffer
	res, err := e.mod.Run(ctx, l.Kernel, mem, args, emu.Options{Grid: l.Grid, Schedule: e.schedule, Seed: 1, Stdout: &stdout, Foreign: true})
	out.Stdout = stdout.String()
	var rep *emu.Report
	switch {
	case errors.As(err, &rep) && rep.Kind == emu.Trap:
		out.AssertFailed, out.Message = true, out.Stdout
		return out, nil
	case err != nil:
		return nil, err
	}
	e.result = *res
	out.Buffers = tilerun.Contents(l, out.Addresses, mem.Bytes)
	return out, nil
}

// TestEmulatorRunsNvidiaPTX shows that the emulator is right independently of our code generator: NVIDIA's
// own PTX of the corpus gives the expected results in it, under all schedules, with all checks on. The two
// targets are those whose matrix products are mma.sync and whose copies are cp.async; sm_89 adds fp8.
//
// What is noted:
//   - stores of equal values: threads that hold copies of an element all store it;
//   - races inside a warp, whose lanes hardware runs in step: in reduce_pair copies of an inexact sum differ in the last bits, so two lanes
//     store different ones; in block_scan one lane stores what others of its warp load, and on sm_100 lane 0 writes the address that
//     tcgen05.alloc gives, with no bar.warp.sync before the loads;
//   - missing fences, on sm_90: registers of wgmma are moved or written in front of one without another wgmma.fence. None is of memory: every thread that stores
//     for wgmma or tcgen05 executes fence.proxy.async itself;
//   - misuses of mbarriers, in matmul_splitk: mbarrier.inval of a slot that was never initialised (others_test.go).
func TestEmulatorRunsNvidiaPTX(t *testing.T) {
	tool(t, "tileiras")
	names, err := cases.List(corpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"sm_80", "sm_89", "sm_90", "sm_100", "sm_120"} {
		t.Run(target, func(t *testing.T) {
			var sum tally
			for _, name := range names {
				c, err := cases.Load(filepath.Join(corpus, name))
				if err != nil {
					t.Fatal(err)
				}
				if c.DecodeOnly || c.ExpectError != "" || c.MinSM == 0 || !c.NvidiaTileiras["sm_80"] && target == "sm_80" ||
					slices.Contains([]string{"sm_90"}, target) && !c.NvidiaTileiras[target] {
					continue
				}
				t.Run(name, func(t *testing.T) { sum.run(t, c, target) })
			}
			t.Logf("%d of %d cases agree under %d schedules, of %d the host code makes tensor maps, %d have a known fault; %d million lane instructions, %.0f million a second; notes: %d races inside a warp, %d stores of equal values, %d missing proxy fences, %d misuses of mbarriers",
				sum.agree, sum.ran, len(emu.Schedules), sum.hidden, sum.faulty, sum.lanes/1e6, float64(sum.lanes)/1e6/sum.time.Seconds(),
				sum.notes[emu.Race], sum.notes[emu.SameValueRace], sum.notes[emu.ProxyFence], sum.notes[emu.Invalid])
			if sum.agree < agreeing[target] {
				t.Errorf("%d cases agree, at least %d must", sum.agree, agreeing[target])
			}
		})
	}
}

// tally counts the cases of a target.
type tally struct {
	ran, agree int
	faulty     int   // cases whose PTX has a known fault
	hidden     int   // cases whose kernels take tensor maps that NVIDIA's host code makes
	lanes      int64 // lane instructions
	time       time.Duration
	notes      [emu.Kinds]int // places by kind
}

// run runs one case under all schedules.
func (s *tally) run(t *testing.T, c *cases.Case, target string) {
	cubin, err := nvidiaCubin(t, c, target)
	if errors.Is(err, errRefused) && c.MinSM > 80 {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := embeddedPTX(cubin)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := emu.Parse(c.Name+".ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(mod.Entry(c.Kernel).Params) > len(c.Params) {
		s.hidden++
	}
	s.ran++
	for _, schedule := range emu.Schedules {
		m := &emulator{mod: mod, cubin: cubin, schedule: schedule}
		start := time.Now()
		v := cases.Run(t.Context(), m, c)
		if f := faults[strings.TrimSuffix(c.Name, "_v131")]; f.says != "" && v.Status != cases.Pass && strings.Contains(v.String(), f.says) {
			s.faulty++
			if mended := strings.ReplaceAll(text, f.text, f.instead); mended == text || !agrees(t, c, mended, cubin, t.Errorf) {
				t.Errorf("%q in place of %q does not mend NVIDIA's PTX", f.instead, f.text)
			}
			t.Skip(f.why)
		}
		if v.Status != cases.Pass {
			t.Fatalf("%v schedule: %s", schedule, v)
		}
		s.time += time.Since(start)
		s.lanes += m.result.Stats.LaneInstrs
		for _, n := range m.result.Notes {
			s.notes[n.Kind]++
		}
	}
	s.agree++
}
