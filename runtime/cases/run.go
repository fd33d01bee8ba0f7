package cases

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Machine runs one launch.
//
// Launch leaves l unchanged. An error means that the module was refused or the
// launch could not be finished; one that wraps errors.ErrUnsupported says that
// the machine does not support something in it. An Outcome beside an error says
// what was printed until then. A failed assertion of the kernel is an Outcome,
// not an error.
type Machine interface {
	Launch(ctx context.Context, l *Launch) (*Outcome, error)
}

// Decoder is a Machine that can also read, verify and print a module without
// running it.
type Decoder interface {
	Decode(ctx context.Context, file string, module []byte) error
}

// Device is a Machine of so many multiprocessors: a launch whose grid depends on them gets its own.
type Device interface {
	Multiprocessors() int
}

// Align is the alignment of every buffer: bytecode carries promises about
// addresses.
const Align = 256

// Launch is everything a machine needs to run a kernel once.
type Launch struct {
	Bytecode []byte
	File     string // that Bytecode comes from, as messages have it
	PTX      *PTX   // instead of Bytecode
	Kernel   string // entry symbol
	Grid     [3]int // tile blocks
	Buffers  []LaunchBuffer
	Params   []LaunchParam
}

// LaunchBuffer is a block of global memory at an address divisible by Align.
type LaunchBuffer struct {
	Name     string
	Bytes    []byte // initial content
	Align    int
	Pointers []LaunchPointer
	Scratch  bool // undefined, if the machine can tell
	Gaps     []Gap
}

// Gap says that Size bytes lie between bytes At-1 and At of a buffer's content and do not exist, so that a buffer may be bigger than any
// memory. Both are multiples of 256.
type Gap struct {
	At   int
	Size uint64
}

// Pieces cuts content of the buffer at its gaps; offsets count the gaps.
func (b *LaunchBuffer) Pieces(content []byte) (offsets []uint64, data [][]byte) {
	at, offset := 0, uint64(0)
	for _, g := range append(b.Gaps[:len(b.Gaps):len(b.Gaps)], Gap{At: len(content)}) {
		offsets, data = append(offsets, offset), append(data, content[at:g.At])
		offset += uint64(g.At-at) + g.Size
		at = g.At
	}
	return offsets, data
}

// LaunchPointer says that 64-bit word Index holds the address of byte Offset
// of buffer number Buffer.
type LaunchPointer struct {
	Index, Buffer, Offset int
}

// LaunchParam is one entry parameter: the address of byte Offset of buffer
// number Buffer, or, if Type is not nil, a scalar or the bytes of a struct.
type LaunchParam struct {
	Buffer, Offset int
	Type           *DType
	Bits           uint64 // scalars: zero above the type's width
	Bytes          []byte // structs
}

// Size is the number of bytes of the parameter.
func (p LaunchParam) Size() int {
	if p.Type == nil {
		return 8
	}
	return p.Type.Size
}

// Value is the parameter as the driver API passes it. addresses are those of the buffers.
func (p LaunchParam) Value(addresses []uint64) []byte {
	bits := p.Bits
	switch {
	case p.Bytes != nil:
		return p.Bytes
	case p.Type == nil:
		bits = addresses[p.Buffer] + uint64(p.Offset)
	}
	return binary.LittleEndian.AppendUint64(nil, bits)[:p.Size()]
}

// Outcome is the state after a launch.
type Outcome struct {
	Buffers      [][]byte        // content afterwards, in the order of Launch.Buffers
	Addresses    []uint64        // where the buffers lay; nil if the machine cannot tell
	Stdout       string          // what the kernel printed
	AssertFailed bool            // an assertion failed; Buffers may be nil then
	Message      string          // what the failed assertion said
	Stats        any             // the machine's own counters
	Notes        []string        // what the machine noticed and did not count as a failure
	Times        []time.Duration // of launches after the one that counts, on a machine that was asked for them
}

// Status classifies a verdict.
type Status uint8

const (
	Pass Status = iota
	Fail
	Unsupported // the machine says that it does not support something
)

var statusNames = [...]string{"PASS", "FAIL", "UNSUPPORTED"}

// String is PASS, FAIL or UNSUPPORTED.
func (s Status) String() string { return statusNames[s] }

// Verdict is the result of running a case.
type Verdict struct {
	Status  Status
	Reason  string   // empty for Pass
	Outcome *Outcome // nil if the launch gave none
	Err     error    // of a machine that did not finish the launch
}

// String is "PASS" or "FAIL: reason".
func (v Verdict) String() string {
	if v.Reason == "" {
		return v.Status.String()
	}
	return v.Status.String() + ": " + v.Reason
}

func failed(out *Outcome, format string, args ...any) Verdict {
	return Verdict{Status: Fail, Reason: fmt.Sprintf(format, args...), Outcome: out}
}

