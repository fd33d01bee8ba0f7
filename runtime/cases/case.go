// Package cases reads the corpus: kernels in bytecode with their launch, their
// input and what they must leave behind. It runs a case on any [Machine] (the
// interpreter, the emulator, a GPU) and judges the result, so that the command
// and every test share one runner and one comparison.
//
// The file format is described in tests/corpus/README.md. The package imports
// the standard library and ir/float only: machines are implemented by callers.
package cases

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Case is one launch: case.json with its files, or the bench.json of a
// benchmark, whose buffers have descriptions instead of files.
type Case struct {
	Name     string
	Dir      string // where the files lie
	Kernel   string // entry symbol
	Version  string // bytecode version
	Bytecode []byte
	File     string // that Bytecode comes from
	PTX      *PTX   // a launch of PTX text, without bytecode
	Core     bool

	Grid     [3]int    // tile blocks; zero while GridRule is unresolved
	GridRule *GridRule // nil unless the grid depends on the device
	Buffers  []*Buffer // in the order of the file
	Params   []Param   // in the order of the entry's parameters

	Expect         []Expect // in the order of the file
	ExpectError    string   // the module must be refused with this message
	ExpectAssert   string   // the launch must fail an assertion with this text
	DecodeOnly     bool     // read, verify and print, do not run
	StdoutContains []string // what printing must produce

	NvidiaTileiras map[string]bool // target -> NVIDIA's compiler accepts it
	MinSM          int             // lowest target that NVIDIA's accepts; 0: none

	Op           string // benchmarks: what one launch computes
	Flops, Bytes int64  // benchmarks: work and traffic of one launch
}

// GridRule sizes a persistent launch: one block per multiprocessor times
// Times, not more than AtMost (0: no limit).
type GridRule struct {
	Times, AtMost int
}

// Buffer is a block of global memory.
type Buffer struct {
	Name     string
	DType    *DType
	Shape    []int
	Data     []byte // initial content; nil until Fill for a described buffer
	Init     *Init  // the description, or nil when Data came from a file
	Pointers []Pointer
	Gaps     []Gap // holes between bytes of Data
	View     *View // the array inside the buffer, for messages
	Scratch  bool  // undefined before the launch and not judged after it
}

// Pointer says that before the launch 64-bit word Index of a buffer holds the
// address of byte Offset of another.
type Pointer struct {
	Index  int
	Buffer string
	Offset int
}

// View is a strided array inside a buffer, in elements.
type View struct {
	Offset  int   `json:"offset"`
	Shape   []int `json:"shape"`
	Strides []int `json:"strides"`
}

// Param is one entry parameter: the address of byte Offset of a buffer, a
// scalar, or a struct as its bytes.
type Param struct {
	Buffer string // empty for a scalar or a struct
	Offset int
	Type   *DType // scalars and structs only
	Bits   uint64 // scalars only: the value, zero above Type's width
	Bytes  []byte // structs only
}

// Expect is the content of a whole buffer after the launch, with tolerance.
type Expect struct {
	Buffer     string
	Data       []byte
	RTol, ATol float64
}

// Buffer returns the buffer called name, or nil.
func (c *Case) Buffer(name string) *Buffer {
	for _, b := range c.Buffers {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// ResolveGrid sets the grid of a persistent launch for a device with the given
// number of multiprocessors. Other grids stay as they are.
func (c *Case) ResolveGrid(multiprocessors int) {
	if r := c.GridRule; r != nil {
		n := multiprocessors * max(r.Times, 1)
		if r.AtMost > 0 {
			n = min(n, r.AtMost)
		}
		c.Grid = [3]int{n, 1, 1}
	}
}

// Load reads a case from its case.json, bench.json or launch.json (beside
// kernel.ptx), or from the directory that holds case.json or bench.json.
func Load(path string) (*Case, error) {
	if filepath.Base(path) == "launch.json" {
		return LoadLaunch(filepath.Join(filepath.Dir(path), "kernel.ptx"), path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dir := path
		path = filepath.Join(dir, "case.json")
		if _, err := os.Stat(path); err != nil {
			path = filepath.Join(dir, "bench.json")
		}
	}
	text, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parse(text, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// What is read of a file: the biggest buffer with the header of its .npy, and less of a pipe or a device, which may have no end.
const (
	maxFile   = maxBufferBytes + 1<<16
	maxStream = 256 << 20
)

// ReadFile reads a file that is no bigger than buffers are.
func ReadFile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case st.Mode().IsRegular() && st.Size() > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	case st.Mode().IsRegular() || st.IsDir():
		return os.ReadFile(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStream+1))
	if len(data) > maxStream {
		return nil, fmt.Errorf("%s, which is no regular file, has more than %d MiB", path, maxStream>>20)
	}
	return data, err
}

// List returns the names of the cases below dir, sorted.
func List(dir string) ([]string, error) {
	var names []string
	for _, file := range []string{"case.json", "bench.json"} {
		found, err := filepath.Glob(filepath.Join(dir, "*", file))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			names = append(names, filepath.Base(filepath.Dir(f)))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s holds no cases", dir)
	}
	slices.Sort(names)
	return names, nil
}
