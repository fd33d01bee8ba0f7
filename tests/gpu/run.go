package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"tileiras/runtime/cases"
	"tileiras/runtime/cuda"
	"tileiras/tests/hostmaps"
)

// result is what was measured of a code, a line of the log.
type result struct {
	Kernel, Peer string
	As           int
	GPU          string
	Micros       []float64 `json:",omitempty"` // of launches, sorted
	Flops, Bytes float64
	Registers    int     // that the code loaded takes
	Local        int     // bytes of local memory of a thread
	Distance     float64 // norm of the difference to NVIDIA's output by that of the output, the worst of all buffers
	NaNs         int     // elements that are NaN in one of the outputs only
	Error        string  `json:",omitempty"`
	State        string  `json:",omitempty"` // no result: the code was about to be launched, or has been
}

type runner struct {
	ctx        *cuda.Context
	dir        string
	runs       int
	timeout    time.Duration // before a launch counts as one that does not end
	log        io.Writer
	flush      *cuda.Memory // bigger than the second level cache
	scratch    *cuda.Memory // for tensor maps that kernels make
	randomData map[string][]byte
}

// run measures all codes that the log does not have yet. After a kernel that aborts or does not end the context is lost and the
// process must end: it exits with code 3, and is to be called again.
func run(args []string) error {
	f := flag.NewFlagSet("run", flag.ExitOnError)
	runs := f.Int("runs", 12, "launches to time")
	only := f.String("only", "", "regular expression: kernels to take")
	logFile := f.String("log", "gpu.jsonl", "file to add results to")
	patient := f.Duration("patience", 10*time.Second, "how long a kernel may take")
	if len(args) < 1 {
		return errors.New("run needs the folder that pack has written")
	}
	f.Parse(args[1:])
	pick, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	r := &runner{dir: args[0], runs: *runs, timeout: *patient, randomData: map[string][]byte{}}
	data, err := os.ReadFile(filepath.Join(r.dir, "codes.json"))
	if err != nil {
		return err
	}
	var all []code
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	done, err := readLog(*logFile)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(*logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	r.log = log
	if err := r.open(); err != nil {
		return err
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Kernel == all[0].Kernel {
			n++
		}
		if pick.MatchString(all[0].Kernel) {
			if err := r.kernel(all[:n], done); err != nil {
				return fmt.Errorf("%s: %w", all[0].Kernel, err)
			}
		}
		all = all[n:]
	}
	return nil
}

// open takes the first GPU, and memory that all kernels share.
func (r *runner) open() error {
	driver, err := cuda.Open("")
	if err != nil {
		return err
	}
	if r.ctx, err = driver.Context(0); err != nil {
		return err
	}
	if r.flush, err = r.ctx.Alloc(256 << 20); err != nil {
		return err
	}
	if r.scratch, err = r.ctx.Alloc(64 << 20); err != nil {
		return err
	}
	return r.scratch.Fill(0)
}

// loaded is a code that can be launched.
type loaded struct {
	*code
	module        *cuda.Module
	f             *cuda.Function
	params        [][]byte
	config        cuda.Config
	result        result
	output        [][]byte
	firstOfKernel bool // nothing has run before it
}

// kernel measures the codes of a benchmark.
func (r *runner) kernel(codes []code, done []result) error {
	if slices.ContainsFunc(done, func(d result) bool { return d.Kernel == codes[0].Kernel && d.State == "" }) {
		return nil
	}
	c, err := cases.Load(filepath.Join(r.dir, codes[0].Kernel))
	if err != nil {
		return err
	}
	c.ResolveGrid(r.ctx.Device.Multiprocessors)
	memory, contents, err := r.upload(c)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range memory {
			m.Free()
		}
	}()
	var ready []*loaded
	for i := range codes {
		k := &codes[i]
		l := &loaded{code: k, firstOfKernel: len(ready) == 0, result: result{Kernel: k.Kernel, Peer: k.Peer, As: k.As, GPU: r.ctx.Device.Name, Flops: float64(c.Flops), Bytes: float64(c.Bytes)}}
		if state(done, k) == launching {
			l.result.Error = "the kernel was aborted or did not end"
		} else if err := r.load(l, c, memory); err != nil {
			l.result.Error = err.Error()
		} else if err := r.launchOnce(l, c, memory, contents); err != nil {
			return err
		}
		if l.result.Error != "" {
			r.write(l.result)
			continue
		}
		ready = append(ready, l)
	}
	if err := r.time(ready); err != nil {
		return err
	}
	compareOutputs(ready, c)
	for _, l := range ready {
		r.write(l.result)
		l.module.Unload()
	}
	return nil
}

