package accuracy

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

const file = "../../docs/accuracy.md"

// TestPromises holds every row on a sample. TILEIRAS_ACCURACY=N takes N points of f32 and a tenth of that of f64, and writes docs/accuracy.md.
func TestPromises(t *testing.T) {
	n, full := 20_000, false
	if v := os.Getenv("TILEIRAS_ACCURACY"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
		full = true
	}
	lines := make([]string, len(Rows))
	t.Run("rows", func(t *testing.T) {
		for i, r := range Rows {
			t.Run(r.String(), func(t *testing.T) {
				t.Parallel()
				n := n
				if r.Format.Bits() == 64 || r.Format.Bits() == 16 && r.Arity == 2 {
					n /= 10
				}
				res, err := r.Measure(t.Context(), n)
				if err != nil {
					t.Fatal(err)
				}
				lines[i] = r.line(res)
				t.Log(lines[i])
				if res.Worst > r.Promise || res.Wrong > 0 {
					t.Errorf("%s(%v, %v) = %v: %.3f units of the last place, %v are promised; %d of %d results are of the wrong kind",
						r, res.X, res.Y, res.Got, res.Worst, r.Promise, res.Wrong, res.Points)
				}
			})
		}
	})
	if full && !t.Failed() {
		// Rows that did not run (-run) keep their lines.
		old, _ := os.ReadFile(file)
		for i, r := range Rows {
			if _, rest, ok := strings.Cut(string(old), "\n| "+r.key()+" | "); ok && lines[i] == "" {
				line, _, _ := strings.Cut(rest, "\n")
				lines[i] = "| " + r.key() + " | " + line + "\n"
			}
		}
		if err := os.WriteFile(file, []byte(document(lines)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheDocumentHasEveryRow holds the committed measurements against the promises: at least 10^7 points of f32, 10^6 of f64, all of
// the formats of 16 bits.
func TestTheDocumentHasEveryRow(t *testing.T) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), head) {
		t.Errorf("%s does not begin as it should: run make accuracy", file)
	}
	for _, r := range Rows {
		_, rest, ok := strings.Cut(string(text), "\n| "+r.key()+" | ")
		fields := strings.Split(rest, " | ")
		if !ok || len(fields) < 4 {
			t.Errorf("%s has no line about %s: run make accuracy", file, r)
			continue
		}
		number := func(s string) float64 {
			v, err := strconv.ParseFloat(strings.Fields(s)[0], 64)
			if err != nil {
				t.Errorf("%s: %v", r, err)
			}
			return v
		}
		if promise, worst := number(fields[0]), number(fields[1]); promise != r.Promise || worst > promise {
			t.Errorf("%s: %v measured, %v promised in %s, %v in the table", r, worst, promise, file, r.Promise)
		}
		least := map[int]float64{16: 1 << 16, 32: 1e7, 64: 1e6}[r.Format.Bits()] * 0.99 // some are left out
		if points := number(fields[3]); points < least {
			t.Errorf("%s: %v points, expected %v", r, points, least)
		}
	}
}
