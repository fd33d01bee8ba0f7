//go:build cgo

package main

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"tileiras"
	"tileiras/internal/library"
	"tileiras/runtime/executor"
)

// options are Options that several threads may change and use.
type options struct {
	mu  sync.Mutex
	o   tileiras.Options
	run executor.Options
}

// set sets the option of a name. A value that is refused changes nothing.
func (o *options) set(name, value string) bool {
	i := slices.IndexFunc(library.Options, func(row library.Option) bool { return row.Name == name })
	if i < 0 {
		return false
	}
	row := &library.Options[i]
	o.mu.Lock()
	defer o.mu.Unlock()
	compile, run := o.o, o.run
	if !assign(row, value, &compile, &run) {
		return false
	}
	o.o, o.run = compile, run
	return true
}

// assign sets what an option sets, and reports whether the option can have the value. Of a compile, the compile judges texts.
func assign(row *library.Option, value string, compile *tileiras.Options, run *executor.Options) (ok bool) {
	if (row.Program || row.Kind != library.Text) && row.Values != nil && !slices.Contains(row.Values, value) {
		return false
	}
	of := reflect.ValueOf(compile)
	if row.Program {
		of = reflect.ValueOf(run)
	}
	switch field := of.Elem().FieldByName(row.Field); {
	case row.Name == "opt":
		compile.Opt = tileiras.O0 + tileiras.OptLevel(value[0]-'0')
	case row.Name == "checks":
		run.Checks, ok = executor.ChecksOf(value)
		return ok
	case row.Name == "undefined":
		run.ZeroPadding = value == "zero"
	case row.Kind == library.Flag:
		field.SetBool(value == "1")
		return value == "0" || value == "1"
	case row.Kind == library.Number:
		n, err := strconv.ParseInt(value, 10, field.Type().Bits())
		field.SetInt(n)
		return err == nil && (!row.Program || n >= 0 && n < mostWorkers)
	case row.Kind == library.Seconds:
		s, err := strconv.ParseFloat(value, 64)
		field.SetInt(int64(s * float64(time.Second)))
		return err == nil && s >= 0 && s < 1e9
	default:
		field.SetString(value)
	}
	return true
}

// called is what messages call a field: the name of the option that sets it.
func called(field string) string {
	if i := slices.IndexFunc(library.Options, func(row library.Option) bool { return row.Field == field }); i >= 0 {
		return library.Options[i].Name
	}
	return field
}

// mostWorkers bounds what the option workers can be.
const mostWorkers = 1 << 10

// executor are the options of a program that runs on this machine, which ends with PTX in the launch convention of CUDA whatever else compiles do.
func (o *options) executor() (executor.Options, error) {
	o.mu.Lock()
	compile, run := o.o, o.run
	o.mu.Unlock()
	compile.Emit, compile.ABI, compile.StopAfter = "", "", ""
	library.Call(&compile, called)
	d, err := library.Driver(&compile)
	run.Name, run.GPU, run.Code, run.Called = cmp.Or(compile.Name, "input"), d.GPU, d.Code, d.Called
	run.TimeLimit, run.MemoryLimit, run.ReproducerDir = d.TimeLimit, d.MemoryLimit, d.ReproducerDir
	return run, err
}