// load loads the cubin, or else the PTX, and puts the parameters together.
func (r *runner) load(l *loaded, c *cases.Case, memory []*cuda.Memory) (err error) {
	for _, file := range []string{l.Cubin, l.PTX} {
		image, readErr := os.ReadFile(filepath.Join(r.dir, file))
		if readErr != nil {
			return readErr
		}
		var loadErr error
		if l.module, loadErr = r.ctx.Load(image); loadErr == nil {
			err = nil
			break
		}
		err = errors.Join(err, loadErr)
	}
	if err != nil {
		return err
	}
	if l.f, err = l.module.Function(l.Entry); err != nil {
		return err
	}
	l.result.Registers, l.result.Local = l.f.Registers, l.f.LocalBytes
	l.config = cuda.Config{Grid: c.Grid, Block: [3]int{l.Threads, 1, 1}, Shared: l.Shared}
	for _, p := range c.Params {
		bits, size := p.Bits, 8
		if p.Type != nil {
			size = p.Type.Size
		} else {
			bits = memory[slices.IndexFunc(c.Buffers, func(b *cases.Buffer) bool { return b.Name == p.Buffer })].Address + uint64(p.Offset)
		}
		l.params = append(l.params, binary.LittleEndian.AppendUint64(nil, bits)[:size])
	}
	return r.addHiddenParams(l)
}

// addHiddenParams adds the parameters that no caller passes: tensor maps and scratch memory.
func (r *runner) addHiddenParams(l *loaded) error {
	given := len(l.params)
	if l.Host != "" {
		host, err := os.ReadFile(filepath.Join(r.dir, l.Host))
		if err != nil {
			return err
		}
		made, err := hostmaps.Make(host, l.Target, l.Entry, l.Params, l.params)
		if err != nil {
			return err
		}
		l.params = append(l.params, made...)
	}
	for i := given; i < len(l.Params); i++ {
		if i == len(l.params) {
			l.params = append(l.params, nil)
		}
		if l.Params[i].Size == scratchBytes {
			l.params[i] = binary.LittleEndian.AppendUint64(nil, r.scratch.Address)
		}
	}
	return nil
}

// States of a code.
const (
	launching = "launching"
	launched  = "launched"
)

func (r *runner) logState(l *loaded, state string) {
	r.write(result{Kernel: l.Kernel, Peer: l.Peer, As: l.As, State: state})
}

// state is the last state of a code in a log.
func state(done []result, k *code) (s string) {
	for _, d := range done {
		if d.Kernel == k.Kernel && d.Peer == k.Peer && d.As == k.As {
			s = d.State
		}
	}
	return s
}

// launchGuarded runs a launch to its end. A kernel that aborts or hangs takes the process with it, so the log says before which
// one it is.
func (r *runner) launchGuarded(l *loaded, launch func() error) {
	r.logState(l, launching)
	defer r.logState(l, launched)
	timer := time.AfterFunc(r.timeout, func() {
		fmt.Fprintf(os.Stderr, "%s, %s for sm_%d does not end\n", l.Kernel, l.Peer, l.As)
		os.Exit(3)
	})
	defer timer.Stop()
	if err := launch(); err != nil {
		var e *cuda.Error
		if errors.As(err, &e) && e.Code >= cuda.IllegalAddress && e.Code != cuda.LaunchOutOfRes {
			fmt.Fprintf(os.Stderr, "%s, %s for sm_%d: %v\n", l.Kernel, l.Peer, l.As, err)
			os.Exit(3)
		}
		l.result.Error = err.Error()
	}
}

