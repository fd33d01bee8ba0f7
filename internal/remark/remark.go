// Package remark holds what a compiler has to say about its choices as values, and prints them: as text for people, as YAML for LLVM's
// opt-viewer and for frontends that read the remarks of NVIDIA's tileiras, and as JSON.
package remark

import (
	"fmt"
	"strings"

	"tileiras/ir"
)

// Kind is how a choice came out.
type Kind uint8

const (
	Passed   Kind = iota // something was done
	Missed               // something was not done that might have been good
	Failed               // something was asked for, or is usual, and could not be done
	Analysis             // a fact
)

// Word is the kind in text, Tag in YAML.
func (k Kind) Word() string { return [...]string{"passed", "missed", "failed", "analysis"}[k] }
func (k Kind) Tag() string  { return [...]string{"Passed", "Missed", "Failure", "Analysis"}[k] }

// The passes under whose names remarks stand: the first four are those of NVIDIA's tileiras, the others ours.
const (
	Memory     = "Memory"      // which instruction moves a tile
	TensorCore = "Tensor-core" // which instruction multiplies
	Hints      = "Hints"       // hints that are not followed
	Warning    = "Warning"     // what is likely slow
	Plan       = "Plan"        // warps, registers, stages, and the plans that lost
	Access     = "Access"      // how wide an access is, and why not wider
	Layout     = "Layout"      // conversions between layouts and what they cost
	Emulation  = "Emulation"   // types that the GPU has no instructions for
	Resources  = "Resources"   // registers, spills, shared memory
)

// category is the word for a pass on the command line: --remarks=memory selects the remarks of the pass Memory; all selects every one.
func category(pass string) string { return strings.ReplaceAll(strings.ToLower(pass), "-", "") }

// Arg is one fact of a remark: the value is a string or an int.
type Arg struct {
	Key   string
	Value any
}

// Remark is one choice, or one fact.
type Remark struct {
	Pass     string
	Kind     Kind
	ID       string // RemarkMemoryLoadInstructionSelected
	Text     string // one sentence without a full stop
	Function string // as the source calls it
	Kernel   string // the name of the entry
	Loc      ir.Location
	Args     []Arg
}

// Arg is the text of the first argument of that name, "" without.
func (r *Remark) Arg(key string) string {
	for _, a := range r.Args {
		if a.Key == key {
			return fmt.Sprint(a.Value)
		}
	}
	return ""
}

// key tells remarks apart: equal ones are printed once.
func (r *Remark) key() string {
	return fmt.Sprint(r.Pass, r.Kind, r.ID, r.Text, r.Kernel, ir.LocString(r.Loc), r.Args)
}

// List is remarks without repetition, in order.
type List struct {
	All  []Remark
	seen map[string]bool
}

// Add appends a remark unless it is there.
func (l *List) Add(r Remark) {
	if r.Loc == nil {
		r.Loc = ir.UnknownLoc{}
	}
	k := r.key()
	if l.seen[k] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[k] = true
	l.All = append(l.All, r)
}

// Selection says which remarks to show: for each kind the categories, "none", "all" or names as category gives them.
type Selection [4][]string

// Select keeps what a selection asks for, in order.
func Select(list []Remark, s Selection) []Remark {
	var out []Remark
	for _, r := range list {
		for _, c := range s[r.Kind] {
			if c == "all" || c == category(r.Pass) {
				out = append(out, r)
				break
			}
		}
	}
	return out
}