// NewLaunch puts the launch of a case together. Described buffers are filled.
// The launch shares the bytes of the case.
func (c *Case) NewLaunch() (*Launch, error) {
	if c.Grid == [3]int{} {
		return nil, fmt.Errorf("the grid of %s depends on the device: call ResolveGrid first", c.Name)
	}
	number := map[string]int{}
	for i, b := range c.Buffers {
		number[b.Name] = i
	}
	l := &Launch{Bytecode: c.Bytecode, File: c.File, PTX: c.PTX, Kernel: c.Kernel, Grid: c.Grid}
	for _, b := range c.Buffers {
		if err := b.Fill(); err != nil {
			return nil, err
		}
		lb := LaunchBuffer{Name: b.Name, Bytes: b.Data, Align: Align, Scratch: b.Scratch, Gaps: b.Gaps}
		if b.Scratch {
			lb.Bytes = make([]byte, b.Size())
		}
		for _, p := range b.Pointers {
			lb.Pointers = append(lb.Pointers, LaunchPointer{p.Index, number[p.Buffer], p.Offset})
		}
		l.Buffers = append(l.Buffers, lb)
	}
	for _, p := range c.Params {
		if p.Type != nil {
			l.Params = append(l.Params, LaunchParam{Type: p.Type, Bits: p.Bits, Bytes: p.Bytes})
		} else {
			l.Params = append(l.Params, LaunchParam{Buffer: number[p.Buffer], Offset: p.Offset})
		}
	}
	return l, nil
}

// StorePointers writes the addresses that the buffers hold into their words.
// contents has the bytes of each buffer, addresses their places.
func (l *Launch) StorePointers(contents [][]byte, addresses []uint64) {
	for i, b := range l.Buffers {
		for _, p := range b.Pointers {
			binary.LittleEndian.PutUint64(contents[i][8*p.Index:], addresses[p.Buffer]+uint64(p.Offset))
		}
	}
}

// Run runs a case on a machine and judges the result.
func Run(ctx context.Context, m Machine, c *Case) Verdict {
	if c.DecodeOnly {
		return decode(ctx, m, c)
	}
	if d, ok := m.(Device); ok {
		c.ResolveGrid(d.Multiprocessors())
	}
	l, err := c.NewLaunch()
	if err != nil {
		return failed(nil, "%v", err)
	}
	out, err := m.Launch(ctx, l)
	return Judge(c, l, out, err)
}

// decode is the whole run of a case that must only be read.
func decode(ctx context.Context, m Machine, c *Case) Verdict {
	d, ok := m.(Decoder)
	if !ok {
		return Verdict{Status: Unsupported, Reason: "the case is only decoded, and this machine cannot do that alone"}
	}
	if err := d.Decode(ctx, c.File, c.Bytecode); err != nil {
		return Verdict{Status: Fail, Reason: fmt.Sprintf("decoding: %v", err), Err: err}
	}
	return Verdict{}
}

// Judge holds what a launch returned against what the case expects.
func Judge(c *Case, l *Launch, out *Outcome, err error) Verdict {
	switch {
	case c.ExpectError != "" && err == nil:
		return failed(out, "the module was accepted, expected the error %q", c.ExpectError)
	case c.ExpectError != "" && !strings.Contains(err.Error(), c.ExpectError):
		return failed(out, "expected the error %q, got %q", c.ExpectError, err)
	case c.ExpectError != "":
		return Verdict{Outcome: out}
	case errors.Is(err, errors.ErrUnsupported):
		return Verdict{Unsupported, err.Error(), out, err}
	case err != nil:
		return Verdict{Fail, err.Error(), out, err}
	case c.ExpectAssert != "" && !out.AssertFailed:
		return failed(out, "no assertion failed, expected %q", c.ExpectAssert)
	case c.ExpectAssert != "" && !strings.Contains(out.Message, c.ExpectAssert):
		return failed(out, "the failed assertion says %q, expected %q", out.Message, c.ExpectAssert)
	case c.ExpectAssert != "":
		return Verdict{Outcome: out} // the launch was abandoned: buffers mean nothing
	case out.AssertFailed:
		return failed(out, "assertion failed: %s", out.Message)
	}
	for _, text := range c.StdoutContains {
		if !strings.Contains(out.Stdout, text) {
			return failed(out, "printed %q, expected it to contain %q", out.Stdout, text)
		}
	}
	if len(out.Buffers) != len(c.Buffers) {
		return failed(out, "the machine returned %d buffers of %d", len(out.Buffers), len(c.Buffers))
	}
	var reasons []string
	for i, b := range c.Buffers {
		if err := c.judgeBuffer(i, b, l, out); err != nil {
			reasons = append(reasons, err.Error())
		}
	}
	if reasons != nil {
		return failed(out, "%s", strings.Join(reasons, "\n      "))
	}
	return Verdict{Outcome: out}
}

func (c *Case) judgeBuffer(i int, b *Buffer, l *Launch, out *Outcome) error {
	got := out.Buffers[i]
	for _, x := range c.Expect {
		if x.Buffer == b.Name {
			return Compare(b, got, x.Data, x.RTol, x.ATol)
		}
	}
	if b.Scratch || c.Op != "" && c.Expect == nil {
		return nil // a benchmark as it is says nothing about results
	}
	before := b.Data
	if len(b.Pointers) > 0 && len(got) == len(before) {
		before = withPointers(l.Buffers[i], before, got, out.Addresses)
	}
	return unchanged(b, got, before)
}

// withPointers is the content before the launch with the address words that
// the machine wrote; they are not judged if it does not tell the addresses.
func withPointers(b LaunchBuffer, before, got []byte, addresses []uint64) []byte {
	before = append([]byte{}, before...)
	for _, p := range b.Pointers {
		word := before[8*p.Index:]
		if addresses != nil {
			binary.LittleEndian.PutUint64(word, addresses[p.Buffer]+uint64(p.Offset))
		} else {
			copy(word[:8], got[8*p.Index:])
		}
	}
	return before
}
