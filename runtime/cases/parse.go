package cases

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
)

// The JSON form of a case. Unknown fields are errors, so that a new field is
// never ignored in silence. Fields of type forPeople are no part of a Case.
type caseJSON struct {
	Name            string              `json:"name"`
	About           forPeople           `json:"about"`
	Core            bool                `json:"core"`
	Tags            forPeople           `json:"tags"`
	Bytecode        string              `json:"bytecode"`
	BytecodeVersion string              `json:"bytecode_version"`
	Kernel          string              `json:"kernel"`
	Entries         forPeople           `json:"entries"`
	Grid            json.RawMessage     `json:"grid"`
	GridRule        *gridRuleJSON       `json:"grid_rule"`
	Buffers         ordered[bufferJSON] `json:"buffers"`
	Params          []map[string]any    `json:"params"`
	Expect          ordered[expectJSON] `json:"expect"`
	ExpectError     string              `json:"expect_error"`
	ExpectAssert    string              `json:"expect_assert"`
	DecodeOnly      bool                `json:"decode_only"`
	StdoutContains  []string            `json:"stdout_contains"`
	NvidiaTileiras  map[string]bool     `json:"nvidia_tileiras"`
	NvidiaMessages  forPeople           `json:"nvidia_messages"`
	MinSM           int                 `json:"min_sm"`
	Op              string              `json:"op"`
	TunedFor        forPeople           `json:"tuned_for"`
	Flops           int64               `json:"flops"`
	Bytes           int64               `json:"bytes"`
	Causal          forPeople           `json:"causal"`
	TransposedB     forPeople           `json:"transposed_b"`
}

// forPeople is a field that programs do not look at.
type forPeople = json.RawMessage

type gridRuleJSON struct {
	Blocks string `json:"blocks"`
	Times  int    `json:"times"`
	AtMost int    `json:"at_most"`
}

type bufferJSON struct {
	DType    string          `json:"dtype"`
	Shape    []int           `json:"shape"`
	Init     json.RawMessage `json:"init"`
	View     *View           `json:"view"`
	Pointers []pointerJSON   `json:"pointers"`
}

type pointerJSON struct {
	Index  int    `json:"index"`
	Buffer string `json:"buffer"`
	Offset int    `json:"offset_bytes"`
}

type expectJSON struct {
	File string  `json:"file"`
	RTol float64 `json:"rtol"`
	ATol float64 `json:"atol"`
}

// check refuses an expectation without a file, and tolerances that nothing meets.
func (j *expectJSON) check() error {
	switch {
	case j.File == "":
		return fmt.Errorf(`it has no "file"`)
	case j.RTol < 0 || j.ATol < 0:
		return fmt.Errorf("rtol %v, atol %v: a tolerance is not negative", j.RTol, j.ATol)
	}
	return nil
}

// ordered is a JSON object whose keys keep the order of the file.
type ordered[T any] []field[T]

type field[T any] struct {
	key   string
	value T
}

func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	dec := strictDecoder(text)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("expected an object")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var v T
		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
		*o = append(*o, field[T]{key.(string), v})
	}
	return nil
}

func strictDecoder(text []byte) *json.Decoder {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	return dec
}

// readObject reads one object, which is all of the text.
func readObject(text []byte, v any) error {
	dec := strictDecoder(text)
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("there is more text behind the object")
	}
	return checkKeys(strictDecoder(text), reflect.TypeOf(v))
}

