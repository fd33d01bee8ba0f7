package tilerun

import (
	"testing"
	"time"

	"tileiras/runtime/cases"
)

func TestRates(t *testing.T) {
	times := []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	for want, c := range map[string]*cases.Case{
		"2.000 ms, least 1.000":                       {},
		"2.000 ms, least 1.000, 68.7 TF/s, 50.3 GB/s": {Flops: 2 * 4096 * 4096 * 4096, Bytes: 6 * 4096 * 4096},
	} {
		if got := rates(c, times); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
