package driver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoOutputIsLost: no output takes the place of an input or of another output, whatever names they have.
func TestNoOutputIsLost(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.WriteFile("k.tileir", []byte("x"), 0o644), os.Mkdir("sub", 0o755), os.Link("k.tileir", "hard"),
		os.Symlink("k.tileir", "soft"), os.Symlink(".", "here"), os.Symlink("new.ptx", "dangling"), os.Symlink("sub", "deep")); err != nil {
		t.Skip("no such links here: ", err)
	}
	pwd, _ := os.Getwd()
	remarks := "--remarks=all --remark-format=yaml --remarks-output-file="
	for _, tt := range []struct{ line, want string }{
		{"-o k.tileir", "-o would overwrite the input 'k.tileir'"},
		{"-o ./sub/../k.tileir", "-o would overwrite the input 'k.tileir'"},
		{"-o hard", "-o would overwrite"},
		{"-o soft", "-o would overwrite"},
		{"-o here/here/k.tileir", "-o would overwrite"},
		{"-o new.ptx --metadata=k.tileir", "--metadata would overwrite the input 'k.tileir'"},
		{"-o new.ptx " + remarks + "soft", "--remarks-output-file would overwrite the input"},
		{"-o new.ptx --ptxas=hard --metadata=./hard", "--metadata would overwrite"},
		{"-o new.ptx --metadata=new.ptx", "-o and --metadata both write 'new.ptx'"},
		{"-o new.ptx --metadata=./sub/../new.ptx", "-o and --metadata both write"},
		{"-o new.ptx --metadata=" + filepath.Join(pwd, "new.ptx"), "-o and --metadata both write"},
		{"-o new.ptx --metadata=here/new.ptx", "-o and --metadata both write"},
		{"-o new.ptx --metadata=dangling", "-o and --metadata both write"},
		{"-o sub/x --metadata=deep/x", "-o and --metadata both write"},
		{"-o m.ptx --metadata=m.json " + remarks + "m.json", "--metadata and --remarks-output-file both write 'm.json'"},
		{"-o - --metadata=-", "-o and --metadata both write standard output"},
		{"-o sub", "cannot open output file 'sub': Is a directory"},
		{"-o new.ptx --metadata=sub", "cannot open output file 'sub': Is a directory"},
		{"-o new.ptx --metadata=m.json " + remarks + "r.yaml", ""},
		{"-o new.ptx --metadata= --remarks-output-file=k.tileir", ""}, // neither is written
		{"-o x --metadata=sub/x", ""},
		{"-o - --metadata=m.json", ""},
		{"-o " + os.DevNull + " --metadata=" + os.DevNull, ""}, // a device loses nothing
	} {
		line, err := TileirasCommand().Parse(append([]string{"k.tileir"}, strings.Fields(tt.line)...))
		if err != nil {
			t.Fatal(err)
		}
		if err = line.CheckFiles(); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.line, err, tt.want)
		}
	}
}

// TestStandardStreamsAreFilesToo: what standard input comes from is an input.
func TestStandardStreamsAreFilesToo(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("k.tileir", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open("k.tileir")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer func(old *os.File) { os.Stdin = old }(os.Stdin)
	os.Stdin = in
	for _, args := range [][]string{{"-o", "k.tileir"}, {"-o", "k.tileir", "-"}} {
		line, err := TileOptCommand().Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		if err := line.CheckFiles(); err == nil || !strings.Contains(err.Error(), "-o would overwrite standard input") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestFlagsOfFilesSaySo: a flag whose value is a file reads or writes it.
func TestFlagsOfFilesSaySo(t *testing.T) {
	for _, c := range []*Command{TileirasCommand(), TileOptCommand(), TileTranslateCommand(), TileIRDisasmCommand()} {
		for _, f := range c.Flags {
			if strings.HasPrefix(f.Meta, "file") && f.Reads == nil && f.Writes == nil {
				t.Errorf("%s --%s reads or writes a file: its row must say which", c.Name, f.Name)
			}
		}
	}
}
