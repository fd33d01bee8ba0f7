//go:build !(linux && amd64)

package nvidia_test

import (
	"errors"

	"tileiras/runtime/emu"
)

// hostMaps needs the machine that NVIDIA's host code is for.
func hostMaps([]byte, string, *emu.Entry, int, []emu.Arg) ([]emu.Arg, error) {
	return nil, errors.New("the tensor maps of a kernel are made by code for linux on amd64")
}
