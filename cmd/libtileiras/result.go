//go:build cgo

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"tileiras"
	"tileiras/internal/driver"
	"tileiras/internal/library"
	"tileiras/runtime/executor"
)

// options are Options that several threads may change and use.
type options struct {
	mu  sync.Mutex
	o   tileiras.Options
	run executor.Options
}

// executors has a row for each option of programs that run on this machine.
var executors = map[string]func(o *executor.Options, value string) bool{
	"engine": func(o *executor.Options, v string) bool {
		ok := v == string(executor.Interpreter) || v == string(executor.Emulator)
		if ok {
			o.Engine = executor.Engine(v)
		}
		return ok
	},
	"checks": func(o *executor.Options, v string) bool {
		c, ok := executor.ChecksOf(v)
		if ok {
			o.Checks = c
		}
		return ok
	},
	"undefined": func(o *executor.Options, v string) bool {
		ok := v == "zero" || v == "error"
		if ok {
			o.ZeroPadding = v == "zero"
		}
		return ok
	},
	"equal_stores": func(o *executor.Options, v string) bool { return flag(&o.EqualStores, v) },
	"workers": func(o *executor.Options, v string) bool {
		n, err := strconv.ParseUint(v, 10, 10)
		if err == nil {
			o.Workers = int(n)
		}
		return err == nil
	},
}

// setter sets the field of an option, and reports whether the value can be one.
type setter struct {
	field string
	set   func(o *tileiras.Options, value string) bool
}

// setters has a row for each option.
var setters = map[string]setter{
	"gpu":              {"GPU", func(o *tileiras.Options, v string) bool { o.GPU = v; return true }},
	"emit":             {"Emit", func(o *tileiras.Options, v string) bool { o.Emit = tileiras.Level(v); return true }},
	"abi":              {"ABI", func(o *tileiras.Options, v string) bool { o.ABI = tileiras.ABI(v); return true }},
	"name":             {"Name", func(o *tileiras.Options, v string) bool { o.Name = v; return true }},
	"bytecode_version": {"BytecodeVersion", func(o *tileiras.Options, v string) bool { o.BytecodeVersion = v; return true }},
	"cache":            {"Cache", func(o *tileiras.Options, v string) bool { o.Cache = v; return true }},
	"ptxas":            {"Ptxas", func(o *tileiras.Options, v string) bool { o.Ptxas = v; return true }},
	"sanitize":         {"Sanitize", func(o *tileiras.Options, v string) bool { return flag(&o.Sanitize, v) }},
	"roles":            {"Roles", func(o *tileiras.Options, v string) bool { o.Roles = tileiras.Roles(v); return true }},
	"tf32":             {"TF32", func(o *tileiras.Options, v string) bool { o.TF32 = tileiras.TF32(v); return true }},
	"tma":              {"TMA", func(o *tileiras.Options, v string) bool { return flag(&o.TMA, v) }},
	"slices_k":         {"SlicesK", func(o *tileiras.Options, v string) bool { return number(&o.SlicesK, v) }},
	"max_ptx":          {"MaxPTX", func(o *tileiras.Options, v string) bool { o.MaxPTX = v; return true }},
	"max_shared":       {"MaxShared", func(o *tileiras.Options, v string) bool { return number(&o.MaxShared, v) }},
	"lineinfo":         {"LineInfo", func(o *tileiras.Options, v string) bool { return flag(&o.LineInfo, v) }},
	"remarks":          {"Remarks", func(o *tileiras.Options, v string) bool { return flag(&o.Remarks, v) }},
	"opt": {"Opt", func(o *tileiras.Options, v string) bool {
		n, err := strconv.ParseUint(v, 10, 8)
		o.Opt = tileiras.O0 + tileiras.OptLevel(n)
		return err == nil && n <= 3
	}},
	"time_limit":     {"TimeLimit", func(o *tileiras.Options, v string) bool { return seconds(&o.TimeLimit, v) }},
	"cache_patience": {"CachePatience", func(o *tileiras.Options, v string) bool { return seconds(&o.CachePatience, v) }},
	"memory_limit": {"MemoryLimit", func(o *tileiras.Options, v string) bool {
		n, err := strconv.ParseInt(v, 10, 64)
		o.MemoryLimit = n
		return err == nil
	}},
}

// called is what messages call a field: the name of its option, which tileiras_set takes.
func called(field string) string {
	for name, s := range setters {
		if s.field == field {
			return name
		}
	}
	return field
}

