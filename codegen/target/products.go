package target

import (
	"slices"
	"strconv"
	"strings"
)

// products says which compute capability the cards have that people name. Source: NVIDIA's list of GPUs by compute capability
// (developer.nvidia.com/cuda-gpus). A name that begins with one of these, longest first, has its number.
var products = []struct {
	number int
	names  string // separated by commas, in lower case, without blanks
}{
	{121, "gb10,dgxspark"},
	{120, "rtx5050,rtx5060,rtx5070,rtx5080,rtx5090,rtxpro,blackwellrtx"},
	{110, "t5000,t4000,jetsonthor,thor"},
	{103, "b300,gb300"},
	{100, "b200,gb200,b100,blackwell"},
	{90, "h100,h200,h800,h20,gh200,hopper"},
	{89, "rtx4050,rtx4060,rtx4070,rtx4080,rtx4090,l4,l40,l40s,l20,l2,rtx6000ada,rtx5880ada,rtx5000ada,rtx4500ada,rtx4000ada,rtx2000ada,ada,lovelace"},
	{87, "orin,jetsonorin,agxorin"},
	{86, "rtx3050,rtx3060,rtx3070,rtx3080,rtx3090,a2,a10,a10g,a16,a40,rtxa2000,rtxa4000,rtxa4500,rtxa5000,rtxa5500,rtxa6000,a2000,a4000,a4500,a5000,a6000"},
	{80, "a30,a100,a800,ampere"},
	{75, "t4,rtx2060,rtx2070,rtx2080,gtx1650,gtx1660,titanrtx,quadrortx,turing"},
	{72, "xavier"},
	{70, "v100,titanv,volta"},
	{61, "gtx1050,gtx1060,gtx1070,gtx1080,p4,p40,titanxp"},
	{60, "p100,pascal"},
}

// words that a product's name may begin with and that say nothing.
var makers = []string{"nvidia", "geforce", "tesla", "quadro", "graphics"}

// NumberOf guesses the compute capability that a name means which is not the name of a target: "sm_90a", "compute_90", "9.0",
// "SM90", "90", "H100", "NVIDIA GeForce RTX 4090". ok is false when it means nothing known. The number may be one that no
// target has.
func NumberOf(name string) (number int, ok bool) {
	s := strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(name))
	for _, prefix := range []string{"sm", "compute", "cc"} {
		if rest := strings.TrimPrefix(s, prefix); rest != s {
			return parseNumber(rest)
		}
	}
	if n, ok := parseNumber(s); ok {
		return n, true
	}
	for range makers {
		for _, m := range makers {
			if s != m && !strings.HasPrefix(s, "quadrortx") {
				s = strings.TrimPrefix(s, m)
			}
		}
	}
	for _, series := range []string{"", "rtx", "gtx"} { // some leave the series out: 4090
		longest := ""
		for _, p := range products {
			for _, n := range strings.Split(p.names, ",") {
				if strings.HasPrefix(series+s, n) && len(n) > len(longest) {
					longest, number = n, p.number
				}
			}
		}
		if longest != "" {
			return number, true
		}
	}
	return 0, false
}

// parseNumber reads "90", "90a", "9.0", "100f".
func parseNumber(s string) (int, bool) {
	s = strings.TrimRight(s, "af")
	if major, minor, dot := strings.Cut(s, "."); dot {
		a, err1 := strconv.Atoi(major)
		b, err2 := strconv.Atoi(minor)
		return 10*a + b, err1 == nil && err2 == nil && a > 0 && a < 100 && 0 <= b && b < 10
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 10 && n < 1000
}

// ByNumber finds the target of a compute capability, 90 for 9.0.
func ByNumber(n int) (*Target, bool) {
	if i := slices.IndexFunc(All, func(t *Target) bool { return t.Number == n }); i >= 0 {
		return All[i], true
	}
	return nil, false
}

// Advice is what to say of a name that is no target's.
func Advice(name string) string {
	n, ok := NumberOf(name)
	t, known := ByNumber(n)
	switch {
	case ok && known:
		s := name + " is written " + t.Name
		if strings.HasSuffix(name, "a") && t.Arch && strings.HasPrefix(name, "sm_") {
			s += ": .target " + t.ArchName() + " is chosen by itself where it is needed"
		}
		return s + "; names are " + Names()
	case ok && n < All[0].Number:
		return name + " has compute capability " + strconv.Itoa(n/10) + "." + strconv.Itoa(n%10) + ", which is too old; names are " + Names()
	}
	return "names are " + Names()
}
