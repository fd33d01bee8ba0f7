package driver

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"tileiras/dialects/builtin"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// What tile-opt and tile-translate share with MLIR's tools of that kind: input in pieces, each with a context of its own,
// and diagnostics that comments of the input may expect.

// pieceFlags are the flags of it.
func pieceFlags() []Flag {
	return []Flag{
		{Name: "no-implicit-module", Kind: BoolFlag, Help: "Do not put a module around the text"},
		{Name: "split-input-file", Kind: BoolFlag, Help: "Take the pieces between '// -----' lines one by one"},
		{Name: "verify-diagnostics", Kind: BoolFlag, Help: "Compare the diagnostics with the expected-* comments of the text"},
		{Name: "allow-unregistered-dialect", Kind: BoolFlag, Help: "Accept operations of unknown dialects"},
		{Name: "release", Kind: EnumFlag, Default: def.OpenRelease.String(), Help: "Whose names of operations and rules count; a newer version of bytecode, of a file or by --bytecode-version, has the newest rules unless this is given", Values: releases()},
		{Name: "Wunsupported-hints", Kind: BoolFlag, Help: "Warn of optimization hints that are unknown or out of range"},
		{Name: "Werr-hints", Kind: BoolFlag, Help: "With --Wunsupported-hints: such hints are errors"},
	}
}

// releases are the values of --release.
func releases() []Value {
	var values []Value
	for _, v := range def.Versions {
		help := "That release"
		switch v {
		case def.OpenRelease:
			help = "The newest open release of the dialect"
		case def.Newest:
			help = "The newest release"
		}
		values = append(values, Value{v.String(), help})
	}
	return values
}

// releaseOf is what a value of --release means; the newest is the zero version.
func releaseOf(name string) ir.Version {
	if i := slices.Index(Versions(), name); i < len(Versions())-1 {
		return def.Versions[i]
	}
	return ir.Version{}
}

// releaseFor is the release whose rules hold for a file of a version: the one of the command line, or the newest if only that
// knows the version.
func (t *pieceTool) releaseFor(v ir.Version) ir.Version {
	if !t.chosen && t.release.Before(v) && !bytecode.Newest.Before(v) {
		return ir.Version{}
	}
	return t.release
}

// newest is the newest version of a release.
func newest(release ir.Version) ir.Version {
	if release == (ir.Version{}) {
		return bytecode.Newest
	}
	return release
}

// splitMarker stands between the pieces of an input and of the output.
const splitMarker = "// -----"

// piece is a part of an input.
type piece struct {
	file      string
	src       []byte
	firstLine int
}

// split cuts an input at its marker lines. A piece begins with the rest of its marker's line.
func split(file string, src []byte) []piece {
	var ps []piece
	line := 1
	for _, part := range strings.Split(string(src), splitMarker) {
		ps = append(ps, piece{file, []byte(part), line})
		line += strings.Count(part, "\n")
	}
	return ps
}

// pieceTool is a command that works on pieces.
type pieceTool struct {
	split, verify, wrap, unregistered, warnHints, errHints bool
	release                                                ir.Version
	chosen                                                 bool // by --release
}

func newPieceTool(line *Line) *pieceTool {
	return &pieceTool{
		split: line.Bool("split-input-file"), verify: line.Bool("verify-diagnostics"), wrap: !line.Bool("no-implicit-module"),
		unregistered: line.Bool("allow-unregistered-dialect"),
		warnHints:    line.Bool("Wunsupported-hints"), errHints: line.Bool("Werr-hints"),
		release: releaseOf(line.String("release")), chosen: line.Given("release"),
	}
}

// run gives every piece of an input to process and returns the outputs, joined by the marker. Diagnostics go to stderr, or
// are compared. An error that process returns and that no diagnostic tells is printed as well. A fault of ours ends it; else the error
// says whether a piece failed or its diagnostics are not the expected ones.
func (t *pieceTool) run(file string, src []byte, stderr io.Writer, process func(*ir.Context, piece) (string, error)) (out string, err error) {
	pieces := []piece{{file, src, 1}}
	if t.split {
		pieces = split(file, src)
	}
	var outputs []string
	failure := &Failure{Code: ExitInput, Kind: KindVerify}
	failed := false
	for _, p := range pieces {
		c := newTestContext()
		c.AllowUnregistered, c.Release = t.unregistered, t.release
		text, err := process(c, p)
		outputs = append(outputs, text)
		var f *Failure
		if errors.As(err, &f) && f.Code == ExitBug {
			return "", err
		}
		if err != nil && c.Diags.Errors() == 0 {
			if !errors.As(err, &f) || f.Code != ExitInput || isBytecode(p.src) {
				return "", err
			}
			c.Diags.Add(ir.Error, ir.UnknownLoc{}, "%s", strings.TrimPrefix(err.Error(), "error: "))
		}
		if t.verify {
			wrong := checkExpected(p, c.Diags.List)
			failed = failed || len(wrong) > 0
			failure.Lines = append(failure.Lines, wrong...)
			continue
		}
		failed = failed || err != nil
		for _, d := range c.Diags.List {
			io.WriteString(stderr, mlirMessage(d))
		}
	}
	if failed {
		return strings.Join(outputs, splitMarker+"\n"), failure
	}
	return strings.Join(outputs, splitMarker+"\n"), nil
}

// mlirMessage is a diagnostic with its notes as MLIR's tools print it, with "<unknown>:0" where there is no place.
func mlirMessage(d *ir.Diagnostic) string {
	var b strings.Builder
	write := func(d *ir.Diagnostic) {
		place := ir.LocString(d.Loc)
		if place == "" {
			place = "<unknown>:0"
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", place, d.Severity, d.Msg)
	}
	write(d)
	for _, n := range d.AllNotes() {
		write(&n)
	}
	return b.String()
}

// parse reads and verifies the text of a piece; the error is not nil when a diagnostic tells why it failed.
func (t *pieceTool) parse(c *ir.Context, p piece) (*ir.Op, error) {
	m, err := ir.ParseAt(c, p.file, p.src, p.firstLine)
	if err != nil {
		return nil, err
	}
	if t.wrap && !builtin.IsModule(m) {
		m = builtin.Wrap(m, &ir.FileLoc{File: p.file})
	}
	if !ir.Verify(c, m) || !t.hints(c, m) {
		return nil, errInvalid
	}
	return m, nil
}

var errInvalid = errors.New("the text is not valid")

// pattern is a regular expression that is compiled when it is first needed: most compiles need none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
