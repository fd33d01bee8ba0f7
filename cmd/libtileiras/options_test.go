//go:build cgo

package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tileiras"
	"tileiras/internal/driver"
	"tileiras/internal/library"
)

// ofGoAlone are the fields that show what happens inside, or change what is read: programs that compile kernels want none of them.
var ofGoAlone = []string{"Log", "PrintAfterAll", "PrintBefore", "PrintAfter", "PrintChanged", "PrintFacts", "DebugInfo", "VerifyEach", "Strict131", "Preview",
	"called"}

// TestEveryOptionHasAName: what the Go library can be asked for, the C library can, under a name that sets its field and no other.
func TestEveryOptionHasAName(t *testing.T) {
	named := map[string]bool{}
	for _, row := range library.Options {
		value := "1"
		if row.Values != nil {
			value = row.Values[len(row.Values)-1]
		} else if row.Name == "checks" {
			value = "races"
		}
		var o options
		if !o.set(row.Name, value) {
			t.Errorf("%s does not take %s", row.Name, value)
		}
		var set []string
		for _, of := range []reflect.Value{reflect.ValueOf(o.o), reflect.ValueOf(o.run)} {
			for i := range of.NumField() {
				if !of.Field(i).IsZero() {
					set = append(set, of.Type().Field(i).Name)
				}
			}
		}
		if !slices.Equal(set, []string{row.Field}) {
			t.Errorf("%s sets %v", row.Name, set)
		}
		named[row.Field] = named[row.Field] || !row.Program
		if name := called(row.Field); name != row.Name {
			t.Errorf("messages call the option %s %s", row.Name, name)
		}
	}
	all := reflect.TypeFor[tileiras.Options]()
	for i := range all.NumField() {
		if field := all.Field(i).Name; named[field] == slices.Contains(ofGoAlone, field) {
			t.Errorf("the option %s has a name: %v", field, named[field])
		}
	}
}

// TestValuesAreThoseThatThereAre: a text that an option of a compile cannot be is refused by the compile, which lists what the table does.
func TestValuesAreThoseThatThereAre(t *testing.T) {
	for _, row := range library.Options {
		var o options
		switch ok := o.set(row.Name, "zzz"); {
		case ok != (row.Kind == library.Text && !row.Program || row.Kind == library.File):
			t.Errorf("%s takes any text: %v", row.Name, ok)
		case ok && row.Values != nil:
			said := compile(t.Context(), []byte("entry @k() { return }"), &o).message
			_, list, _ := strings.Cut(said, "it is one of ")
			listed := strings.Fields(list)
			slices.Sort(listed)
			if have := slices.Sorted(slices.Values(row.Values)); !slices.Equal(listed, have) {
				t.Errorf("%s: %s\nthe table has %v", row.Name, said, have)
			}
		}
	}
}

// TestTheHeaderListsEveryOption: who programs in C reads the header.
func TestTheHeaderListsEveryOption(t *testing.T) {
	header, err := os.ReadFile("tileiras.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range library.Options {
		if line := fmt.Sprintf("\n *   %-17s %s\n", row.Name, inC(row)); !strings.Contains(string(header), line) {
			t.Errorf("tileiras.h has no line%s", line)
		}
	}
}

// inC is what the header says of an option.
func inC(row library.Option) string {
	values := row.Values
	if row.Kind == library.Flag {
		values, row.Default = []string{"0", "1"}, "0"
	}
	if values == nil {
		return row.Help
	}
	text := strings.Join(values, ", ")
	if row.Default != "" {
		text = strings.Replace(text, row.Default, row.Default+" (default)", 1)
	}
	return text + ": " + row.Help
}

