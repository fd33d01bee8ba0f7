package commandline_test

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The command lines of commands.txt were given to NVIDIA's tileiras 13.5.37, and nvidia.json has what it answered. Without NVIDIA's tools ours must
// answer the same, with a ptxas that is none; with them (TILEIRAS_NVIDIA_BIN) the record is checked too, and cubins are compared.
//
// `go test ./tests/commandline -run SameAsNVIDIA -record` writes the record.

var record = flag.Bool("record", false, "write testdata/nvidia.json from what NVIDIA's tileiras answers")

// more are the command lines of which ours answers all that NVIDIA's does, and more: lines or places in its messages. Exit code, standard output and files
// are the same.
var more = map[string]string{
	"k.tileirbc --gpu-name=sm_80 -o x.unknown":                                      "the same, with the warning that the name does not say what it holds",
	"k.tileirbc --gpu-name=sm_80 --remark-format=yaml --remarks-output-file=r.yaml": "that no remarks are asked for",
	"k.tileirbc --gpu-name=sm_90a":                                                  "how to write it and which names there are",
	"k.tileirbc --gpu-name=H100":                                                    "that it is sm_90 and which names there are",
	"invalid.tileirbc --gpu-name=sm_80":                                             "the place in the source, which cuTile Python shows",
	"invalid.tileirbc --gpu-name=sm_80 -o out.cubin":                                "the same",
	"--print-options k.tileirbc --gpu-name=sm_80":                                   "the options, where NVIDIA's prints nothing",
	"k.tileirbc --gpu-name=sm_80 -o .":                                              "why, where NVIDIA's says nothing",
	"k.tileirbc --gpu-name=sm_80 -o no/such/x.cubin":                                "why, where NVIDIA's says nothing",
	"k.tileirbc":     "that no GPU was named, where NVIDIA's speaks of an architecture sm_0",
	"k.tileirbc -O4": "the same",
}

// different are the command lines that ours answers otherwise on purpose.
var different = map[string]string{
	"k.tileirbc --gpu-name=sm_80 --remark-format=json": "ours writes JSON too",
	"--version":                                 "another compiler: who made it, from what, its hash; the lines that frontends read are there",
	"k.tileirbc --gpu-name=sm_75":               "ours compiles for sm_75",
	"text.tileir --gpu-name=sm_80":              "ours reads text",
	"k.tileirbc --gpu-name=sm_80 --emit-ptx":    "ours has a nearer flag",
	"k.tileirbc --gpu-name=sm_80 -o -":          "ours wants --emit with it: a cubin on a terminal helps nobody",
	"k.tileirbc --gpu-name=sm_80 -o k.tileirbc": "NVIDIA's replaces the input by the cubin",
	"k.tileirbc --gpu-name=sm_80 -o /dev/full":  "the same but for the words LLVM ERROR, which name no part of ours and read like a crash",
	"- --gpu-name=sm_80":                        "ours reads standard input",
}

// valuesOfFlag is what ours says in addition where a flag does not have a value.
var valuesOfFlag = regexp.MustCompile(`(Cannot find option named '.+'!\n)tileiras: it is one of .*\n`)

// answer is what a command line did.
type answer struct {
	Exit           int
	Stdout, Stderr string
	Files          map[string]string // new or changed: name and kind
}

// commandLines are those of commands.txt, without comments.
func commandLines(t *testing.T) []string {
	data, err := os.ReadFile("testdata/commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range strings.Split(string(data), "\n") {
		if l != "" && !strings.HasPrefix(l, "//") {
			lines = append(lines, strings.TrimSpace(l))
		}
	}
	return lines
}

