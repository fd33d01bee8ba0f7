package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ebitengine/purego"

	"tileiras/runtime/cases"
)

// fake is the driver of testdata/driver.c, compiled on first use.
var fake = sync.OnceValues(func() (string, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "fake-cuda-*")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "libfakecuda.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", path, "testdata/driver.c").CombinedOutput(); err != nil {
		return "", errors.New("cc: " + string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := fake(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(status)
}

// library loads the fake driver. calls returns what it recorded since the last
// call of calls.
func library(t *testing.T) (d *Driver, calls func() string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the launcher knows no CUDA driver for " + runtime.GOOS)
	}
	path, err := fake()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no C compiler (cc): the launcher was not tested against the fake driver")
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err = Open(path)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := dlopen(path)
	if err != nil {
		t.Fatal(err)
	}
	var text func() string
	var clear, relaunch func()
	purego.RegisterLibFunc(&text, lib, "fake_calls")
	purego.RegisterLibFunc(&clear, lib, "fake_clear")
	purego.RegisterLibFunc(&relaunch, lib, "fake_relaunch")
	relaunch()
	return d, func() string {
		s := strings.Clone(text())
		clear()
		return s
	}
}

func open(t *testing.T) (c *Context, calls func() string) {
	t.Helper()
	d, calls := library(t)
	c, err := d.Context(0)
	if err != nil {
		t.Fatal(err)
	}
	calls()
	return c, calls
}

func TestOpenSaysWhatToDoWithoutADriver(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "libcuda.so.1"))
	if err == nil || !strings.HasPrefix(err.Error(), "no CUDA driver found: ") || !strings.Contains(err.Error(), "install NVIDIA's driver") {
		t.Errorf("got %v", err)
	}
}

func TestOpenNamesASymbolThatTheDriverLacks(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no C compiler (cc): an old driver was not tested")
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "old.c"), filepath.Join(dir, "old.so")
	if err := os.WriteFile(src, []byte("int cuInit(unsigned f) { return 0; }"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", lib, src).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	if _, err := Open(lib); err == nil || !strings.Contains(err.Error(), "has no cuDriverGetVersion: it is too old") {
		t.Errorf("got %v", err)
	}
}

func TestContextDescribesTheDevice(t *testing.T) {
	d, calls := library(t)
	calls()
	c, err := d.Context(0)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Device{0, "Fake GPU 7", 9, 0, 132, 232448}); c.Device != want || c.Device.SM() != 90 {
		t.Errorf("got %+v, want %+v", c.Device, want)
	}
	if v, err := d.Version(); v != 13000 || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
	if n, err := d.Devices(); n != 1 || err != nil {
		t.Errorf("%d devices, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := calls(); got != "retain(7)\nrelease(7)\n" {
		t.Errorf("calls: %s", got)
	}
	var e *Error
	if _, err := d.Context(3); !errors.As(err, &e) || e.Code != 101 || e.Name != "CUDA_ERROR_INVALID_DEVICE" || !strings.HasPrefix(e.Error(), "cuDeviceGet(3) failed: ") {
		t.Errorf("got %v", err)
	}
}

