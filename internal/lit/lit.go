// Package lit runs tests that are written as text files with RUN lines, as
// LLVM's lit does (llvm.org/docs/CommandGuide/lit.html):
//
//	// RUN: tile-opt %s --passes=cse | FileCheck %s
//	// CHECK: ...
//
// Tools run inside this process when the suite has a function for them, so a
// test needs no shell and no built binaries; pipes are buffers. Besides the
// suite's tools there are FileCheck, not, cat, echo and cmp.
//
// It imports the standard library and internal/filecheck only.
package lit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Suite says what tests may use.
type Suite struct {
	// Tools run in this process.
	Tools map[string]Tool
	// Substitutions are replaced in RUN lines: "%name" -> text. Longer names
	// win. %s, %S, %t, %T and %% always exist.
	Substitutions map[string]string
	// Features satisfy REQUIRES lines and trigger UNSUPPORTED and XFAIL lines.
	Features []string
	// External programs may be run from PATH; a test that uses one which is
	// not installed is Unsupported.
	External []string
}

// Status is the result of a test.
type Status uint8

const (
	Pass Status = iota
	Fail
	XFail       // failed, as XFAIL says
	XPass       // passed although XFAIL says it fails: counts as a failure
	Unsupported // not run: something that it needs is missing
)

var statusNames = [...]string{"PASS", "FAIL", "XFAIL", "XPASS", "UNSUPPORTED"}

// String is the name that lit prints.
func (s Status) String() string { return statusNames[s] }

// Result tells how a test went. Log has the command that failed with all its
// output, or what is missing.
type Result struct {
	Status Status
	Log    string
}

// test is a parsed test file.
type test struct {
	runs                         []run
	requires, unsupported, xfail []string
}

type run struct {
	line int
	text string
}

// parseTest collects the keyword lines of a test file. A RUN line that ends in
// a backslash continues in the next RUN line.
func parseTest(text string) (*test, error) {
	t := &test{}
	open := false
	for i, line := range strings.Split(text, "\n") {
		if rest, ok := keyword(line, "RUN:"); ok {
			rest = strings.TrimSpace(rest)
			body, more := strings.CutSuffix(rest, "\\")
			if open {
				last := &t.runs[len(t.runs)-1]
				last.text += " " + strings.TrimSpace(body)
			} else {
				t.runs = append(t.runs, run{i + 1, strings.TrimSpace(body)})
			}
			open = more
			continue
		}
		for _, k := range []struct {
			name string
			list *[]string
		}{{"REQUIRES:", &t.requires}, {"UNSUPPORTED:", &t.unsupported}, {"XFAIL:", &t.xfail}} {
			if rest, ok := keyword(line, k.name); ok {
				for _, f := range strings.Split(rest, ",") {
					*k.list = append(*k.list, strings.TrimSpace(f))
				}
			}
		}
	}
	if open {
		return nil, fmt.Errorf("the last RUN line ends in a backslash")
	}
	if len(t.runs) == 0 {
		return nil, fmt.Errorf("no RUN line")
	}
	return t, nil
}

// keyword finds a keyword that starts a word of the line.
func keyword(line, name string) (rest string, ok bool) {
	i := strings.Index(line, name)
	if i < 0 || i > 0 && strings.IndexByte(" \t/#;-*<!", line[i-1]) < 0 {
		return "", false
	}
	return line[i+len(name):], true
}

// Run runs one test file. tmp is a directory of its own, for %t and %T.
func (s *Suite) Run(path, tmp string) Result {
	text, err := os.ReadFile(path)
	if err != nil {
		return Result{Fail, err.Error()}
	}
	t, err := parseTest(string(text))
	if err != nil {
		return Result{Fail, fmt.Sprintf("%s: %v", path, err)}
	}
	if why := s.excluded(t); why != "" {
		return Result{Unsupported, why}
	}
	r := s.runAll(t, path, tmp)
	if s.any(t.xfail) {
		switch r.Status {
		case Pass:
			return Result{XPass, "the test passes, but XFAIL says that it fails"}
		case Fail:
			r.Status = XFail
		}
	}
	return r
}

func (s *Suite) any(features []string) bool {
	return slices.ContainsFunc(features, func(f string) bool { return f == "*" || slices.Contains(s.Features, f) })
}

// excluded says why a test must not run here, or nothing.
func (s *Suite) excluded(t *test) string {
	for _, f := range t.requires {
		if !slices.Contains(s.Features, f) {
			return "requires " + f
		}
	}
	if s.any(t.unsupported) {
		return "unsupported with " + strings.Join(t.unsupported, ", ")
	}
	return ""
}

func (s *Suite) runAll(t *test, path, tmp string) Result {
	path, err := filepath.Abs(path)
	if err != nil {
		return Result{Fail, err.Error()}
	}
	subst := s.substitutions(path, tmp)
	for _, r := range t.runs {
		line := subst.Replace(r.text)
		pipelines, err := parseLine(line)
		if err != nil {
			return Result{Fail, fmt.Sprintf("%s:%d: %v", path, r.line, err)}
		}
		for _, p := range pipelines {
			if missing := s.missing(p); missing != "" {
				return Result{Unsupported, fmt.Sprintf("%s:%d: %s is not installed", path, r.line, missing)}
			}
		}
		e := &executor{suite: s, dir: tmp}
		if status := e.list(pipelines); status != 0 {
			return Result{Fail, fmt.Sprintf("%s:%d: exit status %d\nRUN: %s\n%s", path, r.line, status, line, e.log.String())}
		}
	}
	return Result{Status: Pass}
}

// substitutions replaces all names at once, the longest first.
func (s *Suite) substitutions(path, tmp string) *strings.Replacer {
	all := map[string]string{
		"%s": path, "%S": filepath.Dir(path), "%t": filepath.Join(tmp, filepath.Base(path)+".tmp"), "%T": tmp, "%%": "%",
	}
	for name, text := range s.Substitutions {
		all[name] = text
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, name, all[name])
	}
	return strings.NewReplacer(pairs...)
}
