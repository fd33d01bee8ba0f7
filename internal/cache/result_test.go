package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzDecodeResult(f *testing.F) {
	f.Add(encodeResult([]outputFile{{"output", digestOf(nil)}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		files, err := decodeResult(b)
		if err != nil {
			return
		}
		again, err := decodeResult(encodeResult(files))
		if err != nil || !cmp.Equal(files, again, cmp.AllowUnexported(outputFile{}, digest{})) {
			t.Errorf("%v became %v, %v", files, again, err)
		}
	})
}
