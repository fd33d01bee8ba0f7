package ptxop

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tileiras/codegen/target"
)

// toolFolder is the environment variable that names the folder of NVIDIA's
// ptxas; without it the tests that need ptxas say that they were skipped.
const toolFolder = "TILEIRAS_NVIDIA_BIN"

func ptxas(t *testing.T) string {
	dir := os.Getenv(toolFolder)
	if dir == "" {
		t.Skipf("not run: ptxas is judge here; set %s to its folder", toolFolder)
	}
	return filepath.Join(dir, "ptxas")
}

// text writes the row as PTX with registers, or with constants wherever the row
// allows them.
func text(r *Row, constants bool) string {
	var out strings.Builder
	if r.GuardOperand >= 0 {
		out.WriteString("@%p0 ")
	}
	operand := func(i int) string {
		o := r.Operands[i]
		switch {
		case o.Kind == Imm && i > 0 && strings.HasPrefix(r.Name, "bar."):
			return "64" // threads of a barrier: whole warps
		case o.Kind == Imm && (strings.HasPrefix(r.Name, "tcgen05.alloc.") && i > 1 || strings.HasPrefix(r.Name, "tcgen05.dealloc.")):
			return "32" // columns
		case o.Kind == Imm && (strings.HasPrefix(r.Name, "mma.") || strings.HasPrefix(r.Name, "wgmma.")):
			return "0" // selects among scales; K side by side; all groups
		case o.Kind == Imm:
			return "4"
		case constants && o.Const && o.Kind == Use && o.Type == F32:
			return "0f3F800000"
		case constants && o.Const && o.Kind == Use && o.Type == F64:
			return "0d3FF0000000000000"
		case constants && o.Const && o.Kind == Use:
			return "4"
		}
		class := [...]string{"%p", "%rs", "%r", "%rd", "%f", "%fd"}[o.Type]
		if o.Type == F32 && strings.HasPrefix(r.Name, "wgmma.") {
			class = "%r" // all accumulators in the same registers, of which there are not enough for two kinds
		}
		if o.Kind == Def {
			return fmt.Sprintf("%s%d", class, 20+i)
		}
		return fmt.Sprintf("%s%d", class, i%8)
	}
	for _, p := range r.Text {
		out.WriteString(p.Lit)
		switch {
		case p.Operand < 0:
		case p.Address:
			fmt.Fprintf(&out, "[%s+16]", operand(p.Operand))
		default:
			out.WriteString(operand(p.Operand))
		}
	}
	if r.Block {
		return out.String()
	}
	return out.String() + ";"
}

// lowest returns the first target that meets the row's need.
func lowest(r *Row) *target.Target {
	for _, t := range target.All {
		if r.Need.On(t) {
			return t
		}
	}
	return nil
}

// place is where a group of rows is tried.
type place struct {
	name    string // of the target, with its suffix where the rows need it
	version target.PTX
}

// sortedByPlace sorts the rows by the place at which they must assemble, in pieces that
// ptxas handles quickly.
func sortedByPlace() (places []place, rows map[place][][]*Row) {
	const piece = 500
	rows = map[place][][]*Row{}
	for _, r := range Rows() {
		if strings.HasPrefix(r.Name, "ld.param") {
			continue // needs a parameter by name; the tests of codegen/ptx have it
		}
		low := lowest(r)
		p := place{low.Name, r.Need.Version(low)}
		if r.Need.Arch != 0 {
			p.name = low.ArchName()
		}
		g := rows[p]
		if len(g) == 0 {
			places = append(places, p)
		}
		if len(g) == 0 || len(g[len(g)-1]) == piece {
			g = append(g, nil)
		}
		g[len(g)-1] = append(g[len(g)-1], r)
		rows[p] = g
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version))
	})
	return places, rows
}

