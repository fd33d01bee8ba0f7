package cases

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// PTX is what a launch of PTX text needs beyond a launch of a module: nothing
// of it follows from the text.
type PTX struct {
	Text    string
	File    string // that Text comes from
	Block   [3]int // threads
	Cluster [3]int // CTAs of a cluster; zero: what the text says
	Shared  int    // dynamic shared memory, bytes
}

// launchJSON is the launch record of a PTX file: what a compiler's runtime
// would hand to the driver, with inputs and expected outputs.
type launchJSON struct {
	Entry   string              `json:"entry"`
	Grid    []int               `json:"grid"`
	Block   [3]int              `json:"block"`
	Cluster [3]int              `json:"cluster"`
	Shared  int                 `json:"shared"`
	Scratch int                 `json:"scratch"`
	Params  []map[string]any    `json:"params"`
	Buffers ordered[bufferJSON] `json:"buffers"`
	Expect  ordered[expectJSON] `json:"expect"`
	Source  forPeople           `json:"source"`
	SM      int                 `json:"sm"`
}

// scratchName is the buffer after the parameter {"global_scratch": true}.
const scratchName = "global scratch"

// otherNames are names of element types that other compilers use.
var otherNames = map[string]string{"e4m3": "f8e4m3fn", "e5m2": "f8e5m2"}

// LoadLaunch reads a PTX file with its launch record as a case. Files that the
// record names lie beside it. Expected arrays are in f64 or in the type of the
// buffer. A buffer without "init" begins as zeros; the scratch memory, Scratch
// bytes for every CTA, is undefined and not judged.
func LoadLaunch(ptx, record string) (*Case, error) {
	text, err := ReadFile(ptx)
	if err != nil {
		return nil, err
	}
	bytes, err := ReadFile(record)
	if err != nil {
		return nil, err
	}
	c, err := parseLaunch(bytes, filepath.Dir(record))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", record, err)
	}
	if c.Name = filepath.Base(filepath.Dir(record)); strings.Trim(c.Name, `./\`) == "" {
		c.Name = strings.TrimSuffix(filepath.Base(record), ".json")
	}
	c.PTX.Text, c.PTX.File = string(text), ptx
	return c, nil
}

func parseLaunch(text []byte, dir string) (*Case, error) {
	var j launchJSON
	if err := readObject(text, &j); err != nil {
		return nil, err
	}
	if j.Entry == "" {
		return nil, fmt.Errorf(`the record has no "entry": the name of the kernel`)
	}
	if len(j.Grid) != 3 || slices.Min(j.Grid) < 1 {
		return nil, fmt.Errorf(`"grid" must be three numbers from 1: the blocks in x, y and z`)
	}
	c := &Case{Dir: dir, Kernel: j.Entry, Grid: [3]int(j.Grid), MinSM: j.SM,
		PTX: &PTX{Block: j.Block, Cluster: j.Cluster, Shared: j.Shared}}
	if j.Shared < 0 || j.Scratch < 0 {
		return nil, fmt.Errorf("a size is negative")
	}
	for _, e := range j.Buffers {
		b, err := launchBuffer(e.key, &e.value, dir)
		if err != nil {
			return nil, fmt.Errorf("buffer %q: %w", e.key, err)
		}
		c.Buffers = append(c.Buffers, b)
	}
	if err := c.launchParams(&j); err != nil {
		return nil, err
	}
	for _, e := range j.Expect {
		x, err := c.launchExpect(e.key, e.value)
		if err != nil {
			return nil, fmt.Errorf("expect %q: %w", e.key, err)
		}
		c.Expect = append(c.Expect, x)
	}
	return c, c.check()
}

func launchBuffer(name string, j *bufferJSON, dir string) (*Buffer, error) {
	if other := otherNames[j.DType]; other != "" {
		j.DType = other
	}
	if len(j.Init) == 0 || string(j.Init) == "null" {
		j.Init = json.RawMessage(`{"kind": "zeros"}`)
	}
	return parseBuffer(name, j, dir)
}

// launchParams takes the parameters: those of cases, {"global_scratch": true} and {"null": true}.
func (c *Case) launchParams(j *launchJSON) error {
	u8, _ := DTypeByName("u8")
	u64, _ := DTypeByName("u64")
	for i, p := range j.Params {
		switch {
		case len(p) == 1 && p["null"] == true:
			c.Params = append(c.Params, Param{Type: u64})
		case len(p) == 1 && p["global_scratch"] == true:
			if c.Buffer(scratchName) == nil {
				ctas := j.Grid[0] * j.Grid[1] * j.Grid[2]
				if _, err := byteSize([]int{ctas, j.Scratch}, 1); err != nil {
					return err
				}
				c.Buffers = append(c.Buffers, &Buffer{Name: scratchName, DType: u8, Shape: []int{max(1, ctas*j.Scratch)}, Scratch: true})
			}
			c.Params = append(c.Params, Param{Buffer: scratchName})
		default:
			param, err := parseParam(p)
			if err != nil {
				return fmt.Errorf("parameter %d: %w", i, err)
			}
			c.Params = append(c.Params, param)
		}
	}
	return nil
}

// launchExpect reads an expected array, in the type of its buffer or in f64, which is rounded once.
func (c *Case) launchExpect(name string, j expectJSON) (Expect, error) {
	b := c.Buffer(name)
	if b == nil {
		return Expect{}, fmt.Errorf("no such buffer")
	}
	if err := j.check(); err != nil {
		return Expect{}, err
	}
	f64, _ := DTypeByName("f64")
	data, err := readArray(c.Dir, j.File, f64, b.Shape)
	if err != nil || b.DType == f64 {
		data, err = readArray(c.Dir, j.File, b.DType, b.Shape)
		return Expect{Buffer: name, Data: data, RTol: j.RTol, ATol: j.ATol}, err
	}
	out := make([]byte, b.Size())
	for i := range b.Elements() {
		b.DType.setBits(out, i, b.DType.encode(f64.value(f64.bits(data, i))))
	}
	return Expect{Buffer: name, Data: out, RTol: j.RTol, ATol: j.ATol}, nil
}
