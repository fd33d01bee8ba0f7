// Package passtest holds passes against texts of kernels before and after.
package passtest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// TileAAKernel is the text of a module whose only entry has these parameters and this body. A line "use %x : T" keeps a value
// alive.
func TileAAKernel(body string) string {
	use := regexp.MustCompile(`use (%[\w#]+) : (\S+)`)
	body = use.ReplaceAllStringFunc(body, func(line string) string {
		m := use.FindStringSubmatch(line)
		return fmt.Sprintf(`print values(%s) {format = "%s"} : (%s) -> token`, m[1], conversionOf(m[2]), m[2])
	})
	lines := strings.Split(strings.TrimSpace(body), "\n")
	n := 0
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "print ") {
			lines[i] = fmt.Sprintf("%%printed%d = %s", n, l)
			n++
		}
	}
	return `tileaa.module @m {
  entry @k(%x: tile<i32>, %y: tile<i32>, %l: tile<i64>, %byte: tile<i8>, %c: tile<i1>, %f: tile<f32>, %h: tile<f16>,
           %p: tile<ptr<f32>>, %vi: tile<8xi32>, %vj: tile<8xi32>, %vc: tile<8xi1>, %vf: tile<8xf32>, %vp: tile<8xptr<f32>>,
           %mf: tile<4x8xf32>) {
    ` + strings.Join(lines, "\n") + `
    return
  }
}`
}

// conversionOf prints elements of a tile.
func conversionOf(tile string) string {
	elem := regexp.MustCompile(`^tile<(?:\d+x)*|>$`).ReplaceAllString(tile, "")
	switch {
	case strings.HasPrefix(elem, "ptr"):
		return "%p"
	case elem == "i64":
		return "%lld"
	case strings.HasPrefix(elem, "i"):
		return "%d"
	}
	return "%f"
}

// Parse reads a module and verifies it.
func Parse(t *testing.T, src string) *pass.State {
	t.Helper()
	ctx := ir.NewContext(tileaa.Dialect, cudatile.Dialect)
	m, err := ir.Parse(ctx, "test", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	if !ir.Verify(ctx, m) {
		t.Fatalf("%s\n%s", ctx.Diags.String(), src)
	}
	tg, _ := target.ByName("sm_90")
	return &pass.State{Ctx: ctx, Module: m, Target: tg, Code: options.Code{Opt: 3}}
}

// TileKernel is the text of a cuda_tile module whose only entry has these parameters and this body. A line "use %x : T" keeps
// a value alive.
func TileKernel(body string) string {
	use := regexp.MustCompile(`use (%[\w#]+) : (\S+)`)
	return `cuda_tile.module @m {
  entry @k(%x: tile<i32>, %y: tile<i32>, %c: tile<i1>, %d: tile<i1>, %f: tile<f32>, %g: tile<f32>, %p: tile<ptr<i32>>,
           %s: tile<i32>, %by: tile<i32>) {
    ` + use.ReplaceAllString(strings.TrimSpace(body), `print_tko "%d", $1 : $2 -> token`) + `
    return
  }
}`
}

// Rewriting is one test of a pass: a sentence, what comes in and what goes out, each the body of a kernel.
type Rewriting struct{ Says, In, Out string }

// Check runs a pass on each, and compares texts; a second run must change nothing.
func Check(t *testing.T, pass func(*pass.State) error, tests []Rewriting) {
	checkIn(t, TileAAKernel, pass, tests)
}

// CheckTile is check on cuda_tile.
func CheckTile(t *testing.T, pass func(*pass.State) error, tests []Rewriting) {
	checkIn(t, TileKernel, pass, tests)
}

func checkIn(t *testing.T, kernel func(string) string, pass func(*pass.State) error, tests []Rewriting) {
	for _, r := range tests {
		t.Run(r.Says, func(t *testing.T) {
			s := Parse(t, kernel(r.In))
			want := ir.Text(Parse(t, kernel(r.Out)).Module, ir.PrintOptions{})
			for run := 1; run <= 2; run++ {
				if err := pass(s); err != nil {
					t.Fatal(err)
				}
				if !ir.Verify(s.Ctx, s.Module) {
					t.Fatal(s.Ctx.Diags.String())
				}
				if got := ir.Text(s.Module, ir.PrintOptions{}); got != want {
					t.Fatalf("run %d gives\n%s\nwant\n%s", run, got, want)
				}
			}
		})
	}
}
