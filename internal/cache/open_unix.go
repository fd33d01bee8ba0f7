//go:build unix

package cache

import (
	"os"
	"syscall"
)

// openFile opens a file to read. It does not wait for who writes, where it is a pipe.
func openFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
