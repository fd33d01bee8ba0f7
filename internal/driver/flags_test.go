package driver

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

var commands = []*Command{TileirasCommand(), TileOptCommand(), TileTranslateCommand(), TileIRDisasmCommand()}

func parse(t *testing.T, c *Command, line string) *Line {
	t.Helper()
	l, err := c.Parse(strings.Fields(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return l
}

// TestFlagsSetTheirFields sets every flag that is bound to a field of Options and finds the value there, and nothing else changed.
func TestFlagsSetTheirFields(t *testing.T) {
	for _, c := range commands {
		fields := map[any]string{}
		var probe Options
		for _, f := range c.Flags {
			if f.Field == nil {
				continue
			}
			if other, ok := fields[f.Field(&probe)]; ok {
				t.Errorf("%s: --%s and --%s set one field", c.Name, f.Name, other)
			}
			fields[f.Field(&probe)] = f.Name
			value := map[FlagKind]string{BoolFlag: "true", StringFlag: "x", OptionalFlag: "x", IntFlag: "2", SecondsFlag: "0.5", ListFlag: "x"}[f.Kind]
			if len(f.Values) > 0 {
				value = f.Values[len(f.Values)-1].Name // the first may be the default
			}
			before, got := parse(t, c, "k").Options(), parse(t, c, "--"+f.Name+"="+value).Options()
			if reflect.DeepEqual(before, got) {
				t.Errorf("%s: --%s=%s sets nothing", c.Name, f.Name, value)
			}
			b, g := reflect.ValueOf(f.Field(&before)).Elem(), reflect.ValueOf(f.Field(&got)).Elem()
			b.Set(g)
			if !reflect.DeepEqual(before, got) {
				t.Errorf("%s: --%s=%s sets another field too", c.Name, f.Name, value)
			}
		}
	}
	o := parse(t, TileirasCommand(), "-O1 --ptxas-timeout=7 --emit llvm --print-after a,b --print-after=c --sanitize=memcheck").Options()
	if o.Opt != 1 || o.PtxasTimeout.Seconds() != 7 || o.Emit != EmitLLVM || !slices.Equal(o.PrintAfter, []string{"a", "b", "c"}) || !o.Sanitize {
		t.Errorf("%+v", o)
	}
}

// TestUnknownFlagNames: the code that asks a command line for a flag that its table does not have is wrong, and hears of it.
func TestUnknownFlagNames(t *testing.T) {
	l := parse(t, TileirasCommand(), "k")
	for name, ask := range map[string]func(){
		"String": func() { l.String("nosuch") }, "Bool": func() { l.Bool("nosuch") }, "List": func() { l.List("nosuch") },
		"Int": func() { l.Int("nosuch") }, "Given": func() { l.Given("nosuch") }, "List of no list": func() { l.List("emit") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a flag that is not there says nothing", name)
				}
			}()
			ask()
		}()
	}
}

// TestGroups reads flags of one letter in one word, as LLVM's tools do.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		line, output string
		debug        bool
		opt          int
	}{
		{"-gO0 k", "elf.o", true, 0},
		{"-go f k", "f", true, 3},
		{"-ggg k", "elf.o", true, 3},
		{"-go=f k", "f", true, 3},
		{"--O1 k", "elf.o", false, 1},
		{"-g=0 -O0x2 k", "elf.o", false, 2},
	} {
		l := parse(t, TileirasCommand(), c.line)
		if o := l.Options(); o.Debug != c.debug || o.Opt != c.opt || l.String("output-file") != c.output || !slices.Equal(l.Args, []string{"k"}) {
			t.Errorf("%s: %+v, output %s, inputs %v", c.line, o, l.String("output-file"), l.Args)
		}
	}
	for line, want := range map[string]string{
		"-gx":    "tileiras: Unknown command line argument '-gx'.  Try: 'tileiras --help'\ntileiras: Did you mean '-g'?",
		"-goF":   "tileiras: for the -o option: may not occur within a group!\ntileiras: Unknown command line argument '-goF'.  Try: 'tileiras --help'\ntileiras: Did you mean '-g'?",
		"-gO":    "tileiras: for the -O option: requires a value!",
		"-Og":    "tileiras: for the --opt-level option: 'g' value invalid for integer argument!",
		"-O+1":   "tileiras: for the --opt-level option: '+1' value invalid for integer argument!",
		"--ar=x": "tileiras: Unknown command line argument '--ar=x'.  Try: 'tileiras --help'\ntileiras: Did you mean '--arch=x'?",
	} {
		if _, err := TileirasCommand().Parse([]string{line}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", line, err)
		}
	}
	if l := parse(t, TileirasCommand(), "-gh --nosuch"); l.Immediate != "help" || len(l.Problems) > 0 {
		t.Errorf("-gh: %+v", l)
	}
}
