//go:build cgo

package main

import (
	"cmp"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tileiras"
	"tileiras/internal/driver"
)

// ofGoAlone are the fields that show what happens inside, or change what is read: programs that compile kernels want none of them.
var ofGoAlone = []string{"Log", "PrintAfterAll", "PrintBefore", "PrintAfter", "PrintChanged", "PrintFacts", "DebugInfo", "VerifyEach", "StopAfter",
	"ReproducerDir", "Strict131", "Preview", "called"}

// TestEveryOptionHasAName: what the Go library can be asked for, the C library can, under a name that sets one field.
func TestEveryOptionHasAName(t *testing.T) {
	named := map[string]string{}
	for name := range setters { // each by itself: the order cannot matter
		var o options
		if !o.set(name, "1") {
			t.Errorf("%s does not take 1", name)
		}
		set := reflect.ValueOf(o.o)
		for i := range set.NumField() {
			if field := set.Type().Field(i).Name; !set.Field(i).IsZero() {
				if other := named[field]; other != "" {
					t.Errorf("%s and %s both set %s", name, other, field)
				}
				named[field] = name
			}
		}
	}
	all := reflect.TypeFor[tileiras.Options]()
	for i := range all.NumField() {
		if field := all.Field(i).Name; (named[field] == "") != slices.Contains(ofGoAlone, field) {
			t.Errorf("the option %s has the name %q", field, named[field])
		} else if name := cmp.Or(named[field], field); called(field) != name {
			t.Errorf("messages call the option %s %s", name, called(field))
		}
	}
}

// TestTheHeaderListsEveryOption: who programs in C reads the header.
func TestTheHeaderListsEveryOption(t *testing.T) {
	header, err := os.ReadFile("tileiras.h")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(setters)), slices.Collect(maps.Keys(executors))) { // each by itself: the order cannot matter
		if !strings.Contains(string(header), "\n *   "+name+" ") {
			t.Errorf("tileiras.h does not say what %s is", name)
		}
	}
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

// TestAPanicDoesNotEndTheHost: it is a result.
func TestAPanicDoesNotEndTheHost(t *testing.T) {
	var r result
	r.guard(func() error { panic("planted") })
	if r.code != driver.ExitBug || r.message != "BUG: planted" || len(r.diags) != 1 || r.diags[0].Kind != "bug" {
		t.Errorf("code %d, %q, %v", r.code, r.message, r.diags)
	}
}
