package mutants

import (
	"bufio"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rooms are where mutants are planted, with everything below them. A run of all tests plants a sample in one room, whose own tests
// take a second and are compiled in two; mutants elsewhere want most of the module compiled again and all tests of the compiler.
var (
	rooms = []string{"passes", "codegen/atom", "codegen/cost", "codegen/layout", "codegen/local", "codegen/nvvm", "codegen/options", "codegen/ptx", "codegen/ptxop",
		"codegen/target", "dialects", "ir", "runtime/emu", "runtime/interp"}
	sampledRoom = "codegen/layout"
)

// hunters are the packages whose tests must notice mutants. Those of a sample are the room's own.
var hunters = []struct {
	pkg   string
	only  string // tests whose names match
	flags string
	env   []string
}{
	{pkg: "tests", only: "^TestLit$"},
	{pkg: "codegen/layout", only: ".", flags: sameDraws},
	{pkg: "internal/gen", only: "."},
	{pkg: "internal/driver", only: "."},
	{pkg: "passes", only: "."},
	{pkg: "passes/pass", only: "."},
	{pkg: "passes/facts", only: "."},
	{pkg: "passes/kernel", only: "."},
	{pkg: "passes/plan", only: "."},
	{pkg: "passes/memory", only: "."},
	{pkg: "passes/sync", only: "."},
	{pkg: "passes/convert", only: "."},
	{pkg: "passes/cleanup", only: "."},
	{pkg: "passes/cudatile", only: "."},
	{pkg: "codegen/atom", only: "."},
	{pkg: "codegen/cost", only: "."},
	{pkg: "codegen/local", only: "."},
	{pkg: "codegen/ptxop", only: "."},
	{pkg: "codegen/target", only: "."},
	{pkg: "dialects/cudatile", only: "."},
	{pkg: "dialects/cudatile/bytecode", only: "."},
	{pkg: "dialects/tileaa", only: "."},
	{pkg: "ir", only: "."},
	{pkg: "ir/float", only: "."},
	{pkg: "ir/budget", only: "."},
	{pkg: "runtime/emu", only: "."},
	{pkg: "codegen/ptx", only: "."},
	{pkg: "codegen/nvvm", only: "."},
	{pkg: "runtime/interp", only: "."},
	{pkg: "internal/tilerun", only: "."},
	{pkg: "tests/bigtiles", only: "."},
	{pkg: "tests/products", only: "."},
	{pkg: "tests/scans", only: "."},
	{pkg: "tests/async", only: "."},
	{pkg: "tests/stages", only: "."},
	{pkg: "tests/regress", only: "Regressions"},
	{pkg: "tests/random", only: "Once|RandomModules", env: []string{"TILEIRAS_RANDOM=60"}},
}

// sameDraws has tests of properties draw the same in every run, so that the fate of a mutant does not change, and has them fail at once.
const sameDraws = "-rapid.seed=1 -rapid.shrinktime=1ms"

// sampled is how many mutants a run of all tests plants; TILEIRAS_MUTANTS=N plants N.
const sampled = 20

// TestMutantsAreNoticed plants mutants one at a time. Each must make a test fail, or survivors.txt must say why nobody can see it.
// TILEIRAS_MUTANTS_FROM leaves out the mutants before a number, TILEIRAS_MUTANTS_AGAIN names the output of an earlier run: only what
// survived there is planted.
func TestMutantsAreNoticed(t *testing.T) {
	n, all := sampled, false
	if s := os.Getenv("TILEIRAS_MUTANTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("TILEIRAS_MUTANTS: %v", err)
		}
		all = true
	}
	if testing.Short() {
		t.Skip("compiles test programs")
	}
	start := time.Now()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	planted := rooms
	if !all {
		planted = []string{sampledRoom}
	}
	sites, err := Sites(root, folders(t, root, planted))
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Root: root, Scratch: t.TempDir(), Sites: Choose(again(t, sites), n), Seconds: 120}
	var packages []string
	for _, h := range hunters {
		if all || h.pkg == sampledRoom {
			packages = append(packages, h.pkg)
		}
	}
	if err := l.Compile(packages); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d places to break, %d of them broken; compiled after %v", len(sites), len(l.Sites), time.Since(start).Round(time.Second))
	for _, h := range hunters {
		if !all && h.pkg != sampledRoom {
			continue
		}
		if err := l.Survey(t.Context(), h.pkg, regexp.MustCompile(h.only), h.flags, h.env...); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d tests reach them; surveyed after %v", len(l.Tests), time.Since(start).Round(time.Second))
	hunt(t, l, all, explained(t), start)
}

