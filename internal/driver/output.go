package driver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxInput bounds what is read of a file: a module has megabytes at most, and a device or a pipe may have no end.
const maxInput = 256 << 20

// ReadInput reads a file, or standard input for "-", with NVIDIA's messages.
func ReadInput(file string, stdin io.Reader) ([]byte, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = readAll(stdin)
	} else {
		data, err = readFile(file)
	}
	if err != nil {
		return nil, fail(ExitUsage, "%s", Unreadable(file, err))
	}
	return data, nil
}

// Unreadable says that an input file cannot be read, and why.
func Unreadable(file string, err error) string {
	return fmt.Sprintf("unable to read input file '%s': %s", file, reason(err))
}

func readFile(name string) ([]byte, error) {
	f, err := openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if len(data) > maxInput {
		return nil, fmt.Errorf("it has more than %d MiB, which is no module", maxInput>>20)
	}
	return data, err
}

// reason is the system's own word for what went wrong, capitalised as strerror does.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		s := []byte(no.Error())
		if len(s) > 0 && s[0] >= 'a' && s[0] <= 'z' {
			s[0] -= 'a' - 'A'
		}
		return string(s)
	}
	return err.Error()
}

// output is standard output; it keeps the first error of writing.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// arrived is the exit code of a command that wrote here: what was asked for may not have arrived.
func (o *output) arrived(code int, stderr io.Writer) int {
	if code == ExitOK && o.err != nil {
		return Report(streamFailure(o.err), stderr)
	}
	return code
}

// Arriving is a tool whose exit code says so when its standard output does not arrive.
func Arriving(t Tool) Tool {
	return func(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
		out := &output{w: stdout}
		return out.arrived(t(args, stdin, out, stderr), stderr)
	}
}

// Arrives reports whether what a tool that is Arriving writes to its standard output can arrive, as far as one can tell.
func Arrives(stdout io.Writer) bool {
	o, ok := stdout.(*output)
	return !ok || o.w != os.Stdout || !stdoutClosed()
}

// streamFailure is an output that could be opened and not written.
func streamFailure(err error) error {
	return &Failure{Code: ExitUsage, Kind: KindOption, Lines: []string{"error: IO failure on output stream: " + reason(err)}, Err: err}
}

// cannotOpen is an output that cannot be opened.
func cannotOpen(file string, err error) error {
	return &Failure{Code: ExitOptions, Kind: KindOption, Lines: []string{fmt.Sprintf("error: cannot open output file '%s': %s", file, reason(err))}, Err: err}
}

// WriteOutput writes a whole file or nothing: into a file beside it that has no name, or a temporary one, and then takes its place. "-" and
// /dev/stdout are standard output. A symbolic link stays one: what it points to is written. A device or pipe that is there already is written directly.
func WriteOutput(file string, data []byte, stdout io.Writer) error {
	if file == "-" || file == "/dev/stdout" { // which may be a file to which others append
		if _, err := stdout.Write(data); err != nil {
			return streamFailure(err)
		}
		return nil
	}
	if err := checkOutput(file); err != nil {
		return err
	}
	if st, err := os.Stat(file); err == nil && !st.Mode().IsRegular() { // before its links are followed: that of an open pipe leads nowhere
		return writeStream(file, data)
	}
	path, err := linkTarget(file)
	if err != nil {
		return cannotOpen(file, err)
	}
	st, err := os.Stat(path)
	for _, create := range []func(string) (*pending, error){createUnnamed, createBeside} {
		var w *pending
		if w, err = create(path); err != nil {
			continue
		}
		if err := w.fill(data, st); err != nil {
			return streamFailure(err)
		}
		if err = w.become(path, st == nil); err == nil {
			return nil
		}
	}
	if st != nil && !errors.Is(err, syscall.ENOSPC) {
		return writeInPlace(file, path, data) // the folder may not be written, the file may; one that is mounted cannot be replaced
	}
	return cannotOpen(file, err)
}

// writeLast writes the file with which a command ends.
func writeLast(file string, data []byte, stdout io.Writer) error {
	if unfinished.command {
		unfinished.last = true
	}
	return WriteOutput(file, data, stdout)
}

// pending is a file on its way to its place. It has a name there or none until then.
type pending struct {
	*os.File
	name   string
	remove func()
}

// fill writes what the file holds, with the mode of the old one that it replaces. What fails leaves nothing.
func (w *pending) fill(data []byte, old fs.FileInfo) error {
	_, err := w.Write(data)
	if err == nil && old != nil {
		err = w.Chmod(old.Mode().Perm())
	}
	if err == nil && w.name == "" {
		return nil
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil && w.name != "" {
		w.remove()
	}
	return err
}

// become gives the file its place, which may be free, or leaves nothing.
func (w *pending) become(path string, free bool) error {
	if w.name == "" {
		if err := w.giveName(path, free); err != nil || w.name == path {
			return err
		}
	}
	err := replace(w.name, path)
	if err != nil {
		w.remove()
	}
	settled(w.name)
	return err
}

// giveName gives a file without a name that of its place, or one beside it where the place is taken: no system call replaces a name by such a file.
func (w *pending) giveName(path string, free bool) error {
	err := fs.ErrExist
	if free {
		w.name, w.remove = path, func() { os.Remove(path) }
		err = nameUnnamed(w.File, path)
	}
	if errors.Is(err, fs.ErrExist) {
		w.name = beside(path, 0)
		w.remove = keepWhole(w.name)
		err = nameUnnamed(w.File, w.name)
	}
	named := err == nil
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if named && err != nil {
		w.remove()
	}
	return err
}

// maxLinks bounds chains of symbolic links, as Linux does.
const maxLinks = 40

// linkTarget follows symbolic links to the file that an output is to be, which need not exist.
func linkTarget(file string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(file)
		if err != nil {
			return file, nil
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(file)
			to = dir + to // not cleaned: ".." behind a link is not where its name says
		}
		file = to
	}
	return "", syscall.ELOOP
}

// createBeside makes a new file with a name of its own in the folder of path. The system's umask holds for it.
func createBeside(path string) (*pending, error) {
	for n := 0; ; n++ {
		name := beside(path, n)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return &pending{f, name, keepTidy(name)}, nil
		}
		if !errors.Is(err, fs.ErrExist) || n > 1000 {
			return nil, err
		}
	}
}

// beside is the n-th name for a temporary file of this process in the folder of path.
func beside(path string, n int) string {
	return filepath.Join(filepath.Dir(path), ".tileiras-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(n))
}

// writeStream writes to a device or a pipe.
func writeStream(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return cannotOpen(file, err)
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return streamFailure(err)
	}
	return nil
}

// writeInPlace writes over a file that cannot be replaced. If that fails, its old content is written back: the blocks are its own.
func writeInPlace(file, path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return cannotOpen(file, err)
	}
	defer f.Close()
	old, err := io.ReadAll(f)
	if err != nil {
		return cannotOpen(file, err)
	}
	put := func(b []byte) error {
		if _, err := f.WriteAt(b, 0); err != nil {
			return err
		}
		return f.Truncate(int64(len(b)))
	}
	if err := put(data); err != nil {
		put(old)
		return streamFailure(err)
	}
	return nil
}
