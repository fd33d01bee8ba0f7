package ptxas

import (
	"fmt"
	"regexp"
	"strings"
)

// MoreWarps is the hint without which NVIDIA's compiler spills in kernels with big tiles.
const MoreWarps = "num_worker_warps_per_cta = 8"

var (
	entryLine  = regexp.MustCompile(`^\s*entry @`)
	someHints  = regexp.MustCompile(`(optimization_hints\s*=\s*<)`)
	lineEnding = regexp.MustCompile(`\{\s*$`)
)

// WithMoreWarps puts the hint into the dictionary of a target of every entry of a Tile IR text.
func WithMoreWarps(text string, sm int) string {
	lines := strings.Split(text, "\n")
	key := fmt.Sprintf("sm_%d = {", sm)
	for n, line := range lines {
		switch {
		case !entryLine.MatchString(line):
		case strings.Contains(line, key):
			lines[n] = strings.Replace(line, key, key+MoreWarps+", ", 1)
		case someHints.MatchString(line):
			lines[n] = someHints.ReplaceAllString(line, "${1}"+key+MoreWarps+"}, ")
		default:
			lines[n] = lineEnding.ReplaceAllString(line, "optimization_hints=<"+key+MoreWarps+"}> {")
		}
	}
	return strings.Join(lines, "\n")
}
