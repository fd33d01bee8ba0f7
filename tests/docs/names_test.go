package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tileiras/codegen/target"
)

var (
	link     = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	quoted   = regexp.MustCompile("`([^`\n]+)`")
	file     = regexp.MustCompile(`^[\w./-]*\w\.(go|md|txtar|json|sh|yml|toml|h|c|py)$`)
	testName = regexp.MustCompile(`\bTest[A-Z]\w+`)
	commit   = regexp.MustCompile(`(?m)^    ([0-9a-f]{7})  (\S.*)$`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// made are the files that documents name and that a user or a command makes.
var made = map[string]bool{"file.json": false, "LocalPreferences.toml": false, "bin/tileiras.h": false}

// projectFiles lists the files of the project, without what is built or installed there.
func projectFiles(t *testing.T, root string) (list []string) {
	err := filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && full != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "build"):
			return fs.SkipDir
		case !d.IsDir():
			list = append(list, full)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// inventory has every file of the project by every end of its path, and the names of all tests.
func inventory(t *testing.T, root string) (files, tests map[string]bool) {
	files, tests = map[string]bool{}, map[string]bool{}
	for _, full := range projectFiles(t, root) {
		rel, _ := filepath.Rel(root, full)
		for path, more := filepath.ToSlash(rel), true; more; {
			files[path] = true
			_, path, more = strings.Cut(path, "/")
		}
		if !strings.HasSuffix(full, "_test.go") {
			continue
		}
		text, err := os.ReadFile(full)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
	}
	return files, tests
}

// TestNamesInDocuments: the files, tests and documents that README, CONTRIBUTING and docs name are there.
func TestNamesInDocuments(t *testing.T) {
	const root = "../.."
	files, tests := inventory(t, root)
	docs, _ := filepath.Glob(root + "/docs/*.md")
	for _, doc := range append(docs, root+"/README.md", root+"/CONTRIBUTING.md") {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		text, name := string(data), filepath.Base(doc)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			n := strings.TrimPrefix(m[1], "./")
			if _, ok := made[n]; ok {
				made[n] = true
			} else if file.MatchString(n) && !files[n] {
				t.Errorf("%s names the file %s, which is not there", name, n)
			}
		}
		for _, n := range testName.FindAllString(text, -1) {
			if !tests[n] {
				t.Errorf("%s names %s, which is not there", name, n)
			}
		}
	}
	for n, met := range made {
		if !met {
			t.Errorf("no document names %s any more", n)
		}
	}
}

// TestReadmeNamesAll: README names every document, and the oldest and the newest GPU.
func TestReadmeNamesAll(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	docs, _ := filepath.Glob("../../docs/*.md")
	for _, doc := range docs {
		if name := "docs/" + filepath.Base(doc); !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("README.md does not name %s", name)
		}
	}
	first, last := target.All[0].Name, target.All[len(target.All)-1].Name
	if !regexp.MustCompile(`every GPU from\s+` + first + ` to ` + last + `\b`).Match(readme) {
		t.Errorf("the first sentence of README.md does not name %s and %s", first, last)
	}
}

// TestCommitsInDocuments: the commits that pages follow are in the history, and their sentences begin as the pages have them.
func TestCommitsInDocuments(t *testing.T) {
	if out, err := exec.Command("git", "rev-parse", "--is-shallow-repository", "--show-prefix").Output(); err != nil || strings.TrimSpace(string(out)) != "false\ntests/docs/" {
		t.Skip("skipped: the history of the project is not here")
	}
	docs, _ := filepath.Glob("../../docs/*.md")
	n := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range commit.FindAllStringSubmatch(string(text), -1) {
			n++
			subject, err := exec.Command("git", "log", "-1", "--format=%s", m[1]).Output()
			if err != nil || !strings.HasPrefix(string(subject), m[2]) {
				t.Errorf("%s: commit %s is %q, and does not begin with %q (%v)", filepath.Base(doc), m[1], strings.TrimSpace(string(subject)), m[2], err)
			}
		}
	}
	if n == 0 {
		t.Error("no page follows a commit")
	}
}

// TestPackageIsInstalledFromAFile: no document has pip take tileiras from an index, where it is not published.
func TestPackageIsInstalledFromAFile(t *testing.T) {
	byName := regexp.MustCompile(`pip install[^\n]*\stileiras\b[^\n]*`)
	docs, _ := filepath.Glob("../../docs/*.md")
	for _, doc := range append(docs, "../../README.md", "../../python/README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		if line := byName.Find(text); line != nil {
			t.Errorf("%s: %s", doc, line)
		}
	}
}
