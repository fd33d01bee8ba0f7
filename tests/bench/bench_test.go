package main

import (
	"testing"
	"time"
)

func TestSeriesGiveMedianAndTenthPercentile(t *testing.T) {
	s := series{}
	for i := range 21 {
		s.times = append(s.times, time.Duration((i*8)%21)) // 0 to 20, shuffled
	}
	if m, p := s.at(0.5), s.at(0.1); m != 10 || p != 2 {
		t.Errorf("median %d and 10 %% %d of 0..20, want 10 and 2", m, p)
	}
}

func TestPassTimingIsReadByPlace(t *testing.T) {
	log := "    0.250 ms  cse\n    1.500 ms  licm\n    0.125 ms  cse\nremark: 3 ms\n"
	passes := addPasses(addPasses(nil, log), log)
	if len(passes) != 3 || passes[0].name != "  cse" || passes[2].name != "  cse" || len(passes[2].times) != 2 {
		t.Fatalf("passes are %+v, want cse, licm and cse again, two runs each", passes)
	}
	if d := passes[1].at(0.5); d != 1500*time.Microsecond {
		t.Errorf("licm took %v, want 1.5ms", d)
	}
}
