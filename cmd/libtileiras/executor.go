package main

/*
#include "tileiras.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"tileiras/runtime/executor"
)

// program is a module ready to run, or what is wrong with it.
type program struct {
	result
	prog *executor.Program
}

// running is a launch, from when it begins.
type running struct {
	result
	cancel context.CancelFunc
	done   atomic.Int64
	blocks int64
	ended  chan struct{} // closed when result, report, fault and wall are there
	report *executor.Report
	fault  *executor.Fault
	wall   time.Duration
}

// stdout is the standard output of the process, for what kernels print.
var stdout io.Writer = os.Stdout

//export tileiras_load
func tileiras_load(source C.tileiras_data, size C.size_t, o, cancel C.tileiras_handle) C.tileiras_handle {
	ctx, opts, wrong := inputs(source, size, o, cancel)
	if wrong != nil {
		return handle(wrong)
	}
	return handle(load(ctx, unsafe.Slice((*byte)(source), int(size)), opts))
}

func load(ctx context.Context, source []byte, opts *options) *program {
	p := &program{}
	p.guard(func() error {
		run, err := opts.executor()
		if err != nil {
			return err
		}
		prog, err := executor.Load(ctx, source, run)
		if err == nil {
			p.prog = prog
		}
		return err
	})
	return p
}

//export tileiras_launch
func tileiras_launch(h C.tileiras_handle, kernel C.tileiras_text, grid C.tileiras_grid, params C.tileiras_params,
	memory C.tileiras_memory, regions C.size_t) C.tileiras_handle {
	p, ok := object[*program](h)
	if !ok || p.prog == nil {
		return ended("program is no handle of a program that was loaded")
	}
	if kernel == nil || grid == nil || memory == nil && regions > 0 {
		return ended("kernel, grid or memory is NULL")
	}
	l := &executor.Launch{Kernel: C.GoString(kernel), Stdout: stdout}
	for i, n := range unsafe.Slice(grid, 3) {
		l.Grid[i] = int(n)
	}
	k, err := p.prog.Kernel(l.Kernel)
	if err != nil {
		return ended(err.Error())
	}
	if params == nil && len(k.Params) > 0 {
		return ended("params is NULL")
	}
	for i, q := range unsafe.Slice(params, len(k.Params)) {
		if q == nil {
			return ended(fmt.Sprintf("parameter %d is NULL", i))
		}
		l.Params = append(l.Params, append([]byte(nil), unsafe.Slice((*byte)(q), k.Params[i].Size)...))
	}
	for _, r := range unsafe.Slice(memory, int(regions)) {
		name := "memory"
		if r.name != nil {
			name = C.GoString(r.name)
		}
		if err := memoryAt(r.data, uint64(r.size)); err != nil {
			return ended(fmt.Sprintf("the memory %s is %s", name, err))
		}
		data := unsafe.Slice((*byte)(r.data), int(r.size))
		l.Memory = append(l.Memory, executor.Region{Name: name, Address: uint64(r.address), Data: data, ReadOnly: r.read_only != 0})
	}
	return handle(begin(p.prog, l))
}

// begin starts a launch and returns at once.
func begin(p *executor.Program, l *executor.Launch) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, ended: make(chan struct{}), blocks: l.Blocks()}
	l.Done = &r.done
	go func() {
		defer close(r.ended)
		defer cancel()
		defer func() {
			if x := recover(); x != nil {
				r.code, r.message = C.TILEIRAS_BUG, fmt.Sprintf("BUG: %v", x)
			}
		}()
		start := time.Now()
		report, err := p.Launch(ctx, l)
		r.wall = time.Since(start)
		r.report = report
		switch {
		case errors.As(err, &r.fault):
			r.code, r.message = C.TILEIRAS_FAULT, err.Error()
		case errors.Is(err, context.Canceled):
			r.code, r.message = C.TILEIRAS_UNSUPPORTED, "the launch was canceled"
		case err != nil:
			r.code, r.message = C.TILEIRAS_USAGE, err.Error()
		}
	}()
	return r
}

// ended is a launch that makes no sense.
func ended(text string) C.tileiras_handle {
	r := &running{result: result{code: 1, message: text}, cancel: func() {}, ended: make(chan struct{})}
	close(r.ended)
	return handle(r)
}

//export tileiras_wait
func tileiras_wait(h C.tileiras_handle, milliseconds C.int) C.int {
	r, ok := object[*running](h)
	if !ok {
		return -1
	}
	select {
	case <-r.ended:
		return 1
	default:
	}
	if milliseconds == 0 {
		return 0
	}
	if milliseconds < 0 {
		<-r.ended
		return 1
	}
	t := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer t.Stop()
	select {
	case <-r.ended:
		return 1
	case <-t.C:
		return 0
	}
}

//export tileiras_progress
func tileiras_progress(h C.tileiras_handle, blocks *C.int64_t) C.int64_t {
	r, ok := object[*running](h)
	if !ok {
		return -1
	}
	if blocks != nil {
		*blocks = C.int64_t(r.blocks)
	}
	select {
	case <-r.ended:
		if r.report != nil {
			return C.int64_t(r.report.Blocks)
		}
	default:
	}
	return C.int64_t(r.done.Load())
}

// kernelJSON is what the part "kernels" says of a kernel.
type kernelJSON struct {
	Name   string      `json:"name"`
	Params []paramJSON `json:"params"`
}

type paramJSON struct {
	Type string `json:"type"`
	Size int    `json:"size"`
}

func (p *program) json(part string) (func() []byte, bool) {
	if part != "kernels" {
		return p.result.json(part)
	}
	return func() []byte {
		list := []kernelJSON{}
		if p.prog != nil {
			for _, k := range p.prog.Kernels() {
				j := kernelJSON{Name: k.Name, Params: []paramJSON{}}
				for _, q := range k.Params {
					j.Params = append(j.Params, paramJSON{q.Type, q.Size})
				}
				list = append(list, j)
			}
		}
		return encode(list)
	}, true
}

type placeJSON struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

func placesJSON(places []executor.Place) []placeJSON {
	out := []placeJSON{}
	for _, p := range places {
		out = append(out, placeJSON(p))
	}
	return out
}

type otherJSON struct {
	Write  bool        `json:"write"`
	Places []placeJSON `json:"places"`
	Block  [3]int      `json:"block"`
}

type faultJSON struct {
	Kind    executor.FaultKind `json:"kind"`
	Message string             `json:"message"`
	Kernel  string             `json:"kernel"`
	Places  []placeJSON        `json:"places"`
	Block   [3]int             `json:"block"`
	Element []int64            `json:"element"`
	Address string             `json:"address"` // hexadecimal: JSON numbers are doubles to many
	Region  string             `json:"region"`
	Offset  int64              `json:"offset"`
	Other   *otherJSON         `json:"other"`
	Detail  string             `json:"detail"`
}

// json gives "fault" (null without one) and "counters" of a launch that has ended.
func (r *running) json(part string) (func() []byte, bool) {
	switch part {
	case "fault":
		return func() []byte {
			f := r.fault
			if f == nil {
				return []byte("null")
			}
			j := faultJSON{f.Kind, f.Message, f.Kernel, placesJSON(f.Places), f.Block, f.Element, fmt.Sprintf("%#x", f.Address), f.Region, f.Offset, nil, f.Detail}
			if o := f.Other; o != nil {
				j.Other = &otherJSON{o.Write, placesJSON(o.Places), o.Block}
			}
			return encode(j)
		}, true
	case "counters":
		return func() []byte {
			j := map[string]any{"seconds": r.wall.Seconds(), "blocks": r.done.Load(), "operations": 0, "instructions": 0, "notes": []string{}}
			if p := r.report; p != nil {
				j["blocks"], j["operations"], j["instructions"] = p.Blocks, p.Operations, p.Stats.WarpInstrs
				if p.Notes != nil {
					j["notes"] = p.Notes
				}
			}
			return encode(j)
		}, true
	}
	return r.result.json(part)
}

func encode(v any) []byte {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(fmt.Sprint("BUG: ", err)) // strings and numbers only
	}
	return text
}
