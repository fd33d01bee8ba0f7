package emu

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
)

// Module is a parsed PTX module.
type Module struct {
	name    string
	version string
	target  string
	sm      int // its number
	root    *scope
	files   map[uint64]string // by the number in .file
	locs    []location        // of .loc, from 1
	funcs   map[string]*function
	order   []*function
	globals []*variable
	entries map[string]*Entry
	names   []string

	malformed *SyntaxError // the first malformed instruction
}

// location is a .loc directive.
type location struct {
	file         uint64
	line, column int32
}

// Source is a line of the source that PTX was made from, as .file and .loc say; File is "" where they say nothing.
type Source struct {
	File         string
	Line, Column int
}

func (s Source) String() string { return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column) }

// source is the place in the source of an instruction. PTX of others that does not say it is the source itself.
func (l *launch) source(in *inst) Source {
	m := l.entry.mod
	at := m.locs[in.loc]
	switch {
	case m.files[at.file] != "":
		return Source{m.files[at.file], int(at.line), int(at.column)}
	case l.opt.Foreign:
		return Source{m.name, int(in.line), int(in.col)}
	}
	return Source{}
}

// Entries gives the names of the kernels in the order of the text.
func (m *Module) Entries() []string { return m.names }

// Entry gives a kernel by name, or nil.
func (m *Module) Entry(name string) *Entry { return m.entries[name] }

// Target gives the .target of the module, such as "sm_80".
func (m *Module) Target() string { return m.target }

// Version gives the .version of the module, such as "8.0".
func (m *Module) Version() string { return m.version }

// Arg is the value of a parameter: its bytes, little-endian, in the order of the entry.
type Arg = []byte

// Schedule is an order in which CTAs and warps are interleaved. All are deterministic.
type Schedule int

const (
	RoundRobin Schedule = iota // first CTA and warp first, long time slices; asynchronous operations complete at once
	Reverse                    // last first; asynchronous operations complete when somebody waits
	Random                     // random order, short time slices of random length, by Seed
)

// Schedules are all of them: what a test runs a case under.
var Schedules = []Schedule{RoundRobin, Reverse, Random}

func (s Schedule) String() string { return [...]string{"round-robin", "reverse", "random"}[s] }

// Checks switches checks off; the zero value has all on.
type Checks struct {
	NoRaces     bool
	NoUndefined bool
	NoAlignment bool
}

// Options are the launch configuration and what is checked.
type Options struct {
	Grid      [3]int // CTAs; zeros mean 1
	Block     [3]int // threads; zeros mean .reqntid, which the entry must have then
	Cluster   [3]int // CTAs of a cluster; zeros mean .reqnctapercluster, or 1
	DynShared int    // bytes of dynamic shared memory
	Seed      uint64 // of the Random schedule
	Schedule  Schedule
	MaxSteps  int64     // warp instructions of the launch; 0: 2^32
	Stdout    io.Writer // of vprintf; nil: dropped
	// Foreign is for PTX of other compilers: races between lanes of one warp, which hardware runs in step, races of reads
	// that nothing uses, unordered stores of equal values and missing proxy fences become notes.
	Foreign bool
	// NoteEqualStores makes notes of unordered stores of equal values.
	NoteEqualStores bool
	Checks          Checks
	// Workers is how many parts of a grid may run in parallel, which changes no result and no report: 0 is one. Where the kernel races they
	// race on its memory, which then is put back for a run in order; mapped memory is the caller's.
	Workers int
	Done    *atomic.Int64 // counts the CTAs that have ended, if not nil
	Stats   bool          // count sectors, bank conflicts and opcodes too
}

// Result is what a launch that ended normally tells.
type Result struct {
	Stats Stats
	Notes []Report
}

// Run launches an entry and returns when all CTAs have exited. A fault of the program is a *Report;
// other errors are misuses of this function.
func (m *Module) Run(ctx context.Context, entry string, mem *Memory, args []Arg, o Options) (res *Result, err error) {
	e := m.Entry(entry)
	if e == nil {
		return nil, fmt.Errorf("module %s has no entry '%s'", m.name, entry)
	}
	l, err := newLaunch(e, mem, args, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if x := recover(); x != nil {
			f, ok := x.(fault)
			if !ok {
				panic(x)
			}
			res, err = nil, f.r
		}
	}()
	done := false
	if n := l.partCount(); n > 1 {
		if done, err = l.parallel(ctx, n); err != nil {
			return nil, err
		}
	}
	if !done {
		if err := l.run(ctx); err != nil {
			return nil, err
		}
	}
	l.recycleCTAs()
	return &Result{Stats: l.stats.result(l), Notes: l.notes}, nil
}
