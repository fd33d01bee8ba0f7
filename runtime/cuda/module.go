package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Options of the JIT compiler (cuda.h, CUjit_option).
const (
	jitInfoLog       = 3
	jitInfoLogBytes  = 4
	jitErrorLog      = 5
	jitErrorLogBytes = 6
	jitLogVerbose    = 12
)

// Module is loaded code.
type Module struct {
	ctx    *Context
	handle uintptr
	Log    string // what the JIT said about PTX: registers, warnings
}

// Load loads PTX text or a cubin. The driver compiles PTX; if it refuses, the
// error has its log.
func (c *Context) Load(image []byte) (*Module, error) {
	image = append(bytes.Clone(image), 0) // PTX is a C string
	const logBytes = 64 << 10
	info, errs := make([]byte, logBytes), make([]byte, logBytes)
	options := []uint32{jitInfoLog, jitInfoLogBytes, jitErrorLog, jitErrorLogBytes, jitLogVerbose}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&info[0])
	pin.Pin(&errs[0])
	// Slots hold numbers or pinned addresses; the driver writes sizes back.
	values := []uintptr{uintptr(unsafe.Pointer(&info[0])), logBytes, uintptr(unsafe.Pointer(&errs[0])), logBytes, 1}
	m := &Module{ctx: c}
	err := c.do("cuModuleLoadDataEx", func(a *api) result {
		return a.moduleLoadDataEx(&m.handle, &image[0], uint32(len(options)), &options[0], &values[0])
	})
	var e *Error
	if errors.As(err, &e) {
		e.Log = logText(errs)
	}
	if err != nil {
		return nil, err
	}
	m.Log = logText(info)
	return m, nil
}

func logText(b []byte) string {
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return strings.TrimSpace(string(b))
}

// Unload frees the code.
func (m *Module) Unload() error {
	return m.ctx.do("cuModuleUnload", func(a *api) result { return a.moduleUnload(m.handle) })
}

// Function is a kernel.
type Function struct {
	ctx    *Context
	handle uintptr
	Name   string
	// What the compiler made of it.
	Registers   int // per thread
	LocalBytes  int // per thread: spills and arrays
	StaticBytes int // shared memory per block, without the dynamic part
	MaxThreads  int // per block
}

// Function finds a kernel by its name.
func (m *Module) Function(name string) (*Function, error) {
	f := &Function{ctx: m.ctx, Name: name}
	err := m.ctx.do(fmt.Sprintf("cuModuleGetFunction(%s)", name), func(a *api) result {
		return a.moduleGetFunction(&f.handle, m.handle, name)
	})
	if err != nil {
		return nil, err
	}
	for _, x := range []struct {
		attribute int32
		to        *int
	}{{attrNumRegs, &f.Registers}, {attrLocalSizeBytes, &f.LocalBytes}, {attrSharedSizeBytes, &f.StaticBytes}, {attrMaxThreadsPerBlockF, &f.MaxThreads}} {
		var v int32
		err := m.ctx.do("cuFuncGetAttribute", func(a *api) result { return a.funcGetAttribute(&v, x.attribute, f.handle) })
		if err != nil {
			return nil, err
		}
		*x.to = int(v)
	}
	return f, nil
}
