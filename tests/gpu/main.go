// Command gpu measures kernels on a GPU, ours beside what NVIDIA's tileiras makes of the same bytecode:
//
//	go run ./tests/gpu pack -nvidia DIR -out DIR [-corpus DIR] [-as 90,80] [-only RE]
//	go run ./tests/gpu run DIR [-runs 12] [-log FILE] [-only RE]
//	go run ./tests/gpu table FILE...
//
// pack needs no GPU: it compiles the kernels of a folder of benchmarks for some targets, by both compilers, to cubins for the architecture
// of the GPU. run needs nothing but the folder and the driver, so both may run on different machines; go build makes a static program. It
// launches each code once and compares what is written with what NVIDIA's code writes, then times the codes in turn, by events of the
// device, with the second level cache cleared before. It writes a line of JSON for each code. table prints them.
//
// NVIDIA's kernels become ordinary ones, which drivers older than Tile IR load: the PTX that its cubin carries, without .language and with
// dynamic shared memory, is assembled again. Tensor maps among the parameters are made by the host code of the cubin.
package main

import (
	"fmt"
	"os"
)

func main() {
	commands := map[string]func(args []string) error{"pack": pack, "run": run, "table": table}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: gpu pack|run|table ...")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}
