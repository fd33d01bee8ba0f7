package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tileiras/internal/remark"
	"tileiras/ir"
)

// section is a part of a kernel's page: the remarks that belong to it, as rows.
type section struct {
	title string
	ids   []string
	row   func(r *remark.Remark) []string // the cells after the place
}

var sections = []section{
	{"products", []string{"RemarkMMAAtom"}, productRow},
	{"memory: what a thread moves at a time", []string{"RemarkAccessWidth"}, accessRow},
	{"layouts: what it costs to move tiles between threads", []string{"RemarkLayoutConversion"}, conversionRow},
	{"loops", []string{"RemarkLoopPipelined", "RemarkLoopNotPipelined"}, reasonRow},
	{"types without instructions", []string{"RemarkEmulatedType"}, reasonRow},
	{"hints without effect", []string{"RemarkHintDropped", "RemarkHintDefault"}, hintRow},
	{"assembled by ptxas", []string{"RemarkPtxas", "RegisterPressure"}, reasonRow},
}

// Page is one page for each kernel: launch and plan, the plans that lost, and per product, access and conversion what was chosen and
// why. launch has the lines on how to launch a kernel, by name.
func Page(list []remark.Remark, gpu string, launch map[string][]string) []byte {
	var b bytes.Buffer
	var names []string
	for i := range list {
		if !slices.Contains(names, list[i].Kernel) {
			names = append(names, list[i].Kernel)
		}
	}
	for i, name := range names {
		if i > 0 {
			b.WriteString("\f\n") // a page each
		}
		var mine []*remark.Remark
		for j := range list {
			if list[j].Kernel == name {
				mine = append(mine, &list[j])
			}
		}
		page(&b, name, gpu, mine, launch[name])
	}
	return b.Bytes()
}

func page(b *bytes.Buffer, name, gpu string, list []*remark.Remark, launch []string) {
	title := "kernel " + name
	if f := list[0].Function; f != name {
		title += " (" + f + ")"
	}
	if at := ir.LocString(list[0].Loc); at != "" {
		title += " at " + at
	}
	fmt.Fprintf(b, "%s, for %s\n%s\n", title, gpu, strings.Repeat("=", len(title)+6+len(gpu)))
	for _, l := range launch {
		fmt.Fprintf(b, "  %s\n", l)
	}
	planPart(b, list)
	for _, s := range sections {
		var mine []*remark.Remark
		var rows [][]string
		for _, r := range list {
			if slices.Contains(s.ids, r.ID) {
				mine = append(mine, r)
				rows = append(rows, append([]string{cmp.Or(ir.ShortPlace(r.Loc), "-")}, s.row(r)...))
			}
		}
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s\n", s.title)
		widths := columns(rows)
		for i, row := range rows {
			line := " "
			for k, cell := range row {
				line += fmt.Sprintf(" %-*s ", widths[k], cell)
			}
			fmt.Fprintln(b, strings.TrimRight(line, " "))
			for _, why := range reasons(mine[i]) {
				fmt.Fprintf(b, "  %*s  because %s\n", widths[0], "", why)
			}
		}
	}
}

// columns is the width of each column of a table.
func columns(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for k, cell := range row {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], len(cell))
		}
	}
	return widths
}

// planPart is the plan with what it takes, and those that lost.
func planPart(b *bytes.Buffer, list []*remark.Remark) {
	words := map[string]string{"RemarkPlanSelected": "taken", "RemarkPlanRejected": "lost", "RemarkPlanAlternative": "worse"}
	b.WriteString("\nplan\n")
	for _, r := range list {
		word, ok := words[r.ID]
		if !ok {
			continue
		}
		_, text, _ := strings.Cut(r.Text, ": ")
		if name := r.Arg("Name"); name != "" && word != "taken" {
			text = name
		}
		if cost := r.Arg("Cost"); cost != "" {
			text += ", cost " + cost
		}
		fmt.Fprintf(b, "  %-10s %s\n", word, text)
		if r.ID != "RemarkPlanSelected" {
			fmt.Fprintf(b, "             because %s\n", r.Arg("Reason"))
		}
	}
	for _, r := range list {
		if r.ID != "RemarkResources" {
			continue
		}
		fmt.Fprintf(b, "  shared     %s of %s bytes\n", r.Arg("SharedBytes"), r.Arg("SharedLimit"))
		if t := r.Arg("LargestTile"); t != "" {
			fmt.Fprintf(b, "  largest    %s takes %s of a thread\n", t, counted(r, "LargestTileRegisters", "register"))
		}
		fmt.Fprintf(b, "  occupancy  at least %s on a multiprocessor, limited by %s\n", counted(r, "BlocksPerMultiprocessor", "block"), r.Arg("LimitedBy"))
	}
	for _, r := range list {
		if r.Pass == remark.Plan && !slices.Contains(ofPlanAndLoops, r.ID) {
			fmt.Fprintf(b, "  note       %s\n", r.Text)
		}
	}
}

// ofPlanAndLoops are remarks of the plan that a page tells elsewhere; the others are what passes said.
var ofPlanAndLoops = []string{"RemarkPlanSelected", "RemarkPlanRejected", "RemarkPlanAlternative", "RemarkLoopPipelined", "RemarkLoopNotPipelined"}

func reasons(r *remark.Remark) []string {
	var out []string
	for _, a := range r.Args {
		if a.Key == "Reason" {
			out = append(out, fmt.Sprint(a.Value))
		}
	}
	return out
}

func productRow(r *remark.Remark) []string {
	note := ""
	for _, k := range []string{"WidenedA", "WidenedB"} {
		if from := r.Arg(k); from != "" {
			note += fmt.Sprintf("%s widened from %s  ", strings.TrimPrefix(k, "Widened"), from)
		}
	}
	if r.Arg("Transposed") != "" {
		note += "transposed"
	}
	return []string{r.Arg("Product"), "+ " + r.Arg("Accumulator"), r.Arg("Atom"), strings.TrimSpace(note)}
}

func accessRow(r *remark.Remark) []string {
	verb := strings.TrimSuffix(strings.Fields(r.Text)[2], "s")
	if strings.HasSuffix(verb, "ie") {
		verb = strings.TrimSuffix(verb, "ie") + "y"
	}
	checks := ""
	if d := r.Arg("BoundsChecks"); d != "" {
		checks = "checks " + d
	}
	if r.Arg("Mask") != "" {
		checks = "masked"
	}
	return []string{verb, r.Arg("Tile"), counted(r, "Bytes", "byte"), r.Arg("Instruction"), checks}
}

func conversionRow(r *remark.Remark) []string {
	cost := counted(r, "WarpInstructions", "instruction")
	if r.Arg("SharedWaves") != "" {
		cost += ", " + counted(r, "SharedWaves", "wave")
	}
	if r.Arg("LoopDepth") != "0" {
		cost += ", in " + counted(r, "LoopDepth", "loop")
	}
	how := ""
	if by := r.Arg("WrittenBy"); by != "" {
		how = by + " -> " + r.Arg("ReadBy")
	}
	return []string{r.Text, how, cost}
}

func reasonRow(r *remark.Remark) []string { return []string{r.Text} }

func hintRow(r *remark.Remark) []string { return []string{r.Arg("Hint")} }

// counted is an argument that is a number, with its word.
func counted(r *remark.Remark, key, word string) string {
	n, _ := strconv.Atoi(r.Arg(key))
	return ir.Count(n, word)
}
