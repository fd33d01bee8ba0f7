package driver

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// Constants of Linux that package syscall does not have (open(2), linkat(2)).
const (
	openUnnamed   = syscall.O_DIRECTORY | 0x400000 // O_TMPFILE
	currentFolder = ^uintptr(99)                   // AT_FDCWD
	followLink    = 0x400                          // AT_SYMLINK_FOLLOW
	exchangeNames = 2                              // RENAME_EXCHANGE
)

// renameat2 is the number of the system call (renameat2(2)); 0 is unknown.
func renameat2() uintptr {
	switch runtime.GOARCH {
	case "amd64":
		return 316
	case "arm64":
		return 276
	}
	return 0
}

// createUnnamed makes a file without a name in the folder of path, which the system forgets with the process. Not every file system can.
func createUnnamed(path string) (*pending, error) {
	f, err := openFile(filepath.Dir(path), os.O_WRONLY|openUnnamed, 0o666)
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

// replace gives a file the name of another, which goes. Names that change places are as atomic as a rename and take a third of the time: ext4 begins to
// write what takes a name that was there.
func replace(from, to string) error {
	if exchange(from, to) == nil {
		if syscall.Unlink(from) == nil {
			return nil
		}
		exchange(from, to) // it is no file any more
	}
	return os.Rename(from, to)
}

func exchange(one, other string) error {
	if renameat2() == 0 {
		return syscall.ENOSYS
	}
	a, err := syscall.BytePtrFromString(one)
	if err != nil {
		return err
	}
	b, err := syscall.BytePtrFromString(other)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(renameat2(), currentFolder, uintptr(unsafe.Pointer(a)), currentFolder, uintptr(unsafe.Pointer(b)), exchangeNames, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
