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

// back is a conditional branch.
func back(to string) instruction { return instruction{op: "BRA", target: to, conditional: true} }

func TestHottestLoopIsTheInnermostWithMostFlops(t *testing.T) {
	mma := instruction{op: "HMMA", modifiers: ".16816.F32"}
	code := []instruction{
		{op: "MOV"},           // 0: outer
		{op: "IADD"},          // 1: a small loop
		back("small"),         // 2
		mma, mma, {op: "LDS"}, // 3: the loop that matters
		back("mma"),                 // 6
		{op: "SYNCS"}, back("poll"), // 7: waits
		back("outer"), {op: "EXIT"}, // 9
	}
	labels := map[string]int{"outer": 0, "small": 1, "mma": 3, "poll": 7}
	if m := hottest(code, labels); m.instructions != 4 || m.flops != 2*2*16*8*16 {
		t.Errorf("hottest loop is %+v, want 4 instructions with two m16n8k16", m)
	}
}

func TestALoopWithoutProductsInsideOneWithThemDoesNotHideIt(t *testing.T) {
	mma := instruction{op: "HMMA", modifiers: ".16816.F32"}
	code := []instruction{mma, {op: "LDG"}, back("inner"), back("outer"), {op: "EXIT"}}
	if m := hottest(code, map[string]int{"outer": 0, "inner": 1}); m.instructions != 4 || m.flops != 2*16*8*16 {
		t.Errorf("hottest loop is %+v, want the outer one: 4 instructions with an m16n8k16", m)
	}
}

func TestCodeThatWaitsOutOfLineIsNoPartOfALoop(t *testing.T) {
	mma := instruction{op: "HGMMA", modifiers: ".64x128x16.F32"}
	code := []instruction{
		{op: "SYNCS"}, back("cold"), // 0: the head of the loop asks once
		mma, back("hot"), // 2
		{op: "EXIT"},
		{op: "MOV"}, {op: "SYNCS"}, back("cold"), // 5: and waits out of line
		{op: "BRA", target: "ready"},
	}
	if m := hottest(code, map[string]int{"hot": 0, "ready": 2, "cold": 5}); m.instructions != 5 || m.flops != 2*64*128*16/4 {
		t.Errorf("hottest loop is %+v, want the four instructions of the loop and the branch back, with a quarter of m64n128k16", m)
	}
}
