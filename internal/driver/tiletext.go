package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// tileText is the text of a kernel as it goes into a cubin, for profilers: what tileirdisasm prints, and on which of its lines stands what comes from a
// place of the source. PTX 9.4 has directives for it (.loc_intermediate, .nv_intermediate_source_section), from which ptxas makes the sections
// .nv.tileir.debug_line and .nv.tileir.debug_txt.
type tileText struct {
	text  string
	lines map[sourcePlace]int // the line, from 1, of the first operation from a place
}

type sourcePlace struct {
	file      string
	line, col int
}

// intermediateVersion is the first PTX version with the directives.
var intermediateVersion = target.V(9, 4)

// newTileText prints a module before passes change it; nil for what is no cuda_tile.
func newTileText(c *ir.Context, m *ir.Op) *tileText {
	if m.Def.Dialect != cudatile.Name || m.Body() == nil {
		return nil
	}
	t := &tileText{lines: map[sourcePlace]int{}}
	var b strings.Builder
	type begin struct {
		at    int
		place sourcePlace
	}
	var begins []begin
	body := ir.Text(m, ir.PrintOptions{Unwrapped: true, Ctx: c, Place: func(op *ir.Op, at int) {
		if file, line, col, ok := ir.FileLine(op.Loc()); ok {
			begins = append(begins, begin{at, sourcePlace{file, int(line), int(col)}})
		}
	}})
	if err := cudatile.Print(&b, m, ir.PrintOptions{Ctx: c}); err != nil {
		return nil
	}
	t.text = b.String()
	line := 1 + strings.Count(strings.TrimSuffix(t.text, body), "\n") // the producer stands first
	read := 0
	for _, s := range begins {
		line += strings.Count(body[read:s.at], "\n")
		read = s.at
		if t.lines[s.place] == 0 {
			t.lines[s.place] = line
		}
	}
	return t
}

var (
	fileDirective = pattern(`^\.file (\d+) "(.*)"$`)
	locDirective  = pattern(`^\t\.loc (\d+) (\d+) (\d+)$`)
	versionLine   = pattern(`(?m)^\.version (\d+)\.(\d+)$`)
)

const sourceEnd = ".source_end"

// addTo writes the text into PTX that has source lines, and after each .loc where that is in the text.
func (t *tileText) addTo(ptx string) string {
	if t == nil || strings.Contains(t.text, sourceEnd) {
		return ptx
	}
	files := map[string]string{}
	var out strings.Builder
	own := 0
	for _, l := range strings.SplitAfter(ptx, "\n") {
		bare := strings.TrimSuffix(l, "\n")
		if f := fileDirective().FindStringSubmatch(bare); f != nil {
			files[f[1]] = strings.ReplaceAll(f[2], `\\`, `\`)
			own = len(files) + 1
		} else if own > 0 && len(files) == own-1 && bare == "" {
			sum := sha256.Sum256([]byte(t.text))
			fmt.Fprintf(&out, ".file %d \"./%s\"\n", own, hex.EncodeToString(sum[:16]))
			own = -own // written
		}
		out.WriteString(l)
		if m := locDirective().FindStringSubmatch(bare); m != nil {
			line, _ := strconv.Atoi(m[2])
			col, _ := strconv.Atoi(m[3])
			if at := t.lines[sourcePlace{files[m[1]], line, col}]; at > 0 {
				fmt.Fprintf(&out, "\t.loc_intermediate %d %d 1\n", -own, at)
			}
		}
	}
	if own >= 0 { // no file is named
		return ptx
	}
	fmt.Fprintf(&out, "\n.nv_intermediate_source_section {\n.code_block {\n.ir_name: \"tile ir\"\n.sourceFileName: %d\n.source_begin\n%s\n%s\n}\n}\n",
		-own, strings.TrimSuffix(t.text, "\n"), sourceEnd)
	return versionLine().ReplaceAllStringFunc(out.String(), func(s string) string {
		m := versionLine().FindStringSubmatch(s)
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		return ".version " + max(target.V(major, minor), intermediateVersion).String()
	})
}
