package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// table prints, for each kernel and target, the times of all codes and what ours takes by the best other.
func table(files []string) error {
	type key struct {
		as     int
		kernel string
	}
	rows := map[key]peers{}
	for _, file := range files {
		all, err := readLog(file)
		if err != nil {
			return err
		}
		for _, x := range all {
			if x.State != "" {
				continue
			}
			k := key{x.As, x.Kernel}
			if rows[k] == nil {
				rows[k] = peers{}
			}
			rows[k][x.Peer] = x
		}
	}
	fmt.Printf("%-3s %-60s %9s %9s %9s %8s %6s %9s\n", "as", "kernel", "ours us", "nvidia", "hinted", "rate", "ratio", "distance")
	sums := map[int][]float64{}
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b key) int {
		if a.as != b.as {
			return b.as - a.as
		}
		return cmp.Compare(a.kernel, b.kernel)
	})
	for _, k := range keys {
		r := rows[k].print(k.as, k.kernel)
		if r > 0 && !math.IsInf(r, 0) {
			sums[k.as] = append(sums[k.as], math.Log(r))
		}
	}
	for _, as := range slices.Sorted(maps.Keys(sums)) {
		total := 0.0
		for _, s := range sums[as] {
			total += s
		}
		fmt.Printf("sm_%d: %d kernels, geometric mean %.3f\n", as, len(sums[as]), math.Exp(total/float64(len(sums[as]))))
	}
	return nil
}

// peers are the results of a kernel by the names of the codes.
type peers map[string]result

// print prints a line of the table and gives the time of ours by that of the best other.
func (row peers) print(as int, kernel string) (ratio float64) {
	x := row["ours"]
	ours, best := x.median(), math.Inf(1)
	for _, peer := range []string{"nvidia", "hinted"} {
		if t := row[peer].median(); t > 0 {
			best = min(best, t)
		}
	}
	rate := fmt.Sprintf("%.0fG", x.Bytes/ours/1e3)
	if x.Flops > 100*x.Bytes {
		rate = fmt.Sprintf("%.0fT", x.Flops/ours/1e6)
	}
	fmt.Printf("%-3d %-60s %9.1f %9.1f %9.1f %8s %6.2f %9.1e", as, kernel, ours, row["nvidia"].median(), row["hinted"].median(), rate, ours/best, x.Distance)
	if x.NaNs > 0 {
		fmt.Printf(" %d NaN", x.NaNs)
	}
	for _, peer := range slices.Sorted(maps.Keys(row)) { // ours with other options
		if options, ok := strings.CutPrefix(peer, "ours "); ok && row[peer].Error == "" {
			fmt.Printf("  [%s: %.1f, distance %.1e]", options, row[peer].median(), row[peer].Distance)
		}
	}
	for _, peer := range slices.Sorted(maps.Keys(row)) {
		if e := row[peer].Error; e != "" {
			fmt.Printf(" %s: %.100s", peer, e)
		}
	}
	fmt.Println()
	return ours / best
}

// median is the middle of the times in microseconds; 0 where there are none.
func (x result) median() float64 {
	if len(x.Micros) == 0 {
		return 0
	}
	return x.Micros[len(x.Micros)/2]
}
