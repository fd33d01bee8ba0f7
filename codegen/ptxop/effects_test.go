package ptxop

import (
	"regexp"
	"strings"
	"testing"
)

const everything = ReadGeneric | WriteGeneric

// effectRules say what instructions do, by their names, as the PTX ISA describes them. Of the rules of a list the first that matches counts; an instruction does
// what the lists say together.
var effectRules = [][]struct {
	name    string
	effects Effects
}{
	{ // memory
		{`^ld\.(param|global\.nc)\b`, ReadConst},
		{`^ld\b.*\.global\b`, ReadGlobal},
		{`^ld\b.*\.shared\b`, ReadShared},
		{`^ld\.local\b`, ReadLocal},
		{`^ld\b`, ReadGeneric},
		{`^st\b.*\.global\b`, WriteGlobal},
		{`^st\b.*\.shared\b`, WriteShared},
		{`^st\.local\b`, WriteLocal},
		{`^st\b`, WriteGeneric},
		{`^(atom|red|multimem\.red)\b.*\.global\b`, ReadGlobal | WriteGlobal},
		{`^(atom|red)\b.*\.shared\b`, ReadShared | WriteShared},
		{`^(atom|red|multimem\.red)\b`, everything},
		{`^multimem\.ld_reduce\b.*\.global\b`, ReadGlobal},
		{`^multimem\.ld_reduce\b`, ReadGeneric},
		{`^multimem\.st\b.*\.global\b`, WriteGlobal},
		{`^multimem\.st\b`, WriteGeneric},
		{`^ldmatrix\b|^tcgen05\.ld\b|^wgmma\.m\d`, ReadShared}, // tensor memory counts as shared
		{`^stmatrix\b|^tcgen05\.(st|alloc)\b|^mbarrier\.init\b`, WriteShared},
		{`^mbarrier\.arrive\.expect_tx\b|^tensormap\.replace\b|^tcgen05\.(mma|cp)\b`, ReadShared | WriteShared},
		{`^cp\.async\.(ca|cg|bulk)\b`, ReadGlobal | WriteShared},
		{`^tensormap\.cp_fenceproxy\b`, ReadShared | WriteGlobal},
		{`^(bar|barrier)\.|^mbarrier\.(arrive|test_wait|try_wait)\b|^call\.`, everything}, // what others wrote is there then, or what was written here there
	},
	{ // what may be neither removed nor repeated
		{`^(ld|st|multimem)\b.*\.(volatile|relaxed|acquire|release|acq_rel|mmio)\b`, Strong},
		{`^(atom|red)\b|^mbarrier\.(init|arrive\.expect_tx)\b|^tensormap\.|^tcgen05\.(alloc|ld|st)\b`, Strong},
	},
	{ // order between accesses
		{`^(fence|membar)\b|^griddepcontrol\.wait\b|^cp\.async\.wait_(group|all)\b|^wgmma\.(fence|commit_group|wait_group)\b|^tcgen05\.(wait|fence)::|^tensormap\.cp_fenceproxy\b`, Fence},
	},
	{ // threads that wait
		{`^(bar|barrier)\.|^mbarrier\.(arrive$|test_wait\b|try_wait\b)|^cp\.async\.mbarrier\b|^tcgen05\.commit\b`, Barrier},
	},
	{ // what happens later
		{`^cp\.async\b|^prefetch\.|^mbarrier\.arrive\.expect_tx\b|^tcgen05\.(commit|cp|ld|st|mma)\b|^wgmma\.m\d`, Async},
	},
	{ // lanes that act together
		{`^(activemask|elect|match|shfl|vote|redux|movmatrix|ldmatrix|stmatrix|mma|wgmma|bar|barrier)\b`, Convergent},
		{`^tensormap\.cp_fenceproxy\b|^tcgen05\.(alloc|dealloc|relinquish_alloc_permit|ld|st|wait::\w+)\b`, Convergent},
	},
	{ // the time
		{`^activemask\b|^mov\.\w+\.%(clock|clock64|globaltimer|smid|warpid)$`, Clock},
	},
	{ // what concerns the thread or the block as such
		{`^(trap|nanosleep|griddepcontrol)\b|^call\.|^tcgen05\.(alloc|dealloc|relinquish_alloc_permit)\b`, Control},
	},
}

// What optimizations take of an instruction is what the instruction does.
func TestEffectsAreThoseOfTheInstructions(t *testing.T) {
	var compiled [][]*regexp.Regexp
	for _, list := range effectRules {
		var res []*regexp.Regexp
		for _, r := range list {
			res = append(res, regexp.MustCompile(r.name))
		}
		compiled = append(compiled, res)
	}
	used := map[*regexp.Regexp]bool{}
	for _, row := range Rows() {
		name := strings.TrimPrefix(row.Name, "@")
		var want Effects
		for i, list := range effectRules {
			for k, r := range list {
				if compiled[i][k].MatchString(name) {
					want |= r.effects
					used[compiled[i][k]] = true
					break
				}
			}
		}
		if row.Effects != want {
			t.Errorf("%s: the effects are %b, want %b", row.Name, row.Effects, want)
		}
	}
	for i, list := range compiled {
		for k, re := range list {
			if !used[re] {
				t.Errorf("no row is one of %s", effectRules[i][k].name)
			}
		}
	}
}

// The least versions of PTX that ptxas takes, of rows whose versions are easy to get wrong; `make nvidia` asks it about every row.
func TestRowsNeedTheirVersionsOfPTX(t *testing.T) {
	for name, want := range map[string]string{
		"mbarrier.init": "sm_80 7.0", "mbarrier.try_wait": "sm_90 7.8", "mbarrier.arrive.expect_tx": "sm_90 8.0", "ld.global.v8.b32": "sm_100 8.8", "st.global.v8.b32": "sm_100 8.8",
	} {
		low := lowest(Lookup(name))
		if got := low.Name + " " + Lookup(name).Need.Version(low).String(); got != want {
			t.Errorf("%s needs %s, want %s", name, got, want)
		}
	}
}