// checkKeys reads a value, refuses keys that an object has twice, and where it is of type t keys that no field has letter for letter.
func checkKeys(dec *json.Decoder, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, _ := dec.Token() // the text has been decoded without an error
	switch token {
	case json.Delim('['):
		if t != nil && t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		for dec.More() {
			if err := checkKeys(dec, t); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		seen := map[string]bool{}
		for dec.More() {
			token, _ := dec.Token()
			key, _ := token.(string)
			if seen[key] {
				return fmt.Errorf("%q stands there twice", key)
			}
			seen[key] = true
			value, ok := keyType(t, key)
			if !ok {
				return fmt.Errorf("unknown field %q", key)
			}
			if err := checkKeys(dec, value); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	dec.Token()
	return nil
}

// keyType is the type of a key's value in an object that is read as t, or nil if it may be anything.
func keyType(t reflect.Type, key string) (value reflect.Type, ok bool) {
	switch {
	case t == nil:
		return nil, true
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("json") == key {
				return t.Field(i).Type, true
			}
		}
		return nil, false
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct: // ordered
		value, _ := t.Elem().FieldByName("value")
		return value.Type, true
	}
	return nil, true
}

func parse(text []byte, dir string) (*Case, error) {
	var j caseJSON
	if err := readObject(text, &j); err != nil {
		return nil, err
	}
	if j.Name == "" {
		return nil, fmt.Errorf(`the case has no "name"`)
	}
	if j.Bytecode == "" {
		return nil, fmt.Errorf(`the case has no "bytecode": the file of the module`)
	}
	if j.Kernel == "" && !j.DecodeOnly && j.ExpectError == "" {
		return nil, fmt.Errorf(`the case has no "kernel": the name of an entry`)
	}
	c := &Case{
		Name: j.Name, Dir: dir, Kernel: j.Kernel, Version: j.BytecodeVersion,
		Core:        j.Core,
		ExpectError: j.ExpectError, ExpectAssert: j.ExpectAssert, DecodeOnly: j.DecodeOnly, StdoutContains: j.StdoutContains,
		NvidiaTileiras: j.NvidiaTileiras, MinSM: j.MinSM,
		Op: j.Op, Flops: j.Flops, Bytes: j.Bytes,
	}
	c.File = filepath.Join(dir, j.Bytecode)
	var err error
	if c.Bytecode, err = readFile(dir, j.Bytecode); err != nil {
		return nil, err
	}
	if err := c.parseGrid(&j); err != nil {
		return nil, err
	}
	for _, e := range j.Buffers {
		b, err := parseBuffer(e.key, &e.value, dir)
		if err != nil {
			return nil, fmt.Errorf("buffer %q: %w", e.key, err)
		}
		c.Buffers = append(c.Buffers, b)
	}
	for i, p := range j.Params {
		param, err := parseParam(p)
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i, err)
		}
		c.Params = append(c.Params, param)
	}
	for _, e := range j.Expect {
		x, err := c.parseExpect(e.key, e.value)
		if err != nil {
			return nil, fmt.Errorf("expect %q: %w", e.key, err)
		}
		c.Expect = append(c.Expect, x)
	}
	return c, c.check()
}

// readFile reads a file of the case; names that lead out of dir are refused.
func readFile(dir, name string) ([]byte, error) {
	if name == "" {
		return nil, fmt.Errorf("the name of a file is empty")
	}
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("file name %q leads out of the case", name)
	}
	return ReadFile(filepath.Join(dir, name))
}

func (c *Case) parseGrid(j *caseJSON) error {
	if string(j.Grid) == `"persistent"` {
		if j.GridRule == nil || j.GridRule.Blocks != "multiprocessors" {
			return fmt.Errorf(`a persistent grid needs a grid_rule with "blocks": "multiprocessors"`)
		}
		c.GridRule = &GridRule{Times: j.GridRule.Times, AtMost: j.GridRule.AtMost}
		return nil
	}
	if len(j.Grid) == 0 {
		return fmt.Errorf(`the case has no "grid"`)
	}
	var grid []int
	if err := json.Unmarshal(j.Grid, &grid); err != nil || len(grid) != 3 {
		return fmt.Errorf("grid must be three numbers, got %s", j.Grid)
	}
	c.Grid = [3]int(grid)
	for _, n := range grid {
		if n < 1 {
			return fmt.Errorf("grid %v: each extent is 1 or more", grid)
		}
	}
	return nil
}

func parseBuffer(name string, j *bufferJSON, dir string) (*Buffer, error) {
	d, err := DTypeByName(j.DType)
	if err != nil {
		return nil, err
	}
	b := &Buffer{Name: name, DType: d, Shape: j.Shape, View: j.View}
	if v := j.View; v != nil && len(v.Shape) != len(v.Strides) {
		return nil, fmt.Errorf("view has %d extents and %d strides", len(v.Shape), len(v.Strides))
	}
	for _, p := range j.Pointers {
		b.Pointers = append(b.Pointers, Pointer(p))
	}
	var file string
	if json.Unmarshal(j.Init, &file) == nil {
		b.Data, err = readArray(dir, file, d, j.Shape)
		return b, err
	}
	if _, err := byteSize(j.Shape, d.Size); err != nil {
		return nil, err
	}
	b.Init = &Init{}
	if err := readObject(j.Init, b.Init); err != nil {
		return nil, fmt.Errorf("init: %w", err)
	}
	return b, nil
}

