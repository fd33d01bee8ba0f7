package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"tileiras/codegen/planted"
	"tileiras/ir/budget"
	"tileiras/passes/pass"
)

// guard turns a panic of a stage into a Bug that names it.
func guard(stage string, err *error) {
	switch r := recover().(type) {
	case nil:
	case *budget.Stop:
		*err = r.Err
	default:
		*err = &pass.Bug{Pass: stage, Cause: r, Stack: string(debug.Stack())}
	}
}

// guarded runs a stage that is no pass.
func (r *run) guarded(stage string, do func() error) (err error) {
	defer guard(stage, &err)
	defer r.time(stage)()
	if planted.On("crash-" + stage) {
		panic("planted")
	}
	return do()
}

// failure classifies what a stage returned; a fault of ours leaves the compiler's input in a file that one command runs again.
func (r *run) failure(err error) error {
	f := r.input.classify(err)
	var b *pass.Bug
	if !errors.As(err, &b) {
		return f
	}
	lines := []string{b.Error()}
	if r.opts.ReproducerDir == "" {
		lines = append(lines, "note: this is a fault of tileiras")
	} else if input, report, err := r.leave(b); err != nil {
		lines = append(lines, "note: this is a fault of tileiras; the input could not be saved: "+err.Error())
	} else {
		lines = append(lines, "note: this is a fault of tileiras; run it again with: "+r.command(input), "note: the place in the compiler is in "+report)
	}
	return &Failure{Code: ExitBug, Kind: KindBug, Lines: lines, Err: b}
}

// leave writes the input and a report on a fault. The names have a part of the input's hash: other compiles may fail in the same folder.
func (r *run) leave(b *pass.Bug) (input, report string, err error) {
	source := r.input.source
	base := filepath.Join(r.opts.ReproducerDir, fmt.Sprintf("tileiras-bug-%s-%.8s", b.Pass, sha(source)))
	switch {
	case r.fromLLVM:
		input = base + ".ll"
	case isBytecode(source):
		input = base + ".tileirbc"
	default:
		input = base + ".tileir"
	}
	report = base + ".txt"
	text := fmt.Sprintf("%s\n\n%s\n\nBuild %s\n\n%s\n", b.Error(), r.command(input), BuildVersion(), b.Stack)
	return input, report, errors.Join(os.MkdirAll(r.opts.ReproducerDir, 0o777), os.WriteFile(input, source, 0o644), os.WriteFile(report, []byte(text), 0o644))
}

// command is the command line that does what this compile does with an input: the tool that runs the passes that somebody named, or
// tileiras, with every flag whose field of the options is not at its default.
func (r *run) command(input string) string {
	o := *r.opts
	o.ReproducerDir, o.Cache = "", "" // what goes wrong does not depend on them
	c, words := TileirasCommand(), []string(nil)
	if r.named != nil {
		c = TileOptCommand()
		words = append(words, "--passes="+strings.Join(r.named, ","))
		o.Emit = ""
	}
	if r.shown != nil {
		c, words = TileOptCommand(), r.shown
	}
	if r.fromLLVM {
		words = append(words, "--from=llvm")
	}
	words = append(append([]string{c.Name, input}, words...), c.words(&o)...)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(append(words, "-o", os.DevNull), " ")
}

// shellWord is a word as a shell reads it.
func shellWord(w string) string {
	plain := func(r rune) bool {
		return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=./,+:@%", r))
	}
	if w != "" && strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
