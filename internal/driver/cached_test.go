package driver

import (
	"bytes"
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tileiras/internal/cache"
	_ "tileiras/internal/cache/remote"
	"tileiras/internal/mutate"
	"tileiras/internal/remark"
	"tileiras/ir"
)

const cachedKernel = `entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]>
  %w = make_partition_view %v : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>
  %x, %t = load_view_tko weak %w[%z] optimization_hints = <default = {latency = 3}> : partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> tile<64xf32>, token
  %u = store_view_tko weak %x, %w[%z] : tile<64xf32>, partition_view<tile=(64), tensor_view<64xf32, strides=[1]>>, tile<i32> -> token
  return
}
`

// compileFor compiles the kernel with a cache.
func compileFor(t *testing.T, place string, change func(*Options)) *Result {
	t.Helper()
	o := Options{GPU: "sm_80", Emit: EmitPTX, Code: Code{Opt: 3}, Remarks: true, Cache: place}
	if change != nil {
		change(&o)
	}
	res, err := Compile(t.Context(), "k.tileir", []byte(cachedKernel), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// same compares what a result from the cache must have.
func same(t *testing.T, got, want *Result) {
	t.Helper()
	if !bytes.Equal(got.Output, want.Output) || !bytes.Equal(got.Page(), want.Page()) || !bytes.Equal(got.Metadata.JSON(), want.Metadata.JSON()) || got.Kind != want.Kind {
		t.Errorf("the result from the cache is another:\n%s\nwant:\n%s", got.Page(), want.Page())
	}
}

func TestSecondCompileReadsTheCache(t *testing.T) {
	dir := t.TempDir()
	plain := compileFor(t, "", nil)
	first := compileFor(t, dir, nil)
	second := compileFor(t, dir, nil)
	if plain.Cached || first.Cached || !second.Cached || len(second.Warnings) != 0 {
		t.Errorf("cached: without %v, first %v, second %v, warnings %v", plain.Cached, first.Cached, second.Cached, second.Warnings)
	}
	same(t, first, plain)
	same(t, second, plain)
	if !compileFor(t, dir, func(o *Options) { o.Roles = "auto" }).Cached { // as the command says it, and the library need not
		t.Error("a default that is written out does not take the result")
	}
	for name, change := range map[string]func(*Options){
		"GPU": func(o *Options) { o.GPU = "sm_90" }, "name of the GPU": func(o *Options) { o.GPU = "" }, "level": func(o *Options) { o.Emit = EmitTileAA }, "-O": func(o *Options) { o.Opt = 1 },
		"ABI": func(o *Options) { o.ABI = "tile" }, "lines": func(o *Options) { o.LineInfo = true }, "remarks": func(o *Options) { o.Remarks = false },
		"stop": func(o *Options) { o.Emit, o.StopAfter = "", "lower-to-llvm" }, "places": func(o *Options) { o.DebugInfo = true },
	} {
		if compileFor(t, dir, change).Cached {
			t.Errorf("another %s takes the old result", name)
		}
		if !compileFor(t, dir, change).Cached {
			t.Errorf("another %s has no result of its own", name)
		}
	}
	// Who wants to see the passes run sees them run.
	var log bytes.Buffer
	if res := compileFor(t, dir, func(o *Options) { o.PrintAfterAll, o.Log = true, &log }); res.Cached || log.Len() == 0 {
		t.Errorf("a compile with dumps came from the cache, or wrote %d bytes of dumps", log.Len())
	}
	res, err := Compile(t.Context(), "other.tileir", []byte(cachedKernel), Options{GPU: "sm_80", Emit: EmitPTX, Code: Code{Opt: 3}, Remarks: true, Cache: dir})
	if err != nil || res.Cached {
		t.Errorf("a source of another name: %v, cached %v", err, res.Cached)
	}
	code, err := Compile(t.Context(), "k.tileir", []byte(cachedKernel), Options{Emit: EmitBytecode})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"/tmp/a.bytecode", "/tmp/b.bytecode"} { // frontends give each file a new name
		res, err := Compile(t.Context(), name, code.Output, Options{GPU: "sm_80", Emit: EmitPTX, Cache: dir})
		if err != nil || res.Cached != (i > 0) || bytes.Contains(pack("", res)[1].Data, []byte(name)) {
			t.Errorf("bytecode of another name: %v, cached %v, or the result shows the name", err, res.Cached)
		}
	}
}

// What is said of a compile comes out of a cache as it went in.
func TestRemarksSurviveTheCache(t *testing.T) {
	at := func(line uint32) *ir.FileLoc { return &ir.FileLoc{File: "k.py", Line: line, Col: 2} }
	called := &ir.CallSiteLoc{Callee: at(3), Caller: &ir.CallSiteLoc{Callee: at(2), Caller: at(1)}}
	want := &Result{Output: []byte("PTX"), Kind: EmitPTX, GPU: "sm_80", Cached: true,
		Warnings: []Warning{{&ir.Diagnostic{Severity: ir.Warning, Loc: called, Msg: "too big"}, KindTarget}},
		Remarks: []remark.Remark{
			{Pass: "p", Kind: remark.Missed, ID: "I", Text: "two", Function: "f", Kernel: "k", Loc: called, Args: []remark.Arg{{Key: "Count", Value: 2}, {Key: "Type", Value: "f32"}}},
			{Pass: "q", Kind: remark.Passed, ID: "J", Text: "one", Function: "g", Kernel: "g", Loc: ir.UnknownLoc{}},
		}}
	if got, err := unpack("key", pack("key", want)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, got %+v, want %+v", err, got, want)
	}
}

// TestEveryOptionIsInTheKey changes one option after the other, a new one too, and wants another key, unless no result depends on it.
func TestEveryOptionIsInTheKey(t *testing.T) {
	none := map[string]bool{"Called": true, "Cache": true, "CachePatience": true, "Log": true, "ReproducerDir": true, "TimeLimit": true, "PtxasTimeout": true, "MemoryLimit": true,
		"Extension": true, "Ptxas": true} // ptxas counts by the hash of its file, and for a cubin only
	start := Options{GPU: "sm_80", Emit: EmitPTX, Code: Code{ABI: "cuda"}}
	key := func(o *Options) string {
		k, err := o.key(t.Context(), "k.tileir", nil)
		if err != nil {
			t.Fatalf("no key for %+v: %v", o, err)
		}
		return k
	}
	var change func(o *Options, v reflect.Value)
	change = func(o *Options, v reflect.Value) {
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case f.Kind() == reflect.Struct:
				change(o, f)
				continue
			case name == "GPU":
				f.SetString("sm_90")
			case !mutate.Field(f) && !none[name]:
				t.Fatalf("this test cannot change %s, a %s", name, f.Type())
			}
			if changed := key(o) != key(&start); changed == none[name] {
				t.Errorf("another %s has another key: %v", name, changed)
			}
			*o = start
		}
	}
	o := start
	change(&o, reflect.ValueOf(&o).Elem())
}

