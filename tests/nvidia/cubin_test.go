package nvidia_test

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/tests/ptxas"
)

// Sections and attributes that one compiler's cubins have and the other's not; docs/cubin.md says why.
var (
	nvidiaOnly = regexp.MustCompile(`^(\.nv(\.merc)?\.nv\.host|\.nv\.host|EIATTR_(KPARAM_INFO_V2|REG_RECONFIG|CTA_PER_CLUSTER|BLOCKS_ARE_CLUSTERS)|parameter \S+ at \S+ of 0x80|\.debug_str|\.nv\.merc\.debug_str)$`)
	// These follow from the instructions, in either.
	byCode    = regexp.MustCompile(`^(EIATTR_(CRS_STACK_SIZE|INT_WARP_WIDE_INSTR_OFFSETS|COOP_GROUP_INSTR_OFFSETS|COOP_GROUP_MASK_REGIDS|NUM_BARRIERS|NUM_MBARRIERS|MBARRIER_INSTR_OFFSETS|KPARAM_INFO|MAX_THREADS|EXTERNS|SYSCALL_OFFSETS)|\.nv\.shared\.K|(\.nv\.merc)?\.rela\.text\.K|\.nv\.merc\.nv\.shared\.K|(\.nv\.merc)?\.relr?a?\.debug_line|(\.nv\.merc)?\.rela?\.nv_debug_line_sass|(\.nv\.merc)?\.(nv_debug_line_sass|debug_line)|\.nv\.local\.K)$`)
	attribute = regexp.MustCompile(`EIATTR_\w+`)
	section   = regexp.MustCompile(`(?m)^\s+[0-9a-f]+(?:\s+[0-9a-f]+){4}\s+\S+(?:\s+[0-9a-f]+){3}\s+(\.\S+)$`)
	parameter = regexp.MustCompile(`Ordinal : (\S+)\s+Offset\s+: (\S+)\s+Size\s+: (\S+)`)
	language  = regexp.MustCompile(`Language:\s+\S+`)
	ofKernel  = regexp.MustCompile(`(text|info|constant0|shared|local|capmerc\.text)\.\w+$`)
	ofText    = regexp.MustCompile(`debug_txt\.[0-9a-f]{32}$`)
)

// parts are the sections and attributes of a cubin as cuobjdump lists them, its language, its parameters with their places, what the notes say (which
// tool, for which GPU, by which command line), and the header of the file.
func parts(t *testing.T, tools *ptxas.Tools, file string) map[string]bool {
	t.Helper()
	out, err := exec.Command(filepath.Join(tools.Dir, "cuobjdump"), "-elf", file).CombinedOutput()
	if err != nil {
		t.Fatalf("cuobjdump: %v\n%s", err, out)
	}
	if said, err := exec.Command(filepath.Join(tools.Dir, "nvdisasm"), file).CombinedOutput(); err != nil {
		t.Fatalf("nvdisasm: %v\n%s", err, said)
	}
	set := map[string]bool{}
	for _, a := range attribute.FindAllString(string(out), -1) {
		set[a] = true
	}
	for _, m := range section.FindAllStringSubmatch(string(out), -1) {
		set[ofText.ReplaceAllString(ofKernel.ReplaceAllString(m[1], "$1.K"), "debug_txt.TEXT")] = true
	}
	for _, l := range language.FindAllString(string(out), -1) {
		set[l] = true
	}
	for _, m := range parameter.FindAllStringSubmatch(string(out), -1) {
		set[fmt.Sprintf("parameter %s at %s of %s", m[1], m[2], m[3])] = true
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set[fmt.Sprintf("header %x flags %x", data[:24], data[48:51])] = true // the last byte of the flags follows from the code
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".note.") {
			text, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			notes++
			set[fmt.Sprintf("%s: %q", s.Name, text)] = true
		}
	}
	if notes == 0 {
		t.Errorf("%s has no notes", file)
	}
	return set
}

