package remark

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tileiras/ir"
)

var (
	load = Remark{Pass: Memory, Kind: Passed, ID: "RemarkMemoryLoadInstructionSelected", Text: "Load instruction selected",
		Function: "argm", Kernel: "argm_raw", Loc: &ir.FileLoc{File: "/dir/kern.py", Line: 74, Col: 6},
		Args: []Arg{{"Instruction", "TMA Load instruction"}, {"Shape", "[32, 8]"}}}
	store = Remark{Pass: Memory, Kind: Failed, ID: "RemarkMemoryTmaStoreFailed", Text: "Failed to select TMA store instruction",
		Function: "argm", Kernel: "argm_raw", Loc: &ir.FileLoc{File: "/dir/kern.py", Line: 80, Col: 6},
		Args: []Arg{{"Reason", `loc("/dir/kern.py":80:6): base pointer not 16-byte aligned`}}}
	mma = Remark{Pass: TensorCore, Kind: Passed, ID: "RemarkTensorCoreMMA", Text: "MMA operation successfully optimized to use Tensor Cores",
		Function: "argm", Kernel: "argm_raw", Loc: ir.UnknownLoc{}, Args: []Arg{{"NumCTAs", 2}, {"Note", "it's 5"}}}
)

// The form of NVIDIA's tileiras 13.5, which cuTile Python and opt-viewer read.
func TestYAML(t *testing.T) {
	want := `--- !Passed
Pass:            Memory
Name:            RemarkMemoryLoadInstructionSelected
DebugLoc:        { File: '/dir/kern.py', Line: 74, Column: 6 }
Function:        argm
Args:
  - RemarkId:    1
  - Remark:      Load instruction selected
  - Instruction: TMA Load instruction
  - Shape:       '[32, 8]'
...
--- !Failure
Pass:            Memory
Name:            RemarkMemoryTmaStoreFailed
DebugLoc:        { File: '/dir/kern.py', Line: 80, Column: 6 }
Function:        argm
Args:
  - RemarkId:    2
  - Remark:      Failed to select TMA store instruction
  - Reason:      'loc("/dir/kern.py":80:6): base pointer not 16-byte aligned'
...
--- !Passed
Pass:            Tensor-core
Name:            RemarkTensorCoreMMA
Function:        argm
Args:
  - RemarkId:    3
  - Remark:      MMA operation successfully optimized to use Tensor Cores
  - NumCTAs:     2
  - Note:        'it''s 5'
...
`
	if diff := cmp.Diff(want, string(YAML([]Remark{load, store, mma}))); diff != "" {
		t.Error(diff)
	}
}

func TestYAMLScalars(t *testing.T) {
	for s, want := range map[string]string{
		"": "''", "plain text, 1.5": "plain text, 1.5", "12": "'12'", "0x1F": "'0x1F'", "true": "'true'", "null": "'null'", "a: b": "'a: b'",
		" a": "' a'", "/dir/f": "'/dir/f'", "-x": "'-x'", "a\nb": `"a\nb"`, "é": `"é"`, "[1]": "'[1]'",
	} {
		if got := scalar(s); got != want {
			t.Errorf("scalar(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestText(t *testing.T) {
	want := `in function: argm_raw:

  category: Memory
    remark[passed]: Load instruction selected
      --> "/dir/kern.py":74:6
       |
       = name: RemarkMemoryLoadInstructionSelected
       = note: Instruction = TMA Load instruction
       = note: Shape = [32, 8]

    remark[failed]: Failed to select TMA store instruction
      --> "/dir/kern.py":80:6
       |
       = name: RemarkMemoryTmaStoreFailed
       = reason: loc("/dir/kern.py":80:6): base pointer not 16-byte aligned


  category: Tensor-core
    remark[passed]: MMA operation successfully optimized to use Tensor Cores
       |
       = name: RemarkTensorCoreMMA
       = note: NumCTAs = 2
       = note: Note = it's 5

`
	if diff := cmp.Diff(want, string(Text([]Remark{load, store, mma}))); diff != "" {
		t.Error(diff)
	}
	other := store
	other.Kernel = "another"
	if diff := cmp.Diff(want+string(Text([]Remark{other})), string(Text([]Remark{mma, other, load, store}))); diff != "" {
		t.Error(diff)
	}
}

func TestJSON(t *testing.T) {
	var got []map[string]any
	if err := json.Unmarshal(JSON([]Remark{load, mma}), &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"pass": "Memory", "kind": "passed", "id": "RemarkMemoryLoadInstructionSelected", "text": "Load instruction selected", "function": "argm", "kernel": "argm_raw",
			"loc":  map[string]any{"file": "/dir/kern.py", "line": 74.0, "column": 6.0},
			"args": []any{map[string]any{"key": "Instruction", "value": "TMA Load instruction"}, map[string]any{"key": "Shape", "value": "[32, 8]"}}},
		{"pass": "Tensor-core", "kind": "passed", "id": "RemarkTensorCoreMMA", "text": "MMA operation successfully optimized to use Tensor Cores", "function": "argm",
			"kernel": "argm_raw", "loc": nil,
			"args": []any{map[string]any{"key": "NumCTAs", "value": 2.0}, map[string]any{"key": "Note", "value": "it's 5"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestListAndSelection(t *testing.T) {
	var l List
	for _, r := range []Remark{load, mma, load, store} {
		l.Add(r)
	}
	ids := func(list []Remark) (out []string) {
		for _, r := range list {
			out = append(out, r.ID)
		}
		return out
	}
	if got, want := ids(l.All), []string{load.ID, mma.ID, store.ID}; !cmp.Equal(got, want) {
		t.Errorf("list has %v, want %v", got, want)
	}
	for _, c := range []struct {
		s    Selection
		want []string
	}{
		{Selection{}, nil},
		{Selection{Passed: {"tensorcore"}}, []string{mma.ID}},
		{Selection{Passed: {"memory"}, Failed: {"all"}}, []string{load.ID, store.ID}},
		{Selection{Passed: {"none"}, Failed: {"none"}}, nil},
	} {
		if got := ids(Select(l.All, c.s)); !cmp.Equal(got, c.want) {
			t.Errorf("%v selects %v, want %v", c.s, got, c.want)
		}
	}
}
