package driver

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"tileiras/codegen/target"
	"tileiras/internal/ptxas"
	"tileiras/ir"
)

// assembleStage is the name of the stage that makes a cubin.
const assembleStage = "ptxas"

// entryPlaces says where the entries of a module stand in the source.
func entryPlaces(m *ir.Op) map[string]ir.Location {
	places := map[string]ir.Location{}
	if m.Body() == nil {
		return places
	}
	for _, op := range m.Body().Ops() {
		if name := op.StringNamed("sym_name"); name != "" {
			places[name] = op.Loc()
		}
	}
	return places
}

var directiveTarget = regexp.MustCompile(`(?m)^\.target (\w+)`)

// assemble makes a cubin of PTX. ptxas is looked for only here, when all that can be wrong with the input has been said.
func (r *run) assemble(t *target.Target, ptx string, places map[string]ir.Location) (string, error) {
	path, err := ptxas.Find(r.opts.Ptxas)
	if err != nil {
		return "", fail(ExitUnsupported, "%v", err)
	}
	arch := t.Name
	if m := directiveTarget.FindStringSubmatch(ptx); m != nil {
		arch = m[1]
	}
	done := r.time(assembleStage)
	job := ptxas.Job{Path: path, Arch: arch, Opt: r.opts.Opt, Sanitize: r.opts.Sanitize, Timeout: r.opts.PtxasTimeout}
	cubin, _, err := job.Run(r.ctx, []byte(ptx))
	done()
	if err != nil {
		return "", r.refused(path, t, ptx, places, err)
	}
	return string(cubin), nil
}

var (
	quotedName = regexp.MustCompile(`'([^']+)'`)
	entryLine  = regexp.MustCompile(`\.entry (\w+)`)
	oldPTXAS   = regexp.MustCompile(`Unsupported \.version|SM version specified by \.target is higher|is not defined for option 'gpu-name'`)
)

// refused is what ptxas said, in our form: each message with the place of the kernel that it is about, where one can be told.
func (r *run) refused(path string, t *target.Target, ptx string, places map[string]ir.Location, err error) error {
	var f *ptxas.Failed
	if !errors.As(err, &f) {
		return fail(ExitUnsupported, "ptxas was stopped: %v", err)
	}
	out := &Failure{Code: ExitUnsupported, Err: err}
	switch {
	case f.TimedOut > 0:
		out.Lines = []string{fmt.Sprintf("error: ptxas was stopped after %v: give it longer with --ptxas-timeout, or the kernel smaller tiles", f.TimedOut)}
	case len(f.Messages) == 0:
		out.Lines = []string{fmt.Sprintf("error: %s: %v", path, f)}
	}
	old := false
	for _, m := range f.Messages {
		loc := ir.Location(ir.UnknownLoc{})
		for _, name := range kernelsOf(m, ptx) {
			if at, ok := places[name]; ok {
				loc = at
			}
		}
		out.Lines = append(out.Lines, r.input.message(&ir.Diagnostic{Loc: loc, Msg: "ptxas: " + m.Text})...)
		old = old || oldPTXAS.MatchString(m.Text)
		if strings.Contains(m.Text, "uses too much shared data") {
			out.Lines = append(out.Lines, fmt.Sprintf("note: %s has %d bytes of shared memory for a block: smaller tiles, fewer stages or fewer reductions need less", t.Name, t.SharedOptIn))
		}
	}
	if old {
		out.Lines = append(out.Lines, fmt.Sprintf("note: %s is too old: a Tile IR kernel needs ptxas 13.3 or later, sm_107 a newer one still; with --abi=cuda older ones do", path))
	}
	return out
}

// kernelsOf are names that a message mentions, and the kernel in whose text its line lies.
func kernelsOf(m ptxas.Message, ptx string) []string {
	var names []string
	if m.Line > 0 {
		lines := strings.SplitN(ptx, "\n", m.Line+1)
		above := strings.Join(lines[:min(m.Line, len(lines))], "\n")
		if found := entryLine.FindAllStringSubmatch(above, -1); len(found) > 0 {
			names = append(names, found[len(found)-1][1])
		}
	}
	for _, q := range quotedName.FindAllStringSubmatch(m.Text, -1) {
		names = append(names, q[1])
	}
	return names
}
