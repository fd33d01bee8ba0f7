// Package fuzz_test breaks files on purpose and sees that the compiler takes it well: bytecode through reader, verifier and
// printer, text through the parser. TILEIRAS_MUTATIONS is how many files (make million), TILEIRAS_SEED begins elsewhere.
package fuzz_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/internal/mutate"
	"tileiras/ir"
)

// What a file may cost. A file of the corpus has some thousand bytes.
const (
	mostTime   = time.Second
	mostMemory = 256 << 20
)

func corpus(t testing.TB) [][]byte {
	t.Helper()
	names, err := filepath.Glob("../corpus/*/*/kernel.tileirbc")
	if err != nil || len(names) < 398 {
		t.Fatalf("%d files in the corpus (%v)", len(names), err)
	}
	var files [][]byte
	for _, n := range names {
		data, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

// module is a file that is whole.
func module(t testing.TB, data []byte) *ir.Op {
	t.Helper()
	m, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), data, bytecode.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// number is a number from the environment.
func number(t testing.TB, name string, otherwise uint64) uint64 {
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// fate is what became of a file.
type fate int

const (
	unread fate = iota
	unverified
	printed
	fates
)

func (f fate) String() string {
	return [...]string{"refused by the reader", "refused by the verifier", "accepted and printed"}[f]
}

// use takes bytecode through reader, verifier and printer, and back to bytecode. What has been read can be printed and written,
// whatever the verifier says of it.
func use(data []byte) (fate, error) {
	c := ir.NewContext(cudatile.Dialect)
	m, origin, err := bytecode.Read(c, data, bytecode.ReadOptions{})
	if err != nil {
		if e, ok := err.(*bytecode.Error); !ok || len(e.Lines) == 0 {
			return unread, fmt.Errorf("an error without a line: %v", err)
		}
		return unread, nil
	}
	good := ir.Verify(c, m) && cudatile.VerifyKernels(c, m)
	if !good && c.Diags.Errors() == 0 {
		return unverified, fmt.Errorf("refused without a word")
	}
	for _, debugInfo := range []bool{false, true} {
		var b strings.Builder
		if err := cudatile.Print(&b, m, ir.PrintOptions{DebugInfo: debugInfo}); err != nil {
			return unverified, err
		}
	}
	if _, err := bytecode.Write(m, bytecode.WriteOptions{Origin: origin}); err != nil {
		return unverified, fmt.Errorf("what was read cannot be written: %v", err)
	}
	if good {
		return printed, nil
	}
	return unverified, nil
}

// guarded is use with a panic as an error.
func guarded(data []byte) (f fate, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return use(data)
}

// timed is how long a call takes.
func timed(call func()) time.Duration {
	start := time.Now()
	call()
	return time.Since(start)
}

// flight is a file on its way, for the watch that sees one that does not come back.
type flight struct {
	n     atomic.Uint64
	since atomic.Int64 // unix nanoseconds, 0 between files
}

func TestAMillionMutatedFiles(t *testing.T) {
	count := number(t, "TILEIRAS_MUTATIONS", 10_000)
	source := mutate.Bytecode{Seed: number(t, "TILEIRAS_SEED", 1), Files: corpus(t)}
	var (
		next     atomic.Uint64
		mu       sync.Mutex
		outcomes [fates]int
		slowest  time.Duration
		slowFile uint64
		bytes    int
		wg       sync.WaitGroup
		flights  = make([]flight, runtime.GOMAXPROCS(0))
		done     = make(chan struct{})
	)
	began := time.Now()
	for w := range flights {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := next.Add(1) - 1; n < count && !t.Failed(); n = next.Add(1) - 1 {
				data, how := source.File(n)
				flights[w].n.Store(n)
				start := time.Now()
				flights[w].since.Store(start.UnixNano())
				f, err := guarded(data)
				took := time.Since(start)
				if took > mostTime/4 { // or was the machine busy?
					took = min(took, timed(func() { guarded(data) }))
				}
				flights[w].since.Store(0)
				if err != nil {
					t.Errorf("seed %d, number %d (%s): %v", source.Seed, n, how, err)
				}
				mu.Lock()
				outcomes[f]++
				bytes += len(data)
				if took > slowest {
					slowest, slowFile = took, n
				}
				mu.Unlock()
			}
		}()
	}
	go func() { // a file that hangs would never be reported otherwise
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Second):
			}
			for w := range flights {
				if s := flights[w].since.Load(); s != 0 && time.Since(time.Unix(0, s)) > 20*mostTime {
					panic(fmt.Sprintf("seed %d, number %d hangs", source.Seed, flights[w].n.Load()))
				}
			}
		}
	}()
	wg.Wait()
	close(done)
	for f, n := range outcomes {
		t.Logf("%8d %v", n, fate(f))
	}
	peak := peakMemory(t)
	t.Logf("%d files, %d MB, in %v; the slowest, number %d, took %v; peak memory %d MB",
		count, bytes>>20, time.Since(began).Round(time.Millisecond), slowFile, slowest.Round(time.Microsecond), peak>>20)
	if slowest > mostTime {
		t.Errorf("number %d took %v, more than %v", slowFile, slowest, mostTime)
	}
	if peak > mostMemory {
		t.Errorf("peak memory is %d MB, more than %d", peak>>20, mostMemory>>20)
	}
	if outcomes[printed] == 0 || outcomes[unverified] == 0 {
		t.Error("the files do not get past the reader or past the verifier: they test nothing there")
	}
}

// peakMemory is the most memory that the process has had: as the system sees it, or where that is not known as Go does.
func peakMemory(t *testing.T) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for _, line := range strings.Split(string(status), "\n") {
			if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(kb, "kB")), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				return n << 10
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// FuzzBytecode lets Go's fuzzer choose which file is broken in which way: it keeps what reaches code that was not reached before.
func FuzzBytecode(f *testing.F) {
	files := corpus(f)
	for i, data := range files {
		if i%10 == 0 {
			f.Add(data, uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if _, err := use(mutate.Break(data, seed, files)); err != nil {
			t.Error(err)
		}
	})
}
