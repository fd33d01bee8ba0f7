package sync_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tileiras/codegen/options"
)

// mutatedKernels have rings of different depths: of asynchronous copies, of one slot each for products that take turns, and of
// what is stored. Copies of some are bulk copies; harmless are the mutations that leave a kernel right: where the unit releases slots when it has read
// them, and a loop waits for its products at its end, an iteration need not wait for its own.
var mutatedKernels = []struct {
	name, gpu string
	code      options.Code
	harmless  []string
}{
	{"perf/gemm_f16_4096_128x128x64", "sm_80", options.Code{Roles: options.Off}, nil},
	{"perf/gemm_bf16_8192_128x256x64_persistent", "sm_90", options.Code{Roles: options.Off}, nil},
	{"perf/attention_f16_d64_causal_128x64", "sm_80", options.Code{Roles: options.Off}, nil},
	{"perf/attention_f16_d128_128x128", "sm_80", options.Code{Roles: options.Off}, nil},
	{"cases/matmul_f8e4m3fn", "sm_80", options.Code{Roles: options.Off}, nil},
	{"perf/gemm_f8e4m3fn_8192_128x256x128_nt", "sm_80", options.Code{Roles: options.Off}, nil},
	{"perf/gemm_f16_4096_128x128x64", "sm_75", options.Code{Roles: options.Off}, nil},
	{"perf/gemm_f16_4096_128x128x64", "sm_80", options.Code{Roles: options.On}, nil},
	{"perf/attention_f16_d64_causal_128x64", "sm_80", options.Code{Roles: options.On}, nil},
	{"perf/group_gemm_bf16_8_128x128x64", "sm_90", options.Code{Roles: options.On}, nil},
	{"perf/gemm_f16_4096_128x128x64", "sm_90", options.Code{Roles: options.Off, TMA: true}, nil},
	{"perf/attention_f16_d64_128x128", "sm_90", options.Code{Roles: options.On, TMA: true}, nil},
	{"perf/gemm_f16_4096_128x128x64", "sm_100", options.Code{Roles: options.Off}, nil},
	{"perf/gemm_f16_4096_128x128x64", "sm_100", options.Code{Roles: options.On, TMA: true}, []string{"one product too many in flight"}},
}

// mutation is a way to break a kernel at a line; apply gives nil where it does not apply.
type mutation struct {
	name   string
	expect string // regular expression
	line   *regexp.Regexp
	apply  func(lines []string, i int) []string
}

var mutations = []mutation{
	{"release dropped", `waits for ever|has no consumer_release, but`, releases, drop},
	{"receive dropped", `where nothing is|another role has not passed on|has no consumer_wait, but`, receives, drop},
	{"acquire dropped", `where a copy is in flight|names the wrong phase|has no producer_acquire, but`, acquires, drop}, // of a loop after it that goes on counting
	{"publish dropped", `waits for ever|has no producer_commit, but`, publishes, drop},
	{"commit dropped", `where a copy is in flight`, regexp.MustCompile(`async_commit`), drop},
	{"wait dropped", `where a copy is in flight`, waits, inLoop(drop)},
	{"wait for products dropped", `may still be read|is in flight, and does not|that nothing has waited for`, regexp.MustCompile(`dot_wait`), drop},
	{"one product too many in flight", `may still be read|is in flight, and does not`, regexp.MustCompile(`dot_wait`), rewrite(`(pending =) (\d+)`, func(m []string) string { return fmt.Sprint(m[1], " ", atoi(m[2])+1) })},
	{"barrier dropped", `no barrier stands between|may still be read|see the mbarriers`, barriers, func(lines []string, i int) []string {
		if strings.Contains(lines[i+1], "tiled_store") {
			return nil // orders global memory
		}
		if strings.Contains(lines[i-1], "maps_address") && barriers.MatchString(lines[i-2]) {
			return nil // nothing that needs it stands between it and the one before
		}
		return drop(lines, i)
	}},
	{"released before it is read", `may still be read`, releases, moveAfter(receives)},
	{"published before it is filled", `another role has not passed on|where 1 are waited for`, publishes, moveAfter(acquires)},
	{"waited for after the barrier", `no barrier stands between`, waits, inLoop(func(lines []string, i int) []string {
		next := i + 1 + slices.IndexFunc(lines[i+1:], barriers.MatchString)
		return slices.Concat(lines[:i], lines[i+1:next+1], lines[i:i+1], lines[next+1:])
	})},
	{"one too many pending", `where a copy is in flight`, waits, inLoop(rewrite(`(pending =) (\d+)`, func(m []string) string { return fmt.Sprint(m[1], " ", atoi(m[2])+1) }))},
	{"no predicate", `filled \d+ times for \d+ iterations|in iteration \d+, where copy \d+ is`, regexp.MustCompile(`async_copy.*, when\(`), rewrite(`, when\(%\w+\)(.*), tile<i1>([,)])`, func(m []string) string { return m[1] + m[2] })},
	{"positions that do not wrap", `names slot`, regexp.MustCompile(`ring_next .*slots = [2-9]`),
		rewrite(`ring_next (%\w+) \{.*?\}`, func(m []string) string { return "addi " + m[1] + ", %cst_1_i32" })},
	{"another slot", `where a copy is in flight|where nothing is|another role has not passed on|may still be read|and no barrier`, regexp.MustCompile(`ring_slot .*ring<[2-9],`), rewrite(`ahead = (\d+)`, func(m []string) string { return fmt.Sprint("ahead = ", 1-min(1, atoi(m[1]))) })},
	{"a role that goes another way", `waits for ever|slots acquired|another role has not passed on|where a copy is in flight`, regexp.MustCompile(`= for `), goAnotherWay},
	{"a slot too few", `where a copy is in flight|where slot . is next|may still be read|no barrier stands between`, regexp.MustCompile(`ring_next .*slots = [2-9]`), slotTooFew},
}