// TestCubinsDifferAsTheTableSays holds the sections and attributes of cubins of both compilers against each other.
func TestCubinsDifferAsTheTableSays(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skip("set " + ptxas.Variable + " to the folder of NVIDIA's tools (make nvidia)")
	}
	kernels := []string{"softmax_f32", "vadd_f32", "layernorm_f32", "matmul_f16", "argmax_f32", "abs_i32", "attention_f16", "reduce_u32", "atomic_add_u32",
		"block_scan"}
	n := 0
	for _, k := range kernels {
		file := filepath.Join("../corpus/cases", k, "kernel.tileirbc")
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, gpu := range []string{"sm_80", "sm_90", "sm_100", "sm_120"} {
			for _, lines := range []bool{false, true} {
				args := []string{file, "--gpu-name", gpu, "-o", filepath.Join(tools.Scratch, "nvidia.cubin")}
				if lines {
					args = append(args, "--lineinfo")
				}
				if out, err := exec.Command(filepath.Join(tools.Dir, "tileiras"), args...).CombinedOutput(); err != nil {
					t.Fatalf("NVIDIA's tileiras, %s: %v\n%s", k, err, out)
				}
				res, err := driver.Compile(context.Background(), file, src, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3, LineInfo: lines}, Emit: driver.EmitCubin, Ptxas: filepath.Join(tools.Dir, "ptxas")})
				if err != nil {
					t.Errorf("%s for %s: %v", k, gpu, err)
					continue
				}
				ours := filepath.Join(tools.Scratch, "ours.cubin")
				if err := os.WriteFile(ours, res.Output, 0o644); err != nil {
					t.Fatal(err)
				}
				theirs, own := parts(t, tools, args[4]), parts(t, tools, ours)
				n++
				var strange []string
				for p := range theirs {
					if !own[p] && !nvidiaOnly.MatchString(p) && !byCode.MatchString(p) {
						strange = append(strange, "only NVIDIA's has "+p)
					}
				}
				for p := range own {
					if !theirs[p] && !byCode.MatchString(p) {
						strange = append(strange, "only ours has "+p)
					}
				}
				for _, p := range []string{"EIATTR_LANGUAGE", "EIATTR_REQNTID", ".nv.global"} {
					if !own[p] {
						strange = append(strange, "ours lacks "+p)
					}
				}
				if slices.Sort(strange); len(strange) > 0 {
					t.Errorf("%s for %s, lines %v:\n%s", k, gpu, lines, strings.Join(strange, "\n"))
				}
			}
		}
	}
	t.Logf("%d pairs of cubins", n)
}

// TestAskingWhatKernelsTake compiles with and without remarks: the remarks have what cuobjdump says of the cubin, and but for a note the cubin is the same.
func TestAskingWhatKernelsTake(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skip("set " + ptxas.Variable + " to the folder of NVIDIA's tools (make nvidia)")
	}
	usage := regexp.MustCompile(`REG:(\d+) STACK:(\d+)`)
	for _, k := range []string{"cases/softmax_f32", "cases/matmul_f16", "perf/attention_f16_d64_causal_128x64"} {
		file := filepath.Join("../corpus", k, "kernel.tileirbc")
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var sections [2]map[string]string
		for i := range sections {
			res, err := driver.Compile(t.Context(), file, src, driver.Options{GPU: "sm_90", Code: driver.Code{Opt: 3}, Emit: driver.EmitCubin, Remarks: i == 1, Ptxas: filepath.Join(tools.Dir, "ptxas")})
			if err != nil {
				t.Fatal(err)
			}
			f, err := elf.NewFile(bytes.NewReader(res.Output))
			if err != nil {
				t.Fatal(err)
			}
			sections[i] = map[string]string{}
			for _, s := range f.Sections {
				if data, err := s.Data(); err == nil && s.Type != elf.SHT_NOTE && !strings.HasPrefix(s.Name, ".note") {
					sections[i][s.Name] = string(data)
				}
			}
			if i == 0 {
				continue
			}
			ours := filepath.Join(tools.Scratch, "ours.cubin")
			if err := os.WriteFile(ours, res.Output, 0o644); err != nil {
				t.Fatal(err)
			}
			said, err := exec.Command(filepath.Join(tools.Dir, "cuobjdump"), "-res-usage", ours).Output()
			m := usage.FindStringSubmatch(string(said))
			u := res.Metadata.Kernels[0].Usage
			if err != nil || m == nil || u == nil || fmt.Sprint(u.Registers) != m[1] || fmt.Sprint(u.Stack) != m[2] {
				t.Errorf("%s: the metadata have %+v, cuobjdump says %v (%v)", k, u, m, err)
			}
		}
		if !maps.Equal(sections[0], sections[1]) || len(sections[0]) < 5 {
			t.Errorf("%s: another cubin with remarks", k)
		}
	}
}