// TestPoisonedResults gives a compile entries that are whole, but are not its own.
func TestPoisonedResults(t *testing.T) {
	dir := t.TempDir()
	want := compileFor(t, dir, nil)
	other := compileFor(t, dir, func(o *Options) { o.GPU = "sm_90" })
	o := Options{GPU: "sm_80", Emit: EmitPTX, Code: Code{Opt: 3}, Remarks: true}
	key, _ := o.key(t.Context(), "k.tileir", []byte(cachedKernel))
	c, err := openedCache(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	own, foreign := pack(key, want), pack(strings.Repeat("0", 64), other)
	half := append(foreign[:1:1], own[1])
	for name, files := range map[string][]int{"foreign": {0}, "half": {1}, "empty": {2}} {
		entry := own
		switch files[0] {
		case 0:
			entry = foreign
		case 1:
			entry = half
		case 2:
			entry = own[:1]
		}
		if err := c.Put(t.Context(), key, entry); err != nil {
			t.Fatal(err)
		}
		got := compileFor(t, dir, nil)
		if got.Cached || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0].Msg, "poisoned entry") || got.Warnings[0].Kind != KindCache {
			t.Errorf("%s: cached %v, warnings %v; want one that says so", name, got.Cached, got.Warnings)
		}
		same(t, got, want)
		if !compileFor(t, dir, nil).Cached {
			t.Errorf("%s: the entry was not repaired", name)
		}
	}
}

// TestDeadCacheCostsOneWarning: a server that does not answer, and a folder that cannot be made.
func TestDeadCacheCostsOneWarning(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want := compileFor(t, "", nil)
	for _, place := range []string{"http://" + silent.Addr().String(), file} {
		for n, warnings := range []int{1, 0, 0} {
			got := compileFor(t, place, nil)
			if got.Cached || len(got.Warnings) != warnings {
				t.Errorf("%s, compile %d: cached %v, warnings %v; want %d", place, n, got.Cached, got.Warnings, warnings)
			}
			same(t, got, want)
		}
	}
	if _, err := Compile(t.Context(), "k", []byte(cachedKernel), Options{GPU: "sm_80", Emit: EmitPTX, Cache: "ftp://x"}); err == nil || err.(*Failure).Code != ExitUsage {
		t.Errorf("a cache that is none: %v", err)
	}
}

