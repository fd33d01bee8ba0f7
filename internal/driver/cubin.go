package driver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/internal/explain"
	"tileiras/internal/ptxas"
	"tileiras/ir"
)

// assembleStage is the name of the stage that makes a cubin.
const assembleStage = "ptxas"

var directiveTarget = pattern(`(?m)^\.target (\w+)`)

// assembler makes a cubin of the PTX of a module.
type assembler struct {
	*run
	target  *target.Target
	entries map[string]*ir.Op // the kernels of the source
	tile    *tileText         // nil when the cubin is to have no source lines
	path    string            // of ptxas
}

// assemble runs ptxas, which is looked for only here, when all that can be wrong with the input has been said. The text of the kernel goes with it
// if ptxas is new enough to take it.
func (a *assembler) assemble(ptx string) (cubin []byte, err error) {
	if a.path, err = ptxas.Find(a.opts.Ptxas, a.opts.called("Ptxas")); err != nil {
		return nil, &Failure{Code: ExitUnsupported, Kind: KindTool, Lines: []string{"error: " + err.Error()}, Err: err}
	}
	defer a.time(assembleStage)()
	a.entries = a.input.entries()
	if with := a.tile.addTo(ptx); with != ptx {
		if cubin, err = a.ptxas(with); err == nil || !tooOld(err) {
			return cubin, a.refused(with, err)
		}
	}
	cubin, err = a.ptxas(ptx)
	return cubin, a.refused(ptx, err)
}

func (a *assembler) ptxas(ptx string) ([]byte, error) {
	arch := a.target.Name
	if m := directiveTarget().FindStringSubmatch(ptx); m != nil {
		arch = m[1]
	}
	job := ptxas.Job{Path: a.path, Arch: arch, Opt: a.opts.Opt, Extended: a.tileABI(), Sanitize: a.opts.Sanitize, Verbose: a.opts.Remarks,
		Timeout: a.opts.PtxasTimeout}
	catchSignals()
	cubin, said, err := job.Run(a.ctx, []byte(ptx))
	if err == nil && a.opts.Remarks {
		a.used(ptxas.Usages(said))
	}
	return cubin, err
}

// tileABI reports whether the kernels have NVIDIA's own launch convention, in which all shared memory is static; in that of CUDA none is beyond 48 KB.
func (a *assembler) tileABI() bool { return a.opts.code().ABI == options.Tile }

// used notes what the kernels take.
func (a *assembler) used(kernels map[string]ptxas.Usage) {
	for i := range a.metadata.Kernels {
		k := &a.metadata.Kernels[i]
		if u, ok := kernels[k.Name]; ok {
			k.Usage = &Usage{u.Registers, u.SpillStores, u.SpillLoads, u.Stack}
		}
	}
	assembled := map[string]explain.Assembled{}
	for name, u := range kernels { // fills a map: the order cannot matter
		at := ir.Location(ir.UnknownLoc{})
		if op := a.entries[name]; op != nil {
			at = op.Loc()
		}
		assembled[name] = explain.Assembled{Loc: at, Registers: u.Registers, SpillStores: u.SpillStores, SpillLoads: u.SpillLoads, Stack: u.Stack}
	}
	a.remarks = explain.AddAssembled(a.remarks, assembled)
}

var (
	quotedName = pattern(`'([^']+)'`)
	entryLine  = pattern(`\.entry ([\w$]+)`)
	oldPTXAS   = pattern(`Unsupported \.version|SM version specified by \.target is higher|is not defined for option '?gpu-name|^Unknown option`)
)

// tooOld reports whether ptxas does not know the PTX version, the GPU or a flag.
func tooOld(err error) bool {
	var f *ptxas.Failed
	return errors.As(err, &f) && slices.ContainsFunc(f.Messages, func(m ptxas.Message) bool { return oldPTXAS().MatchString(m.Text) })
}

// refused is what ptxas said of a PTX, in our form: each message with the place of the kernel that it is about, where one can be told.
func (a *assembler) refused(ptx string, err error) error {
	if err == nil {
		return nil
	}
	var f *ptxas.Failed
	if !errors.As(err, &f) {
		return &Failure{Code: ExitUnsupported, Kind: KindTool, Lines: []string{"error: ptxas was stopped: " + err.Error()}, Err: err}
	}
	out := &Failure{Code: ExitUnsupported, Kind: KindUnsupported, Err: err}
	switch {
	case f.TimedOut > 0:
		out.Kind = KindDeadline
		out.Lines = []string{fmt.Sprintf("error: ptxas was stopped after %v: give it longer with %s, or the kernel smaller tiles", f.TimedOut, a.opts.called("PtxasTimeout"))}
	case len(f.Messages) == 0:
		out.Kind = KindTool
		out.Lines = []string{fmt.Sprintf("error: %s: %v", a.path, f)}
	}
	for i, m := range f.Messages {
		d := &ir.Diagnostic{Loc: a.place(m, ptx), Msg: "ptxas: " + m.Text}
		if strings.Contains(m.Text, "uses too much shared data") {
			d.Note(ir.UnknownLoc{}, "a block of %s has %d bytes of shared memory: smaller tiles, fewer stages or fewer reductions need less", a.target.Name, a.target.SharedOptIn)
		}
		if i == len(f.Messages)-1 && tooOld(err) {
			out.Kind = KindTool
			a.noteAge(d)
		}
		out.Diags = append(out.Diags, d)
		out.Lines = append(out.Lines, a.input.message(d)...)
	}
	return out
}

// noteAge says that ptxas is too old, and what is not.
func (a *assembler) noteAge(d *ir.Diagnostic) {
	if a.tileABI() {
		d.Note(ir.UnknownLoc{}, "%s is too old: a Tile IR kernel needs ptxas 13.3 or later, sm_107 a newer one still; with %s = cuda older ones do", a.path, a.opts.called("ABI"))
	} else {
		d.Note(ir.UnknownLoc{}, "%s is too old for this kernel or for %s: name a newer one with %s", a.path, a.target.Name, a.opts.called("Ptxas"))
	}
}

// place is where the kernel stands that a message is about.
func (a *assembler) place(m ptxas.Message, ptx string) ir.Location {
	for _, name := range kernelsOf(m, ptx) {
		if op, ok := a.entries[name]; ok {
			return op.Loc()
		}
	}
	return ir.UnknownLoc{}
}

// kernelsOf are names that a message mentions, and the kernel in whose text its line lies.
func kernelsOf(m ptxas.Message, ptx string) []string {
	var names []string
	if m.Line > 0 {
		lines := strings.SplitN(ptx, "\n", m.Line+1)
		above := strings.Join(lines[:min(m.Line, len(lines))], "\n")
		if found := entryLine().FindAllStringSubmatch(above, -1); len(found) > 0 {
			names = append(names, found[len(found)-1][1])
		}
	}
	for _, q := range quotedName().FindAllStringSubmatch(m.Text, -1) {
		names = append(names, q[1])
	}
	return names
}
