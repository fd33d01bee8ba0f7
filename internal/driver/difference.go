package driver

import (
	"slices"
	"strings"
)

// contextLines is how many unchanged lines a diff shows around a change.
const contextLines = 3

// unifiedDiff is what changed from a to b, line by line; "" when nothing did.
func unifiedDiff(a, b string) string {
	if a == b {
		return ""
	}
	var d difference
	d.compare(strings.Split(strings.TrimSuffix(a, "\n"), "\n"), strings.Split(strings.TrimSuffix(b, "\n"), "\n"))
	d.flush()
	var out strings.Builder
	for i, c := range d.changes {
		for k, l := range c.lines {
			if c.mark == ' ' {
				head, tail := k < contextLines && i > 0, len(c.lines)-k <= contextLines && i < len(d.changes)-1
				if !head && !tail {
					if k == contextLines || k == 0 {
						out.WriteString("@@\n")
					}
					continue
				}
			}
			out.WriteByte(c.mark)
			out.WriteString(l + "\n")
		}
	}
	return out.String()
}

// change is lines that stay (' '), are gone ('-') or are new ('+').
type change struct {
	mark  byte
	lines []string
}

// difference is a shortest way from one text to another.
type difference struct {
	changes    []change
	gone, made []string // since the last line that stays
}

func (d *difference) stay(lines []string) {
	if len(lines) == 0 {
		return
	}
	d.flush()
	if n := len(d.changes); n > 0 && d.changes[n-1].mark == ' ' {
		d.changes[n-1].lines = append(d.changes[n-1].lines, lines...)
		return
	}
	d.changes = append(d.changes, change{' ', lines[:len(lines):len(lines)]})
}

// flush ends a change: what is gone, then what is new.
func (d *difference) flush() {
	if len(d.gone) > 0 {
		d.changes = append(d.changes, change{'-', d.gone})
	}
	if len(d.made) > 0 {
		d.changes = append(d.changes, change{'+', d.made})
	}
	d.gone, d.made = nil, nil
}

// compare adds the way from a to b.
func (d *difference) compare(a, b []string) {
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	d.stay(a[:head])
	a, b = a[head:], b[head:]
	for tail < min(len(a), len(b)) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	end := a[len(a)-tail:]
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	if len(a) == 0 || len(b) == 0 {
		d.gone, d.made = append(d.gone, a...), append(d.made, b...)
	} else {
		x, y := middle(a, b)
		d.compare(a[:x], b[:y])
		d.compare(a[x:], b[y:])
	}
	d.stay(end)
}

// middle is a place in the middle of a shortest way, found from both ends at once (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986,
// 4b). Neither text is empty, and they begin and end differently.
func middle(a, b []string) (x, y int) {
	n, m := len(a), len(b)
	ahead, back := newFrontier(a, b, false), newFrontier(a, b, true)
	for d := 0; ; d++ {
		for k := -d + 2*max(0, d-m); k <= d-2*max(0, d-n); k += 2 {
			if x := ahead.step(d, k); back.meets(d-1, n-m-k, n-x) {
				return x, x - k
			}
		}
		for k := -d + 2*max(0, d-m); k <= d-2*max(0, d-n); k += 2 {
			if x := back.step(d, k); ahead.meets(d, n-m-k, n-x) {
				return n - x, m - (x - k)
			}
		}
	}
}

// frontier is how far one gets on each diagonal, counted in lines of a, with so many lines gone or made, from the beginning or from the end.
type frontier struct {
	a, b     []string
	backward bool
	reached  []int
	zero     int // where diagonal 0 stands
}

func newFrontier(a, b []string, backward bool) *frontier {
	most := (len(a) + len(b) + 1) / 2
	f := &frontier{a, b, backward, slices.Repeat([]int{-1}, 2*most+3), most + 1}
	f.reached[f.zero+1] = 0
	return f
}

// meets reports whether d lines have led as far as x on diagonal k.
func (f *frontier) meets(d, k, x int) bool {
	return -d <= k && k <= d && (d+k)%2 == 0 && f.reached[f.zero+k] >= x
}

// step goes on diagonal k as far as d lines lead.
func (f *frontier) step(d, k int) int {
	r := f.reached[f.zero+k-1 : f.zero+k+2]
	x := r[0] + 1
	if k == -d || k != d && r[0] < r[2] {
		x = r[2]
	}
	for n, m := len(f.a), len(f.b); x < n && x-k < m; x++ {
		i, j := x, x-k
		if f.backward {
			i, j = n-1-i, m-1-j
		}
		if f.a[i] != f.b[j] {
			break
		}
	}
	r[1] = x
	return x
}