func TestLoadReportsTheLogOfTheCompiler(t *testing.T) {
	c, _ := open(t)
	_, err := c.Load([]byte("SYNTAX ERROR"))
	var e *Error
	if !errors.As(err, &e) || e.Code != InvalidPTX || e.Log != "ptxas application ptx input, line 3; fatal   : Parsing error" || !strings.Contains(err.Error(), "rejects the PTX") {
		t.Errorf("got %v", err)
	}
	m, err := c.Load([]byte("kernel add"))
	if err != nil || m.Log != "0 bytes spill" {
		t.Errorf("log %q, %v", m.Log, err)
	}
	if _, err := m.Function("sub"); !errors.As(err, &e) || e.Code != NotFound || !strings.Contains(err.Error(), "check the kernel's name") {
		t.Errorf("got %v", err)
	}
	f, err := m.Function("add")
	if err != nil || f.Registers != 40 || f.StaticBytes != 16 || f.MaxThreads != 1024 || f.LocalBytes != 0 {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestMemoryKeepsWhatIsWritten(t *testing.T) {
	c, _ := open(t)
	m, err := c.Alloc(5)
	if err != nil || m.Address%256 != 0 {
		t.Fatal(m, err)
	}
	if err := errors.Join(m.Fill('x'), m.Write([]byte("abc"))); err != nil {
		t.Error(err)
	}
	if got, err := m.Read(); string(got) != "abcxx" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := m.Write(make([]byte, 6)); err == nil {
		t.Error("six bytes went into five")
	}
	if err := m.Free(); err != nil {
		t.Error(err)
	}
	if _, err := c.Alloc(1 << 31); err == nil || !strings.Contains(err.Error(), "OUT_OF_MEMORY") || !strings.Contains(err.Error(), "2147483648 bytes") {
		t.Errorf("got %v", err)
	}
	empty, err := c.Alloc(0)
	if err != nil || empty.Address == 0 {
		t.Error("an empty buffer has no address", err)
	}
}

func TestLaunchPassesShapeAndParameters(t *testing.T) {
	c, calls := open(t)
	m, err := c.Load([]byte("kernel add"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Function("add")
	if err != nil {
		t.Fatal(err)
	}
	mem, err := c.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	if err := mem.Write([]byte{1, 0, 0, 0, 2, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	word := func(v uint64, n int) []byte { return binary.LittleEndian.AppendUint64(nil, v)[:n] }
	params := [][]byte{word(mem.Address, 8), word(2, 4), word(10, 4)}
	calls()
	if err := f.Launch(Config{Grid: [3]int{4, 3, 2}, Block: [3]int{128, 1, 1}, Shared: 1024}, params...); err != nil {
		t.Fatal(err)
	}
	if err := f.Launch(Config{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Shared: 100000}, params...); err != nil {
		t.Fatal(err)
	}
	want := `launch grid 4,3,2 block 128,1,1 shared 1024 stream (nil) extra (nil)
set attribute 8 to 100000
launch grid 1,1,1 block 1,1,1 shared 100000 stream (nil) extra (nil)
`
	if got := calls(); got != want {
		t.Errorf("calls:\n%swant:\n%s", got, want)
	}
	if got, err := mem.Read(); string(got) != string([]byte{21, 0, 0, 0, 22, 0, 0, 0}) {
		t.Errorf("memory %v, %v", got, err)
	}
	err = f.Launch(Config{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}, Shared: 300000}, params...)
	if err == nil || !strings.Contains(err.Error(), "needs 300016 bytes of shared memory, Fake GPU 7 gives a block 232448") {
		t.Errorf("got %v", err)
	}
	if err := f.Launch(Config{Grid: [3]int{1, 0, 1}, Block: [3]int{1, 1, 1}}, params...); err == nil {
		t.Error("an empty grid was launched")
	}
	if err := f.Launch(Config{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}}, nil); err == nil {
		t.Error("an empty parameter was passed")
	}
}

func TestTimeSurroundsTheWorkWithEvents(t *testing.T) {
	c, calls := open(t)
	ms, err := c.Time(c.Synchronize)
	if ms != 2.5 || err != nil {
		t.Errorf("%v ms, %v", ms, err)
	}
	if got := calls(); got != "record\nsynchronize\nrecord\ndestroy event\ndestroy event\n" {
		t.Errorf("calls: %s", got)
	}
	if _, err := c.Time(func() error { return errors.New("no") }); err == nil || err.Error() != "no" {
		t.Errorf("got %v", err)
	}
}

// launch runs one of the fake kernels through the machine.
func launch(t *testing.T, kernel string, image Image, l *cases.Launch) (*cases.Outcome, string, error) {
	t.Helper()
	c, calls := open(t)
	m := &Machine{Context: c, CaptureOutput: true, Compile: func(_ context.Context, l *cases.Launch) (*Image, error) {
		if string(l.Bytecode) != "bytecode" || l.Kernel != kernel {
			t.Errorf("compiling %q of %q", l.Kernel, l.Bytecode)
		}
		image.Code = []byte("kernel " + kernel)
		return &image, nil
	}}
	l.Bytecode, l.Kernel = []byte("bytecode"), kernel
	if l.Grid == [3]int{} {
		l.Grid = [3]int{1, 1, 1}
	}
	out, err := m.Launch(context.Background(), l)
	return out, calls(), err
}

func TestMachineRunsALaunchInBothConventions(t *testing.T) {
	i32, err := cases.DTypeByName("i32")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		image Image
		want  string
	}{
		{Image{Threads: 256, Shared: 2048, ParamBytes: []int{8, 4, 4}}, "launch grid 5,1,1 block 256,1,1 shared 2048"},
		{Image{Threads: 1}, "launch grid 5,1,1 block 1,1,1 shared 0"},
	} {
		before := []byte{1, 0, 0, 0, 2, 0, 0, 0}
		l := &cases.Launch{
			Grid:    [3]int{5, 1, 1},
			Buffers: []cases.LaunchBuffer{{Name: "x", Bytes: before, Align: cases.Align}, {Name: "none", Bytes: nil, Align: cases.Align}},
			Params:  []cases.LaunchParam{{Buffer: 0, Offset: 4}, {Type: i32, Bits: 1}, {Type: i32, Bits: 0xFFFFFFFF}},
		}
		out, calls, err := launch(t, "add", c.image, l)
		if err != nil {
			t.Fatal(err)
		}
		if string(out.Buffers[0]) != string([]byte{1, 0, 0, 0, 1, 0, 0, 0}) || len(out.Buffers[1]) != 0 || before[4] != 2 {
			t.Errorf("buffers %v, before %v", out.Buffers, before)
		}
		if !strings.Contains(calls, c.want+" ") || strings.Count(calls, "free\n") != 2 || !strings.HasSuffix(calls, "unload\n") {
			t.Errorf("want %s in\n%s", c.want, calls)
		}
	}
}

// TestMachineTimesLaunches: what is read is what the first launch left, though later ones change it again.
func TestMachineTimesLaunches(t *testing.T) {
	c, calls := open(t)
	m := &Machine{Context: c, Runs: 3, Compile: func(context.Context, *cases.Launch) (*Image, error) {
		return &Image{Threads: 32, Code: []byte("kernel add")}, nil
	}}
	i32, err := cases.DTypeByName("i32")
	if err != nil {
		t.Fatal(err)
	}
	l := &cases.Launch{Kernel: "add", Grid: [3]int{1, 1, 1}, Buffers: []cases.LaunchBuffer{{Name: "x", Bytes: make([]byte, 8), Align: cases.Align}},
		Params: []cases.LaunchParam{{Buffer: 0}, {Type: i32, Bits: 1}, {Type: i32, Bits: 2}}}
	out, err := m.Launch(context.Background(), l)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Times) != 3 || out.Times[0] != 2500*time.Microsecond || binary.LittleEndian.Uint32(out.Buffers[0]) != 2 {
		t.Errorf("%v, %v", out.Times, out.Buffers)
	}
	if n := strings.Count(calls(), "launch "); n != 4 {
		t.Errorf("%d launches, want 4", n)
	}
}

func TestMachineStoresPointers(t *testing.T) {
	l := &cases.Launch{
		Buffers: []cases.LaunchBuffer{
			{Name: "table", Bytes: make([]byte, 16), Pointers: []cases.LaunchPointer{{Index: 1, Buffer: 1, Offset: 4}}},
			{Name: "x", Bytes: make([]byte, 8)}},
		Params: []cases.LaunchParam{{Buffer: 0}},
	}
	out, _, err := launch(t, "follow", Image{Threads: 32}, l)
	if err != nil {
		t.Fatal(err)
	}
	if out.Buffers[1][4] != 5 || binary.LittleEndian.Uint64(out.Buffers[0][8:]) != out.Addresses[1]+4 || l.Buffers[0].Bytes[8] != 0 {
		t.Errorf("buffers %v, addresses %x", out.Buffers, out.Addresses)
	}
}

func TestMachineCapturesWhatTheKernelPrints(t *testing.T) {
	out, _, err := launch(t, "says", Image{Threads: 32}, &cases.Launch{})
	if err != nil || out.Stdout != "hello from block 3\n" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestMachineTurnsATrapIntoAFailedAssertion(t *testing.T) {
	l := &cases.Launch{Buffers: []cases.LaunchBuffer{{Name: "x", Bytes: make([]byte, 8)}}}
	out, calls, err := launch(t, "asserts", Image{Threads: 32}, l)
	if err != nil || !out.AssertFailed || !strings.HasSuffix(out.Message, "n is wrong\n") {
		t.Errorf("%+v, %v", out, err)
	}
	if !strings.HasSuffix(calls, "synchronize\n") {
		t.Errorf("the driver was called after it was lost:\n%s", calls)
	}
	for kernel, want := range map[string]struct {
		code int
		text string
	}{"strays": {IllegalAddress, "run it in the emulator"}, "mute": {LaunchFailed, "it printed nothing, as a failed assertion does"}} {
		_, _, err = launch(t, kernel, Image{Threads: 32}, l)
		var e *Error
		if !errors.As(err, &e) || e.Code != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: got %v", kernel, err)
		}
	}
}

// TestAnAbortedKernelLosesTheProcess: the first error says why, each later one that the driver is lost.
func TestAnAbortedKernelLosesTheProcess(t *testing.T) {
	c, calls := open(t)
	m := &Machine{Context: c, CaptureOutput: true, Compile: func(_ context.Context, l *cases.Launch) (*Image, error) {
		return &Image{Threads: 32, Code: []byte("kernel " + l.Kernel)}, nil
	}}
	run := func(kernel string) error {
		_, err := m.Launch(context.Background(), &cases.Launch{Kernel: kernel, Grid: [3]int{1, 1, 1}})
		return err
	}
	if err := errors.Join(run("says"), c.Lost()); err != nil {
		t.Fatal(err)
	}
	if err := run("strays"); err == nil || errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	calls()
	const why = " (cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS)"
	if err := run("says"); !errors.Is(err, ErrLost) || !strings.HasSuffix(err.Error(), why) {
		t.Errorf("got %v", err)
	}
	_, alloc := c.Alloc(1)
	_, retain := c.drv.Context(0)
	module, load := c.Load([]byte("kernel"))
	if module != nil {
		t.Error("a module was loaded after the driver was lost")
	}
	for _, err := range []error{c.Lost(), c.Synchronize(), alloc, retain, load} {
		if !errors.Is(err, ErrLost) || !strings.HasSuffix(err.Error(), why) {
			t.Errorf("got %v", err)
		}
	}
	if got := calls(); got != "" {
		t.Errorf("the driver was called after it was lost:\n%s", got)
	}
	again, err := Open(c.drv.path) // knows nothing of the abort, but the driver does
	if err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := again.Context(0); !errors.As(err, &e) || e.Code != IllegalAddress {
		t.Errorf("got %v", err)
	}
}

func TestMachineChecksParametersBeforeLaunching(t *testing.T) {
	i32, err := cases.DTypeByName("i32")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sizes []int
		want  string
	}{
		{[]int{8}, "kernel add has 1 parameters, the launch gives 2"},
		{[]int{8, 8}, "parameter 1 has 8 bytes, the launch gives 4"},
	} {
		l := &cases.Launch{Buffers: []cases.LaunchBuffer{{Name: "x", Bytes: make([]byte, 8)}}, Params: []cases.LaunchParam{{}, {Type: i32}}}
		if _, _, err := launch(t, "add", Image{Threads: 32, ParamBytes: c.sizes}, l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