// TestCacheWorksAgain: a cache that could not be used says so, and says when it can be.
func TestCacheWorksAgain(t *testing.T) {
	place := filepath.Join(t.TempDir(), "cache")
	warn := func(want ...string) {
		t.Helper()
		var got []string
		for _, w := range compileFor(t, place, nil).Warnings {
			got = append(got, w.Msg)
		}
		if len(got) != len(want) {
			t.Fatalf("warnings %q, want %q", got, want)
		}
		for i, w := range want {
			if !strings.HasSuffix(got[i], w) {
				t.Errorf("warning %q, want %q", got[i], w)
			}
		}
	}
	for range 2 {
		if err := os.WriteFile(place, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		warn("compiled without it")
		warn()
		if err := os.Remove(place); err != nil {
			t.Fatal(err)
		}
		warn("cache: " + place + "; it can be read again")
		warn()
		if err := os.RemoveAll(place); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCanceledInTheCache: a context that ends while the cache is asked ends the compile, and says nothing bad of the cache.
func TestCanceledInTheCache(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer l.Close()
	_, err = Compile(ctx, "k", []byte(cachedKernel), Options{GPU: "sm_80", Emit: EmitPTX, Cache: "http://" + l.Addr().String()})
	if err == nil || err.(*Failure).Kind != KindCanceled {
		t.Errorf("%v, want the context's error", err)
	}
}

func TestManyCompilesOneCache(t *testing.T) {
	dir := t.TempDir()
	want := compileFor(t, "", nil)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 3 {
				res, err := Compile(t.Context(), "k.tileir", []byte(cachedKernel), Options{GPU: "sm_80", Emit: EmitPTX, Code: Code{Opt: 3}, Remarks: true, Cache: dir})
				if err != nil || !bytes.Equal(res.Output, want.Output) || len(res.Warnings) > 0 {
					t.Errorf("%v, or another output, or warnings", err)
				}
			}
		})
	}
	wg.Wait()
	left := 0
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(d.Name(), ".new-") {
			left++
		}
		return err
	})
	if left > 0 {
		t.Errorf("%d temporary files are left", left)
	}
}

// TestOneKeyOneCompile: of those who want the same at once one compiles, whoever of them is stopped or fails.
func TestOneKeyOneCompile(t *testing.T) {
	res := compileFor(t, "", nil)
	stop := &Failure{Kind: KindCanceled, Err: context.Canceled}
	for name, c := range map[string]struct {
		first   error // of the compile that is there first
		ctx     func() context.Context
		compile int // how many in all
		want    error
	}{
		"good":             {nil, t.Context, 1, nil},
		"canceled":         {stop, t.Context, 2, nil},
		"failed":           {os.ErrInvalid, t.Context, 1 + 8, nil},
		"canceled waiting": {nil, func() context.Context { ctx, cancel := context.WithCancel(t.Context()); cancel(); return ctx }, 1, context.Canceled},
	} {
		opened, err := openedCache(t.TempDir(), 0)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var compiled atomic.Int32
		began, end := make(chan bool), make(chan bool)
		key := strings.Repeat("ab", 32)
		join := func(ctx context.Context, compile func() (*Result, error)) (*Result, error) {
			return opened.join(ctx, key, func() (*Result, []cache.File, error) {
				compiled.Add(1)
				res, err := compile()
				if err != nil {
					return nil, nil, err
				}
				return res, pack(key, res), nil
			})
		}
		wg.Go(func() {
			_, err := join(t.Context(), func() (*Result, error) { close(began); <-end; return res, c.first })
			if err != c.first {
				t.Errorf("%s: the first has %v, want %v", name, err, c.first)
			}
		})
		<-began
		var waiting sync.WaitGroup
		for range 8 {
			wg.Add(1)
			waiting.Go(func() {
				defer wg.Done()
				got, err := join(c.ctx(), func() (*Result, error) { time.Sleep(50 * time.Millisecond); return res, nil })
				if err != c.want {
					t.Errorf("%s: another has %v, want %v", name, err, c.want)
				} else if err == nil {
					same(t, got, res)
				}
			})
		}
		if c.want != nil {
			waiting.Wait()
		} else {
			time.Sleep(50 * time.Millisecond)
		}
		close(end)
		wg.Wait()
		if n := int(compiled.Load()); n != c.compile {
			t.Errorf("%s: %d compiles, want %d", name, n, c.compile)
		}
	}
}
