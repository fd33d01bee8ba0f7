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

// openFile is os.OpenFile without the poller, which a process makes with the first file that might be waited for together with others; ours are not.
func openFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	for {
		fd, err := syscall.Open(name, flag|syscall.O_CLOEXEC, uint32(perm.Perm()))
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), name), nil
		case syscall.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// handOver has another program take this process over.
func handOver(path string, args []string, _ io.Reader, _, stderr io.Writer) int {
	err := syscall.Exec(path, append([]string{path}, args...), os.Environ())
	return Report(cannotRun(path, err), stderr)
}

// raise ends this process by a signal whose default action that is.
func raise(s os.Signal) {
	syscall.Kill(os.Getpid(), s.(syscall.Signal))
	select {} // the signal may arrive on another thread
}
