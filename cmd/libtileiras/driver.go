package main

/*
#include "tileiras.h"
void *tileiras_proc_address(void);
*/
import "C"

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"tileiras/codegen/target"
	"tileiras/internal/driver"
)

// device is the one device of the stand-in for NVIDIA's driver, with the options that it was asked for with.
type device struct {
	gpu     *target.Target
	options *options
}

var standIn atomic.Pointer[device]

//export tileiras_driver
func tileiras_driver(o C.tileiras_handle) unsafe.Pointer {
	opts := &options{}
	if have, ok := object[*options](o); ok {
		opts = have.copy()
	}
	gpu, err := (&driver.Options{GPU: opts.o.GPU}).Named(context.Background())
	if err != nil {
		return nil
	}
	standIn.Store(&device{gpu, opts})
	return C.tileiras_proc_address()
}

func (o *options) copy() *options {
	o.mu.Lock()
	defer o.mu.Unlock()
	return &options{o: o.o, run: o.run}
}

// image is how a program lies in what a frontend takes for a cubin:
//
//	 0  magic
//	16  size of all of it
//	24  size of the options: NAME=VALUE lines
//	32  options, then Tile IR
const imageMagic = "tileiras program"

//export tileiras_image
func tileiras_image(source C.tileiras_data, size C.size_t, o C.tileiras_handle) C.tileiras_handle {
	_, opts, wrong := inputs(source, size, o, 0)
	if wrong != nil {
		return handle(wrong)
	}
	opts = opts.copy()
	run, err := opts.executor()
	if err != nil {
		return handle(failed(err))
	}
	lines := fmt.Sprintf("gpu=%s\nopt=%d\nname=%s\n", opts.o.GPU, run.Code.Opt, strings.ReplaceAll(opts.o.Name, "\n", " "))
	out := []byte(imageMagic)
	out = binary.LittleEndian.AppendUint64(out, uint64(32+len(lines)+int(size)))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(lines)))
	out = append(out, lines...)
	out = append(out, unsafe.Slice((*byte)(source), int(size))...)
	p := loadImage(out)
	if p == nil {
		return handle(misuse("there is no stand-in for the driver: call tileiras_driver first"))
	}
	if p.prog == nil {
		return handle(&result{code: p.code, message: p.message, diags: p.diags})
	}
	prepared.put(out, p)
	return handle(&result{output: out})
}

// loadImage loads what an image holds; nil when it is none.
func loadImage(image []byte) *program {
	dev := standIn.Load()
	if dev == nil || len(image) < 32 {
		return nil
	}
	n := binary.LittleEndian.Uint64(image[24:])
	if n > uint64(len(image)-32) {
		return nil
	}
	opts := dev.options.copy()
	for line := range strings.Lines(string(image[32 : 32+n])) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		opts.set(name, value)
	}
	return load(context.Background(), append([]byte(nil), image[32+n:]...), opts)
}

// prepared are programs whose images nobody has loaded yet, so that a frontend that makes an image and then loads it compiles once.
var prepared waiting

type waiting struct {
	mu    sync.Mutex
	by    map[[sha256.Size]byte]*program
	order [][sha256.Size]byte // the oldest first
}

// mostPrepared bounds how many programs wait: an image may also go to a file, and no further.
const mostPrepared = 32

func (w *waiting) put(image []byte, p *program) {
	key := sha256.Sum256(image)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[[sha256.Size]byte]*program{}
	}
	if w.by[key] == nil {
		w.order = append(w.order, key)
	}
	w.by[key] = p
	if len(w.order) > mostPrepared {
		delete(w.by, w.order[0])
		w.order = w.order[1:]
	}
}

func (w *waiting) take(image []byte) *program {
	key := sha256.Sum256(image)
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.by[key]
	if p != nil {
		delete(w.by, key)
		w.order = slices.DeleteFunc(w.order, func(k [sha256.Size]byte) bool { return k == key })
	}
	return p
}

//export tileirasDriverLoad
func tileirasDriverLoad(p unsafe.Pointer) C.tileiras_handle {
	if !isImage((*byte)(p)) {
		fmt.Fprintln(os.Stderr, "tileiras: an image was loaded that tileiras_image has not made: the stand-in for the driver has no cubins and no PTX")
		return 0
	}
	image := unsafe.Slice((*byte)(p), int(binary.LittleEndian.Uint64(unsafe.Slice((*byte)(p), 32)[16:])))
	l := prepared.take(image)
	if l == nil {
		l = loadImage(image)
	}
	if l == nil || l.prog == nil {
		if l != nil {
			fmt.Fprintln(os.Stderr, "tileiras: "+l.message)
		}
		return 0
	}
	return handle(l)
}

// isImage tells an image by how it begins. It reads no further than that, for texts may be shorter.
func isImage(p *byte) bool {
	if p == nil {
		return false
	}
	for i := range len(imageMagic) {
		if *(*byte)(unsafe.Add(unsafe.Pointer(p), i)) != imageMagic[i] {
			return false
		}
	}
	return true
}

//export tileirasDriverHas
func tileirasDriverHas(h C.tileiras_handle, name *C.char) C.int {
	p, ok := object[*program](h)
	if !ok || p.prog == nil {
		return 0
	}
	if _, err := p.prog.Kernel(C.GoString(name)); err != nil {
		return 0
	}
	return 1
}

// What tileirasDriverEnd says of a launch, as driver.c has it.
const (
	runs = iota
	endedWell
	endedBadly
	freed
)

//export tileirasDriverEnd
func tileirasDriverEnd(h C.tileiras_handle, wait C.int) C.int {
	r, ok := object[*running](h)
	if !ok {
		return freed
	}
	if wait != 0 {
		<-r.ended
	}
	select {
	case <-r.ended:
	default:
		return runs
	}
	if _, ok := object[*running](h); !ok { // whoever freed it has been told
		return freed
	}
	if r.code != C.TILEIRAS_OK {
		return endedBadly
	}
	return endedWell
}

// The stand-in's multiprocessors: few, so that persistent kernels, which launch as many blocks, do not take for ever.
const multiprocessors = 8

//export tileirasDriverAttribute
func tileirasDriverAttribute(attribute C.int) C.int {
	g := standIn.Load().gpu
	switch attribute { // CUdevice_attribute
	case 1: // MAX_THREADS_PER_BLOCK
		return C.int(target.ThreadsPerBlock)
	case 5: // MAX_GRID_DIM_X
		return math.MaxInt32
	case 6, 7: // MAX_GRID_DIM_Y, Z
		return math.MaxUint16
	case 8: // MAX_SHARED_MEMORY_PER_BLOCK
		return C.int(g.SharedStatic)
	case 10: // WARP_SIZE
		return 32
	case 16: // MULTIPROCESSOR_COUNT
		return multiprocessors
	case 38: // L2_CACHE_SIZE
		return C.int(multiprocessors * g.L2)
	case 39: // MAX_THREADS_PER_MULTIPROCESSOR
		return C.int(32 * g.WarpsPerSM)
	case 75: // COMPUTE_CAPABILITY_MAJOR
		return C.int(g.Number / 10)
	case 76: // COMPUTE_CAPABILITY_MINOR
		return C.int(g.Number % 10)
	case 81: // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
		return C.int(g.SharedPerSM)
	case 82: // MAX_REGISTERS_PER_MULTIPROCESSOR
		return C.int(g.Registers)
	case 97: // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
		return C.int(g.SharedOptIn)
	case 106: // MAX_BLOCKS_PER_MULTIPROCESSOR
		return C.int(g.BlocksPerSM)
	}
	return 0
}