// executor are the options of a program that runs on this machine, which ends with PTX in the launch convention of CUDA whatever else compiles do.
func (o *options) executor() (executor.Options, error) {
	o.mu.Lock()
	compile, run := o.o, o.run
	o.mu.Unlock()
	compile.Emit, compile.ABI = "", ""
	library.Call(&compile, called)
	d, err := library.Driver(&compile)
	run.Name, run.GPU, run.Code, run.Called = cmp.Or(compile.Name, "input"), d.GPU, d.Code, d.Called
	run.TimeLimit, run.MemoryLimit = d.TimeLimit, d.MemoryLimit
	return run, err
}

func flag(b *bool, value string) bool {
	*b = value == "1"
	return value == "0" || value == "1"
}

func seconds(d *time.Duration, value string) bool {
	s, err := strconv.ParseFloat(value, 64)
	if err != nil || !(s >= 0 && s < 1e9) {
		return false
	}
	*d = time.Duration(s * float64(time.Second))
	return true
}

func number(n *int, value string) (ok bool) {
	var err error
	*n, err = strconv.Atoi(value)
	return err == nil
}

// set sets the option of a name. A value that is refused changes nothing.
func (o *options) set(name, value string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return try(&o.o, setters[name].set, value) || try(&o.run, executors[name], value)
}

// try keeps what a setter, if there is one, makes of a value that it takes.
func try[T any](o *T, set func(*T, string) bool, value string) bool {
	with := *o
	ok := set != nil && set(&with, value)
	if ok {
		*o = with
	}
	return ok
}

// result is what one compile left.
type result struct {
	code    int
	output  []byte
	message string
	diags   []tileiras.Diagnostic
	res     *tileiras.Result // nil after an error
	texts   texts
}

func compile(ctx context.Context, source []byte, opts *options) *result {
	opts.mu.Lock()
	o := opts.o
	opts.mu.Unlock()
	library.Call(&o, called)
	r := &result{}
	r.guard(func() error {
		res, err := tileiras.Compile(ctx, source, o)
		if err == nil {
			r.output, r.diags, r.res = res.Output, res.Diagnostics, res
		}
		return err
	})
	return r
}

// guard does what a host asks for and notes what went wrong: a panic must not end the host.
func (r *result) guard(do func() error) {
	defer func() {
		if x := recover(); x != nil {
			d := tileiras.Diagnostic{Severity: tileiras.SeverityError, Kind: tileiras.KindBug, Message: fmt.Sprintf("BUG: %v", x)}
			r.code, r.message, r.diags = driver.ExitBug, d.Message, []tileiras.Diagnostic{d}
		}
	}()
	if err := do(); err != nil {
		r.fail(err)
	}
}

// fail notes an error.
func (r *result) fail(err error) {
	var e *tileiras.Error
	errors.As(library.Error(err), &e)
	r.code, r.message, r.diags = e.Code, e.Error(), e.Diagnostics
}

// failed is the result of an error.
func failed(err error) *result {
	r := &result{}
	r.fail(err)
	return r
}

// misuse is the result of a call that makes no sense.
func misuse(text string) *result {
	d := tileiras.Diagnostic{Severity: tileiras.SeverityError, Kind: tileiras.KindOption, Message: text}
	return &result{code: 1, message: d.String(), diags: []tileiras.Diagnostic{d}}
}

// json makes a part as JSON; ok is false for a name that is none.
func (r *result) json(part string) (text func() []byte, ok bool) {
	switch part {
	case "diagnostics":
		return func() []byte { return diagnosticsJSON(r.diags) }, true
	case "metadata":
		return func() []byte {
			if r.res == nil || r.res.Metadata() == nil {
				return []byte("null")
			}
			return r.res.Metadata()
		}, true
	case "remarks":
		return func() []byte {
			if r.res == nil {
				return []byte("[]")
			}
			return r.res.RemarksJSON()
		}, true
	}
	return nil, false
}

func (r *result) explain() []byte {
	if r.res == nil {
		return nil
	}
	return []byte(r.res.Explain())
}

func diagnosticsJSON(list []tileiras.Diagnostic) []byte {
	type object struct {
		Severity tileiras.Severity `json:"severity"`
		Kind     tileiras.Kind     `json:"kind"`
		Message  string            `json:"message"`
		File     string            `json:"file"`
		Line     int               `json:"line"`
		Column   int               `json:"column"`
		Notes    []object          `json:"notes"`
	}
	var convert func(list []tileiras.Diagnostic) []object
	convert = func(list []tileiras.Diagnostic) []object {
		out := make([]object, len(list))
		for i, d := range list {
			out[i] = object{d.Severity, d.Kind, d.Message, d.Place.File, d.Place.Line, d.Place.Column, convert(d.Notes)}
		}
		return out
	}
	text, err := json.MarshalIndent(convert(list), "", "  ")
	if err != nil {
		panic(fmt.Sprint("BUG: ", err)) // strings and numbers only
	}
	return text
}
