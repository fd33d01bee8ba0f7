// Package tileiras compiles CUDA Tile IR, bytecode or text, to PTX and cubins.
//
//	res, err := tileiras.Compile(ctx, src, tileiras.Options{GPU: "sm_90"})
//
// Compile may be called from any number of goroutines at once; it shares nothing between calls and starts nothing that outlives one.
// It ends within 10 ms after its context does, with the ptxas that it may have started. docs/library.md has more.
package tileiras

import (
	"context"

	"tileiras/internal/driver"
)

// Compile takes Tile IR bytecode or text, told apart by the first bytes, to PTX or to the level that the options name. The source is
// only read. The error is an *Error; errors.Is finds context.Canceled, context.DeadlineExceeded and ErrMemory in it.
func Compile(ctx context.Context, src []byte, o Options) (*Result, error) {
	d, err := o.driver()
	if err != nil {
		return nil, err
	}
	name := o.Name
	if name == "" {
		name = "input"
	}
	res, err := driver.Compile(ctx, name, src, d)
	if err != nil {
		return nil, errorOf(err)
	}
	return resultFrom(res), nil
}

// GPUs lists the names that Options.GPU takes, oldest first, but for Native.
func GPUs() []string { return driver.GPUs() }

// BytecodeVersions lists the versions of bytecode that Compile reads, and writes for Options.BytecodeVersion, oldest first.
func BytecodeVersions() []string { return append([]string(nil), driver.Versions()...) }

// Passes lists the names that Options.PrintBefore, PrintAfter and StopAfter take, in the order in which they run.
func Passes() []string { return driver.StageNames() }

// Build names this build of the compiler: two builds that may give different output have different names, but for those that cannot
// read their own file, which end with "unknown". Caches use it in keys.
func Build() string { return driver.BuildVersion() }
