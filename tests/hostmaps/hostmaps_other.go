//go:build !(linux && amd64)

package hostmaps

import "errors"

// Make needs the machine that NVIDIA's host code is for.
func Make(cubin []byte, target, kernel string, params []Param, args [][]byte) ([][]byte, error) {
	return nil, errors.New("the tensor maps of a kernel are made by code for linux on amd64")
}
