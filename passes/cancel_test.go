package passes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir/budget"
	"tileiras/passes/pass"
	"tileiras/passes/passtest"
)

// TestEveryPassEndsWithItsContext runs each pass of the way down on a kernel of some hundred operations when the context is over already:
// a pass that never looks at it would go on for as long as it likes.
func TestEveryPassEndsWithItsContext(t *testing.T) {
	var body strings.Builder
	for i := range 100 {
		fmt.Fprintf(&body, `
		%%a%[1]d, %%ta%[1]d = load_ptr_tko weak %%v token = %%t : tile<65536xptr<i32>> -> tile<65536xi32>, token
		%%b%[1]d = addi %%a%[1]d, %%i : tile<65536xi32>
		%%r%[1]d = reduce %%b%[1]d dim=0 identities=[0 : i32] : tile<65536xi32> -> tile<i32> (%%e: tile<i32>, %%f: tile<i32>) {
			%%s = addi %%e, %%f : tile<i32>
			yield %%s : tile<i32>
		}
		%%ts%[1]d = store_ptr_tko weak %%q, %%r%[1]d token = %%t : tile<ptr<i32>>, tile<i32> -> token`, i)
	}
	src := `cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
		%t = make_token : token
		%i = iota : tile<65536xi32>
		%p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
		%p8 = broadcast %p1 : tile<1xptr<i32>> -> tile<65536xptr<i32>>
		%v = offset %p8, %i : tile<65536xptr<i32>>, tile<65536xi32> -> tile<65536xptr<i32>>` + body.String() + `
		return
	} }`
	for at, p := range List {
		if p.Run == nil || p.Name == "" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			s := passtest.Parse(t, src)
			m := pass.Manager{State: s}
			if err := m.Run(List[:at], Planner); err != nil {
				t.Fatal(err)
			}
			switch p.Name { // which otherwise have nothing to do
			case "assign-roles":
				tileaa.PlanOf(s.Entries()[0]).Producers = 1
			case "truncate-factors":
				s.TF32 = options.Truncated
			case "make-tensor-maps":
				s.Target, s.TMA = target.ByNumber(90)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			s.Ctx.Budget = budget.New(ctx, 0)
			run := func() (err error) {
				defer budget.Catch(&err)
				return p.Run(s)
			}
			if err := run(); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		})
	}
}