// hunt turns the mutants on one by one.
func hunt(t *testing.T, l *Lab, all bool, known map[string]string, start time.Time) {
	from := 0
	if s := os.Getenv("TILEIRAS_MUTANTS_FROM"); s != "" {
		from, _ = strconv.Atoi(s)
	}
	killed, equivalent, left, total := 0, 0, 0, 0
	used := map[string]bool{}
	for i, f := range l.KillAll(t.Context(), from) {
		key := f.Site.Key()
		total++
		switch why := known[key]; {
		case f.Killer != nil:
			killed++
			t.Logf("%d killed by %v: %v", i+1, f.Killer, f.Site)
			if why != "" {
				t.Errorf("survivors.txt says that it changes nothing, and %v fails: %s", f.Killer, key)
			}
		case why != "":
			equivalent++
			used[key] = true
			t.Logf("%d explained: %v: %s", i+1, f.Site, why)
		case f.Reached == 0:
			left++
			t.Errorf("%d SURVIVES, no test comes by it: %v\n\t%s", i+1, f.Site, key)
		default:
			left++
			t.Errorf("%d SURVIVES %d tests: %v\n\t%s", i+1, f.Reached, f.Site, key)
		}
	}
	t.Logf("%d mutants: %d killed (%.1f %%), %d explained, %d survive; after %v", total, killed, 100*float64(killed)/float64(max(1, total)), equivalent, left,
		time.Since(start).Round(time.Second))
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if all && !used[key] {
			t.Logf("not planted this time: %s", key)
		}
	}
}

// TestExplainedMutantsExist holds every key of survivors.txt against the places that there are to break: a proof is of code that stands.
func TestExplainedMutantsExist(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sites, err := Sites(root, folders(t, root, rooms))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, s := range sites {
		have[s.Key()] = true
	}
	for key := range explained(t) {
		if !have[key] {
			t.Errorf("survivors.txt explains what is not there: %s", key)
		}
	}
}

// again leaves the sites that survived in an earlier run.
func again(t *testing.T, sites []*Site) []*Site {
	name := os.Getenv("TILEIRAS_MUTANTS_AGAIN")
	if name == "" {
		return sites
	}
	log, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(sites), func(s *Site) bool { return !strings.Contains(string(log), "\t"+s.Key()+"\n") })
}

// folders lists the folders with Go files in rooms.
func folders(t *testing.T, root string, rooms []string) []string {
	seen := map[string]bool{}
	for _, room := range rooms {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
				return err
			}
			rel, err := filepath.Rel(root, filepath.Dir(path))
			seen[filepath.ToSlash(rel)] = true
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// explained reads survivors.txt: a line with the key of a mutant, then lines that begin with a tab and say why nobody can see it.
func explained(t *testing.T) map[string]string {
	f, err := os.Open("survivors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	key := ""
	for in := bufio.NewScanner(f); in.Scan(); {
		switch line := in.Text(); {
		case strings.HasPrefix(line, "#") || line == "":
		case strings.HasPrefix(line, "\t"):
			out[key] = strings.TrimSpace(out[key] + " " + strings.TrimSpace(line))
		default:
			key = line
			out[key] = ""
		}
	}
	for k, why := range out {
		if why == "" {
			t.Errorf("survivors.txt does not say why nobody can see %s", k)
		}
	}
	return out
}

// TestAMutantIsPlantedAndNoticed shows the whole way on a package of its own.
func TestAMutantIsPlantedAndNoticed(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module tileiras\n\ngo 1.24\n",
		"p/p.go": "package p\n\n// Clamp bounds x.\nfunc Clamp(x, top int) int {\n\tif x > top {\n\t\tx = top\n\t}\n\treturn x\n}\n\n" +
			"// Twice is unused by tests.\nfunc Twice(x int) int { return x + x }\n\n" +
			"var rules = map[int]func(x int) int{2: func(x int) int { return x * x }}\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestClamp(t *testing.T) {\n\tif Clamp(5, 3) != 3 || Clamp(2, 3) != 2 {\n\t\tt.Fatal()\n\t}\n}\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sites, err := Sites(root, []string{"p"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sites {
		l := &Lab{Root: root, Scratch: t.TempDir(), Sites: []*Site{s}, Seconds: 60}
		if err := l.Compile([]string{"p"}); err != nil {
			t.Fatal(err)
		}
		if err := l.Survey(t.Context(), "p", regexp.MustCompile("."), ""); err != nil {
			t.Fatal(err)
		}
		f := l.Kill(t.Context(), 1)
		fate := "survives"
		if f.Killer != nil {
			fate = "killed"
		}
		got = append(got, fmt.Sprintf("%d %s %s: %s, %d tests", s.Line, s.Kind, s.To, fate, f.Reached))
	}
	want := []string{
		"5 condition !(x > top): killed, 1 tests",
		"5 operator (x) >= (top): survives, 1 tests", // equivalent
		"6 dropped assignment nothing: killed, 1 tests",
		"12 operator (x) - (x): survives, 0 tests",
		"14 operator (x) + (x): survives, 0 tests", // of a rule in a table
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
