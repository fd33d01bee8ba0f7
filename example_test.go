package tileiras_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"tileiras"
	"tileiras/runtime/executor"
)

// double doubles a number in memory.
const double = `entry @double(%p: tile<ptr<i32>>) {
  %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %y = addi %x, %x : tile<i32>
  %u = store_ptr_tko weak %p, %y token=%t : tile<ptr<i32>>, tile<i32> -> token
  return
}
`

func ExampleCompile() {
	res, err := tileiras.Compile(context.Background(), []byte(double), tileiras.Options{Name: "double.tileir", GPU: "sm_90"})
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range strings.Split(string(res.Output), "\n") {
		if strings.HasPrefix(line, ".target") || strings.HasPrefix(line, ".visible") {
			fmt.Println(line)
		}
	}
	// Output:
	// .target sm_90
	// .visible .entry double(
}

// Text becomes bytecode, which frontends and NVIDIA's tools read.
func ExampleCompile_bytecode() {
	res, err := tileiras.Compile(context.Background(), []byte(double), tileiras.Options{Emit: tileiras.Bytecode, BytecodeVersion: "13.2"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q %d.%d\n", res.Output[1:7], res.Output[8], res.Output[9])
	// Output: "TileIR" 13.2
}

// A cubin for the GPU of this machine; ptxas must be there.
func ExampleCompile_cubin() {
	res, err := tileiras.Compile(context.Background(), []byte(double), tileiras.Options{GPU: tileiras.Native, Emit: tileiras.Cubin, Remarks: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("double.cubin", res.Output, 0o644); err != nil {
		log.Fatal(err)
	}
	for _, k := range res.Kernels {
		fmt.Printf("%s for %s: %d registers a thread, %d bytes spilled\n", k.Name, res.GPU, k.Usage.Registers, k.Usage.SpillStores)
	}
}

// What a compile looks like after one of its passes.
func ExamplePasses() {
	passes := tileiras.Passes()
	res, err := tileiras.Compile(context.Background(), []byte(double), tileiras.Options{StopAfter: passes[0]})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(passes[0], res.Emit, strings.Contains(string(res.Output), "entry @double"))
	// Output: convert-to-tileaa tileaa true
}

// A compile ends with its context, or after its own limits.
func ExampleCompile_limits() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := tileiras.Compile(ctx, []byte(double), tileiras.Options{GPU: "sm_90", TimeLimit: 10 * time.Second, MemoryLimit: 1 << 30})
	fmt.Println(errors.Is(err, context.Canceled))
	fmt.Println(err)
	// Output:
	// true
	// error: the compile was canceled
}

// What is wrong with a program is a list of values.
func ExampleError() {
	_, err := tileiras.Compile(context.Background(), []byte("entry @k(%x: tile<i32>) {\n  %y = addi %x, %z : tile<i32>\n  return\n}\n"),
		tileiras.Options{Name: "k.tileir", GPU: "sm_90"})
	var e *tileiras.Error
	if errors.As(err, &e) {
		for _, d := range e.Diagnostics {
			fmt.Printf("%s, %s, line %d\n", d.Severity, d.Kind, d.Place.Line)
		}
	}
	// Output: error, text, line 2
}

// A program that cannot be loaded, to run without a GPU, has the same diagnostics.
func ExampleError_load() {
	_, err := executor.Load(context.Background(), []byte("entry @k() {\n  %x = foo\n  return\n}\n"), executor.Options{Name: "k.tileir"})
	var e *tileiras.Error
	if errors.As(err, &e) {
		fmt.Println(e.Diagnostics[0].Place, e.Diagnostics[0].Kind)
	}
	// Output: k.tileir:2:8 text
}

// How a kernel is launched, and why it is as it is.
func ExampleResult() {
	res, err := tileiras.Compile(context.Background(), []byte(double), tileiras.Options{GPU: "sm_90", Remarks: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range res.Kernels {
		fmt.Printf("%s: block %v, %d bytes of shared memory, parameter %s: %s\n", k.Name, k.Block, k.SharedStatic, k.Params[0].Name, k.Params[0].Type)
	}
	for _, r := range res.Remarks {
		if r.ID == "RemarkPlanSelected" {
			fmt.Println(r.Text)
		}
	}
	// Output:
	// double: block [32 1 1], 0 bytes of shared memory, parameter p: ptr<i32>
	// Plan: 1 warp
}
