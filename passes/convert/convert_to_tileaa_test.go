package convert

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	cudadef "tileiras/dialects/cudatile/def"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/cleanup"
	"tileiras/passes/pass"
)

// corpus lists the bytecode files of the corpus.
func corpus(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, dir := range []string{"cases", "perf"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "tests", "corpus", dir, "*", "*.tileirbc"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 398 {
		t.Fatalf("found %d corpus files, want 361 cases and 37 perf entries", len(files))
	}
	sort.Strings(files)
	return files
}

// load reads a bytecode file into a state for a target.
func load(t testing.TB, file, gpu string) *pass.State {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := ir.NewContext(cudatile.Dialect, tileaa.Dialect)
	m, _, err := bytecode.Read(ctx, data, bytecode.ReadOptions{})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	tg, ok := target.ByName(gpu)
	if !ok {
		t.Fatalf("no target %s", gpu)
	}
	return &pass.State{Ctx: ctx, Module: m, Target: tg, Code: options.Code{Opt: 3}}
}

// verified fails the test unless the module verifies and holds TileAA only.
func verified(t *testing.T, s *pass.State, file string) {
	t.Helper()
	if !ir.Verify(s.Ctx, s.Module) {
		t.Fatalf("%s: %s\n%s", file, s.Ctx.Diags.String(), ir.Text(s.Module, ir.PrintOptions{}))
	}
	ir.Walk(s.Module, ir.PreOrder, func(op *ir.Op) {
		if op.Def.Dialect != tileaa.Dialect.Name {
			t.Fatalf("%s: %s is left", file, op.Name())
		}
	})
}

func TestTheCorpusConvertsAndStaysValidThroughTheCleanUp(t *testing.T) {
	for _, file := range corpus(t) {
		s := load(t, file, "sm_100")
		if err := ToTileAA(s); err != nil {
			var missing *ir.NotSupported
			if !errors.As(err, &missing) {
				t.Fatalf("%s: %v", file, err)
			}
			t.Logf("%s: %v", file, err)
			continue
		}
		verified(t, s, file)
		for _, pass := range []func(*pass.State) error{cleanup.Canonicalize, cleanup.CSE, cleanup.LICM, cleanup.DCE, cleanup.Canonicalize} {
			if err := pass(s); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			verified(t, s, file)
		}
	}
}

func TestEveryOperationHasARowThatLosesNothing(t *testing.T) {
	outside := map[string]bool{"module": true, "entry": true, "global": true}
	for _, d := range cudatile.Dialect.Ops {
		if outside[d.Name] {
			continue
		}
		row := conversions.Of(d.Code)
		if !row.known() {
			t.Errorf("%s has no row", d.Name)
			continue
		}
		if row.convert != nil {
			continue
		}
		to := tileaa.Dialect.Row(row.to)
		used := map[string]bool{}
		for i := range to.Args {
			from := row.source(d, to.Args[i].Name)
			if from == "" && to.Args[i].Mode == ir.Single {
				t.Errorf("%s: nothing gives %s its %s", d.Name, to.Name, to.Args[i].Name)
			}
			used[from] = true
		}
		for _, drop := range strings.Fields(row.drops) {
			used[drop] = true
		}
		for _, a := range d.Args {
			if !used[a.Name] {
				t.Errorf("%s: %s is lost", d.Name, a.Name)
			}
		}
	}
}

// TestEnumerationsHaveTheSameCases: attributes are copied by number, so an enumeration that both dialects have has the same cases in both.
func TestEnumerationsHaveTheSameCases(t *testing.T) {
	keywords := func(e *ir.EnumDef) (list []string) {
		for i := range e.Cases {
			list = append(list, e.Keyword(uint32(i)))
		}
		return list
	}
	source := map[string]*ir.EnumDef{}
	for _, e := range cudadef.Enums {
		source[e.GoType()] = e
	}
	shared := map[string]bool{}
	for _, op := range tileaa.Dialect.Ops {
		for i := range op.Args {
			e := op.Args[i].Enum
			if e == nil || source[e.GoType()] == nil || shared[e.GoType()] {
				continue
			}
			shared[e.GoType()] = true
			if was, is := keywords(source[e.GoType()]), keywords(e); !slices.Equal(was, is) {
				t.Errorf("%s is %q in cuda_tile and %q in TileAA", e.GoType(), was, is)
			}
		}
	}
	if len(shared) != 9 {
		t.Errorf("%d enumerations are in both dialects", len(shared))
	}
}