var (
	releases  = regexp.MustCompile(`consumer_release`)
	receives  = regexp.MustCompile(`consumer_wait`)
	acquires  = regexp.MustCompile(`producer_acquire`)
	publishes = regexp.MustCompile(`producer_commit`)
	waits     = regexp.MustCompile(`async_wait`)
	barriers  = regexp.MustCompile(`^ *barrier( \{id.*)?$`)
)

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

// drop removes a line.
func drop(lines []string, i int) []string { return slices.Delete(slices.Clone(lines), i, i+1) }

// inLoop applies a mutation to lines of loops that count slots.
func inLoop(broken func(lines []string, i int) []string) func(lines []string, i int) []string {
	return func(lines []string, i int) []string {
		indent := len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
		for _, line := range lines[i:] {
			if len(line)-len(strings.TrimLeft(line, " ")) < indent {
				break
			}
			if strings.Contains(line, "ring_next") && line[indent] != ' ' {
				return broken(lines, i)
			}
		}
		return nil
	}
}

// moveAfter moves a line up to right after the last one that matches, which names the same pipeline.
func moveAfter(to *regexp.Regexp) func(lines []string, i int) []string {
	return func(lines []string, i int) []string {
		pipeline := regexp.MustCompile(`%\w+,`).FindString(lines[i])
		for n := i - 1; n >= 0; n-- {
			if to.MatchString(lines[n]) && strings.Contains(lines[n], pipeline) {
				return slices.Concat(lines[:n+1], lines[i:i+1], lines[n+1:i], lines[i+1:])
			}
		}
		return nil
	}
}

// rewrite replaces what matches in a line.
func rewrite(pattern string, to func(match []string) string) func(lines []string, i int) []string {
	re := regexp.MustCompile(pattern)
	return func(lines []string, i int) []string {
		lines = slices.Clone(lines)
		lines[i] = re.ReplaceAllStringFunc(lines[i], func(s string) string { return to(re.FindStringSubmatch(s)) })
		return lines
	}
}

// slotTooFew removes a slot from the rings of the kernel, while copies run as far ahead as before.
func slotTooFew(lines []string, i int) []string {
	slots := atoi(regexp.MustCompile(`slots = (\d+)`).FindStringSubmatch(lines[i])[1])
	types, counts := fmt.Sprintf("ring<%d,", slots), fmt.Sprintf("slots = %d}", slots)
	ahead := fmt.Sprintf("ahead = %d}", slots-1)
	lines = slices.Clone(lines)
	for n, line := range lines {
		line = strings.ReplaceAll(line, counts, fmt.Sprintf("slots = %d}", slots-1))
		if strings.Contains(line, types) {
			line = strings.ReplaceAll(strings.ReplaceAll(line, types, fmt.Sprintf("ring<%d,", slots-1)), ahead, "ahead = 0}")
		}
		lines[n] = line
	}
	return lines
}

// goAnotherWay makes a loop of a role, which counts slots, run zero iterations.
func goAnotherWay(lines []string, i int) []string {
	if !slices.ContainsFunc(lines[:i], func(l string) bool { return strings.Contains(l, " role ") }) {
		return nil
	}
	inner := inLoop(func(lines []string, _ int) []string { return lines })
	if inner(lines, i+1) == nil {
		return nil
	}
	return rewrite(`for (%\w+), %\w+,`, func(m []string) string { return "for " + m[1] + ", " + m[1] + "," })(lines, i)
}

// TestFaultsAreFound applies every mutation to every line; check-sync must refuse each, or a rule of the form where the only operation of its kind is gone.
func TestFaultsAreFound(t *testing.T) {
	total := map[string]int{}
	for _, k := range mutatedKernels {
		t.Run(fmt.Sprintf("%s/%s/%s/%t", k.name, k.gpu, k.code.Roles, k.code.TMA), func(t *testing.T) {
			src, err := os.ReadFile("../corpus/" + k.name + "/kernel.tileirbc")
			if err != nil {
				t.Fatal(err)
			}
			text, err := synchronized(src, k.gpu, k.code)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(text, "\n")
			for _, f := range mutations {
				for i, line := range lines {
					if !f.line.MatchString(line) {
						continue
					}
					broken := f.apply(lines, i)
					if broken == nil {
						continue
					}
					if slices.Equal(broken, lines) {
						t.Fatalf("%s: changes nothing in %q", f.name, line)
					}
					total[f.name]++
					says, _, _ := strings.Cut(check(t, strings.Join(broken, "\n"), k.gpu), "\n")
					if slices.Contains(k.harmless, f.name) {
						if says != "" {
							t.Errorf("%s: is refused: %q", f.name, says)
						}
						continue
					}
					if !regexp.MustCompile("error: .*(" + f.expect + `|op has no \w+, but: )`).MatchString(says) {
						t.Errorf("%s: said is %q of\n%s", f.name, says, strings.Join(lines[max(0, i-4):i+4], "\n"))
					}
				}
			}
		})
	}
	for _, f := range mutations {
		t.Logf("%3d times: %s", total[f.name], f.name)
		if total[f.name] == 0 {
			t.Errorf("nothing to break for: %s", f.name)
		}
	}
}
