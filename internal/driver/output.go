package driver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ReadInput reads a file, or standard input for "-", with NVIDIA's messages.
func ReadInput(file string, stdin io.Reader) ([]byte, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fail(ExitUsage, "unable to read input file '%s': %s", file, reason(err))
	}
	return data, nil
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

// WriteOutput writes a whole file or nothing: into a temporary file beside it, then a rename. "-" is standard output. A device
// or pipe that is there already is written directly.
func WriteOutput(file string, data []byte, stdout io.Writer) error {
	if file == "-" {
		if _, err := stdout.Write(data); err != nil {
			return fail(ExitUsage, "IO failure on output stream: %s", reason(err))
		}
		return nil
	}
	cannot := func(err error) error {
		return &Failure{Code: ExitOptions, Lines: []string{fmt.Sprintf("error: cannot open output file '%s': %s", file, reason(err))}, Err: err}
	}
	if st, err := os.Stat(file); err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return cannot(syscall.EISDIR)
		}
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return cannot(err)
		}
		_, err = f.Write(data)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fail(ExitUsage, "IO failure on output stream: %s", reason(err))
		}
		return nil
	}
	if file == "" {
		return cannot(syscall.ENOENT)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".tileiras-*")
	if err != nil {
		return cannot(err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(outputMode(file))
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fail(ExitUsage, "IO failure on output stream: %s", reason(err))
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return cannot(err)
	}
	return nil
}

// outputMode keeps the mode of a file that is replaced.
func outputMode(file string) fs.FileMode {
	if st, err := os.Stat(file); err == nil {
		return st.Mode().Perm()
	}
	return 0o644
}
