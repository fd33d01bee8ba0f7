// Package hostmaps makes the parameters that NVIDIA's Tile IR kernels take and no caller passes: tensor maps, which code for the host in the
// cubin writes from the other parameters, in the format of the machine. It imports purego.
package hostmaps

// Param is a parameter of a kernel: its bytes, and where they may begin.
type Param struct{ Size, Align int }
