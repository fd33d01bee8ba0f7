package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// row is a kernel on a target.
type row struct {
	sm                           int
	bench                        *bench
	ours, nvidia, hinted, triton outcome
	best                         *outcome // the fastest of the last three; nil: none
	rounds                       outcome  // Triton's with the rounding that the bytecode asks for
	truncated                    outcome  // ours that cuts bits off, as the others do
	withMaps                     outcome  // ours that copies by tensor maps
	limit, micros, ratio         float64  // 0: not known
}

func (w *toolchain) row(j job) (*row, error) {
	b, err := readBench(j.folder)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "speed-row-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	r := &row{sm: j.sm, bench: b, ours: w.ours(b, j.sm, tmp), nvidia: w.theirs(b, j.sm, false, tmp)}
	if family(b.Name) == truncatable {
		r.truncated = w.ours(b, j.sm, tmp, "--tf32=truncated")
	}
	if j.sm >= 90 && !r.memory() {
		r.withMaps = w.ours(b, j.sm, tmp, "--tma")
		if text, err := os.ReadFile(filepath.Join(tmp, oursPTX)); err != nil || !strings.Contains(string(text), "cp.async.bulk.tensor") {
			r.withMaps = outcome{}
		}
	}
	if !r.memory() {
		r.hinted = w.theirs(b, j.sm, true, tmp)
	}
	if w.triton != "" {
		r.triton, r.rounds = w.tritons(b, j.sm), w.sameRounding(b, j.sm)
	}
	for _, p := range []*outcome{&r.nvidia, &r.hinted, &r.triton} {
		if p.rated() && (r.best == nil || p.Rate > r.best.Rate) {
			r.best = p
		}
	}
	if !r.ours.rated() {
		return r, nil
	}
	c := chipOf[j.sm]
	if r.memory() {
		r.limit, r.micros = r.ours.Rate/(c.dram()*c.clock*c.count), b.Bytes/r.ours.Rate/1e3
	} else {
		r.limit, r.micros = r.ours.Rate/c.peak(b.Name), b.Flops/r.ours.Rate/1e6
	}
	r.ratio = r.ratioTo(&r.ours)
	return r, nil
}

// ratioTo is the time of one of ours by that of the best other; 0 where there is none.
func (r *row) ratioTo(o *outcome) float64 {
	if r.best == nil {
		return 0
	}
	return r.best.Rate / o.Rate
}

// truncatable is the family whose factors may be rounded or cut off.
const truncatable = "gemm_tf32"

func (r *row) memory() bool { return family(r.bench.Name) == memoryBound }

// sameArithmetic reports whether there is one more comparison, with code that rounds as ours does.
func (r *row) sameArithmetic() bool { return r.ours.rated() && r.rounds.rated() }

// errors says what did not compile or could not be timed.
func (r *row) errors() string {
	var list []string
	for _, o := range []struct {
		name string
		*outcome
	}{{"ours", &r.ours}, {"nvidia", &r.nvidia}, {"hinted", &r.hinted}, {"triton", &r.triton}, {"triton, rounding", &r.rounds}, {"ours, truncated", &r.truncated}} {
		if o.err != nil {
			list = append(list, o.name+": "+o.err.Error())
		}
	}
	return strings.Join(list, "; ")
}