// assemble runs ptxas on a kernel of the given rows, one or two lines each, and
// returns what it says about each row and about the file.
func assemble(t *testing.T, tool string, p place, rows []*Row, constants bool) (about map[*Row][]string, whole []string) {
	var out strings.Builder
	fmt.Fprintf(&out, ".version %s\n.target %s\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.visible .entry k() {\n", p.version, p.name)
	out.WriteString(".reg .pred %p<64>; .reg .b16 %rs<64>; .reg .b32 %r<320>; .reg .b64 %rd<64>; .reg .b32 %f<320>; .reg .b64 %fd<64>;\n")
	line := map[int]*Row{}
	number := 7
	for _, r := range rows {
		forms := []bool{false, true}
		if !constants {
			forms = forms[:1]
		}
		landed := ""
		if strings.HasPrefix(r.Name, "wgmma.m") {
			landed = " wgmma.wait_group.sync.aligned 0;" // or the registers of all would be in use together
		}
		for _, constant := range forms {
			line[number] = r
			out.WriteString(text(r, constant) + landed + "\n")
			number++
		}
	}
	out.WriteString("ret;\n}\n")
	file := filepath.Join(t.TempDir(), "rows.ptx")
	if err := os.WriteFile(file, []byte(out.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(tool, "-arch", p.name, "-O0", file, "-o", os.DevNull).CombinedOutput()
	about = map[*Row][]string{}
	if err == nil {
		return about, nil
	}
	for _, l := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		var n int
		if i := strings.Index(l, "line "); i >= 0 {
			fmt.Sscanf(l[i:], "line %d", &n)
		}
		if r := line[n]; r != nil {
			about[r] = append(about[r], l)
		} else {
			whole = append(whole, l)
		}
	}
	return about, whole
}

// Every row, with registers and with constants, assembles on the lowest target
// and under the lowest version that its need names.
func TestPtxasAcceptsEveryRowAtItsLowestTarget(t *testing.T) {
	tool := ptxas(t)
	places, rows := sortedByPlace()
	for _, p := range places {
		for i, piece := range rows[p] {
			t.Run(fmt.Sprintf("%s PTX %s piece %d", p.name, p.version, i), func(t *testing.T) {
				about, whole := assemble(t, tool, p, piece, true)
				for _, r := range piece {
					for _, l := range about[r] {
						t.Errorf("%s: %s", r.Name, l)
					}
				}
				for _, l := range whole {
					t.Error(l)
				}
			})
		}
	}
}

// A row that asks for a later version than its target does is refused under
// the target's own version: no need is stricter than the truth.
func TestPtxasRefusesRowsUnderEarlierVersions(t *testing.T) {
	tool := ptxas(t)
	places, rows := sortedByPlace()
	for _, p := range places {
		low, _ := target.ByName(strings.TrimSuffix(p.name, "a"))
		first := low.PTX
		if low.Name != p.name {
			first = low.ArchPTX
		}
		if p.version == first {
			continue
		}
		for _, piece := range rows[p] {
			about, _ := assemble(t, tool, place{p.name, first}, piece, false)
			for _, r := range piece {
				if len(about[r]) == 0 {
					t.Errorf("%s needs PTX %s, but PTX %s has it", r.Name, p.version, first)
				}
			}
		}
	}
}

// On every target, ptxas accepts exactly the rows whose need the target meets.
func TestPtxasAgreesWithTheNeedOfEveryRow(t *testing.T) {
	tool := ptxas(t)
	for _, sm := range target.All {
		t.Run(sm.Name, func(t *testing.T) {
			var meets, lacks []*Row
			for _, r := range Rows() {
				switch {
				case r.Need.SM == 0 && r.Need.Arch == 0: // on the first target already
				case r.Need.On(sm):
					meets = append(meets, r)
				default:
					lacks = append(lacks, r)
				}
			}
			latest := place{sm.ArchName(), target.V(9, 5)}
			for piece := range slices.Chunk(meets, 500) {
				about, _ := assemble(t, tool, latest, piece, false)
				for _, r := range piece {
					for _, l := range about[r] {
						t.Errorf("%s needs %s, but %s refuses it: %s", r.Name, r.Need, latest.name, l)
					}
				}
			}
			for piece := range slices.Chunk(lacks, 500) {
				about, _ := assemble(t, tool, latest, piece, false)
				for _, r := range piece {
					if len(about[r]) == 0 {
						t.Errorf("%s needs %s, but %s has it", r.Name, r.Need, latest.name)
					}
				}
			}
		})
	}
}

// ptxas widens the operands of a product exactly where the matrix unit does not take their types.
func TestPtxasWidensOperandsWhereTheUnitIsMissing(t *testing.T) {
	tool := ptxas(t)
	used := map[string]string{"f16": "st.global.b32 [%rd0], %r20;", "s32": "st.global.b32 [%rd0], %r20;", "f32": "st.global.f32 [%rd0], %f20;", "f64": "st.global.f64 [%rd0], %fd20;"}
	for _, sm := range target.All {
		var out strings.Builder
		fmt.Fprintf(&out, ".version 9.5\n.target %s\n.address_size 64\n", sm.ArchName())
		var list []*Product
		for i := range Products {
			p := &Products[i]
			if !p.Need.On(sm) {
				continue
			}
			fmt.Fprintf(&out, ".visible .entry k%d() {\n.reg .b32 %%r<64>; .reg .b64 %%rd<64>; .reg .b32 %%f<64>; .reg .b64 %%fd<64>;\n%s\n%s\nret;\n}\n",
				len(list), text(Must(p.Name(p.A[0], p.B[0])), false), used[p.D])
			list = append(list, p)
		}
		file := filepath.Join(t.TempDir(), "products")
		if err := os.WriteFile(file+".ptx", []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(tool, "-arch", sm.ArchName(), "-O0", file+".ptx", "-o", file+".cubin").CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", sm, said)
		}
		code, err := exec.Command(filepath.Join(filepath.Dir(tool), "nvdisasm"), "-c", file+".cubin").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %s", sm, code)
		}
		for i, p := range list {
			_, body, _ := strings.Cut(string(code), fmt.Sprintf("\n.text.k%d:", i))
			body, _, _ = strings.Cut(body, "\n.text.k")
			takes := p.Unit&^sm.Families == 0
			if !strings.Contains(body, "MMA.") || takes == strings.Contains(body, ".UNPACK") {
				t.Errorf("%s: the table says of %s that the unit takes its types: %t; ptxas makes this of it:\n%s", sm, p.Name(p.A[0], p.B[0]), takes, body)
			}
		}
	}
}
