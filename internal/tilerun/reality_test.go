package tilerun_test

import (
	"bytes"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// launchOf has buffers as the parameters of @k.
func launchOf(text string, buffers ...[]byte) *cases.Launch {
	l := &cases.Launch{Bytecode: []byte(text), Kernel: "k", Grid: [3]int{1, 1, 1}}
	for i, b := range buffers {
		l.Buffers = append(l.Buffers, cases.LaunchBuffer{Name: string(rune('a' + i)), Bytes: b, Align: cases.Align})
		l.Params = append(l.Params, cases.LaunchParam{Buffer: i})
	}
	return l
}

// A tile of 8 is loaded from an array of 5 without padding, and all of it is stored.
const unpadded = `cuda_tile.module @m { entry @k(%p0: tile<ptr<i32>>, %p1: tile<ptr<i32>>) {
  %z = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p0, shape = [5], strides = [1] : tensor_view<5xi32, strides=[1]>
  %q = make_partition_view %v : partition_view<tile=(8), tensor_view<5xi32, strides=[1]>>
  %a, %t = load_view_tko weak %q[%z] : partition_view<tile=(8), tensor_view<5xi32, strides=[1]>>, tile<i32> -> tile<8xi32>, token
  %w = make_tensor_view %p1, shape = [8], strides = [1] : tensor_view<8xi32, strides=[1]>
  %u = make_partition_view %w : partition_view<tile=(8), tensor_view<8xi32, strides=[1]>>
  %s = store_view_tko weak %a, %u[%z] : tile<8xi32>, partition_view<tile=(8), tensor_view<8xi32, strides=[1]>>, tile<i32> -> token
  return
} }`

func TestUndefinedPadding(t *testing.T) {
	five := []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0}
	_, err := (&tilerun.Interpreter{}).Launch(t.Context(), launchOf(unpadded, five, make([]byte, 32)))
	if err == nil || !strings.Contains(err.Error(), "the stored value is undefined") {
		t.Errorf("a stored undefined value: got %v", err)
	}
	out, err := (&tilerun.Interpreter{ZeroPadding: true}).Launch(t.Context(), launchOf(unpadded, five, bytes.Repeat([]byte{9}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if want := append(bytes.Clone(five), make([]byte, 12)...); !bytes.Equal(out.Buffers[1], want) {
		t.Errorf("with zeros for undefined padding: got % x, want % x", out.Buffers[1], want)
	}
}

// Every lane stores 7 to one place: a note for the program's author, an error where elements differ.
func TestEqualValuesAtOneAddress(t *testing.T) {
	const text = `cuda_tile.module @m { entry @k(%p0: tile<ptr<i32>>) {
  %a = reshape %p0 : tile<ptr<i32>> -> tile<1xptr<i32>>
  %b = broadcast %a : tile<1xptr<i32>> -> tile<64xptr<i32>>
  %v = VALUES : tile<64xi32>
  %s = store_ptr_tko weak %b, %v : tile<64xptr<i32>>, tile<64xi32> -> token
  return
} }`
	m := &tilerun.Emulator{GPU: "sm_80", Code: driver.Code{Opt: 3}, Schedule: emu.Reverse, NoteEqualStores: true}
	out, err := m.Launch(t.Context(), launchOf(strings.Replace(text, "VALUES", "constant <i32: 7>", 1), make([]byte, 4)))
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "is not ordered after the write") || out.Buffers[0][0] != 7 {
		t.Errorf("equal values: got % x with notes %q", out.Buffers[0], out.Notes)
	}
	if _, err := m.Launch(t.Context(), launchOf(strings.Replace(text, "VALUES", "iota", 1), make([]byte, 4))); err == nil {
		t.Error("different values at one address pass")
	}
}
