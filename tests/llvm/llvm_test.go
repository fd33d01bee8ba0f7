// Package llvm_test holds LLVM as the second back end against ours: the LLVM IR of every corpus case that compiles for sm_80 must pass
// llvm-as-14, and the PTX that llc-16 makes of it must pass the case in the emulator, as ours does.
//
//	kernel.tileirbc --tileiras--> kernel.ll --codegen/ptx--> PTX --.
//	                                 |                             +--> emulator: the same case, the same launch
//	                                 '-------- llc-16 -------> PTX --'
//
// Both texts come from one lowering, so a case that passes with one and fails with the other has a fault in codegen/ptx, in the
// LLVM IR (a form that LLVM understands differently) or in the emulator. Inline assembly is opaque to llc: what is judged is the
// order of instructions, registers, constants, address arithmetic and control flow. All checks of the emulator are on for both.
//
// A quick part always runs; TILEIRAS_LLVM=1 takes the whole corpus. Without LLVM's tools the test is skipped.
package llvm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

const (
	corpus = "../corpus/cases"
	gpu    = "sm_80"
	// every is the distance of the cases in the quick part.
	every = 12
	// atATime bounds the processes of LLVM: the continuous integration has two cores.
	atATime = 2
)

// racy names cases whose own text has a race, with the reason; races are notes there, for both texts.
var racy = map[string]string{
	"index_i64": "both tile blocks store the same values into the last rows",
}

// tools are the two programs of LLVM, from the Debian packages llvm-14 and llvm-16.
type tools struct{ as, llc string }

func findTools(t *testing.T) tools {
	var found tools
	for _, p := range []struct {
		name string
		path *string
	}{{"llvm-as-14", &found.as}, {"llc-16", &found.llc}} {
		path, err := exec.LookPath(p.name)
		if err != nil {
			t.Skipf("not run: %s is not installed (Debian packages llvm-14 and llvm-16)", p.name)
		}
		*p.path = path
	}
	return found
}

// filter runs a program of LLVM on text.
func filter(ctx context.Context, text, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, append(args, "-o", "-", "-")...)
	var out, said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%.1500s", filepath.Base(program), err, said.String())
	}
	return out.String(), nil
}

// version reads the PTX version of our text, which says which version the kernel's instructions need.
var version = regexp.MustCompile(`(?m)^\.version (\d+)\.(\d+)$`)

// verdict is what became of a case.
type verdict struct {
	unsupported string // why our compiler does not take the case
	bad         string // what must not be
}

// judge compiles a case, sends its LLVM IR through LLVM's tools and runs both texts under every schedule.
func judge(ctx context.Context, tl tools, c *cases.Case) (v verdict) {
	emit := func(e driver.Emit) (*driver.Result, error) {
		return driver.Compile(ctx, c.Name, c.Bytecode, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: e})
	}
	ours, err := emit(driver.EmitPTX)
	if err != nil {
		v.unsupported = err.Error()
		if !strings.Contains(v.unsupported, "not supported yet") && !strings.Contains(v.unsupported, "Incompatibility with architecture") {
			v.bad = v.unsupported
		}
		return v
	}
	ll, err := emit(driver.EmitLLVM)
	if err != nil {
		return verdict{bad: err.Error()}
	}
	if _, err := filter(ctx, string(ll.Output), tl.as); err != nil {
		return verdict{bad: err.Error()}
	}
	m := version.FindSubmatch(ours.Output)
	if m == nil {
		return verdict{bad: "our PTX has no version"}
	}
	theirs, err := filter(ctx, string(ll.Output), tl.llc, "-march=nvptx64", "-mcpu="+gpu, "-mattr=+ptx"+string(m[1])+string(m[2]), "-opaque-pointers=0")
	if err != nil {
		return verdict{bad: err.Error()}
	}
	for _, text := range []struct {
		of  string
		ptx []byte
	}{{"ours", ours.Output}, {"LLVM's", []byte(theirs)}} {
		for _, s := range emu.Schedules {
			machine := &tilerun.Emulator{GPU: gpu, Schedule: s, Foreign: racy[c.Name] != "", Compiled: &driver.Result{Output: text.ptx, Metadata: ours.Metadata}}
			if r := cases.Run(ctx, machine, c); r.Status != cases.Pass {
				return verdict{bad: fmt.Sprintf("%s, %v: %s", text.of, s, r.Reason)}
			}
		}
	}
	return v
}

// TestLLVMsBackEndAgrees is the whole oracle.
func TestLLVMsBackEndAgrees(t *testing.T) {
	tl := findTools(t)
	names, err := cases.List(corpus)
	if err != nil {
		t.Fatal(err)
	}
	step := every
	if os.Getenv("TILEIRAS_LLVM") != "" {
		step = 1
	}
	var list []*cases.Case
	for i, name := range names {
		if i%step != 0 {
			continue
		}
		c, err := cases.Load(filepath.Join(corpus, name))
		if err != nil {
			t.Fatal(err)
		}
		if c.ExpectError == "" && !c.DecodeOnly {
			list = append(list, c)
		}
	}
	verdicts := make([]verdict, len(list))
	var g errgroup.Group
	g.SetLimit(atATime)
	for i, c := range list {
		g.Go(func() error {
			verdicts[i] = judge(t.Context(), tl, c)
			return nil
		})
	}
	g.Wait()
	agree, unsupported := 0, 0
	for i, v := range verdicts {
		switch {
		case v.bad != "":
			t.Errorf("%s: %s", list[i].Name, v.bad)
		case v.unsupported != "":
			unsupported++
			t.Logf("%s: %s", list[i].Name, strings.TrimSpace(v.unsupported))
		default:
			agree++
		}
	}
	t.Logf("%d cases: with LLVM's back end %d pass as with ours, %d do not compile for %s", len(list), agree, unsupported, gpu)
	if agree == 0 {
		t.Error("no case compiled: the test shows nothing")
	}
}

// TestRacyCasesExist keeps the list of exceptions true to the corpus.
func TestRacyCasesExist(t *testing.T) {
	for name := range racy { // every name is judged alone: the order cannot matter
		if _, err := cases.Load(filepath.Join(corpus, name)); err != nil {
			t.Error(err)
		}
	}
}
