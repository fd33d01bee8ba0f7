package tilerun

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tileiras/codegen/target"
	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/cuda"
)

// gpu runs our PTX on the first GPU.
type gpu struct{ cuda.Machine }

func (*gpu) String() string { return "GPU" }

// Decode reads, verifies and prints; no GPU is needed for that.
func (*gpu) Decode(ctx context.Context, file string, module []byte) error {
	return decode(ctx, file, module)
}

// newGPU compiles for the GPU itself where no name is given.
func newGPU(line *driver.Line) (*gpu, error) {
	o := line.Options()
	d, err := cuda.Open("")
	if err != nil {
		return nil, err
	}
	c, err := d.Context(0)
	if err != nil {
		return nil, err
	}
	if own := fmt.Sprintf("sm_%d", c.Device.SM()); o.GPU == "" || o.GPU == driver.Native {
		if _, known := target.ByName(own); !known {
			return nil, fmt.Errorf("this GPU is %s, which is not supported: say --gpu-name", own)
		}
		o.GPU = own
	}
	return &gpu{cuda.Machine{Context: c, CaptureOutput: true, Runs: line.Int("runs"), Compile: func(ctx context.Context, l *cases.Launch) (*cuda.Image, error) {
		if p := l.PTX; p != nil {
			if p.Block[1] > 1 || p.Block[2] > 1 || p.Cluster != [3]int{} {
				return nil, fmt.Errorf("a launch with block %v and cluster %v: %w", p.Block, p.Cluster, errors.ErrUnsupported)
			}
			if p.Block[0] == 0 {
				return nil, errors.New("a launch of PTX on a GPU says its block: --block, or \"block\" of the record")
			}
			return &cuda.Image{Code: []byte(p.Text), Threads: p.Block[0], Shared: p.Shared}, nil
		}
		res, err := compile(ctx, o.GPU, o.Code, l)
		if err != nil {
			return nil, err
		}
		return image(res, l.Kernel)
	}}}, nil
}

// image is a kernel of a compile with how it is launched.
func image(res *driver.Result, kernel string) (*cuda.Image, error) {
	for _, k := range res.Metadata.Kernels {
		if k.Name != kernel {
			continue
		}
		im := &cuda.Image{Code: res.Output, Threads: k.Block[0], Shared: k.Dynamic, ParamBytes: []int{}}
		for _, p := range k.Params {
			im.ParamBytes = append(im.ParamBytes, p.Size)
		}
		return im, nil
	}
	return nil, fmt.Errorf("there is no kernel %s in the PTX", kernel)
}

// listGPUs prints the GPUs that the driver shows, one a line, in the form of nvidia-smi --query-gpu=compute_cap,name.
func listGPUs(w io.Writer) error {
	d, err := cuda.Open("")
	if err != nil {
		return err
	}
	n, err := d.Devices()
	if err != nil {
		return err
	}
	for i := range n {
		dev, err := d.Device(i)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d.%d, %s\n", dev.Major, dev.Minor, dev.Name)
	}
	return nil
}

var _ driver.Tool = Run
