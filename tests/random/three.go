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

// NvidiaOracle compiles modules with NVIDIA's tools and runs their PTX: the third opinion on what a module means.
type NvidiaOracle struct {
	Tools *ptxas.Tools
	GPU   string
	// EqualStores are of modules that may store equal values to one place, as a view with a stride of 0 has them: none of a compiler's own.
	EqualStores bool
}

// ErrNoThirdOpinion marks modules on which there is none: NVIDIA's compiler refuses or crashes, or the emulator does not support
// an instruction of its PTX.
var ErrNoThirdOpinion = errors.New("no third opinion")

// compile compiles a module with NVIDIA's tools.
func (th *NvidiaOracle) compile(ctx context.Context, in *driver.Input) (string, error) {
	data, err := bytecode.Write(in.Module, bytecode.WriteOptions{Origin: in.Origin})
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrNoThirdOpinion, err)
	}
	file := filepath.Join(th.Tools.Scratch, "third.tileirbc")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", err
	}
	text, err := th.Tools.Nvidia(ctx, file, th.GPU)
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrNoThirdOpinion, reason(err))
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

// extraParameter is what the emulator says of a kernel that takes one parameter more than its module has: a pointer to memory for
// tensor maps.
var extraParameter = regexp.MustCompile(`has \d+ parameters, \d+ given`)

// memoryDirective matches what is said of PTX that asks for such memory by a directive.
var memoryDirective = regexp.MustCompile(`^.*unknown directive '\.minperctamemory'`)

// check compares NVIDIA's PTX of an entry with the interpreter. Races between lanes of one warp, which their compiler leaves
// because hardware runs converged lanes in lockstep, do not count.
func (th *NvidiaOracle) check(ctx context.Context, in *driver.Input, ref *reference, schedule emu.Schedule) error {
	text, err := th.compile(ctx, in)
	if err != nil {
		return err
	}
	err = ref.compare(ctx, th.GPU, text, emu.Options{Schedule: schedule, Foreign: true})
	var f *Failure
	if errors.As(err, &f) && extraParameter.MatchString(f.Text) {
		return fmt.Errorf("%w: its kernel wants memory for tensor maps", ErrNoThirdOpinion)
	}
	if errors.As(err, &f) && f.Kind == notEmulated {
		line, _, _ := strings.Cut(f.Text, "\n")
		line = memoryDirective.ReplaceAllString(line, "its kernel wants memory for each block")
		return fmt.Errorf("%w: emulator: %s", ErrNoThirdOpinion, line)
	}
	return err
}

// Verdict is what three opinions on a module are: errors of the kinds of Check, and of ErrNoThirdOpinion.
type Verdict struct {
	Invalid      error // the interpreter finds no one meaning
	Ours, Nvidia error // against the interpreter; nil where they agree
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
	if f, ok := v.Nvidia.(*Failure); ok {
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
	return "ours: " + said(v.Ours) + "\ntheirs: " + said(v.Nvidia)
}

// Judge asks all three about an entry of a module, run on a grid of so many tile blocks.
func (th *NvidiaOracle) Judge(ctx context.Context, text, entry string, blocks int, schedule emu.Schedule) Verdict {
	in, err := read(text)
	if err != nil {
		return Verdict{Invalid: err}
	}
	ref, err := interpretEntry(ctx, in, entry, blocks)
	if err != nil {
		return Verdict{Invalid: err}
	}
	ref.equalStores = th.EqualStores
	return Verdict{Ours: ref.check(ctx, text, schedule, th.GPU), Nvidia: th.check(ctx, in, ref, schedule)}
}
