// Package ptxas runs NVIDIA's command-line tools for tests and benchmarks and reads what ptxas says of kernels: registers, spills,
// stack, shared memory, barriers, warnings. It imports the standard library only.
//
// TILEIRAS_NVIDIA_BIN names the folder of the tools (`make nvidia` sets it up from PyPI).
package ptxas

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Variable names the environment variable with the folder of NVIDIA's tools.
const Variable = "TILEIRAS_NVIDIA_BIN"

// Tools are NVIDIA's programs in a folder.
type Tools struct {
	Dir     string
	Scratch string // folder for files that nobody keeps
}

// Find gives the tools that the environment names.
func Find(scratch string) (*Tools, bool) {
	dir := os.Getenv(Variable)
	return &Tools{dir, scratch}, dir != ""
}

// Kernel is what ptxas reports of an entry.
type Kernel struct {
	Name                   string
	Registers, Barriers    int
	Shared                 int // bytes of static shared memory
	Stack                  int // bytes of local memory of a thread
	SpillStores, SpillLoad int // bytes
	Threads                int // of a block, from .reqntid; 0 when the text has none
}

// Spills is the number of bytes that go to local memory and back because registers are short.
func (k Kernel) Spills() int { return k.SpillStores + k.SpillLoad }

// Report is the outcome of one run of ptxas.
type Report struct {
	Kernels  []Kernel
	Warnings []string // distinct, in order; that pragmas of NVIDIA's own are unknown is not among them
	Cubin    string   // file
}

// Assemble runs ptxas on a text for an architecture such as "sm_90a". Static shared memory may be as large as the architecture
// has. An error carries what ptxas printed.
func (t *Tools) Assemble(ctx context.Context, name, text, arch string, more ...string) (*Report, error) {
	base := filepath.Join(t.Scratch, fmt.Sprintf("%s.%s", name, arch))
	if err := os.WriteFile(base+".ptx", []byte(text), 0o644); err != nil {
		return nil, err
	}
	defer os.Remove(base + ".ptx")
	args := append([]string{"-v", "-arch", arch, "--enable-extended-smem=true", base + ".ptx", "-o", base + ".cubin"}, more...)
	cmd := exec.CommandContext(ctx, filepath.Join(t.Dir, "ptxas"), args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("ptxas -arch %s: %v\n%s", arch, err, bytes.TrimSpace(out))
	}
	r := parse(string(out))
	r.Cubin = base + ".cubin"
	for i := range r.Kernels {
		r.Kernels[i].Threads = threads(text, r.Kernels[i].Name)
	}
	return r, nil
}

var (
	properties = regexp.MustCompile(`Function properties for (\S+)`)
	frame      = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	used       = regexp.MustCompile(`Used (\d+) registers`)
	barriers   = regexp.MustCompile(`used (\d+) barriers`)
	shared     = regexp.MustCompile(`(\d+) bytes smem`)
	compiling  = regexp.MustCompile(`Compiling entry function '([^']+)'`)
	// A message that carries a number such as C7510 is about performance, whatever its severity.
	advice = regexp.MustCompile(`(?m)^ptxas.*(?:warning|\(C\d+\)).*$`)
)

// Serious says of a warning that it belongs to the family C75xx: ptxas serialised matrix instructions.
func Serious(warning string) bool { return regexp.MustCompile(`C75\d\d`).MatchString(warning) }

// parse reads the output of ptxas -v. Entries are told from device functions by the line that announces them.
func parse(log string) *Report {
	r := &Report{}
	seen := map[string]bool{}
	for _, w := range advice.FindAllString(log, -1) {
		if !seen[w] && !strings.Contains(w, "Pragma") {
			seen[w] = true
			r.Warnings = append(r.Warnings, w)
		}
	}
	entries := map[string]bool{}
	var k *Kernel
	for _, line := range strings.Split(log, "\n") {
		if m := compiling.FindStringSubmatch(line); m != nil {
			entries[m[1]] = true
		}
		if m := properties.FindStringSubmatch(line); m != nil {
			k = nil
			if entries[m[1]] {
				r.Kernels = append(r.Kernels, Kernel{Name: m[1]})
				k = &r.Kernels[len(r.Kernels)-1]
			}
		}
		if k == nil {
			continue
		}
		if m := frame.FindStringSubmatch(line); m != nil {
			k.Stack, k.SpillStores, k.SpillLoad = number(m[1]), number(m[2]), number(m[3])
		}
		if m := used.FindStringSubmatch(line); m != nil {
			k.Registers = number(m[1])
			if m := barriers.FindStringSubmatch(line); m != nil {
				k.Barriers = number(m[1])
			}
			if m := shared.FindStringSubmatch(line); m != nil {
				k.Shared = number(m[1])
			}
		}
	}
	return r
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

var reqntid = regexp.MustCompile(`\.reqntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?`)

// threads reads .reqntid of an entry from a PTX text.
func threads(text, kernel string) int {
	_, rest, ok := strings.Cut(text, ".entry "+kernel+"(")
	if !ok {
		return 0
	}
	head, _, _ := strings.Cut(rest, "{")
	m := reqntid.FindStringSubmatch(head)
	if m == nil {
		return 0
	}
	n := 1
	for _, d := range m[1:] {
		if d != "" {
			n *= number(d)
		}
	}
	return n
}

var (
	target    = regexp.MustCompile(`(?m)^\s*\.target\s+(sm_\w+)`)
	debugTail = regexp.MustCompile(`(?m)^\s*\.(?:nv_intermediate_source_)?section`)
	lineInfo  = regexp.MustCompile(`(?m)^\s*\.(?:loc|loc_intermediate|file)\b.*\n`)
)

// Target is the .target of a PTX text.
func Target(text string) string {
	if m := target.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// KnobOption lets ptxas heed the pragmas in the PTX of NVIDIA's tileiras, which calls it with this option.
const KnobOption = "-uumn"

// Nvidia compiles bytecode with NVIDIA's tileiras and gives the PTX that its cubin carries, without line tables. The same text
// through ptxas with KnobOption gives the same code as the cubin's.
func (t *Tools) Nvidia(ctx context.Context, bytecode, gpu string) (string, error) {
	_, text, err := t.NvidiaCubin(ctx, bytecode, gpu)
	return text, err
}

// NvidiaCubin gives the cubin, too.
func (t *Tools) NvidiaCubin(ctx context.Context, bytecode, gpu string) (cubin []byte, text string, err error) {
	file := filepath.Join(t.Scratch, "nvidia."+gpu+".cubin")
	defer os.Remove(file)
	cmd := exec.CommandContext(ctx, filepath.Join(t.Dir, "tileiras"), "--gpu-name", gpu, "--lineinfo", bytecode, "-o", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("NVIDIA's tileiras: %v\n%s", err, bytes.TrimSpace(out))
	}
	if cubin, err = os.ReadFile(file); err != nil {
		return nil, "", err
	}
	f, err := elf.NewFile(bytes.NewReader(cubin))
	if err != nil {
		return nil, "", err
	}
	s := f.Section(".nv_debug_ptx_txt")
	if s == nil {
		return nil, "", errors.New("the cubin carries no PTX")
	}
	data, err := s.Data()
	if err != nil {
		return nil, "", err
	}
	text = string(bytes.ReplaceAll(data, []byte{0}, []byte{'\n'}))
	if at := debugTail.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	return cubin, lineInfo.ReplaceAllString(text, ""), nil
}
