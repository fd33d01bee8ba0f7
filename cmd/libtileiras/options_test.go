//go:build cgo

package main

import (
	"reflect"
	"slices"
	"testing"

	"tileiras"
	"tileiras/internal/driver"
)

// ofGoAlone are the fields that show what happens inside, or change what is read: programs that compile kernels want none of them.
var ofGoAlone = []string{"Log", "PrintAfterAll", "PrintBefore", "PrintAfter", "PrintChanged", "PrintFacts", "DebugInfo", "VerifyEach", "StopAfter",
	"ReproducerDir", "Strict131", "Preview"}

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
		before := reflect.ValueOf(o.code()).Field(i).Interface()
		switch f := reflect.ValueOf(&o.o).Elem().FieldByName(name); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("8.4")
		case reflect.Int:
			f.SetInt(2)
		default:
			f.SetUint(2)
		}
		if reflect.ValueOf(o.code()).Field(i).Interface() == before {
			t.Errorf("the emulator runs code without the %s that was asked for", name)
		}
	}
}
