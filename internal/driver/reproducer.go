package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	"tileiras/internal/budget"
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

// failure classifies what a stage returned; a fault of ours leaves the compiler's input in a file that one command runs again.
func (r *run) failure(st *pass.State, err error) error {
	f := r.input.classify(err)
	var b *pass.Bug
	if !errors.As(err, &b) {
		return f
	}
	lines := []string{b.Error()}
	dir := r.opts.ReproducerDir
	if dir == "" {
		return &Failure{Code: ExitBug, Lines: []string{b.Error(), "note: this is a fault of tileiras"}, Err: b}
	}
	base := filepath.Join(dir, fmt.Sprintf("tileiras-bug-%s", b.Pass))
	in, source := base+".tileirbc", r.input
	data := []byte(nil)
	if source != nil {
		data = source.source
		if !IsBytecode(data) {
			in = base + ".tileir"
		}
	}
	report := fmt.Sprintf("%s\n\n%s\n", b.Error(), b.Stack)
	if werr := errors.Join(os.WriteFile(in, data, 0o644), os.WriteFile(base+".txt", []byte(report), 0o644)); werr != nil {
		lines = append(lines, "note: the input could not be saved: "+werr.Error())
	} else {
		lines = append(lines, fmt.Sprintf("note: this is a fault of tileiras; run it again with: tileiras %s --gpu-name %s -O%d --emit=%s -o -", in, r.opts.GPU, r.opts.Opt, r.opts.Emit),
			fmt.Sprintf("note: the place in the compiler is in %s.txt", base))
	}
	return &Failure{Code: ExitBug, Lines: lines, Err: b}
}
