package driver

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// createUnnamed makes a file without a name in the folder of path, which the system forgets with the process. Not every file system can.
func createUnnamed(path string) (*pending, error) {
	f, err := os.OpenFile(filepath.Dir(path), os.O_WRONLY|unix.O_TMPFILE, 0o666)
	if err != nil {
		return nil, err
	}
	return &pending{File: f}, nil
}

// nameUnnamed gives such a file a name that is free (open(2), O_TMPFILE).
func nameUnnamed(f *os.File, name string) error {
	return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}
