// Package native finds out which GPUs this machine has, by asking a helper: NVIDIA's driver is a C library, and a compiler that
// loaded it would need a C runtime on every machine. `tilerun --gpus` beside this program asks the driver itself, and so knows
// CUDA_VISIBLE_DEVICES; nvidia-smi, which comes with the driver, is asked where tilerun is not installed.
//
// It imports the standard library only.
package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// GPU is a device of this machine.
type GPU struct {
	Name   string
	Number int // its compute capability, 90 for 9.0
}

// limit is how long a helper may take: a driver that wakes GPUs up takes seconds.
const limit = 20 * time.Second

// helper is a program that lists GPUs, one a line.
type helper struct {
	program string
	dirs    []string // where to look before PATH
	args    []string
}

var smiQuery = []string{"--query-gpu=compute_cap,name", "--format=csv,noheader"}

func helpers() []helper {
	return []helper{
		{"tilerun", beside(), []string{"--gpus"}},
		{"nvidia-smi", []string{"/usr/lib/wsl/lib"}, smiQuery},
	}
}

// beside is where this program lies, and where a link to it points.
func beside() []string {
	var dirs []string
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
		if real, err := filepath.EvalSymlinks(self); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	return dirs
}

// Tilerun is the path of the tilerun that was installed with this program, "" without one.
func Tilerun() string { return helper{program: "tilerun", dirs: beside()}.find() }

// Query lists the GPUs of this machine in the driver's order; there is at least one when the error is nil. The error says what
// each helper answered.
func Query(ctx context.Context) ([]GPU, error) {
	var failed []string
	for _, h := range helpers() {
		path := h.find()
		if path == "" {
			continue
		}
		out, err := run(ctx, path, h.args)
		if err == nil {
			gpus, perr := parse(out)
			if perr == nil && len(gpus) > 0 {
				return gpus, nil
			}
			err = perr
			if err == nil {
				err = errors.New("it lists no GPU")
			}
		}
		failed = append(failed, fmt.Sprintf("%s %s: %v", path, strings.Join(h.args, " "), err))
	}
	if len(failed) == 0 {
		return nil, errors.New("there is neither tilerun beside this program or on PATH nor nvidia-smi")
	}
	return nil, errors.New(strings.Join(failed, "; "))
}

func (h helper) find() string {
	for _, d := range h.dirs {
		if path, err := exec.LookPath(filepath.Join(d, h.program)); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(h.program)
	if err != nil {
		return ""
	}
	return path
}

func run(ctx context.Context, path string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	switch said := strings.TrimSpace(errs.String() + out.String()); {
	case ctx.Err() != nil:
		return "", fmt.Errorf("no answer within %v", limit)
	case err != nil && said != "":
		return "", errors.New(strings.Join(strings.Fields(said), " "))
	case err != nil:
		return "", err
	}
	return out.String(), nil
}

// parse reads lines of either helper: "9.0, NVIDIA H200".
func parse(text string) ([]GPU, error) {
	var gpus []GPU
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		number, name, ok := strings.Cut(strings.TrimSpace(line), ", ")
		major, minor, dot := strings.Cut(number, ".")
		x, wrongX := strconv.ParseUint(major, 10, 16)
		y, wrongY := strconv.ParseUint(minor, 10, 16)
		if !ok || !dot || len(minor) != 1 || wrongX != nil || wrongY != nil {
			return nil, fmt.Errorf("cannot understand its answer %q", line)
		}
		gpus = append(gpus, GPU{strings.TrimSpace(name), int(10*x + y)})
	}
	return gpus, nil
}
