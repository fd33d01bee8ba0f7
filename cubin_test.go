package tileiras_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tileiras"
)

// fakePtxas is a shell script in the place of ptxas; $out is the file to write.
func fakePtxas(t *testing.T, script string) string {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the ptxas of this test is a shell script")
	}
	file := filepath.Join(t.TempDir(), "ptxas")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nfor out; do :; done\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

const placed = `entry @double(%p: tile<ptr<i32>>) {
  %x, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %u = store_ptr_tko weak %p, %x token=%t : tile<ptr<i32>>, tile<i32> -> token
  return
}
`

func TestCubins(t *testing.T) {
	dir := t.TempDir()
	ptxas := fakePtxas(t, "echo \"$*\" > "+filepath.Join(dir, "args")+`
for in; do case "$in" in *.ptx) cp "$in" `+filepath.Join(dir, "ptx")+`;; esac; done
printf '\177ELF and so on' > "$out"
echo "ptxas info    : Compiling entry function 'double' for 'sm_90a'"
echo "ptxas info    : Function properties for double"
echo "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads"
echo "ptxas info    : Used 24 registers, used 0 barriers"
`)
	o := tileiras.Options{GPU: "sm_90", Emit: tileiras.Cubin, Ptxas: ptxas, Opt: tileiras.O2, Sanitize: true, Remarks: true, Name: "k.tileir"}
	res, err := tileiras.Compile(t.Context(), []byte(placed), o)
	if err != nil {
		t.Fatal(err)
	}
	k := res.Kernels[0]
	if string(res.Output) != "\x7fELF and so on" || res.Emit != tileiras.Cubin || res.GPU != "sm_90" || k.Block != [3]int{1, 1, 1} || k.Usage == nil || *k.Usage != (tileiras.Usage{24, 4, 12, 8}) {
		t.Errorf("%q, %s for %s, %+v, %+v", res.Output, res.Emit, res.GPU, k, k.Usage)
	}
	if !strings.Contains(res.Explain(), "ptxas takes 24 registers a thread and spills: 4 bytes of stores, 12 of loads, 8 bytes of stack") {
		t.Error(res.Explain())
	}
	args, _ := os.ReadFile(filepath.Join(dir, "args"))
	text, _ := os.ReadFile(filepath.Join(dir, "ptx"))
	if !strings.Contains(string(args), "--opt-level 2 ") || !strings.Contains(string(args), "-sanitize=memcheck") || !strings.Contains(string(text), ".language 7") {
		t.Errorf("ptxas is called with %s on\n%s", args, text)
	}
	o.Remarks = false
	if res, err = tileiras.Compile(t.Context(), []byte(placed), o); err != nil || res.Kernels[0].Usage != nil {
		t.Errorf("without remarks: %v, %+v", err, res)
	}

	o.Ptxas = fakePtxas(t, "echo \"ptxas error   : Entry function 'double' uses too much shared data (0x493e0 bytes, 0x38c00 max)\" >&2; exit 255")
	_, err = tileiras.Compile(t.Context(), []byte(placed), o)
	var e *tileiras.Error
	if !errors.As(err, &e) || e.Code != 5 || e.Diagnostics[0].Place != (tileiras.Place{File: "k.tileir", Line: 1, Column: 1}) || len(e.Diagnostics[0].Notes) != 1 {
		t.Errorf("what ptxas refuses: %+v", err)
	}
	o.Ptxas = filepath.Join(dir, "nowhere")
	if _, err = tileiras.Compile(t.Context(), []byte(placed), o); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a ptxas that is not there: %v", err)
	}
}

// TestCanceledPtxas ends compiles while ptxas hangs: by their context, and by their own limit.
func TestCanceledPtxas(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	o := tileiras.Options{GPU: "sm_90", Emit: tileiras.Cubin, Ptxas: fakePtxas(t, "touch "+started+"\nsleep 1000 &\nwait\n")}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(started); err == nil || ctx.Err() != nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if res, err := tileiras.Compile(ctx, []byte(placed), o); res != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v, %v", res, err)
	}
	o.TimeLimit = 200 * time.Millisecond
	if res, err := tileiras.Compile(t.Context(), []byte(placed), o); res != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a limit: %v, %v", res, err)
	}
}
