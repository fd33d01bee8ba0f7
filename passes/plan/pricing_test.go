package plan

import (
	"testing"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/passes/passtest"
	"tileiras/passes/slice"
)

// A product that is cut along K has two barriers more for each step but one: before its operands are stored and after.
func TestStepsCostTheirBarriers(t *testing.T) {
	s := passtest.Parse(t, passtest.TileAAKernel(`
		%a = constant <f16: 1.0> : tile<64x64xf16>
		%z = constant <f32: 0.0> : tile<64x64xf32>
		%d = dot %a, %a, %z : (tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>) -> tile<64x64xf32>
		use %d : tile<64x64xf32>`))
	entry := s.Entries()[0]
	p := newPricing(s, entry, slice.ProductsOf(s, entry))
	for _, op := range entry.Body().Ops() {
		if !tileaa.IsProduct(op) {
			continue
		}
		price := func(k int) int {
			quarters, _ := p.productCost(op, 4, 1, func(q slice.Product) bool { return q.Extent.K > k })
			return quarters
		}
		if got, want := price(16)-price(64), (cost.Cost{Barriers: 2 * 3}).Quarters(); price(64) <= 0 || got != want {
			t.Errorf("four steps cost %d more than one, which costs %d; want %d", got, price(64), want)
		}
	}
}

func TestPricesSayWhatIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		price price
		want  string
	}{{price{120, false}, "cost 120"}, {price{0, true}, "of unknown cost"}, {price{120, true}, "cost 120 and what is not known"}} {
		if got := c.price.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