// stage makes the files that the command lines speak of.
func stage(t *testing.T, dir string) {
	kernel, err := os.ReadFile(filepath.Join(corpus(t), "cases/softmax_f32/kernel.tileirbc"))
	if err != nil {
		t.Fatal(err)
	}
	invalid, err := os.ReadFile(filepath.Join(corpus(t), "cases/invalid_unsigned_floordiv/kernel.tileirbc"))
	if err != nil {
		t.Fatal(err)
	}
	other, trailing := bytes.Clone(kernel), append(bytes.Clone(kernel), 1)
	other[9] = 6
	for name, data := range map[string][]byte{
		"k.tileirbc": kernel, "invalid.tileirbc": invalid, "text.tileir": []byte("entry @f() {\n  return\n}\n"), "empty": nil,
		"header.tileirbc": kernel[:12], "cut.tileirbc": kernel[:200], "magic.tileirbc": append([]byte("x"), kernel...),
		"newer.tileirbc": other, "trailing.tileirbc": trailing, "half.tileirbc": kernel[:5],
		"args.rsp": []byte("--gpu-name=sm_90\n -o 'a b.cubin' "), "empty.rsp": nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// kind says what a file is, as far as both compilers must agree: for a cubin its architecture and kernels, unless a fake ptxas wrote it.
func kind(data string) string {
	f, err := elf.NewFile(strings.NewReader(data))
	switch {
	case strings.HasPrefix(data, "\x7fELF") && err != nil:
		return "cubin"
	case err == nil:
		symbols, _ := f.Symbols()
		var kernels []string
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && !strings.HasPrefix(s.Name, "$") && !strings.HasPrefix(s.Name, "__cuda") { // subroutines of ptxas
				kernels = append(kernels, s.Name)
			}
		}
		return fmt.Sprintf("cubin of %v", kernels)
	case strings.HasPrefix(data, "--- !"):
		return "YAML remarks"
	}
	return fmt.Sprintf("%.40q", data)
}

// run gives a command line to a program in a new folder.
func run(t *testing.T, program, args string, env ...string) answer {
	dir := t.TempDir()
	stage(t, dir)
	before := contents(t, dir)
	cmd := exec.Command(program, arguments(args)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader("")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	a := answer{Exit: cmd.ProcessState.ExitCode(), Stdout: tidy(out.String(), program), Stderr: tidy(errs.String(), program)}
	for name, data := range contents(t, dir) {
		if before[name] != data || !has(before, name) {
			if a.Files == nil {
				a.Files = map[string]string{}
			}
			a.Files[name] = kind(data)
		}
	}
	return a
}

func has(m map[string]string, k string) bool { _, ok := m[k]; return ok }

// arguments splits a command line; ” is an empty argument.
func arguments(line string) []string {
	args := strings.Fields(line)
	for i := range args {
		if args[i] == "''" {
			args[i] = ""
		}
	}
	return args
}

var (
	flagLine = regexp.MustCompile(`(?m)^  (--?[\w-]+)`)
	alsoLine = regexp.MustCompile(`(?m)^  .* \[also (.*)\]$`)
	valLine  = regexp.MustCompile(`(?m)^    =(\S+) +-   (.*)$`)
)

// tidy removes what depends on where a program lies, and cuts a help down to the flags and GPUs that it lists: each tool has its own words for them.
func tidy(text, program string) string {
	text = strings.ReplaceAll(text, program, "tileiras")
	if !strings.HasPrefix(text, "OVERVIEW: tileiras") {
		if strings.HasPrefix(text, "\x7fELF") {
			return "a cubin"
		}
		return text
	}
	names := map[string]bool{}
	for _, m := range flagLine.FindAllStringSubmatch(text, -1) {
		names[strings.TrimLeft(m[1], "-")] = true
	}
	for _, m := range alsoLine.FindAllStringSubmatch(text, -1) {
		for _, a := range strings.Fields(m[1]) {
			names[strings.TrimLeft(a, "-")] = true
		}
	}
	for _, m := range valLine.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(m[1], "sm_") {
			names[m[1]+" - "+m[2]] = true
		}
	}
	var list []string
	for n := range names {
		list = append(list, n)
	}
	slices.Sort(list)
	return "help: " + strings.Join(list, ", ") + "\n"
}

// lists reports whether a help lists all that another does.
func lists(ours, theirs string) bool {
	if !strings.HasPrefix(ours, "help: ") || !strings.HasPrefix(theirs, "help: ") {
		return false
	}
	have := strings.Split(strings.TrimSpace(strings.TrimPrefix(ours, "help: ")), ", ")
	for _, n := range strings.Split(strings.TrimSpace(strings.TrimPrefix(theirs, "help: ")), ", ") {
		if !slices.Contains(have, n) {
			return false
		}
	}
	return true
}

func TestSameAsNVIDIA(t *testing.T) {
	lines := commandLines(t)
	ours, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "tileiras") // testscript's Main goes by the name
	if err := os.Symlink(ours, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	bin := os.Getenv("TILEIRAS_NVIDIA_BIN")
	ptxas := filepath.Join(t.TempDir(), "ptxas")
	if err := os.WriteFile(ptxas, []byte("#!/bin/sh\nfor out; do :; done\nprintf '\\177ELF' > \"$out\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	recorded := map[string]answer{}
	if bin != "" {
		ptxas = filepath.Join(bin, "ptxas")
		for _, l := range lines {
			recorded[l] = run(t, filepath.Join(bin, "tileiras"), l)
		}
	}
	if *record {
		data, err := json.MarshalIndent(recorded, "", " ")
		if err != nil || bin == "" {
			t.Fatal("set TILEIRAS_NVIDIA_BIN to the folder of NVIDIA's tools; ", err)
		}
		if err := os.WriteFile("testdata/nvidia.json", append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("testdata/nvidia.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]answer
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if bin != "" {
		if d := cmp.Diff(file, recorded); d != "" {
			t.Errorf("testdata/nvidia.json is not what this tileiras of NVIDIA answers; -record writes it again: -recorded +now\n%s", d)
		}
	}
	same, saysMore := 0, 0
	for _, l := range lines {
		want, ok := file[l]
		if !ok {
			t.Errorf("%s: not recorded", l)
			continue
		}
		got := run(t, link, l, "TILEIRAS_PTXAS="+ptxas)
		if lists(got.Stdout, want.Stdout) {
			got.Stdout = want.Stdout
		}
		got.Stderr = valuesOfFlag.ReplaceAllString(got.Stderr, "$1")
		if bin == "" {
			for name, k := range want.Files { // a fake ptxas knows no kernels
				if strings.HasPrefix(k, "cubin") {
					want.Files[name] = "cubin"
				}
			}
		}
		d, why, list := cmp.Diff(want, got), different[l], "different"
		if m := more[l]; m != "" {
			why, list = m, "more"
		}
		says := saysAll(got.Stderr, want.Stderr)
		if says {
			got.Stderr = want.Stderr
		}
		switch says = says && cmp.Diff(want, got) == ""; {
		case d == "" && why == "":
			same++
		case d == "":
			t.Errorf("%s: is the same now; take it off the list %s", l, list)
		case why == "":
			t.Errorf("%s: -NVIDIA +ours\n%s", l, d)
		case says != (list == "more"):
			t.Errorf("%s: is on the list %s; that ours answers all that NVIDIA's does is %v\n%s", l, list, says, d)
		case says:
			saysMore++
			t.Logf("says more: tileiras %s: %s", l, why)
		default:
			t.Logf("wanted difference: tileiras %s: %s", l, why)
		}
	}
	for _, list := range []map[string]string{more, different} {
		for l := range list {
			if !slices.Contains(lines, l) {
				t.Errorf("%s is listed and is no command line", l)
			}
		}
	}
	t.Logf("of %d command lines %d are answered the same, %d with more words, %d otherwise", len(lines), same, saysMore, len(different))
	if len(more)+len(different) > len(lines)/6 {
		t.Errorf("only %d of %d are the same", same, len(lines))
	}
}

// saysAll reports whether a text has every line of another, in order, maybe after a place.
func saysAll(ours, theirs string) bool {
	lines := strings.Split(ours, "\n")
	for _, want := range strings.Split(theirs, "\n") {
		at := slices.IndexFunc(lines, func(l string) bool {
			return l == want || strings.HasPrefix(l, "loc(") && strings.HasSuffix(l, "): "+want)
		})
		if at < 0 {
			return false
		}
		lines = lines[at+1:]
	}
	return true
}
