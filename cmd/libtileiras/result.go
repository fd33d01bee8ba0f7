//go:build cgo

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tileiras"
	"tileiras/internal/driver"
	"tileiras/internal/library"
)

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