// readArray reads a .npy file of the given type and shape.
func readArray(dir, file string, d *DType, shape []int) ([]byte, error) {
	text, err := readFile(dir, file)
	if err != nil {
		return nil, err
	}
	a, err := ReadNpy(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if a.Descr != d.npy || !slices.Equal(a.Shape, shape) {
		return nil, fmt.Errorf("%s holds %s%v, expected %s%v for %s", file, a.Descr, a.Shape, d.npy, shape, d.Name)
	}
	return a.Data, nil
}

func parseParam(j map[string]any) (Param, error) {
	if name, ok := j["buffer"].(string); ok {
		p := Param{Buffer: name}
		for k, v := range j {
			switch k {
			case "buffer":
			case "offset_bytes":
				n, _ := v.(json.Number)
				offset, err := n.Int64()
				if err != nil {
					return p, fmt.Errorf("offset_bytes: %v is not an integer", v)
				}
				p.Offset = int(offset)
			default:
				return p, fmt.Errorf("unknown field %q", k)
			}
		}
		return p, nil
	}
	if len(j) != 1 {
		return Param{}, fmt.Errorf("expected a buffer or one scalar")
	}
	if digits, ok := j["bytes"].(string); ok {
		return structParam(digits)
	}
	var p Param
	for k, v := range j {
		d, err := DTypeByName(k)
		if err != nil {
			return p, err
		}
		n, ok := v.(json.Number)
		if !ok {
			return p, fmt.Errorf("%s: expected a number", k)
		}
		p.Type = d
		if p.Bits, err = d.Parse(n.String()); err != nil {
			return p, fmt.Errorf("%s: %w", k, err)
		}
	}
	return p, nil
}

// structParam is the parameter that has the bytes given by hexadecimal digits.
func structParam(digits string) (p Param, err error) {
	p.Type, p.Bytes, err = ParseBytes(digits)
	return p, err
}

// ParseBytes reads the bytes of a struct, two hexadecimal digits each, with the type of a parameter of so many bytes.
func ParseBytes(digits string) (*DType, []byte, error) {
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) == 0 {
		return nil, nil, fmt.Errorf("bytes: %q is not a row of bytes, two hexadecimal digits each", digits)
	}
	return &DType{Name: fmt.Sprintf("struct of %d bytes", len(b)), Size: len(b)}, b, nil
}

func (c *Case) parseExpect(name string, j expectJSON) (Expect, error) {
	b := c.Buffer(name)
	if b == nil {
		return Expect{}, fmt.Errorf("no such buffer")
	}
	if err := j.check(); err != nil {
		return Expect{}, err
	}
	data, err := readArray(c.Dir, j.File, b.DType, b.Shape)
	return Expect{Buffer: name, Data: data, RTol: j.RTol, ATol: j.ATol}, err
}

// check verifies what refers to something else.
func (c *Case) check() error {
	for i, p := range c.Params {
		if p.Buffer == "" {
			continue
		}
		if err := c.checkAddress(p.Buffer, p.Offset); err != nil {
			return fmt.Errorf("parameter %d: %w", i, err)
		}
	}
	for _, b := range c.Buffers {
		for _, p := range b.Pointers {
			if err := c.checkAddress(p.Buffer, p.Offset); err != nil {
				return fmt.Errorf("buffer %q: pointer: %w", b.Name, err)
			}
			if p.Index < 0 || p.Index >= b.Size()/8 {
				return fmt.Errorf("buffer %q: pointer word %d lies outside", b.Name, p.Index)
			}
		}
	}
	return nil
}

func (c *Case) checkAddress(buffer string, offset int) error {
	b := c.Buffer(buffer)
	if b == nil {
		return fmt.Errorf("no buffer %q", buffer)
	}
	if offset < 0 || offset > b.Size() {
		return fmt.Errorf("offset %d lies outside buffer %q of %d bytes", offset, buffer, b.Size())
	}
	return nil
}
