package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// BuildVersion names the build: the revision that the Go linker knows, and the hash of the binary, which tells builds of one revision
// apart. Equal builds give equal output.
var BuildVersion = sync.OnceValue(func() string { return buildVersion() + " sha256:" + binaryHash() })

// BinaryFile is the file whose hash BuildVersion has: that of the process, or of the shared library that the compiler is in.
var BinaryFile = os.Executable

func binaryHash() string {
	name, err := BinaryFile()
	if err != nil {
		return "unknown"
	}
	f, err := os.Open(name)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unknown"
	}
	return hex.EncodeToString(h.Sum(nil))
}

// buildVersion says which build this is, from what the Go linker knows.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "Build unknown"
	}
	rev, dirty := "devel", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	return "Build " + rev + dirty
}
