package driver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tileiras/internal/cache"
	"tileiras/internal/ptxas"
	"tileiras/internal/remark"
	"tileiras/ir"
)

// openCache is a cache that this process has used.
type openCache struct {
	cache.Cache
	place string

	// Whether there was a complaint that it cannot be read, or written, since it could.
	unread, unwritten atomic.Bool

	mu      sync.Mutex
	flights map[string]*flight // by their keys
}

// flight is a compile that runs, for which those who want the same wait.
type flight struct {
	done    chan struct{}
	files   []cache.File // of the result; nil after an error
	stopped bool         // its context ended, or its limits were met
}

// join gives the result of a compile of the key that runs already, made anew; where none runs or it has failed, that of its own. Of a compile
// that was stopped the next of those who wait takes the place.
func (c *openCache) join(ctx context.Context, key string, own func() (*Result, []cache.File, error)) (*Result, error) {
	for {
		c.mu.Lock()
		f, runs := c.flights[key]
		if !runs {
			f = &flight{done: make(chan struct{})}
			c.flights[key] = f
		}
		c.mu.Unlock()
		if !runs {
			return c.fly(key, f, own)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch {
		case f.files != nil:
			res, err := unpack(key, f.files)
			if err == nil {
				res.Output = bytes.Clone(res.Output)
			}
			return res, err
		case !f.stopped:
			res, _, err := own()
			return res, err
		}
	}
}

// fly compiles, and tells those who wait how it ended.
func (c *openCache) fly(key string, f *flight, own func() (*Result, []cache.File, error)) (*Result, error) {
	defer func() {
		c.mu.Lock()
		delete(c.flights, key)
		c.mu.Unlock()
		close(f.done)
	}()
	res, files, err := own()
	if err != nil {
		f.stopped = stopped(err)
		return nil, err
	}
	f.files = slices.Clone(files)
	f.files[0].Data = bytes.Clone(res.Output) // the other one belongs to the caller
	return res, nil
}

// caches are the caches of the process by what their options say, so that a server that is dead is waited for once.
var caches = struct {
	sync.Mutex
	by map[openedAs]*openCache
}{by: map[openedAs]*openCache{}}

type openedAs struct {
	place    string
	patience time.Duration
}

func openedCache(place string, patience time.Duration) (*openCache, error) {
	caches.Lock()
	defer caches.Unlock()
	as := openedAs{place, patience}
	if c := caches.by[as]; c != nil {
		return c, nil
	}
	c, err := cache.Open(place, patience)
	if err != nil {
		return nil, fail(ExitUsage, "%v", err)
	}
	caches.by[as] = &openCache{Cache: c, place: cache.Shown(place), flights: map[string]*flight{}}
	return caches.by[as], nil
}

// throughCache gives the result of a compile from the cache of the options, or makes it and leaves it there. No trouble with a cache is an
// error: it is a warning, and of a place that does not work one only, and one when it works again.
func throughCache(ctx context.Context, name string, src []byte, o *Options, compile func() (*Result, error)) (*Result, error) {
	if o.Cache == "" || o.shows() {
		return compile()
	}
	c, err := openedCache(o.Cache, o.CachePatience)
	if err != nil {
		return nil, err
	}
	key, err := o.key(ctx, name, src)
	if err != nil { // where it is the fault of the options, the compile says so
		res, failed := compile()
		if failed == nil && !c.unread.Swap(true) {
			res.Warnings = append(res.Warnings, cacheWarning(err, "nothing is cached"))
		}
		return res, failed
	}
	return c.join(ctx, key, func() (*Result, []cache.File, error) { return c.result(ctx, key, compile) })
}

func cacheWarning(err error, what string) Warning {
	return Warning{&ir.Diagnostic{Severity: ir.Warning, Loc: ir.UnknownLoc{}, Msg: fmt.Sprintf("cache: %v; %s", err, what)}, KindCache}
}

// result is that of a key: from the cache, or of a compile, which leaves it there; with the files of it.
func (c *openCache) result(ctx context.Context, key string, compile func() (*Result, error)) (*Result, []cache.File, error) {
	var warnings []Warning
	note := func(wrong *atomic.Bool, before bool, err error, bad, good string) {
		switch {
		case ctx.Err() != nil, errors.Is(err, cache.ErrDead):
		case err == nil || errors.Is(err, cache.ErrMiss):
			if before && wrong.Swap(false) { // not in an exchange that began before the complaint
				warnings = append(warnings, cacheWarning(errors.New(c.place), good))
			}
		case errors.Is(err, cache.ErrPoisoned) || !wrong.Swap(true):
			warnings = append(warnings, cacheWarning(err, bad))
		}
	}
	unread, unwritten := c.unread.Load(), c.unwritten.Load()
	files, err := c.Get(ctx, key)
	var res *Result
	if err == nil {
		res, err = unpack(key, files)
	}
	note(&c.unread, unread, err, "compiled without it", "it can be read again")
	if err == nil {
		res.Warnings = append(res.Warnings, warnings...)
		return res, files, nil
	}
	if res, err = compile(); err != nil {
		return nil, nil, err
	}
	files = pack(key, res)
	if err := c.Put(ctx, key, files); err == nil || !c.unread.Load() { // else all has been said
		note(&c.unwritten, unwritten, err, "the result was not stored", "results are stored again")
	}
	res.Warnings = append(res.Warnings, warnings...)
	return res, files, nil
}

// shows reports whether a compile shows what it does on the way, which no cache does.
func (o *Options) shows() bool {
	return o.PrintAfterAll || len(o.PrintBefore) > 0 || len(o.PrintAfter) > 0 || o.PrintChanged || o.PrintFacts || o.PassTiming || o.VerifyEach
}

// key names everything that a result follows from: the build, the GPU, the other options, the source and, of text, its name, and of a cubin
// ptxas. There is none when the options name something that is not there, which the compile says, and when the build is not known.
func (o *Options) key(ctx context.Context, name string, src []byte) (string, error) {
	build := BuildVersion()
	if strings.HasSuffix(build, unknownBuild) {
		return "", errUnknownBuild
	}
	gpu, assembler := "", ""
	if o.Emit != EmitCudaTile && o.Emit != EmitBytecode {
		t, err := o.target(ctx)
		if err != nil {
			return "", err
		}
		gpu = t.Name
	}
	if o.Emit == EmitCubin {
		path, err := ptxas.Find(o.Ptxas, o.called("Ptxas"))
		if err != nil {
			return "", err
		}
		if assembler, err = fileHash(path); err != nil {
			return "", fmt.Errorf("of ptxas: %w", err)
		}
	}
	k := *o // every option, but for those that no result depends on
	k.GPU, k.Code, k.Ptxas = gpu, o.code(), assembler
	k.Cache, k.CachePatience, k.Log, k.ReproducerDir, k.Read.Extension = "", 0, nil, "", nil
	k.TimeLimit, k.PtxasTimeout, k.MemoryLimit = 0, 0, 0
	options, err := json.Marshal([]any{k, o.GPU == ""})
	if err != nil {
		panic("BUG: " + err.Error()) // strings, numbers and truth values
	}
	if isBytecode(src) {
		name = "" // no result shows it: places in bytecode name their own files
	}
	return cache.Key([]byte("tileiras result 1"), []byte(build), options, []byte(name), src), nil
}

var errUnknownBuild = errors.New("this program cannot read its own file, which tells it from other builds")

// packed is a result in a cache: the output is a file of its own.
type packed struct {
	Key      string // that it was made for
	Output   string // SHA-256 of the output: the entry may name another file
	Kind     Emit
	GPU      string
	Warnings []packedRemark
	Remarks  []packedRemark
	Metadata *Metadata
}

// packedRemark is a remark, or with its kind as the ID and the text alone a warning.
type packedRemark struct {
	Pass, ID, Text, Function, Kernel string
	Kind                             remark.Kind
	Loc                              *packedLoc
	Args                             []packedArg
}

// packedLoc is a place in a file, of inlined code with the place that called it.
type packedLoc struct {
	File      string
	Line, Col uint32
	Caller    *packedLoc
}

type packedArg struct {
	Key, Text string
	Number    *int // of a number
}

// maxCallers bounds the chains of callers that are kept.
const maxCallers = 100

func packLoc(l ir.Location, depth int) *packedLoc {
	file, line, col, ok := ir.FileLine(l)
	if !ok || depth > maxCallers {
		return nil
	}
	p := &packedLoc{File: file, Line: line, Col: col}
	if site, ok := l.(*ir.CallSiteLoc); ok {
		p.Caller = packLoc(site.Caller, depth+1)
	}
	return p
}

func (p *packedLoc) unpack(depth int) ir.Location {
	if p == nil || depth > maxCallers {
		return ir.UnknownLoc{}
	}
	at := &ir.FileLoc{File: p.File, Line: p.Line, Col: p.Col}
	if p.Caller == nil {
		return at
	}
	return &ir.CallSiteLoc{Callee: at, Caller: p.Caller.unpack(depth + 1)}
}

// The files of a result.
const (
	outputName = "output"
	resultName = "result.json"
)

func pack(key string, res *Result) []cache.File {
	p := packed{Key: key, Output: sha(res.Output), Kind: res.Kind, GPU: res.GPU, Metadata: res.Metadata}
	for _, w := range res.Warnings {
		p.Warnings = append(p.Warnings, packedRemark{ID: string(w.Kind), Text: w.Msg, Loc: packLoc(w.Loc, 0)})
	}
	for _, r := range res.Remarks {
		q := packedRemark{r.Pass, r.ID, r.Text, r.Function, r.Kernel, r.Kind, packLoc(r.Loc, 0), nil}
		for _, a := range r.Args {
			arg := packedArg{Key: a.Key}
			if n, ok := a.Value.(int); ok {
				arg.Number = &n
			} else {
				arg.Text = fmt.Sprint(a.Value)
			}
			q.Args = append(q.Args, arg)
		}
		p.Remarks = append(p.Remarks, q)
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic("BUG: " + err.Error()) // strings and numbers only
	}
	return []cache.File{{Name: outputName, Data: res.Output}, {Name: resultName, Data: text}}
}

func unpack(key string, files []cache.File) (*Result, error) {
	poisoned := func(format string, args ...any) error {
		return fmt.Errorf("%w ac/%s: %s", cache.ErrPoisoned, key, fmt.Sprintf(format, args...))
	}
	if len(files) != 2 || files[0].Name != outputName || files[1].Name != resultName {
		return nil, poisoned("it has not the files of a result")
	}
	var p packed
	if err := json.Unmarshal(files[1].Data, &p); err != nil {
		return nil, poisoned("%v", err)
	}
	if p.Key != key {
		return nil, poisoned("it is the result for another key")
	}
	if p.Output != sha(files[0].Data) {
		return nil, poisoned("it has the output of another compile")
	}
	res := &Result{Kind: p.Kind, Output: files[0].Data, GPU: p.GPU, Metadata: p.Metadata, Cached: true}
	for _, w := range p.Warnings {
		res.Warnings = append(res.Warnings, Warning{&ir.Diagnostic{Severity: ir.Warning, Loc: w.Loc.unpack(0), Msg: w.Text}, Kind(w.ID)})
	}
	for _, q := range p.Remarks {
		r := remark.Remark{Pass: q.Pass, Kind: q.Kind, ID: q.ID, Text: q.Text, Function: q.Function, Kernel: q.Kernel, Loc: q.Loc.unpack(0)}
		for _, a := range q.Args {
			arg := remark.Arg{Key: a.Key, Value: a.Text}
			if a.Number != nil {
				arg.Value = *a.Number
			}
			r.Args = append(r.Args, arg)
		}
		res.Remarks = append(res.Remarks, r)
	}
	return res, nil
}

func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
