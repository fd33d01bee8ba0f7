//go:build !linux

package cuda

import (
	"errors"
	"runtime"
)

var errSystem = errors.New("this program knows no CUDA driver for " + runtime.GOOS)

func dlopen(string) (uintptr, error) { return 0, errSystem }

func dlsym(uintptr, string) (uintptr, error) { return 0, errSystem }

func capture(f func() error) (string, error) { return "", f() }