// TestRefusedValuesChangeNothing: an option stays what it was when its new value is none.
func TestRefusedValuesChangeNothing(t *testing.T) {
	for _, name := range []string{"opt", "lineinfo", "remarks", "sanitize", "tma", "slices_k", "max_shared", "time_limit", "memory_limit", "workers", "equal_stores"} {
		var o options
		if !o.set(name, "1") {
			t.Errorf("%s does not take 1", name)
		}
		was := []any{o.o, o.run}
		if o.set(name, "fast") {
			t.Errorf("%s takes what is no number", name)
		}
		if name == "opt" && o.set(name, "4") {
			t.Errorf("%s takes 4", name)
		}
		if now := []any{o.o, o.run}; !reflect.DeepEqual(was, now) {
			t.Errorf("%s is another one after it refused a value", name)
		}
	}
}

// TestTheEmulatorRunsTheCodeThatIsAskedFor: options of the code are those of programs that run on this machine, too, but for the launch convention
// and for lines, which they have always.
func TestTheEmulatorRunsTheCodeThatIsAskedFor(t *testing.T) {
	all := reflect.TypeFor[driver.Code]()
	for i := range all.NumField() {
		name := all.Field(i).Name
		if slices.Contains([]string{"ABI", "LineInfo", "Debug"}, name) {
			continue
		}
		var o options
		code := func() any {
			run, err := o.executor()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return reflect.ValueOf(run.Code).Field(i).Interface()
		}
		before := code()
		switch f := reflect.ValueOf(&o.o).Elem().FieldByName(name); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString(map[string]string{"Roles": "on", "TF32": "truncated", "MaxPTX": "8.4"}[name])
		case reflect.Int:
			f.SetInt(2)
		default:
			f.SetUint(2)
		}
		if code() == before {
			t.Errorf("the emulator runs code without the %s that was asked for", name)
		}
	}
}

// TestAFailedLoadSaysWhere: a program that cannot be loaded has the diagnostics that a compile of it has, and its limits.
func TestAFailedLoadSaysWhere(t *testing.T) {
	const viewed = "cuda_tile.module @m {\n  entry @k(%v: tensor_view<8xf32, strides=[1]>) { return }\n}"
	for _, engine := range []string{"interp", "emu"} {
		for name, c := range map[string]struct {
			option, value string
			kind          tileiras.Kind
		}{
			"a rule":   {"lineinfo", "0", "verify"},
			"time":     {"time_limit", "1e-9", "deadline"},
			"memory":   {"memory_limit", "1", "memory"},
			"a gpu":    {"gpu", "sm_9", "option"},
			"a roles":  {"roles", "some", "option"},
			"a level":  {"emit", "cubin", "verify"}, // no other than PTX runs
			"a number": {"slices_k", "3", "option"},
		} {
			var o options
			if !o.set("engine", engine) || !o.set("name", "k.tileir") || !o.set(c.option, c.value) {
				t.Fatal(name)
			}
			p := load(t.Context(), []byte(viewed), &o)
			if p.prog != nil || p.code == 0 || p.message == "" || len(p.diags) == 0 || p.diags[0].Kind != c.kind {
				t.Errorf("%s, %s: code %d, %v", engine, name, p.code, p.diags)
				continue
			}
			if c.kind == "option" && !strings.HasPrefix(p.diags[0].Message, c.option+" = ") {
				t.Errorf("%s, %s: %q does not begin with the name of the option", engine, name, p.diags[0].Message)
			}
			if place := p.diags[0].Place; c.kind == "verify" && (place.File != "k.tileir" || place.Line != 2) {
				t.Errorf("%s, %s: the place is %v", engine, name, place)
			}
		}
	}
}

// TestAFreedTokenEndsNothing: who has begun a compile with it may free it.
func TestAFreedTokenEndsNothing(t *testing.T) {
	h := tileiras_cancel_new()
	freed, _ := object[*token](h)
	if tileiras_free(h); freed.ctx.Err() != nil {
		t.Error("it ends what was given it")
	}
}

// TestAPanicDoesNotEndTheHost: it is a result.
func TestAPanicDoesNotEndTheHost(t *testing.T) {
	var r result
	r.guard(func() error { panic("planted") })
	if r.code != driver.ExitBug || r.message != "BUG: planted" || len(r.diags) != 1 || r.diags[0].Kind != "bug" {
		t.Errorf("code %d, %q, %v", r.code, r.message, r.diags)
	}
}
