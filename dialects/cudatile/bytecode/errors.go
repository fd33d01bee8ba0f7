package bytecode

import (
	"fmt"
	"strings"

	"tileiras/ir"
)

// Kind is the way in which bytes are unacceptable.
type Kind uint8

const (
	// Malformed: anything wrong that no other kind names.
	Malformed Kind = iota
	// NotBytecode: the input is empty, or begins otherwise than every bytecode file.
	NotBytecode
	// BadVersion: a version that the reader does not accept.
	BadVersion
)

// ExitCode is the exit status of a command that refuses its input: 3 is "input is not acceptable bytecode".
const ExitCode = 3

// Error says why bytes were refused. Lines go from the innermost cause to what could not be read because of it, in the
// words of the official reader: "error at offset 62: failed to get result type 0 for MakeTensorViewOp". Offsets count from
// the start of the piece that the line speaks of: the file, a function body, a table entry.
type Error struct {
	Kind    Kind
	Version ir.Version // that is not known, of BadVersion
	Lines   []string
}

func (e *Error) Error() string { return strings.Join(e.Lines, "\n") }

// failure is the one error of a read. The first failure stops all reading: every later read of any cursor gives zero, and
// the callers on the way out add what they were reading. Some failures are silent: the official reader says nothing of them
// but what could not be read because of them.
type failure struct {
	failed bool
	closed bool // nothing is added to the error any more
	err    Error
}

func (f *failure) ok() bool { return !f.failed }

// silent records a failure without a line of its own.
func (f *failure) silent() { f.failed = true }

// plain records the first error, without a place.
func (f *failure) plain(format string, args ...any) {
	if f.ok() {
		f.failed = true
		f.err.Lines = []string{fmt.Sprintf(format, args...)}
	}
}

// context adds a line around a failure that happened.
func (f *failure) context(offset int, format string, args ...any) {
	if !f.ok() && !f.closed {
		f.err.Lines = append(f.err.Lines, at(offset)+fmt.Sprintf(format, args...))
	}
}

// at is the prefix of a line about an offset.
func at(offset int) string { return fmt.Sprintf("error at offset %d: ", offset) }
