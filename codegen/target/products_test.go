package target

import (
	"strings"
	"testing"
)

// Compute capabilities are those of NVIDIA's list (developer.nvidia.com/cuda-gpus).
func TestNumbersOfNamesThatPeopleWrite(t *testing.T) {
	for name, want := range map[string]int{
		"sm_90a": 90, "SM_90": 90, "sm90": 90, "sm-100f": 100, "compute_89": 89, "9.0": 90, "12.0": 120, "90": 90, "100": 100,
		"H100": 90, "NVIDIA H100 80GB HBM3": 90, "h200": 90, "A100": 80, "A100-SXM4-80GB": 80, "A10": 86, "A10G": 86, "L4": 89, "L40S": 89,
		"RTX 4090": 89, "NVIDIA GeForce RTX 4090": 89, "4090": 89, "rtx3090": 86, "RTX A6000": 86, "RTX 6000 Ada Generation": 89,
		"GeForce RTX 5090": 120, "RTX PRO 6000 Blackwell": 120, "B200": 100, "GB200": 100, "B300": 103, "Tesla T4": 75, "T4": 75, "V100": 70,
		"Hopper": 90, "Thor": 110, "GB10": 121, "Quadro RTX 8000": 75, "GTX 1080 Ti": 61, "2080": 75,
	} {
		if got, ok := numberOf(name); !ok || got != want {
			t.Errorf("%s: got %d, %v, want %d", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "moon", "sm_", "sm_x", "x100", "4", "12345", "a", "nvidia", "0.9"} {
		if n, ok := numberOf(name); ok {
			t.Errorf("%q means %d", name, n)
		}
	}
}

func TestAdviceListsTheNames(t *testing.T) {
	for name, want := range map[string]string{
		"sm_90a": "sm_90a is written sm_90: .target sm_90a is chosen by itself where it is needed; ",
		"sm_80a": "sm_80a is written sm_80; ", "H100": "H100 is written sm_90; ", "V100": "V100 has compute capability 7.0, which is too old; ", "moon": "",
	} {
		if got := Advice(name); got != want+"names are "+Names() || !strings.Contains(got, "sm_121") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
