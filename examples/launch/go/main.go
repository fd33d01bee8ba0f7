// Command go compiles a kernel and launches it on a GPU, all in one program: go run ./examples/launch/go
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"

	"tileiras"
	"tileiras/runtime/cuda"
)

const n = 1000

func main() {
	source, err := os.ReadFile("examples/launch/add.tileir")
	check(err)
	driver, err := cuda.Open("")
	check(err)
	gpu, err := driver.Context(0)
	check(err)
	defer gpu.Close()
	res, err := tileiras.Compile(context.Background(), source, tileiras.Options{Name: "add.tileir", GPU: fmt.Sprintf("sm_%d", gpu.Device.SM())})
	check(err)
	module, err := gpu.Load(res.Output)
	check(err)
	kernel := res.Kernels[0]
	add, err := module.Function(kernel.Name)
	check(err)

	a, b := make([]float32, n), make([]float32, n)
	for i := range a {
		a[i], b[i] = float32(i), 0.5
	}
	pa, pb, pc := upload(gpu, a), upload(gpu, b), upload(gpu, make([]float32, n))
	tiles := [3]int{(n + 255) / 256, 1, 1} // 256 elements each: add.tileir says so
	shape := cuda.Config{Block: kernel.Block, Shared: kernel.SharedDynamic}
	for i := range tiles {
		shape.Grid[i] = tiles[i] * kernel.BlocksPerTile[i]
	}
	check(add.Launch(shape, parameter(pa.Address), parameter(pb.Address), parameter(pc.Address), parameter(int32(n))))
	check(gpu.Synchronize())

	out, err := pc.Read()
	check(err)
	c := make([]float32, n)
	check(binary.Read(bytes.NewReader(out), binary.LittleEndian, c))
	for i := range c {
		if c[i] != float32(i)+0.5 {
			log.Fatalf("c[%d] = %v", i, c[i])
		}
	}
	fmt.Println("ok")
}

// upload puts floats into memory of the GPU.
func upload(gpu *cuda.Context, data []float32) *cuda.Memory {
	m, err := gpu.Alloc(4 * len(data))
	check(err)
	check(m.Write(parameter(data)))
	return m
}

// parameter is a value as its bytes.
func parameter(value any) []byte {
	var b bytes.Buffer
	check(binary.Write(&b, binary.LittleEndian, value))
	return b.Bytes()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
