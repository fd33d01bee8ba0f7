package memory

import (
	"math/rand/v2"
	"testing"

	"tileiras/codegen/target"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// TestPlacesAreLowest holds the places of random buffers against their definition: none overlaps a bigger one that is alive with it, and none could be lower.
func TestPlacesAreLowest(t *testing.T) {
	sm90, _ := target.ByName("sm_90")
	s := &pass.State{Ctx: ir.NewContext(), Target: sm90}
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var list []*LiveInterval
		for range random.IntN(40) {
			first := random.IntN(60)
			list = append(list, &LiveInterval{First: first, Last: first + random.IntN(20), Size: 16 * random.IntN(64), Align: 16 << random.IntN(4)})
		}
		if _, err := PlaceBuffers(s, list); err != nil {
			t.Fatal(err)
		}
		for i, iv := range list {
			free := func(at int) bool {
				for j, p := range list {
					before := p.Size > iv.Size || p.Size == iv.Size && j < i
					together := p.First < iv.Last && iv.First < p.Last
					if before && together && at < p.offset+p.Size && p.offset < at+iv.Size {
						return false
					}
				}
				return true
			}
			for at := 0; at <= iv.offset; at += iv.Align {
				if free(at) != (at == iv.offset) {
					t.Fatalf("a buffer of %d bytes that lives from %d to %d is at %d, and %d is free: %t", iv.Size, iv.First, iv.Last, iv.offset, at, free(at))
				}
			}
		}
	}
}
