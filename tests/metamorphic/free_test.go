package metamorphic

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/runtime/cases"
)

const perf = "../corpus/perf"

// freeOn are the GPUs that rewritten performance kernels are compiled for: all with TILEIRAS_METAMORPHIC, else one for each pair of a kernel and a rewriting.
var freeOn = []string{"sm_80", "sm_90", "sm_100"}

// code is what a rewriting that adds no work leaves as it is.
type code struct {
	cost     int    // of the plan
	loops    string // what begins how far ahead in each loop
	products string // instructions; how many of them loops that are unrolled decide
	shared   int    // bytes
}

var productInstruction = regexp.MustCompile(`(?:wgmma\.mma_async|tcgen05\.mma|mma\.sync)[.\w:]*`)

func codeOf(t *testing.T, c *cases.Case, gpu string) (k code, err error) {
	res, err := driver.Compile(t.Context(), c.Name, c.Bytecode, driver.Options{GPU: gpu, Code: options.Code{Opt: 3}, Emit: driver.EmitPTX, Remarks: true, ReproducerDir: os.DevNull})
	if err != nil {
		return k, err
	}
	var loops []string
	for _, r := range res.Remarks {
		switch r.ID {
		case "RemarkPlanSelected":
			if k.cost == 0 {
				k.cost, _ = strconv.Atoi(r.Arg("Cost"))
			}
		case "RemarkLoopPipelined", "RemarkLoopNotPipelined":
			loops = append(loops, r.Arg("Stages"))
		}
	}
	slices.Sort(loops)
	k.loops = strings.Join(loops, " ")
	products := productInstruction.FindAllString(string(res.Output), -1)
	slices.Sort(products)
	k.products = strings.Join(slices.Compact(products), " ")
	k.shared = res.Metadata.Kernels[0].Static + res.Metadata.Kernels[0].Dynamic
	return k, nil
}

// differs says what is worse than before by more than a twentieth, or otherwise.
func (k code) differs(now code) string {
	var list []string
	if now.cost > k.cost+k.cost/20 {
		list = append(list, fmt.Sprintf("the plan's cost is %d, not %d", now.cost, k.cost))
	}
	if now.loops != k.loops {
		list = append(list, fmt.Sprintf("stages of loops are %s, not %s", now.loops, k.loops))
	}
	if now.products != k.products {
		list = append(list, fmt.Sprintf("products are %s, not %s", now.products, k.products))
	}
	if now.shared > k.shared+k.shared/20 {
		list = append(list, fmt.Sprintf("shared memory is %d bytes, not %d", now.shared, k.shared))
	}
	return strings.Join(list, "; ")
}

// TestFreeRewritingsCostNothing compiles performance kernels with each rewriting that adds no work.
func TestFreeRewritingsCostNothing(t *testing.T) {
	names, err := cases.List(perf)
	if err != nil {
		t.Fatal(err)
	}
	all := number(t, "TILEIRAS_METAMORPHIC", 0) > 0
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i, name := range names {
		for j, gpu := range freeOn {
			g.Go(func() error {
				k, ok := kernelFor(t, name, gpu)
				for n, w := range Rewritings {
					if ok && w.Free && (all || (i+n)%len(freeOn) == j) {
						k.rewrite(t, &w)
					}
				}
				return nil
			})
		}
	}
	g.Wait()
}

// kernel is a performance kernel with the code that it has without rewritings.
type kernel struct {
	*cases.Case
	gpu    string
	before code
}

// kernelFor compiles a kernel for a GPU, if that can run it. Its module is a text, as are those that are rewritten.
func kernelFor(t *testing.T, name, gpu string) (k kernel, ok bool) {
	c, err := cases.Load(filepath.Join(perf, name))
	if err != nil {
		t.Error(err)
		return k, false
	}
	c.ResolveGrid(3)
	if c, _, err = Rewrite(c, nil); err != nil {
		t.Error(err)
		return k, false
	}
	before, err := codeOf(t, c, gpu)
	return kernel{c, gpu, before}, err == nil
}

func (k kernel) rewrite(t *testing.T, w *Rewriting) {
	rewritten, done, err := Rewrite(k.Case, []Step{{w, 1}})
	if err != nil {
		t.Errorf("%s: %v", k.Name, err)
		return
	}
	if len(done) == 0 {
		return
	}
	now, err := codeOf(t, rewritten, k.gpu)
	if err != nil {
		t.Errorf("%s of %s for %s: %v\n%s", w.Name, k.Name, k.gpu, err, keep(rewritten, 0))
		return
	}
	switch d, because := k.before.differs(now), excused(w.Name, k.Name, k.gpu); {
	case d != "" && because == "":
		t.Errorf("%s of %s for %s: %s\n%s", w.Name, k.Name, k.gpu, d, keep(rewritten, 0))
	case d == "" && because != "":
		t.Errorf("%s of %s for %s costs nothing: it needs no exception", w.Name, k.Name, k.gpu)
	}
}
