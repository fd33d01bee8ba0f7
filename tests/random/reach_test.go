package random

import (
	"regexp"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
)

var changedBy = regexp.MustCompile(`// -----// [0-9]+: changed by ([a-z-]+) //`)

// passesThatChange are the passes that change something of a module.
func passesThatChange(t *testing.T, text, gpu string) map[string]bool {
	var log strings.Builder
	_, err := driver.Compile(t.Context(), "random.tileir", []byte(text), driver.Options{GPU: gpu, Code: options.Code{Opt: 3}, Emit: driver.EmitPTX, ReproducerDir: "/dev/null", PrintChanged: true, Log: &log})
	if err != nil {
		t.Logf("%v", err)
	}
	list := map[string]bool{}
	for _, m := range changedBy.FindAllStringSubmatch(log.String(), -1) {
		list[m[1]] = true
	}
	return list
}

// reachedByControl is how many of a hundred programs of control flow these passes change at least.
var reachedByControl = map[string]int{"licm": 60, "eliminate-range-checks": 10, "version-loops": 20, "unroll-loops": 4, "split-reductions": 4}

func TestControlReachesPasses(t *testing.T) {
	const of = 100
	n, counts := number(t, "TILEIRAS_RANDOM", of), map[string]int{}
	for seed := range uint64(n) {
		text, _ := moduleOfKind(Control, seed)
		for name := range passesThatChange(t, text, gpusOf(Control, text, seed, n)[0]) {
			counts[name]++
		}
	}
	for _, name := range sortedKeys(counts) {
		t.Logf("%5d of %d: %s", counts[name], n, name)
	}
	for _, name := range sortedKeys(reachedByControl) {
		if counts[name]*of < reachedByControl[name]*n {
			t.Errorf("%s changes %d of %d programs, %d of %d are wanted", name, counts[name], n, reachedByControl[name], of)
		}
	}
}
