// Package ptxas finds NVIDIA's assembler of PTX and runs it as a child process. NVIDIA ships it in the CUDA toolkit and in packages of
// PyPI; it is free of charge and not ours to ship.
//
// It imports the standard library only.
package ptxas

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// variable is the environment variable that names ptxas.
const variable = "TILEIRAS_PTXAS"

// Missing is the error of Find: where it looked, and how to get ptxas.
type Missing struct {
	Tried  []string
	Option string // that names the file
}

func (e *Missing) Error() string {
	return "a cubin needs NVIDIA's ptxas, which is not here (looked at " + strings.Join(e.Tried, ", ") +
		"): pip install nvidia-cuda-nvcc, or install the CUDA toolkit 13.3 or later, or name it with " + e.Option + " or " + variable +
		"; or write PTX, which the driver compiles when it is loaded"
}

// Find finds ptxas: the file that is named, or else the program on PATH, else that of the environment variable, else beside this program, in CUDA_HOME, CUDA_PATH
// or CUDA_ROOT, on PATH, in /usr/local/cuda, in the packages of the Python environments that can be seen from here. A file that is named and
// cannot be run is an error, which says by which option it was named; the other places are passed over.
func Find(named, option string) (string, error) {
	for _, n := range []struct{ what, file string }{{option, named}, {variable, os.Getenv(variable)}} {
		if n.file == "" {
			continue
		}
		path, err := lookup(n.file)
		if err != nil {
			return "", fmt.Errorf("cannot run the ptxas that %s names, '%s': %w", n.what, n.file, cause(err))
		}
		return path, nil
	}
	m := &Missing{Option: option}
	for _, p := range places() {
		m.Tried = append(m.Tried, p.name)
		for _, dir := range p.dirs {
			if path, err := exec.LookPath(filepath.Join(dir, program())); err == nil {
				return path, nil
			}
		}
		if p.path {
			if path, err := exec.LookPath(program()); err == nil {
				return path, nil
			}
		}
	}
	return "", m
}

// lookup is the program of a name: the file, else, of a name without a folder, the first on PATH.
func lookup(name string) (string, error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		path, err := filepath.Abs(name) // a name without a folder would be looked for on PATH
		if err != nil {
			return "", err
		}
		if path, err = exec.LookPath(path); err != nil {
			return "", fmt.Errorf("this file cannot be executed: %w", cause(err))
		}
		return path, nil
	}
	return exec.LookPath(name)
}

// cause is what the system says, without the name of the file, which the message has already.
func cause(err error) error {
	if e, ok := err.(*exec.Error); ok {
		err = e.Err
	}
	if e, ok := err.(*os.PathError); ok {
		err = e.Err
	}
	return err
}

func program() string {
	if runtime.GOOS == "windows" {
		return "ptxas.exe"
	}
	return "ptxas"
}

// place is where ptxas may be: folders, or what PATH lists.
type place struct {
	name string
	dirs []string
	path bool
}

func places() []place {
	ps := []place{{name: "the folder of tileiras", dirs: beside()}}
	for _, v := range []string{"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"} {
		p := place{name: v}
		if root := os.Getenv(v); root != "" {
			p.dirs = []string{filepath.Join(root, "bin")}
		}
		ps = append(ps, p)
	}
	return append(ps, place{name: "PATH", path: true}, place{name: "/usr/local/cuda", dirs: []string{"/usr/local/cuda/bin"}},
		place{name: "Python packages", dirs: packages()})
}

var executable = os.Executable

// beside is the folder of this program, also of the file behind a symbolic link.
func beside() []string {
	self, err := executable()
	if err != nil {
		return nil
	}
	dirs := []string{filepath.Dir(self)}
	if real, err := filepath.EvalSymlinks(self); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

// packages are the folders in which NVIDIA's packages put ptxas, newest CUDA first, in the Python environments that are active, in that in whose bin
// this program lies, in those on PATH and in those of the user and the system.
func packages() []string {
	var prefixes []string
	for _, v := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if p := os.Getenv(v); p != "" {
			prefixes = append(prefixes, p)
		}
	}
	for _, bin := range beside() {
		prefixes = append(prefixes, filepath.Dir(bin))
	}
	for _, python := range []string{"python3", "python"} {
		if path, err := exec.LookPath(python); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(path)))
			if real, err := filepath.EvalSymlinks(path); err == nil {
				prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
			}
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	prefixes = append(prefixes, "/usr/local", "/usr")
	var dirs []string
	for _, p := range prefixes {
		for _, site := range []string{"lib*/python3*/site-packages", "lib/python3/dist-packages", "lib/python3*/dist-packages", "Lib/site-packages"} {
			for _, pkg := range []string{"nvidia/cu*/bin", "nvidia/cuda_nvcc/bin"} {
				found, err := filepath.Glob(filepath.Join(escaped(p), site, pkg))
				if err == nil {
					slices.Reverse(found)
					dirs = append(dirs, found...)
				}
			}
		}
	}
	return dirs
}

// escaped is a path as a pattern that means itself.
func escaped(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
