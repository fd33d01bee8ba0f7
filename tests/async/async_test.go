// Package async_test holds kernels with planted faults against the emulator: README.md.
package async_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tileiras/runtime/emu"
)

// kernel is a planted fault.
type kernel struct {
	text, kind  string
	kindAtOnce  string // of the RoundRobin schedule, if it is another one
	says        []string
	here, there int // lines, 0: none
	grid        int
	maps        *emu.TensorMap
}

// read takes the head and the marks of a file.
func read(t *testing.T, path string) *kernel {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{text: string(text), grid: 1}
	anywhere, anyline := false, false
	for i, line := range strings.Split(k.text, "\n") {
		if _, marks, ok := strings.Cut(line, "; //"); ok {
			words := strings.Fields(marks)
			for _, w := range words {
				switch w {
				case "here":
					k.here = i + 1
				case "there":
					k.there = i + 1
				case "fault+":
				default:
					t.Fatalf("line %d: unknown mark %q", i+1, w)
				}
			}
		}
		key, value, _ := strings.Cut(strings.TrimPrefix(line, "// "), ": ")
		switch key {
		case "kind":
			k.kind = value
		case "kind where copies complete at once":
			k.kindAtOnce = value
		case "says":
			k.says = append(k.says, value)
		case "grid":
			fmt.Sscan(value, &k.grid)
		case "map":
			k.maps = &emu.TensorMap{Steps: [5]uint8{1, 1, 1, 1, 1}, Rank: 2}
			if _, err := fmt.Sscanf(value, "type=%d dims=%d,%d box=%d,%d swizzle=%d", &k.maps.Type, &k.maps.Dims[0], &k.maps.Dims[1],
				&k.maps.Box[0], &k.maps.Box[1], &k.maps.Swizzle); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			k.maps.Strides[0] = uint64(2 * k.maps.Dims[0])
		}
		anywhere, anyline = anywhere || line == "// anywhere", anyline || line == "// anyline"
	}
	if anywhere {
		k.here = 0
	}
	if anyline {
		k.there = 0
	}
	return k
}

// right is the kernel without its fault.
func (k *kernel) right() string {
	lines := strings.Split(k.text, "\n")
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "//fault- "); ok {
			lines[i] = rest
		} else if strings.Contains(line, "//fault+") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// run runs a text on a buffer of 64 KB.
func (k *kernel) run(t *testing.T, text string, s emu.Schedule) (*emu.Result, error) {
	t.Helper()
	m, err := emu.Parse("kernel.ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	if un := m.Entry("k").Unsupported; len(un) > 0 {
		t.Fatalf("unsupported: %v", un)
	}
	data := make([]byte, 1<<16)
	for i := range data {
		data[i] = byte(i * 7 >> 3 & 0x3f)
	}
	mem := emu.NewMemory()
	addr := mem.Alloc("p", data, 256)
	args := []emu.Arg{binary.LittleEndian.AppendUint64(nil, addr)}
	if k.maps != nil {
		k.maps.Address = addr
		args = append(args, k.maps.Encode())
	}
	return m.Run(context.Background(), "k", mem, args, emu.Options{Grid: [3]int{k.grid, 1, 1}, Schedule: s, Seed: 3})
}

// TestPlantedFaults: every fault is found with the right kind and places under every schedule, and the same
// kernel without it is silent.
func TestPlantedFaults(t *testing.T) {
	files, err := filepath.Glob("sm*/*.ptx")
	if err != nil || len(files) == 0 {
		t.Fatalf("no kernels: %v", err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".ptx")
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(string(readme), "`"+name+"`") {
				t.Errorf("README.md does not list %s", name)
			}
			k := read(t, file)
			for _, s := range emu.Schedules {
				_, err := k.run(t, k.text, s)
				k.judge(t, s, err)
				res, err := k.run(t, k.right(), s)
				if err != nil || len(res.Notes) > 0 {
					t.Errorf("%v: the right kernel reports %v", s, err)
				}
			}
		})
	}
}

func (k *kernel) judge(t *testing.T, s emu.Schedule, err error) {
	t.Helper()
	var rep *emu.Report
	if !errors.As(err, &rep) {
		t.Errorf("%v: the fault is not found (%v)", s, err)
		return
	}
	all := rep.Error()
	if s == emu.RoundRobin && k.kindAtOnce != "" {
		if rep.Kind.String() != k.kindAtOnce {
			t.Errorf("%v: a fault of kind %q is reported, want %q: %v", s, rep.Kind, k.kindAtOnce, rep)
		}
		return
	}
	switch {
	case rep.Kind.String() != k.kind:
		t.Errorf("%v: a fault of kind %q is reported, want %q: %v", s, rep.Kind, k.kind, rep)
	case k.here > 0 && rep.Line != k.here:
		t.Errorf("%v: reported at line %d, want %d: %v", s, rep.Line, k.here, rep)
	case k.there > 0 && !strings.Contains(all, fmt.Sprintf("line %d", k.there)):
		t.Errorf("%v: line %d is not named: %v", s, k.there, rep)
	}
	for _, text := range k.says {
		if !strings.Contains(all, text) {
			t.Errorf("%v: want %q in: %v", s, text, rep)
		}
	}
}
