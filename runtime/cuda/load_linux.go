package cuda

import (
	"io"
	"math"
	"os"
	"sync"
	"syscall"

	"github.com/ebitengine/purego"
)

func dlopen(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func dlsym(lib uintptr, name string) (uintptr, error) { return purego.Dlsym(lib, name) }

// flushC writes out what C's stdio has buffered: the driver prints with it.
var flushC = sync.OnceValue(func() func() {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, "fflush")
	if err != nil {
		return func() {}
	}
	var fflush func(file uintptr) int32
	purego.RegisterFunc(&fflush, address)
	return func() { fflush(0) }
})

// capturing serialises capture: file descriptor 1 belongs to the process.
var capturing sync.Mutex

// capture runs f and returns what the process wrote to standard output
// meanwhile; a kernel's printf arrives there when the device is synchronised.
// Of a kernel that is aborted NVIDIA does not promise all of it.
func capture(f func() error) (output string, err error) {
	capturing.Lock()
	defer capturing.Unlock()
	file, err := os.CreateTemp("", "tileiras-stdout-*")
	if err != nil {
		return "", err
	}
	defer file.Close()
	os.Remove(file.Name()) // at once: a kernel may never end
	flushC()()
	saved, err := syscall.Dup(1)
	if err != nil {
		return "", err
	}
	defer syscall.Close(saved)
	if err := syscall.Dup3(int(file.Fd()), 1, 0); err != nil {
		return "", err
	}
	func() {
		defer syscall.Dup3(saved, 1, 0)
		err = f()
		flushC()()
	}()
	text, readErr := io.ReadAll(io.NewSectionReader(file, 0, math.MaxInt64))
	if err == nil {
		err = readErr
	}
	return string(text), err
}
