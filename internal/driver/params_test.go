package driver

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tileiras/codegen/options"
)

// TestManyParameters: more than 4352 bytes of parameters need PTX 8.1, and more than 32764 no kernel can have. ptxas counts as we do.
func TestManyParameters(t *testing.T) {
	for _, tt := range []struct {
		gpu, types string
		times      int
		want       string
	}{
		{"sm_80", "i32", 1088, ".version 7.0\n"},
		{"sm_80", "i32", 1089, ".version 8.1\n"},
		{"sm_80", "i8 i64", 272, ".version 7.0\n"}, // each i8 takes 8 bytes
		{"sm_80", "i1 ptr<f32>", 273, ".version 8.1\n"},
		{"sm_75", "i32", 8191, ".version 8.1\n"},
		{"sm_100", "i32", 8191, ".version 8.6\n"},
		{"sm_80", "i32", 8192, `loc("k.tileir":1:1): error: not supported yet: entry with 32768 bytes of parameters, 32764 are the most: pass a pointer to the others (for sm_80)`},
	} {
		var params []string
		for range tt.times {
			for _, typ := range strings.Fields(tt.types) {
				params = append(params, fmt.Sprintf("%%p%d: tile<%s>", len(params), typ))
			}
		}
		src := "entry @k(" + strings.Join(params, ", ") + ") { return }"
		res, err := Compile(context.Background(), "k.tileir", []byte(src), Options{GPU: tt.gpu})
		got := fmt.Sprint(err)
		if err == nil {
			got = string(res.Output)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%d %s on %s: want %q, got %.300s", tt.times, tt.types, tt.gpu, tt.want, got)
		}
		_, err = Compile(context.Background(), "k.tileir", []byte(src), Options{GPU: "sm_80", Code: Code{MaxPTX: "8.0", ABI: options.CUDA}})
		if want := "@k with 4356 bytes of parameters needs PTX 8.1, and at most 8.0 may be used"; tt.times == 1089 && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("with PTX 8.0: want %q, got %v", want, err)
		}
	}
}
