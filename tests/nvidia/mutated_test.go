package nvidia_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"tileiras/internal/mutate"
)

// stricter is where our reader refuses what NVIDIA's takes, by words of our message: what no writer writes and no reader can give a
// meaning is a broken file, and is better refused than half understood.
var stricter = []struct{ words, why string }{
	{" section\n", "a section stands there twice; theirs takes the last"},
	{"invalid padding byte", "padding that is not CB; theirs does not look"},
	{" start indices: ", "offsets of a table that go back, or do not begin at 0; theirs takes what lies between"},
	{" extends beyond available data", "an entry of a table ends after the table; theirs cuts it off"},
	{" unused bytes after ", "bytes inside an entry that nothing reads; theirs ignores them"},
	{"unexpected data: ", "bytes after the last entry that are no padding; theirs ignores them"},
	{"'cuda_tile.global' op 'alignment' must be power of two", "an alignment that PTX has not; theirs leaves it to ptxas"},
	{"unknown flag bits", "flags of an operation that have no meaning; theirs ignores them"},
}

// explained says why we refuse what they take, "" when nothing does.
func explained(message string) string {
	first, _, _ := strings.Cut(message, "\n")
	for _, s := range stricter {
		if strings.Contains(first+"\n", s.words) {
			return s.why
		}
	}
	return ""
}

// TestVerdictsOnMutatedFilesAreTileirdisasms breaks files of the corpus, TILEIRAS_MUTATIONS of them, and wants ours to be accepted
// where NVIDIA's tool accepts them, with the same text, and refused where it refuses them.
func TestVerdictsOnMutatedFilesAreTileirdisasms(t *testing.T) {
	theirs := disassembler(t)
	var source mutate.Bytecode
	for _, file := range everyFile(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Files = append(source.Files, data)
	}
	source.Seed = 4
	count := 1000
	if s := os.Getenv("TILEIRAS_MUTATIONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		count = n
	}
	dir := t.TempDir()
	var mu sync.Mutex
	var accepted, indented, refused, sameWords, crashed int
	reasons, words := map[string][]int{}, map[string][]int{}
	var g errgroup.Group
	g.SetLimit(atATime)
	for n := range count {
		g.Go(func() error {
			data, how := source.File(uint64(n))
			file := filepath.Join(dir, strconv.Itoa(n))
			if err := os.WriteFile(file, data, 0o644); err != nil {
				return err
			}
			defer os.Remove(file)
			a, b := theirs(file), ours(file)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.Code < 0 || a.Code > 3:
				crashed++ // a signal: theirs has no verdict
			case (a.Code == 0) != (b.Code == 0):
				verdict, why := "they refuse: "+firstLine(a), ""
				if a.Code == 0 {
					verdict, why = "we refuse: "+firstLine(b), explained(b.Stderr)
				}
				if why == "" {
					t.Errorf("number %d (%s): %s", n, how, verdict)
				}
				reasons[why] = append(reasons[why], n)
			case a.Code == 0:
				accepted++
				switch {
				case a.Stdout == b.Stdout:
				case withoutIndent(a.Stdout) == withoutIndent(b.Stdout):
					indented++ // theirs cannot take the module away from a text in which a name breaks a line
				default:
					t.Errorf("number %d (%s): the texts differ", n, how)
				}
			default:
				refused++
				if a.Stderr == b.Stderr {
					sameWords++
				} else {
					key := template(firstLine(a)) + "\n                ours: " + template(firstLine(b))
					words[key] = append(words[key], n)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files: both accept %d (%d texts differ in indentation), both refuse %d (%d with the same words), theirs crashes on %d",
		count, accepted, indented, refused, sameWords, crashed)
	t.Logf("refused by us alone:\n%s", table(reasons))
	t.Logf("refused by both, with other words:\n%s", table(words))
}

// table prints how often each key is there, and the first number of it, the most frequent first.
func table(numbers map[string][]int) string {
	var lines []string
	for key, ns := range numbers { // order-free: the lines are sorted
		lines = append(lines, fmt.Sprintf("%6d  %s (number %d)\n", len(ns), key, slices.Min(ns)))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return strings.Join(lines, "")
}

// firstLine is the innermost message.
func firstLine(a answer) string {
	first, _, _ := strings.Cut(a.Stderr, "\n")
	return first
}

// withoutIndent is a text without the white space at the beginnings of its lines.
func withoutIndent(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// template is a message without its numbers.
func template(s string) string {
	var b strings.Builder
	digits := false
	for _, r := range s {
		if '0' <= r && r <= '9' {
			if !digits {
				b.WriteByte('N')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(r)
	}
	return b.String()
}
