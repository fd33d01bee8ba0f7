package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// switchPath is the package that the overlay adds: it says which mutant is on.
const switchPath = "tileiras/internal/mutant"

// switchText is that package. Without a mutant it notes which ones a program comes by.
const switchText = `package mutant

import (
	"os"
	"strconv"
	"sync"
)

var active, _ = strconv.Atoi(os.Getenv("MUTANT"))
var file = os.Getenv("MUTANT_REACHED")
var seen sync.Map

// On reports whether a mutant is on.
func On(n int) bool {
	if file != "" {
		note(n)
	}
	return n == active
}

func note(n int) {
	if _, old := seen.LoadOrStore(n, true); old {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	f.WriteString(strconv.Itoa(n) + "\n")
	f.Close()
}

// Pick is the first value when a mutant is on, else the second.
func Pick[T any](n int, mutated, original T) T {
	if On(n) {
		return mutated
	}
	return original
}
`

// Test is one test of one package.
type Test struct {
	Package string
	Name    string
	Flags   string
	Env     []string
	Took    time.Duration
	Reaches []int
}

func (t *Test) String() string { return t.Package + " " + t.Name }

// Lab holds test programs with mutants in them.
type Lab struct {
	Root    string
	Scratch string
	Sites   []*Site // mutant n is Sites[n-1]
	Tests   []*Test
	// Seconds of processor time that a test may take at most.
	Seconds int
}

// Overlay writes copies of the files with the mutants behind switches and the table that the go command reads.
func (l *Lab) Overlay() (string, error) {
	table := struct{ Replace map[string]string }{map[string]string{}}
	put := func(name string, text []byte) error {
		copy := filepath.Join(l.Scratch, "overlay", strings.ReplaceAll(name, "/", "__"))
		if err := os.MkdirAll(filepath.Dir(copy), 0o755); err != nil {
			return err
		}
		table.Replace[filepath.Join(l.Root, name)] = copy
		return os.WriteFile(copy, text, 0o644)
	}
	byFile := map[string][]int{}
	for i, s := range l.Sites {
		byFile[s.File] = append(byFile[s.File], i+1)
	}
	for name, numbers := range byFile { // files do not depend on each other
		text, err := os.ReadFile(filepath.Join(l.Root, name))
		if err != nil {
			return "", err
		}
		var sites []*Site
		for _, n := range numbers {
			sites = append(sites, l.Sites[n-1])
		}
		if err := put(name, Rewrite(text, sites, numbers)); err != nil {
			return "", err
		}
	}
	if err := put("internal/mutant/mutant.go", []byte(switchText)); err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(table, "", "  ")
	if err != nil {
		return "", err
	}
	file := filepath.Join(l.Scratch, "overlay.json")
	return file, os.WriteFile(file, data, 0o644)
}

// program is the test program of a package.
func (l *Lab) program(pkg string) string {
	return filepath.Join(l.Scratch, strings.ReplaceAll(pkg, "/", "_")+".test")
}

// Compile makes the test programs of packages. A mutant that does not compile is taken out; it is none.
func (l *Lab) Compile(packages []string) error {
	for {
		overlay, err := l.Overlay()
		if err != nil {
			return err
		}
		bad, err := l.compile(overlay, packages)
		if err == nil {
			return l.copyTree()
		}
		if len(bad) == 0 {
			return err
		}
		l.Sites = slices.DeleteFunc(l.Sites, func(s *Site) bool { return bad[fmt.Sprintf("%s:%d", s.File, s.Line)] })
	}
}

var place = regexp.MustCompile(`(?m)^(?:\./|[^\s:]*__)?([^\s:]+\.go):(\d+):\d+: `)

// compile builds each package; bad are the places "file:line" that the compiler complains of.
func (l *Lab) compile(overlay string, packages []string) (bad map[string]bool, err error) {
	for _, pkg := range packages {
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", l.program(pkg), "./"+pkg)
		cmd.Dir = l.Root
		out, err := cmd.CombinedOutput()
		if err == nil {
			continue
		}
		bad = map[string]bool{}
		for _, m := range place.FindAllStringSubmatch(string(out), -1) {
			n, _ := strconv.Atoi(m[2])
			for _, s := range l.Sites { // the compiler names files as it likes
				if s.Line == n && filepath.Base(s.File) == filepath.Base(m[1][strings.LastIndex(m[1], "__")+1:]) {
					bad[fmt.Sprintf("%s:%d", s.File, s.Line)] = true
				}
			}
		}
		return bad, fmt.Errorf("go test -c %s: %w\n%s", pkg, err, out)
	}
	return nil, nil
}

