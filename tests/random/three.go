package random

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tileiras/dialects/cudatile/bytecode"
	"tileiras/internal/driver"
	"tileiras/runtime/emu"
	"tileiras/tests/ptxas"
)

// Theirs makes NVIDIA's PTX of modules for a GPU: the third opinion on what a module means.
type Theirs struct {
	Tools *ptxas.Tools
	GPU   string
	// EqualStores are of modules that may store equal values to one place, as a view with a stride of 0 has them: none of a compiler's own.
	EqualStores bool
}

// ErrTheirs marks modules on which there is no third opinion: NVIDIA's compiler refuses or crashes, or the emulator does not
// know an instruction of its PTX.
var ErrTheirs = errors.New("no third opinion")

// ptx compiles a module with NVIDIA's tools.
func (th *Theirs) ptx(ctx context.Context, in *driver.Input) (string, error) {
	data, err := bytecode.Write(in.Module, bytecode.WriteOptions{Origin: in.Origin})
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrTheirs, err)
	}
	file := filepath.Join(th.Tools.Scratch, "third.tileirbc")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", err
	}
	text, err := th.Tools.Nvidia(ctx, file, th.GPU)
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrTheirs, reason(err))
	}
	return text, nil
}

var quoted = regexp.MustCompile(`'[^']*'`)

// reason is the first line that says why NVIDIA's compiler gave nothing, without the names of one module.
func reason(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for _, l := range lines {
		if strings.Contains(l, "error:") {
			_, l, _ = strings.Cut(l, "error: ")
			return "refused: " + quoted.ReplaceAllString(l, "'...'")
		}
	}
	return lines[0]
}

// furtherParameter is what the emulator says of a kernel that takes one parameter more than its module has: a pointer to memory for tensor maps.
var furtherParameter = regexp.MustCompile(`has \d+ parameters, \d+ given`)

// own is what is said of PTX that wants such memory by a directive, at any line.
var own = regexp.MustCompile(`^.*unknown directive '\.minperctamemory'`)

// hold holds NVIDIA's PTX of an entry against the interpreter. Races between lanes of one warp, which their compiler leaves because
// hardware runs them in step, are none here.
func (th *Theirs) hold(ctx context.Context, in *driver.Input, ref *reference, schedule emu.Schedule) error {
	text, err := th.ptx(ctx, in)
	if err != nil {
		return err
	}
	err = ref.compare(ctx, th.GPU, text, emu.Options{Schedule: schedule, Foreign: true})
	var f *Failure
	if errors.As(err, &f) && furtherParameter.MatchString(f.Text) {
		return fmt.Errorf("%w: its kernel wants memory for tensor maps", ErrTheirs)
	}
	if errors.As(err, &f) && (f.Kind == "PTX" || f.Kind == "emulator: "+emu.Unsupported.String()) {
		line, _, _ := strings.Cut(f.Text, "\n")
		line = own.ReplaceAllString(line, "its kernel wants memory for each block")
		return fmt.Errorf("%w: emulator: %s", ErrTheirs, line)
	}
	return err
}

// Verdict is what three opinions on a module are: errors of the kinds of Check, and of ErrTheirs.
type Verdict struct {
	Invalid      error // the interpreter finds no one meaning
	Ours, Theirs error // against the interpreter; nil where they agree
}

// Kind is what a reduction keeps, "" where all three agree or there are only two opinions that do.
func (v Verdict) Kind() string {
	var kinds []string
	if v.Invalid != nil {
		return "invalid"
	}
	if f, ok := v.Ours.(*Failure); ok {
		kinds = append(kinds, "ours "+kindOf(f))
	}
	if f, ok := v.Theirs.(*Failure); ok {
		kinds = append(kinds, "theirs "+kindOf(f))
	}
	return strings.Join(kinds, ", ")
}

func (v Verdict) String() string {
	if v.Invalid != nil {
		return "interpreter: " + v.Invalid.Error()
	}
	said := func(err error) string {
		if err == nil {
			return "as the interpreter"
		}
		return err.Error()
	}
	return "ours: " + said(v.Ours) + "\ntheirs: " + said(v.Theirs)
}

// Three asks all three about an entry of a module, run on a grid of so many tile blocks.
func (th *Theirs) Three(ctx context.Context, text, entry string, blocks int, schedule emu.Schedule) Verdict {
	in, err := read(text)
	if err != nil {
		return Verdict{Invalid: err}
	}
	ref, err := interpretEntry(ctx, in, entry, blocks)
	if err != nil {
		return Verdict{Invalid: err}
	}
	ref.equalStores = th.EqualStores
	return Verdict{Ours: ref.check(ctx, text, schedule, th.GPU), Theirs: th.hold(ctx, in, ref, schedule)}
}