// launchOnce launches a code on the contents and reads what it writes.
func (r *runner) launchOnce(l *loaded, c *cases.Case, memory []*cuda.Memory, contents [][]byte) error {
	for i, m := range memory {
		write := func() error { return m.Write(contents[i]) }
		if isOutput(c.Buffers[i]) {
			write = func() error { return m.Fill(0) }
		} else if !l.firstOfKernel && len(contents[i]) > 1<<20 {
			continue // an input that is there
		}
		if err := write(); err != nil {
			return err
		}
	}
	r.launchGuarded(l, func() error {
		return errors.Join(l.f.Launch(l.config, l.params...), r.ctx.Synchronize())
	})
	if l.result.Error != "" {
		return nil
	}
	for i, b := range c.Buffers {
		var data []byte
		if isOutput(b) {
			var err error
			if data, err = memory[i].Read(); err != nil {
				return err
			}
		}
		l.output = append(l.output, data)
	}
	return nil
}

// isOutput tells buffers that launches fill from those that they read.
func isOutput(b *cases.Buffer) bool { return b.Init != nil && b.Init.Kind == "zeros" }

// time times the codes in turn, with a cleared L2.
func (r *runner) time(ready []*loaded) error {
	const warmUp = 3
	for n := range r.runs + warmUp {
		for _, l := range ready {
			if err := r.flush.Fill(byte(n)); err != nil {
				return err
			}
			ms, err := r.ctx.Time(func() error { return l.f.Launch(l.config, l.params...) })
			if err != nil {
				return err
			}
			if n >= warmUp {
				l.result.Micros = append(l.result.Micros, 1000*ms)
			}
		}
	}
	for _, l := range ready {
		slices.Sort(l.result.Micros)
	}
	return nil
}

// upload makes the buffers of a launch.
func (r *runner) upload(c *cases.Case) (memory []*cuda.Memory, contents [][]byte, err error) {
	for _, b := range c.Buffers {
		data, err := r.fill(b)
		if err != nil {
			return nil, nil, err
		}
		m, err := r.ctx.Alloc(len(data))
		if err != nil {
			return nil, nil, err
		}
		memory, contents = append(memory, m), append(contents, data)
	}
	for i, b := range c.Buffers {
		for _, p := range b.Pointers {
			to := slices.IndexFunc(c.Buffers, func(o *cases.Buffer) bool { return o.Name == p.Buffer })
			binary.LittleEndian.PutUint64(contents[i][8*p.Index:], memory[to].Address+uint64(p.Offset))
		}
	}
	return memory, contents, nil
}

// fill is the content of a buffer. Large random arrays repeat a period, since generating them all would take too long.
func (r *runner) fill(b *cases.Buffer) ([]byte, error) {
	const period = 1<<22 - 3 // elements; no row is a divisor
	if b.Data != nil || b.Init == nil || b.Init.Values != nil {
		err := b.Fill()
		return slices.Clone(b.Data), err
	}
	data := make([]byte, b.Size())
	if b.Init.Kind == "zeros" {
		return data, nil
	}
	how := *b.Init
	how.Seed = 1
	key := fmt.Sprint(b.DType.Name, how)
	if r.randomData[key] == nil {
		short := cases.Buffer{Name: b.Name, DType: b.DType, Shape: []int{period}, Init: &how}
		if err := short.Fill(); err != nil {
			return nil, err
		}
		r.randomData[key] = short.Data
	}
	at := int(b.Init.Seed) * 100_003 % period * b.DType.Size
	for rest := data; len(rest) > 0; at = 0 {
		rest = rest[copy(rest, r.randomData[key][at:]):]
	}
	return data, nil
}

func (r *runner) write(x result) {
	line, err := json.Marshal(x)
	if err == nil {
		_, err = fmt.Fprintf(r.log, "%s\n", line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
