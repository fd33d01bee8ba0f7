package driver

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// write writes through WriteOutput and returns what the folder then holds besides want.
func write(t *testing.T, file, data string) error {
	t.Helper()
	err := WriteOutput(file, []byte(data), &bytes.Buffer{})
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".tileiras-*"))
	if len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	return err
}

func content(t *testing.T, file, want string) {
	t.Helper()
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v, want %q", file, got, err, want)
	}
}

func TestOutputThroughALinkKeepsTheLink(t *testing.T) {
	dir, far := t.TempDir(), t.TempDir()
	link, between, file := filepath.Join(dir, "link"), filepath.Join(dir, "between"), filepath.Join(far, "file")
	for _, l := range [][2]string{{"between", link}, {file, between}} {
		if err := os.Symlink(l[0], l[1]); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	for _, data := range []string{"first", "second"} { // the link points to nothing, then to a file
		if err := write(t, link, data); err != nil {
			t.Fatal(err)
		}
		content(t, file, data)
		if to, err := os.Readlink(link); err != nil || to != "between" {
			t.Errorf("the link is %q, %v", to, err)
		}
	}
	// A link with ".." in a folder that is a link leads from where the folder is.
	if err := errors.Join(os.Mkdir(filepath.Join(far, "in"), 0o755), os.Symlink("../up", filepath.Join(far, "in", "link")), os.Symlink(filepath.Join(far, "in"), filepath.Join(dir, "folder"))); err != nil {
		t.Fatal(err)
	}
	if err := write(t, filepath.Join(dir, "folder", "link"), "third"); err != nil {
		t.Fatal(err)
	}
	content(t, filepath.Join(far, "up"), "third")
	round := filepath.Join(dir, "round")
	os.Symlink("round", round)
	if err := write(t, round, "x"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
}

func TestOutputKeepsTheModeOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("old and longer"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := write(t, file, "new"); err != nil {
		t.Fatal(err)
	}
	content(t, file, "new")
	if st, _ := os.Stat(file); st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", st.Mode())
	}
}

func TestOutputIsNoFolder(t *testing.T) {
	dir := t.TempDir()
	var f *Failure
	if err := write(t, dir, "x"); !errors.As(err, &f) || f.Code != ExitOptions || !errors.Is(err, syscall.EISDIR) {
		t.Errorf("got %v", err)
	}
}

// A file in a folder where nothing can be made is written in place, and what was longer is cut.
func TestOutputInPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("old and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeInPlace(file, file, []byte("new")); err != nil {
		t.Fatal(err)
	}
	content(t, file, "new")
}

// TestBothWaysToAWholeFile: a file that has no name until it is complete, and one with a temporary name, take a free place and one that is taken.
func TestBothWaysToAWholeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for name, create := range map[string]func(string) (*pending, error){"unnamed": createUnnamed, "beside": createBeside} {
		os.Remove(file)
		for _, data := range []string{"first", "second"} {
			w, err := create(file)
			if errors.Is(err, errors.ErrUnsupported) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(w.fill([]byte(data), nil), w.become(file, data == "first"))
			content(t, file, data)
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".tileiras-*")); err != nil || len(left) > 0 {
				t.Errorf("%s: %v, %v is left", name, err, left)
			}
		}
	}
}

// TestAFolderIsNotReplaced: what has become a folder since it was looked at stays one, empty or not.
func TestAFolderIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder")
	if err := errors.Join(os.WriteFile(file, []byte("new"), 0o644), os.Mkdir(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := replace(file, folder); err == nil {
		t.Error("a folder was replaced")
	}
	content(t, file, "new")
	if st, err := os.Stat(folder); err != nil || !st.IsDir() {
		t.Errorf("the folder is %v, %v", st, err)
	}
}
