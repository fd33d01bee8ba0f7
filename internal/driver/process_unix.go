//go:build unix

package driver

import (
	"io"
	"os"
	"syscall"
)

// stdoutClosed reports whether nobody can read standard output. A Go program that is started with it closed finds /dev/null there,
// open for reading and writing (runtime.checkfds), which is not how a shell opens what it writes to.
func stdoutClosed() bool {
	st, err := os.Stdout.Stat()
	if err != nil {
		return true
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || !os.SameFile(st, null) {
		return false
	}
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, os.Stdout.Fd(), syscall.F_GETFL, 0)
	return errno == 0 && flags&syscall.O_ACCMODE == syscall.O_RDWR
}

// handOver has another program take this process over.
func handOver(path string, args []string, _ io.Reader, _, stderr io.Writer) int {
	err := syscall.Exec(path, append([]string{path}, args...), os.Environ())
	return report(cannotRun(path, err), stderr)
}

// raise ends this process by a signal whose default action that is.
func raise(s os.Signal) {
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
	select {} // the signal may arrive on another thread
}
