package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"tileiras/dialects/cudatile/def"
)

// BuildVersion names the build: the revision that the Go linker knows, and the hash of the binary, which tells builds of one revision
// apart. Equal builds give equal output.
var BuildVersion = sync.OnceValue(func() string { return revision() + ", sha256:" + binaryHash() })

// BinaryFile is the file whose hash BuildVersion has: that of the process, or of the shared library that the compiler is in.
var BinaryFile = os.Executable

func binaryHash() string {
	name, err := BinaryFile()
	if err != nil {
		return "unknown"
	}
	return fileHash(name)
}

// fileHash is the SHA-256 of a file, "unknown" when it cannot be read.
func fileHash(name string) string {
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

// versionText is the answer to --version. Frontends read the release and the V number from it, and take the whole text as the
// name of the compiler in the keys of their caches, so the last line has the hash of this very program: a new build, whatever
// changed in it, is another compiler, and so is one with flags from the environment.
func versionText(c *Command) string {
	with := ""
	if words := c.fromEnvironment(); len(words) > 0 {
		with = fmt.Sprintf("With %s from %s\n", strings.Join(words, " "), c.Variable)
	}
	return fmt.Sprintf("%s: an open compiler from CUDA Tile IR to PTX\nThe tileiras authors, Apache License 2.0\nBuilt from %s\n"+
		"Cuda compilation tools, release %v, V%v.0 (compatible)\n%sBuild %s\n", c.Name, revision(), def.Newest, def.Newest, with, binaryHash())
}

// revision says what this was built from, as far as the Go linker knows.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "an unknown revision"
	}
	rev, dirty := "a source tree without version control", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = "revision " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	return rev + dirty
}
