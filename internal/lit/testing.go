package lit

import (
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
)

// Test runs every test file below dir whose name ends in one of the suffixes,
// each as a subtest named by its path. It fails if there is none.
func (s *Suite) Test(t *testing.T, dir string, suffixes ...string) {
	t.Helper()
	files, err := find(dir, suffixes...)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no tests with suffixes %q below %s", suffixes, dir)
	}
	for _, name := range files {
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			switch r := s.Run(filepath.Join(dir, name), t.TempDir()); r.Status {
			case Fail, XPass:
				t.Errorf("%s: %s", r.Status, r.Log)
			case Unsupported:
				t.Skipf("%s: %s", r.Status, r.Log)
			case XFail:
				t.Logf("%s: %s", r.Status, r.Log)
			}
		})
	}
}

// find lists the test files below dir, sorted, relative to it. Directories
// named Inputs hold no tests.
func find(dir string, suffixes ...string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "Inputs":
			return filepath.SkipDir
		case !d.IsDir() && slices.Contains(suffixes, filepath.Ext(path)):
			name, err := filepath.Rel(dir, path)
			files = append(files, name)
			return err
		}
		return nil
	})
	return files, err
}
