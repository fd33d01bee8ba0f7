package driver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"tileiras/dialects/cudatile/def"
	"tileiras/internal/ptxas"
)

// BuildVersion names the build: the revision that the Go linker knows, and the identity of the binary, which tells builds of one revision
// apart. Equal builds give equal output. It ends with unknownBuild where the binary cannot be read.
var BuildVersion = sync.OnceValue(func() string { return revision() + ", " + identity() })

// unknownBuild is the identity of what cannot be read, which two builds may share.
const unknownBuild = "unknown"

// BinaryFile is the file whose identity BuildVersion has: that of the process, or of the shared library that the compiler is in. On Linux it
// is what runs, also where another file has its name by now.
var BinaryFile = func() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// LoadedID is the ID that the go command gave to the binary, where it can be had without its file; "" where it cannot.
var LoadedID = func() string { return "" }

func identity() string {
	if id := LoadedID(); id != "" {
		return "go:" + id
	}
	name, err := BinaryFile()
	if err != nil {
		return unknownBuild
	}
	return fileIdentity(name)
}

// fileIdentity tells a program from every other one: by the ID that the go command has given it, which ends with a hash of what it wrote (go tool
// buildid FILE prints it), else by the SHA-256 of the file, which takes longer than a compile.
func fileIdentity(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return unknownBuild
	}
	defer f.Close()
	head := make([]byte, 1<<15) // as much as go tool buildid reads
	n, _ := io.ReadFull(f, head)
	if id := goID(head[:n]); id != "" {
		return "go:" + id
	}
	hash, err := fileHash(name)
	if err != nil {
		return unknownBuild
	}
	return "sha256:" + hash
}

// goID is the ID in the first bytes of a program, "" where there is none.
func goID(head []byte) string {
	for _, mark := range []string{"\x04\x00\x00\x00Go\x00\x00", "\xff Go build ID: \""} { // a note of ELF; elsewhere, what stands in front of the code
		if _, id, ok := bytes.Cut(head, []byte(mark)); ok {
			rest := bytes.TrimLeft(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/")
			return string(id[:len(id)-len(rest)])
		}
	}
	return ""
}

// fileHash is the SHA-256 of a file.
func fileHash(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// versionText is the answer to --version. Frontends read the release and the V number from it, and take the whole text as the
// name of the compiler in the keys of their caches, so the last line has the identity of this very program: a new build, whatever
// changed in it, is another compiler, and so is one with flags from the environment, or another ptxas.
func versionText(l *Line) string {
	c, with := l.command, ""
	if words := c.fromEnvironment(); len(words) > 0 {
		with = fmt.Sprintf("With %s from %s\n", strings.Join(words, " "), c.Variable)
	}
	if c.find("ptxas") != nil {
		with += "Assembler: " + assemblerText(l.String("ptxas")) + "\n"
	}
	return fmt.Sprintf("%s: an open compiler from CUDA Tile IR to PTX\nThe tileiras authors, Apache License 2.0\nBuilt from %s\n"+
		"Cuda compilation tools, release %v, V%v.0 (compatible)\n%sBuild %s\n", c.Name, revision(), def.Newest, def.Newest, with, identity())
}

// assemblerText tells the ptxas that a cubin would be made by from others, without running it.
func assemblerText(named string) string {
	path, err := ptxas.Find(named, "--ptxas")
	if err != nil {
		return "none was found"
	}
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s, %d bytes of %s", path, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
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
