//go:build !unix

package driver

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// stdoutClosed reports whether nobody can read standard output.
func stdoutClosed() bool {
	_, err := os.Stdout.Stat()
	return err != nil
}

func openFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// handOver runs another program in place of this one.
func handOver(path string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return ended.ExitCode()
	case err != nil:
		return Report(cannotRun(path, err), stderr)
	}
	return ExitOK
}

// raise ends this process.
func raise(os.Signal) { os.Exit(ExitUsage) }
