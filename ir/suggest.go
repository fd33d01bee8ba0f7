package ir

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Nearest is the candidate whose spelling is closest to a misspelt name, or "" when all are further than limit edits away; a limit below
// 0 is none. Of equals it is the first of those that begin alike for longest.
func Nearest(name string, candidates []string, limit int) string {
	if limit < 0 {
		limit = math.MaxInt
	}
	best := ""
	for _, c := range candidates {
		if max(len(c)-len(name), len(name)-len(c)) > limit {
			continue
		}
		d := editDistance(name, c)
		if d < limit || d == limit && (best == "" || sameStart(name, c) > sameStart(name, best)) {
			best, limit = c, d
		}
	}
	return best
}

// sameStart is how many bytes two names have in common from their beginnings on.
func sameStart(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// editDistance is Levenshtein's.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diag, row[j] = row[j], min(row[j]+1, row[j-1]+1, diag+cost)
		}
	}
	return row[len(b)]
}

// didYouMean ends a message on a name that is not known: "; did you mean 'x'?", or nothing when no candidate is like it. Every name of one letter
// is like every other.
func didYouMean(name string, candidates []string) string {
	if len(strings.TrimPrefix(name, "%")) < 2 {
		return ""
	}
	if n := Nearest(name, candidates, (len(name)+2)/3); n != "" && n != name {
		return "; did you mean '" + n + "'?"
	}
	return ""
}

// valueNames are the names of values that can be used here, sorted.
func (p *Parser) valueNames() []string {
	return slices.Sorted(maps.Keys(p.values))
}

// opNames are the names of operations that can be written here, short and full, sorted.
func (p *Parser) opNames() []string {
	var names []string
	for _, d := range p.Ctx.dialects {
		for _, def := range d.Ops {
			if d.Name == p.dialect() || d.Name == builtinDialect {
				names = append(names, def.NameAt(p.Ctx.Release))
			}
			names = append(names, def.FullName())
		}
	}
	slices.Sort(names)
	return names
}
