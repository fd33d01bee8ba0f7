package first

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// grown does not fit into the 4 MB of addresses that the heap begins with: it lies in the next ones.
var grown *[4 << 20]byte

func init() { grown = new([4 << 20]byte) }

func TestHeapIsAdvisedToLieOnHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this system has no huge pages to advise:", err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []uintptr{uintptr(unsafe.Pointer(grown)), uintptr(unsafe.Pointer(grown)) + 4<<20 - 1} {
		if flags := flagsOf(at, string(smaps)); !strings.Contains(flags, " hg") {
			t.Errorf("flags of the mapping of %#x are %q, want hg", at, flags)
		}
	}
}

// flagsOf is the line of flags of the mapping that an address lies in, as proc_pid_smaps(5) has them.
func flagsOf(at uintptr, smaps string) string {
	inside := false
	for line := range strings.Lines(smaps) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 {
			inside = from <= at && at < to
		}
		if inside && strings.HasPrefix(line, "VmFlags:") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