// show is a figure: three digits after the point if it is small, "-" if it is not known.
func show(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v < 10:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func (o *outcome) show() string {
	if !o.rated() {
		return "-"
	}
	return show(o.Rate)
}

func printHead(w io.Writer) {
	fmt.Fprintf(w, "%-4s %-38s %9s %9s %9s %9s %6s %6s %10s  %s\n", "sm", "kernel", "ours", "nvidia", "hinted", "triton", "ratio", "limit", "us",
		"registers/spilled/shared/blocks")
}

func (r *row) print(w io.Writer) {
	resources := "-"
	if t := r.ours.timing; t != nil {
		resources = fmt.Sprintf("%d/%d/%d/%d", t.Registers, t.SpillBytes, t.Shared, t.Blocks)
		if t.Serialization > 0 {
			resources += fmt.Sprintf(" C75xx %d", t.Serialization)
		}
	}
	if r.sameArithmetic() {
		resources += fmt.Sprintf("  [Triton, rounding too: %s, ratio %s]", r.rounds.show(), show(r.rounds.Rate/r.ours.Rate))
	}
	if r.truncated.rated() {
		resources += fmt.Sprintf("  [truncated: %s, ratio %s, spilled %d]", r.truncated.show(), show(r.ratioTo(&r.truncated)), r.truncated.timing.SpillBytes)
	}
	if r.withMaps.rated() {
		resources += fmt.Sprintf("  [maps: %s, ratio %s, registers %d, spilled %d]", r.withMaps.show(), show(r.ratioTo(&r.withMaps)), r.withMaps.timing.Registers, r.withMaps.timing.SpillBytes)
	}
	if e := r.errors(); e != "" {
		resources += fmt.Sprintf("  [%.90s]", e)
	}
	fmt.Fprintf(w, "%-4d %-38s %9s %9s %9s %9s %6s %6s %10s  %s\n", r.sm, r.bench.Name, r.ours.show(), r.nvidia.show(), r.hinted.show(), r.triton.show(),
		show(r.ratio), show(r.limit), show(r.micros), resources)
}

// mean is a family on a target: geometric means of the ratios and of the shares of the limit.
type mean struct {
	sm           int
	family       string
	ratio, limit float64
	kernels      int
}

// geomeans are the families of each target in the order of the rows, and all together.
func geomeans(rows []*row) (means []mean) {
	type sums struct {
		at                    mean
		ratios, limits        float64
		withRatio, withLimits int
	}
	var list []*sums
	find := func(sm int, family string) *sums {
		for _, s := range list {
			if s.at.sm == sm && s.at.family == family {
				return s
			}
		}
		s := &sums{at: mean{sm: sm, family: family}}
		list = append(list, s)
		return s
	}
	for _, r := range rows {
		for _, s := range []*sums{find(r.sm, "all"), find(r.sm, family(r.bench.Name))} {
			if r.limit > 0 {
				s.limits, s.withLimits = s.limits+math.Log(r.limit), s.withLimits+1
			}
			if r.ratio > 0 {
				s.ratios, s.withRatio = s.ratios+math.Log(r.ratio), s.withRatio+1
			}
		}
	}
	for _, s := range list {
		m := s.at
		m.kernels = s.withLimits
		if s.withLimits > 0 {
			m.limit = math.Exp(s.limits / float64(s.withLimits))
		}
		if s.withRatio > 0 {
			m.ratio = math.Exp(s.ratios / float64(s.withRatio))
		}
		means = append(means, m)
	}
	return means
}

func printMeans(w io.Writer, means []mean) {
	fmt.Fprintln(w, "\ngeometric means (ratio: time of ours by the best other's; limit: share of the physical limit)")
	for _, m := range means {
		fmt.Fprintf(w, "  sm_%-4d %-11s ratio %6s  limit %6s  %d kernels\n", m.sm, m.family, show(m.ratio), show(m.limit), m.kernels)
	}
}

// exceeded lists what is beyond the limits, and what others compile and we do not.
func exceeded(rows []*row, means []mean, o *options) (bad []string) {
	for _, r := range rows {
		if o.maxRatio > 0 && r.ratio > o.maxRatio {
			bad = append(bad, fmt.Sprintf("sm_%d %s: ratio %.2f", r.sm, r.bench.Name, r.ratio))
		}
		if !r.ours.rated() && r.best != nil {
			bad = append(bad, fmt.Sprintf("sm_%d %s: not compiled", r.sm, r.bench.Name))
		}
	}
	for _, m := range means {
		if o.maxGeomean > 0 && m.family != "all" && m.ratio > o.maxGeomean {
			bad = append(bad, fmt.Sprintf("sm_%d %s: geometric mean %.2f", m.sm, m.family, m.ratio))
		}
	}
	return bad
}

const pageHead = `# Benchmarks

The performance corpus beside NVIDIA's compiler and Triton, judged without a GPU. Written by ` + "`make speed FLAGS='-docs docs/benchmarks.md'`" + `;
tests/speed says how the machine code of each compiler is timed, and what that does not know: nothing here was measured on a GPU, and differences under
10 % mean nothing.

Rates are TF/s of the hot loop of kernels with matrix products, GB/s of the bytes that the launch must move of the others.

- *Hinted* is NVIDIA's code with the hint of 8 worker warps. Triton's kernels do the same work in tiles of their own, those on rows for shorter rows.
- The *ratio* is the time of ours by that of the best other: above 1 ours is slower.
- The *limit* is the share of the tensor peak of the types, or of 90 % of the bandwidth of DRAM.
- Resources are ours: registers of a thread, spilled bytes, bytes of shared memory of a block, warps of a block, blocks on a multiprocessor.
- sm_86 and sm_89 are an RTX A6000 and an RTX 6000 Ada. GeForce cards of both add products in f32 at half their rate, where the tensor cores hide more
  of everything else.
- Products of 8-bit floats on sm_120 are those of an RTX 5090, which microbenchmarks find to run at half the rate without scales, as the others have
  them; other cards may not.

Known faults of the judge:

- It sees neither sectors nor bank conflicts, which tests/perfsmall holds on the emulator. What is loaded again it finds in the second-level cache,
  however little that holds.
- What stands behind a branch in a loop and neither loads, waits nor multiplies counts nowhere, such as a mask that bites in few iterations; NVIDIA's
  code masks in all.
- Kernels that load by TMA count as running at the limit of DRAM, or as long as one run of the role that has most to do takes, so a ratio of a
  memory-bound kernel above 1 on sm_90 and later compares with an assumption.
- Where a warp does nothing but begin products of ` + "`tcgen05`" + `, and others compute with them, each is taken to run at its own pace: NVIDIA's attention on sm_100
  comes out as if neither ever waited for the other, ours, where they are the same warps, as it waits.
- Where passes over a row are replayed together, iterations that ptxas took out of a loop count twice. Triton's kernels on rows read a short row once,
  ours the row as often as the bytecode says.
- Loops with products are replayed for 32 iterations of each block, in which blocks that begin in step drift apart. Rates of NVIDIA's and Triton's code
  change by up to 3 % with twice as many.
- Products of ` + "`wgmma`" + ` and ` + "`tcgen05`" + ` and copies by TMA take their part of the bandwidth of shared memory, and slow accesses of threads; these, and copies, do not slow
  products. An H200 bears it out for ` + "`wgmma`" + ` (docs/gpu.md); for ` + "`tcgen05`" + ` nothing was measured.
- Which of the ready warps of a scheduler goes on is not documented: here it is that of the lowest number. By age, loops of attention come out up to a
  quarter faster or a seventh slower.
- The four warps of a group begin a product of ` + "`wgmma`" + ` together. Loops of ` + "`wgmma`" + ` with warps of their own for copies come out at the tensor peak, whoever
  wrote them, other attention with it up to 40 % too fast.
- Work counts as often as the code does it: a plan that makes scores of attention twice looks fast.
- Where a kernel is launched with one block for each multiprocessor, or so many, or a product has fewer blocks than fit, no others are replayed;
  Triton's kernels beside it have grids of their own, and two blocks where they fit.
- Where threads copy by tensor maps, the work of making the maps counts nowhere.

Products in tf32: the bytecode asks for rounding to nearest even. Ours round everywhere, with instructions of threads; from sm_90 on NVIDIA's copies of
tensors round on the way. Triton's kernel leaves that to the tensor cores, which cut bits off. With ` + "`--tf32=truncated`" + ` ours do, too: the tables below
those of all kernels.
`

// otherFigures is the heading of docs/benchmarks.md from which on it is not this program's.
const otherFigures = "\n## Other kernels\n"

// page is docs/benchmarks.md with new tables.
func page(old string, rows []*row, means []mean, withTriton bool) string {
	var b strings.Builder
	b.WriteString(pageHead)
	if !withTriton {
		b.WriteString("\nTriton's kernels were not at hand.\n")
	}
	for sm, n := 0, 0; n < len(rows); n++ {
		r := rows[n]
		if r.sm != sm {
			sm = r.sm
			fmt.Fprintf(&b, "\n## sm_%d\n\n| family | kernels | ratio | limit |\n| --- | --- | --- | --- |\n", sm)
			for _, m := range means {
				if m.sm == sm {
					fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", m.family, m.kernels, show(m.ratio), show(m.limit))
				}
			}
			b.WriteString("\n| kernel | ours | NVIDIA | hinted | Triton | ratio | limit | registers | spilled | shared | warps | blocks |\n" +
				"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |", r.bench.Name, r.ours.show(), r.nvidia.show(), r.hinted.show(), r.triton.show(), show(r.ratio), show(r.limit))
		if t := r.ours.timing; t != nil {
			fmt.Fprintf(&b, " %d | %d | %d | %d | %d |\n", t.Registers, t.SpillBytes, t.Shared, t.Warps, t.Blocks)
		} else {
			b.WriteString(" - | - | - | - | - |\n")
		}
		if n == len(rows)-1 || rows[n+1].sm != sm {
			otherTables(&b, rows, sm)
		}
	}
	if at := strings.Index(old, otherFigures); at >= 0 {
		b.WriteString(old[at:])
	}
	return b.String()
}

// otherTables add what ratios of tf32 leave out, who rounds, and what flags make of our code.
func otherTables(b *strings.Builder, rows []*row, sm int) {
	table(b, rows, sm, (*row).sameArithmetic, "\nFor these kernels Triton leaves the operands to the tensor cores, which cut off the bits that tf32 does not have. The bytecode asks for rounding\n"+
		"to nearest even, three instructions an element here. Triton's kernel with that rounding, written with integers (`make triton`), beside ours:\n\n"+
		"| kernel | ours | Triton, same arithmetic | ratio |\n| --- | --- | --- | --- |\n",
		func(r *row) string {
			return fmt.Sprintf("%s | %s | %s", r.ours.show(), r.rounds.show(), show(r.rounds.Rate/r.ours.Rate))
		})
	table(b, rows, sm, func(r *row) bool { return r.truncated.rated() }, "\nOurs where `--tf32=truncated` leaves the operands to the tensor cores, too, beside the best other:\n\n"+
		"| kernel | ours | ratio | limit | registers | spilled |\n| --- | --- | --- | --- | --- | --- |\n",
		func(r *row) string {
			t := &r.truncated
			return fmt.Sprintf("%s | %s | %s | %d | %d", t.show(), show(r.ratioTo(t)), show(t.Rate/chipOf[sm].peak(r.bench.Name)), t.Registers, t.SpillBytes)
		})
	table(b, rows, sm, func(r *row) bool { return r.withMaps.rated() }, "\nOurs where `--tma` has one thread copy by tensor maps that the kernel makes, without what making them takes:\n\n"+
		"| kernel | ours | with maps | ratio | registers | spilled | blocks |\n| --- | --- | --- | --- | --- | --- | --- |\n",
		func(r *row) string {
			t := &r.withMaps
			return fmt.Sprintf("%s | %s | %s | %d | %d | %d", r.ours.show(), t.show(), show(r.ratioTo(t)), t.Registers, t.SpillBytes, t.Blocks)
		})
}

// table adds the rows of a target that have something to say, below a head.
func table(b *strings.Builder, rows []*row, sm int, has func(*row) bool, head string, say func(*row) string) {
	for _, r := range rows {
		if r.sm == sm && has(r) {
			fmt.Fprintf(b, "%s| %s | %s |\n", head, r.bench.Name, say(r))
			head = ""
		}
	}
}
