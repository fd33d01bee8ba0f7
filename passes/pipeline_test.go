package passes

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/passes/pass"
)

// order holds pairs of passes of which the first must stand before the second for a reason that forms do not show.
var order = []struct{ first, then, because string }{
	{"pair-elements", "canonicalize", "most of what it makes undoes what the program does"},
	{"canonicalize", "cse", "equal things look equal only in canonical form"},
	{"cse", "licm", "of equal operations one copy moves"},
	{"cse", "split-loads", "one load of two is split, so that nothing is loaded as a whole and in parts"},
	{"split-loads", "licm", "where parts lie is known before loops"},
	{"dce", Planner, "the plan counts what is there"},
	{"slice-tiles", "version-loops", "it makes loops"},
	{"version-loops", "select-atoms", "widths follow from its promises"},
	{"slice-tiles", "select-atoms", "atoms and widths are chosen for what a thread holds at a time"},
	{"split-reductions", "lower-conversions", "it makes conversions"},
	{"select-copies", "lower-conversions", "it takes conversions as a whole"},
	{"unroll-loops", "cse-conversions", "iterations that become one have operations in common"},
	{"lower-conversions", "cse-conversions", "it makes operations that come out equal"},
	{"cse-conversions", "rematerialize", "it would merge the copies again"},
	{"rematerialize", "assign-roles", "each role makes its own"},
	{"cse-conversions", "hoist-loads", "of equal loads and addresses one moves"},
	{"hoist-loads", "assign-roles", "each role has its loads where they begin"},
	{"assign-roles", "pipeline-loops", "it takes loops as a whole"},
	{"pipeline-loops", "stage-loads", "what goes by copies needs no registers"},
	{"stage-loads", "allocate-shared", "it multiplies buffers"},
}

// The comment of the package lists every room.
func TestTheCommentListsEveryRoom(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "pipeline.go", nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var listed, there []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) `).FindAllStringSubmatch(f.Doc.Text(), -1) {
		listed = append(listed, m[1])
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			there = append(there, e.Name())
		}
	}
	if slices.Sort(listed); !slices.Equal(listed, there) {
		t.Errorf("the comment lists %v, there are %v", listed, there)
	}
}

func TestEveryPassStandsWhereItFits(t *testing.T) {
	if err := checkList(List); err != nil {
		t.Error(err)
	}
}

// checkList holds the list against itself: names are unique, every form that a pass needs is given before it, by the pass that messages
// name, and pairs stand in their order.
func checkList(list []*pass.Pass) error {
	at, given := map[string]int{}, tileaa.AnyForm
	for i, p := range list {
		for _, name := range []string{p.Name, onCudaTile + p.OnCudaTile} {
			if _, twice := at[name]; twice {
				return fmt.Errorf("two passes are named %s", name)
			}
			if name != "" && name != onCudaTile {
				at[name] = i
			}
		}
		if p.Needs > given {
			return fmt.Errorf("pass %s needs %s, which no pass before it gives", p.Name, p.Needs.Noun())
		}
		if p.Gives != tileaa.AnyForm && p.Gives != given+1 {
			return fmt.Errorf("pass %s gives %s out of turn", p.Name, p.Gives.Noun())
		}
		if p.Gives != tileaa.AnyForm && p.Gives.Pass() != p.Name {
			return fmt.Errorf("pass %s gives %s, and messages say that %s does", p.Name, p.Gives.Noun(), p.Gives.Pass())
		}
		given = max(given, p.Gives)
	}
	for _, o := range order {
		first, ok := at[o.first]
		then, too := at[o.then]
		if !ok || !too || first >= then {
			return fmt.Errorf("pass %s must stand before %s: %s", o.first, o.then, o.because)
		}
	}
	return nil
}

// onCudaTile sets names on cuda_tile apart from those of the way down.
const onCudaTile = "cuda_tile: "
