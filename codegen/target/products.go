package target

import (
	"slices"
	"strconv"
	"strings"
)

// words that a product's name may begin with and that say nothing.
var makers = []string{"nvidia", "geforce", "tesla", "quadro", "graphics"}

// numberOf guesses the compute capability that a name means which is not the name of a target: "sm_90a", "compute_90", "9.0",
// "SM90", "90", "H100", "NVIDIA GeForce RTX 4090". ok is false when it means nothing known. The number may be one that no
// target has.
func numberOf(name string) (number int, ok bool) {
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
		for _, t := range slices.Concat(rows[:], tooOld) {
			for _, n := range strings.Split(t.cards, ",") {
				if strings.HasPrefix(series+s, n) && len(n) > len(longest) {
					longest, number = n, t.Number
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
	n, ok := numberOf(name)
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
