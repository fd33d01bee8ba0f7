package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"

	"tileiras/runtime/cases"
)

// compareOutputs compares what each code has written with what NVIDIA's code for the highest target has, or else with the first.
func compareOutputs(ready []*loaded, c *cases.Case) {
	var want *loaded
	for _, l := range ready {
		if want == nil || want.Peer == "ours" && l.Peer != "ours" {
			want = l
		}
	}
	for _, l := range ready {
		if l == want {
			continue
		}
		for i, b := range c.Buffers {
			if l.output[i] == nil {
				continue
			}
			d, nans := relativeDistance(b.DType, l.output[i], want.output[i])
			l.result.Distance = max(l.result.Distance, d)
			l.result.NaNs += nans
		}
	}
	for _, l := range ready {
		l.output = nil
	}
}

// relativeDistance is the norm of the difference of two arrays relative to that of the second, and how many elements are NaN or
// infinite in only one of them.
func relativeDistance(d *cases.DType, got, want []byte) (relative float64, nans int) {
	decode := decoder(d)
	parts := runtime.GOMAXPROCS(0)
	n := len(want) / d.Size
	var mu sync.Mutex
	var wg sync.WaitGroup
	var off, norm float64
	for part := range parts {
		wg.Go(func() {
			var o, m float64
			bad := 0
			for i := n * part / parts; i < n*(part+1)/parts; i++ {
				x, y := decode(got[i*d.Size:]), decode(want[i*d.Size:])
				switch {
				case math.IsNaN(x) != math.IsNaN(y), (math.IsInf(x, 0) || math.IsInf(y, 0)) && x != y:
					bad++
				case x != y && x == x:
					o += (x - y) * (x - y)
				}
				if !math.IsNaN(y) && !math.IsInf(y, 0) {
					m += y * y
				}
			}
			mu.Lock()
			off, norm, nans = off+o, norm+m, nans+bad
			mu.Unlock()
		})
	}
	wg.Wait()
	if norm == 0 {
		norm = 1
	}
	return math.Sqrt(off / norm), nans
}

// decoder gives the number in the first bytes of a slice, by a table for formats of 8 and 16 bits.
func decoder(d *cases.DType) func([]byte) float64 {
	switch {
	case d.Size == 8 && d.Format != nil:
		return func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
	case d.Size == 8:
		return func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }
	case d.Size == 4 && d.Format != nil:
		return func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	case d.Size == 4:
		return func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }
	case d.Format == nil && d.Size == 2:
		return func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) }
	case d.Format == nil:
		return func(b []byte) float64 { return float64(int8(b[0])) }
	}
	numbers := make([]float64, 1<<(8*d.Size))
	for i := range numbers {
		numbers[i] = d.Format.Decode(uint64(i))
	}
	if d.Size == 1 {
		return func(b []byte) float64 { return numbers[b[0]] }
	}
	return func(b []byte) float64 { return numbers[binary.LittleEndian.Uint16(b)] }
}

// readLog reads a log; a missing file is an empty one.
func readLog(file string) (all []result, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		var x result
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}
