//go:build !linux

package ptxas

import "os/exec"

// confine leaves it at killing the child itself.
func confine(*exec.Cmd) {}
