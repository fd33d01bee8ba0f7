package nvidia_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/tests/ptxas"
)

// accepting are the architectures whose ptxas must take our PTX: the GPU that we compile for and ptxas's own name for it.
var accepting = []struct{ gpu, arch string }{
	{"sm_75", "sm_75"}, {"sm_80", "sm_80"}, {"sm_89", "sm_89"}, {"sm_90", "sm_90a"}, {"sm_100", "sm_100a"}, {"sm_120", "sm_120a"},
}

// refusals are the words with which our compiler may refuse a kernel for a target: they are counted and printed, not failures.
var refusals = []string{"not supported yet", "Incompatibility with architecture", "tile too big"}

// atATime is how many ptxas run at a time: the continuous integration has two cores.
const atATime = 2

// assembled keeps what ptxas said of a text for an architecture: the same PTX is assembled once.
type assembled struct {
	mu   sync.Mutex
	done map[[sha256.Size]byte]func() (*ptxas.Report, error)
}

func (a *assembled) run(tools *ptxas.Tools, text, arch string) (*ptxas.Report, error) {
	key := sha256.Sum256([]byte(arch + "\n" + text))
	a.mu.Lock()
	f, ok := a.done[key]
	if !ok {
		f = sync.OnceValues(func() (*ptxas.Report, error) {
			return tools.Assemble(context.Background(), fmt.Sprintf("%x", key[:8]), text, arch)
		})
		a.done[key] = f
	}
	a.mu.Unlock()
	return f()
}

// verdict is what became of a kernel on one architecture.
type verdict struct {
	name, text  string
	unsupported string // why our compiler does not take it
	bad         string // what must not be
	report      *ptxas.Report
}

// TestPtxasAcceptsOurPTX compiles all cases and performance kernels for each architecture and assembles them: no C75xx message, no
// stack but where the kernel prints, no spill. With -short only the core cases, for sm_80.
func TestPtxasAcceptsOurPTX(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skipf("%s is not set: it names the folder with ptxas", ptxas.Variable)
	}
	list := loadAll(t)
	known := &assembled{done: map[[sha256.Size]byte]func() (*ptxas.Report, error){}}
	var table []string
	for _, on := range accepting {
		if testing.Short() && on.gpu != "sm_80" {
			continue
		}
		verdicts := make([]verdict, len(list))
		var g errgroup.Group
		g.SetLimit(atATime)
		for i, c := range list {
			g.Go(func() error {
				verdicts[i] = judge(tools, known, c, on.gpu, on.arch)
				return nil
			})
		}
		g.Wait()
		table = append(table, summary(t, on.arch, verdicts))
	}
	t.Logf("architecture  kernels  compiled  accepted  most registers\n%s", strings.Join(table, "\n"))
}

func loadAll(t *testing.T) []*cases.Case {
	var list []*cases.Case
	for _, dir := range []string{corpus, "../corpus/perf"} {
		names, err := cases.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			c, err := cases.Load(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if c.ExpectError == "" && !c.DecodeOnly && (!testing.Short() || c.Core) {
				list = append(list, c)
			}
		}
	}
	return list
}

func judge(tools *ptxas.Tools, known *assembled, c *cases.Case, gpu, arch string) verdict {
	v := verdict{name: c.Name}
	res, err := driver.Compile(context.Background(), c.Name, c.Bytecode, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
	if err != nil {
		v.unsupported = err.Error()
		if !slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(v.unsupported, r) }) {
			v.bad = v.unsupported
		}
		return v
	}
	v.text = string(res.Output)
	if v.report, err = known.run(tools, v.text, arch); err != nil {
		v.bad = err.Error()
		return v
	}
	prints := strings.Contains(v.text, "vprintf")
	var bad []string
	for _, w := range v.report.Warnings {
		if ptxas.Serious(w) {
			bad = append(bad, w)
		}
	}
	for _, k := range v.report.Kernels {
		if k.Stack > 0 && k.Spills() == 0 && !prints {
			bad = append(bad, fmt.Sprintf("%s has a stack of %d bytes", k.Name, k.Stack))
		}
		if k.Spills() > 0 {
			bad = append(bad, fmt.Sprintf("%s spills %d bytes", k.Name, k.Spills()))
		}
	}
	v.bad = strings.Join(bad, "\n")
	return v
}

// summary reports what is wrong on an architecture and gives its line of the table.
func summary(t *testing.T, arch string, verdicts []verdict) string {
	compiled, accepted, registers := 0, 0, 0
	reasons := map[string]int{}
	for _, v := range verdicts {
		if v.bad != "" {
			t.Errorf("%s, %s: %s", arch, v.name, v.bad)
		}
		if v.unsupported != "" {
			first, _, _ := strings.Cut(v.unsupported, "\n")
			reasons[first]++
			continue
		}
		compiled++
		if v.report == nil {
			continue
		}
		accepted++
		for _, k := range v.report.Kernels {
			registers = max(registers, k.Registers)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("%s: %4d kernels: %s", arch, reasons[r], r)
	}
	return fmt.Sprintf("%-12s  %7d  %8d  %8d  %14d", arch, len(verdicts), compiled, accepted, registers)
}
