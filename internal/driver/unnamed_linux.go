package driver

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"
)

// Constants of Linux that package syscall does not have (open(2), linkat(2)).
const (
	openUnnamed   = syscall.O_DIRECTORY | 0x400000 // O_TMPFILE
	currentFolder = ^uintptr(99)                   // AT_FDCWD
	followLink    = 0x400                          // AT_SYMLINK_FOLLOW
)

// createUnnamed makes a file without a name in the folder of path, which the system forgets with the process. Not every file system can.
func createUnnamed(path string) (*pending, error) {
	f, err := os.OpenFile(filepath.Dir(path), os.O_WRONLY|openUnnamed, 0o666)
	if err != nil {
		return nil, err
	}
	return &pending{File: f}, nil
}

// nameUnnamed gives such a file a name that is free (open(2), O_TMPFILE).
func nameUnnamed(f *os.File, name string) error {
	from, err := syscall.BytePtrFromString("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, currentFolder, uintptr(unsafe.Pointer(from)), currentFolder, uintptr(unsafe.Pointer(to)), followLink, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
