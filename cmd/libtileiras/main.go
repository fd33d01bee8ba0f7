// Command libtileiras is the compiler as a C library: `go build -buildmode=c-shared`. tileiras.h says what the functions promise.
package main

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "tileiras.h"
const char *tileiras_own_file(void);
const char *tileiras_own_id(size_t *size);
*/
import "C"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"tileiras/internal/driver"
)

func main() {}

func init() {
	driver.LoadedID = func() string {
		var size C.size_t
		id := C.tileiras_own_id(&size)
		return C.GoStringN(id, C.int(size))
	}
	driver.BinaryFile = func() (string, error) { // the process may be anything
		if name := C.tileiras_own_file(); name != nil {
			return C.GoString(name), nil
		}
		return "", errors.ErrUnsupported
	}
}

// objects are what handles stand for. A number is never given out twice.
var objects = struct {
	sync.Mutex
	last C.tileiras_handle
	by   map[C.tileiras_handle]any
}{by: map[C.tileiras_handle]any{}}

func handle(object any) C.tileiras_handle {
	objects.Lock()
	defer objects.Unlock()
	objects.last++
	objects.by[objects.last] = object
	return objects.last
}

// object is what a handle stands for, as a T.
func object[T any](h C.tileiras_handle) (T, bool) {
	objects.Lock()
	defer objects.Unlock()
	t, ok := objects.by[h].(T)
	return t, ok
}

// texts are C's copies of what an object shows, made when they are asked for.
type texts struct {
	mu sync.Mutex
	by map[string]unsafe.Pointer
}

func (t *texts) get(name string, make func() []byte) unsafe.Pointer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, ok := t.by[name]; ok {
		return p
	}
	if t.by == nil {
		t.by = map[string]unsafe.Pointer{}
	}
	data := make()
	if name != "output" {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD")) // names may have been given that are no UTF-8
	}
	p := C.CBytes(append(data[:len(data):len(data)], 0))
	t.by[name] = p
	return p
}

func (t *texts) free() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.by { // frees all: the order cannot matter
		C.free(p)
	}
	t.by = nil
}

// token ends compiles when it is canceled. One that is freed ends none.
type token struct {
	ctx    context.Context
	cancel context.CancelFunc
}

var build texts // of the library

//export tileiras_abi
func tileiras_abi() C.int { return C.TILEIRAS_ABI }

//export tileiras_build
func tileiras_build() C.tileiras_text {
	return C.tileiras_text(build.get("", func() []byte { return []byte(driver.BuildVersion()) }))
}

//export tileiras_options_new
func tileiras_options_new() C.tileiras_handle { return handle(&options{}) }

//export tileiras_set
func tileiras_set(h C.tileiras_handle, name, value C.tileiras_text) C.int {
	o, ok := object[*options](h)
	if !ok || name == nil || value == nil || !o.set(C.GoString(name), C.GoString(value)) {
		return C.TILEIRAS_USAGE
	}
	return C.TILEIRAS_OK
}

//export tileiras_cancel_new
func tileiras_cancel_new() C.tileiras_handle {
	ctx, cancel := context.WithCancel(context.Background())
	return handle(&token{ctx, cancel})
}

//export tileiras_cancel
func tileiras_cancel(h C.tileiras_handle) {
	if t, ok := object[*token](h); ok {
		t.cancel()
	}
	if r, ok := object[*running](h); ok {
		r.cancel()
	}
}

//export tileiras_compile
func tileiras_compile(source C.tileiras_data, size C.size_t, o, cancel C.tileiras_handle) C.tileiras_handle {
	ctx, opts, wrong := inputs(source, size, o, cancel)
	if wrong != nil {
		return handle(wrong)
	}
	return handle(compile(ctx, unsafe.Slice((*byte)(source), int(size)), opts))
}

// inputs checks what a compile is given.
func inputs(source C.tileiras_data, size C.size_t, o, cancel C.tileiras_handle) (context.Context, *options, *result) {
	ctx, opts := context.Background(), &options{}
	if o != 0 {
		have, ok := object[*options](o)
		if !ok {
			return nil, nil, misuse("options is no handle of options")
		}
		opts = have
	}
	if cancel != 0 {
		t, ok := object[*token](cancel)
		if !ok {
			return nil, nil, misuse("cancel is no handle of a token")
		}
		ctx = t.ctx
	}
	if err := memoryAt(unsafe.Pointer(source), uint64(size)); err != nil {
		return nil, nil, misuse("source is " + err.Error())
	}
	return ctx, opts, nil
}

// memoryAt says why there is no memory of so many bytes at an address.
func memoryAt(p unsafe.Pointer, size uint64) error {
	switch {
	case p == nil && size > 0:
		return errors.New("NULL")
	case size > math.MaxInt || uint64(uintptr(p))+size < size:
		return fmt.Errorf("said to have %d bytes, more than a process has", size)
	}
	return nil
}

// outcome is what a compile, a load or a launch left.
type outcome interface {
	parts() *result
	json(part string) (func() []byte, bool)
}

func (r *result) parts() *result { return r }

// outcomeOf is what a handle of a compile, a load or a launch stands for, when it is there: it waits for the end of a launch.
func outcomeOf(h C.tileiras_handle) (outcome, bool) {
	r, ok := object[outcome](h)
	if l, running := r.(*running); running {
		<-l.ended
	}
	return r, ok
}

//export tileiras_status
func tileiras_status(h C.tileiras_handle) C.int {
	r, ok := outcomeOf(h)
	if !ok {
		return C.TILEIRAS_USAGE
	}
	return C.int(r.parts().code)
}

//export tileiras_output
func tileiras_output(h C.tileiras_handle, size *C.size_t) C.tileiras_data {
	r, ok := object[*result](h)
	if size != nil {
		*size = 0
	}
	if !ok {
		return nil
	}
	if size != nil {
		*size = C.size_t(len(r.output))
	}
	return C.tileiras_data(r.texts.get("output", func() []byte { return r.output }))
}

//export tileiras_error
func tileiras_error(h C.tileiras_handle) C.tileiras_text {
	r, ok := outcomeOf(h)
	if !ok {
		return nil
	}
	return C.tileiras_text(r.parts().texts.get("error", func() []byte { return []byte(r.parts().message) }))
}

//export tileiras_json
func tileiras_json(h C.tileiras_handle, part C.tileiras_text) C.tileiras_text {
	r, ok := outcomeOf(h)
	if !ok || part == nil {
		return nil
	}
	name := C.GoString(part)
	data, ok := r.json(name)
	if !ok {
		return nil
	}
	return C.tileiras_text(r.parts().texts.get("json "+name, data))
}

//export tileiras_explain
func tileiras_explain(h C.tileiras_handle) C.tileiras_text {
	if r, ok := object[*result](h); ok {
		return C.tileiras_text(r.texts.get("explain", r.explain))
	}
	return nil
}

//export tileiras_free
func tileiras_free(h C.tileiras_handle) C.int {
	objects.Lock()
	o, ok := objects.by[h]
	delete(objects.by, h)
	objects.Unlock()
	switch o := o.(type) {
	case *running: // one that still runs is canceled and its memory let go when it has ended
		o.cancel()
		<-o.ended
		o.texts.free()
	case outcome:
		o.parts().texts.free()
	}
	if !ok {
		return C.TILEIRAS_USAGE
	}
	return C.TILEIRAS_OK
}