// folder is where the tests of a package run: in a copy of the tree, for a broken compiler leaves reports on its faults, and a failing test what it drew.
func (l *Lab) folder(pkg string) string { return filepath.Join(l.Scratch, "tree", pkg) }

// copyTree copies what tests may read, which is not what is built or hidden.
func (l *Lab) copyTree() error {
	return filepath.WalkDir(l.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(l.Root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (name == "bin" || name == "build" || len(name) > 1 && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(l.folder(name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(l.folder(name), text, 0o644)
	})
}

// patience is how many seconds of processor time a test may take with a mutant: an endless loop is a mutant noticed.
func (l *Lab) patience(t *Test) int { return min(l.Seconds, 5+int(20*t.Took.Seconds())) }

// run runs a test with variables of the environment; a test that takes more seconds of processor time, or too much memory, is ended.
func (l *Lab) run(ctx context.Context, t *Test, seconds int, env ...string) (string, error) {
	limit := fmt.Sprintf("ulimit -t %d; exec %q -test.run '^%s$' -test.count=1 -test.failfast %s", seconds, l.program(t.Package), t.Name, t.Flags)
	cmd := exec.CommandContext(ctx, "sh", "-c", limit)
	cmd.Dir = l.folder(t.Package)
	cmd.Env = slices.Concat(os.Environ(), t.Env, []string{"GOMEMLIMIT=2GiB"}, env)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// Survey runs every test of a package without a mutant and notes what it reaches and how long it takes. Only the tests whose
// names match are taken; flags are for the test program.
func (l *Lab) Survey(ctx context.Context, pkg string, only *regexp.Regexp, flags string, env ...string) error {
	cmd := exec.Command(l.program(pkg), "-test.list", ".")
	cmd.Dir = l.folder(pkg)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	for _, name := range strings.Fields(string(out)) {
		if !strings.HasPrefix(name, "Test") || !only.MatchString(name) {
			continue
		}
		t := &Test{Package: pkg, Name: name, Flags: flags, Env: env}
		file := filepath.Join(l.Scratch, "reached")
		if err := os.RemoveAll(file); err != nil {
			return err
		}
		start := time.Now()
		if out, err := l.run(ctx, t, l.Seconds, "MUTANT_REACHED="+file); err != nil {
			return fmt.Errorf("%s fails without a mutant: %w\n%s", t, err, out)
		}
		t.Took = time.Since(start)
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, line := range strings.Fields(string(data)) {
			n, err := strconv.Atoi(line)
			if err != nil {
				return err
			}
			t.Reaches = append(t.Reaches, n)
		}
		if len(t.Reaches) > 0 {
			l.Tests = append(l.Tests, t)
		}
	}
	return nil
}

// Fate is what became of a mutant.
type Fate struct {
	Site    *Site
	Killer  *Test // nil: it survives
	Reached int   // tests that come by it
}

// Kill runs mutant n under the tests that reach it, short ones first, until one fails.
func (l *Lab) Kill(ctx context.Context, n int) Fate {
	f := Fate{Site: l.Sites[n-1]}
	var tests []*Test
	for _, t := range l.Tests {
		if slices.Contains(t.Reaches, n) {
			tests = append(tests, t)
		}
	}
	slices.SortStableFunc(tests, func(a, b *Test) int { return int(a.Took - b.Took) })
	f.Reached = len(tests)
	for _, t := range tests {
		if _, err := l.run(ctx, t, l.patience(t), fmt.Sprintf("MUTANT=%d", n)); err != nil {
			f.Killer = t
			return f
		}
	}
	return f
}

// KillAll kills the mutants from a number on, counted from 0, one on each processor, and says in order what became of them.
func (l *Lab) KillAll(ctx context.Context, from int) iter.Seq2[int, Fate] {
	return func(yield func(int, Fate) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		fates := make([]chan Fate, len(l.Sites))
		for i := range fates {
			fates[i] = make(chan Fate, 1)
		}
		go func() {
			var g errgroup.Group
			g.SetLimit(runtime.NumCPU())
			for i := from; i < len(fates); i++ {
				g.Go(func() error { fates[i] <- l.Kill(ctx, i+1); return nil })
			}
		}()
		for i := from; i < len(fates); i++ {
			if !yield(i, <-fates[i]) {
				return
			}
		}
	}
}
