package driver

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// What a command line reads and writes. The rows of flags that name files say which; the arguments beside flags are read.

// naming is a file with what names it on the command line.
type naming struct {
	word, file string
	standard   *os.File // what "-" is
}

// ValueOf is the file that a flag names, for its row.
func ValueOf(flag string) func(*Line) []string {
	return func(l *Line) []string { return []string{l.String(flag)} }
}

// files are all that a command line reads and writes.
func (l *Line) files() (reads, writes []naming) {
	args := l.Args
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, file := range args {
		reads = append(reads, naming{"", file, os.Stdin})
	}
	for i := range l.command.Flags {
		f := &l.command.Flags[i]
		add := func(list *[]naming, files func(*Line) []string, standard *os.File) {
			if files == nil || l.String(f.Name) == "" && f.Default == "" {
				return
			}
			for _, file := range files(l) {
				*list = append(*list, naming{f.shortest(), file, standard})
			}
		}
		add(&reads, f.Reads, os.Stdin)
		add(&writes, f.Writes, os.Stdout)
	}
	return reads, writes
}

// CheckFiles refuses, before any work is done, an output that can be none, and one that would take the place of an input or of another
// output, under whatever names. A device may be all of it at once.
func (l *Line) CheckFiles() error {
	reads, writes := l.files()
	for i, out := range writes {
		if err := checkOutput(out.file); err != nil {
			return err
		}
		at := out.place()
		for _, in := range reads {
			if at.file != nil && at.file.Mode().IsRegular() && at.is(in.place()) {
				return fail(ExitOptions, "%s would overwrite %s: give it another name", out.word, in.spoken())
			}
		}
		for _, other := range writes[:i] {
			switch {
			case out.file != "-" && at.device(), !at.is(other.place()) && (out.file != "-" || other.file != "-"):
			case out.word == other.word:
				return fail(ExitOptions, "%s writes %s twice: give each output a name of its own", out.word, out.spoken())
			default:
				return fail(ExitOptions, "%s and %s both write %s: give each output a name of its own", other.word, out.word, out.spoken())
			}
		}
	}
	return nil
}

// writesStandard reports whether an output is standard output, where nothing else may be then.
func (l *Line) writesStandard() bool {
	_, writes := l.files()
	for _, out := range writes {
		if out.file == "-" {
			return true
		}
	}
	return false
}

// spoken is the file as messages have it.
func (n naming) spoken() string {
	switch input := n.standard == os.Stdin; {
	case n.file != "-" && input:
		return "the input '" + n.file + "'"
	case n.file != "-":
		return "'" + n.file + "'"
	case input:
		return "standard input"
	}
	return "standard output"
}

// place is where a file lies: what the system knows it by, or of one that is not there yet its folder and its name in that.
type place struct {
	file, folder fs.FileInfo
	name         string
}

func (n naming) place() place {
	if n.file == "-" {
		st, _ := n.standard.Stat()
		return place{file: st}
	}
	if st, err := os.Stat(n.file); err == nil {
		return place{file: st}
	}
	path, err := linkTarget(n.file)
	if err != nil {
		return place{}
	}
	dir, name := filepath.Split(path)
	folder, _ := os.Stat(dir + ".")
	return place{folder: folder, name: name}
}

func (p place) device() bool { return p.file != nil && p.file.Mode()&fs.ModeDevice != 0 }

func (p place) is(q place) bool {
	switch {
	case p.file != nil && q.file != nil:
		return os.SameFile(p.file, q.file)
	case p.file != nil || q.file != nil || p.folder == nil || q.folder == nil:
		return false
	}
	return p.name == q.name && os.SameFile(p.folder, q.folder)
}

// checkOutput refuses what can never be an output: no name, and a folder.
func checkOutput(file string) error {
	if file == "-" {
		return nil
	}
	st, err := os.Stat(file)
	switch {
	case file == "":
		return cannotOpen(file, syscall.ENOENT)
	case err == nil && st.IsDir():
		return cannotOpen(file, syscall.EISDIR)
	}
	return nil // what is not there is made, or the error of making it says why not
}
