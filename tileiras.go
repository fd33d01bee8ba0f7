// Package tileiras compiles CUDA Tile IR, bytecode or text, to PTX.
//
//	res, err := tileiras.Compile(ctx, src, tileiras.Options{GPU: "sm_80"})
//
// It may import internal/driver only.
package tileiras

import (
	"context"

	"tileiras/internal/driver"
)

// Options say what to compile for and where to stop; the zero value of all fields but GPU is right for most.
type Options = driver.Options

// Result is the output with what the compiler has to say about its choices.
type Result = driver.Result

// Failure is the type of every error of Compile: the lines that the command prints and its exit code.
type Failure = driver.Failure

// Levels at which a compile can stop.
const (
	CudaTile = driver.EmitCudaTile
	Bytecode = driver.EmitBytecode
	TileAA   = driver.EmitTileAA
	LLVM     = driver.EmitLLVM
	PTX      = driver.EmitPTX
)

// Compile takes Tile IR bytecode or text to PTX, or to the level that the options name. Errors are *Failure.
func Compile(ctx context.Context, src []byte, o Options) (*Result, error) {
	if o.Emit == "" {
		o.Emit = PTX
	}
	return driver.Compile(ctx, "input", src, o)
}
