package target

import (
	"strings"
	"testing"
)

func TestTargetsAreFoundByTheirPlainNameOnly(t *testing.T) {
	for _, want := range All {
		got, ok := ByName(want.Name)
		if !ok || got != want {
			t.Errorf("ByName(%q) = %v, %v", want.Name, got, ok)
		}
	}
	for _, bad := range []string{"", "sm_90a", "sm_70", "SM_80", "80"} {
		if _, ok := ByName(bad); ok {
			t.Errorf("ByName(%q) found a target", bad)
		}
	}
}

func TestTheTableAscends(t *testing.T) {
	for i, row := range All {
		if i > 0 && row.Number <= All[i-1].Number {
			t.Errorf("%s stands after %s", row, All[i-1])
		}
		if row.SharedStatic > row.SharedOptIn || row.SharedOptIn > row.SharedPerSM {
			t.Errorf("%s: shared memory %d <= %d <= %d does not hold", row, row.SharedStatic, row.SharedOptIn, row.SharedPerSM)
		}
		if row.Arch && row.ArchPTX < row.PTX {
			t.Errorf("%s: the suffixed name is older than the plain one", row)
		}
	}
}

func TestVersionsCompareByNumberNotByText(t *testing.T) {
	if !(V(7, 8) < V(8, 0) && V(9, 2) < V(9, 10) && V(9, 10) < V(10, 0)) {
		t.Error("versions are out of order")
	}
	if got := V(9, 10).String(); got != "9.10" {
		t.Errorf("V(9, 10) prints as %s", got)
	}
}

// TestNumbersStandInTheirColumns finds two neighbours of a row that changed places.
func TestNumbersStandInTheirColumns(t *testing.T) {
	for _, x := range All {
		if x.SharedOptIn > x.SharedPerSM || x.SharedOptIn == x.SharedPerSM && x.Number > 75 || x.SharedOptIn < sharedStatic || x.SharedPerSM < x.WarpsPerSM ||
			x.WarpsPerSM < 2*x.BlocksPerSM || x.BlocksPerSM <= x.ClusterMax || x.ClusterMax > 16 || x.Products < 512 || x.Products > 4096 ||
			x.DRAM >= x.L2 || x.DRAM < 100 || x.L2 < 64*kb {
			t.Errorf("%s: %+v", x, x)
		}
	}
}

func TestWhoHasWhat(t *testing.T) {
	for _, c := range []struct {
		name string
		what interface{ On(*Target) bool }
		want string // the targets that have it
	}{
		{"any", Need{}, "sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"},
		{"CpAsync", CpAsync, "sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"},
		{"Bulk", Bulk, "sm_90 sm_100 sm_103 sm_107 sm_110 sm_120 sm_121"},
		{"WGMMA", WGMMA, "sm_90"},
		{"Tcgen05", Tcgen05, "sm_100 sm_103 sm_107 sm_110"},
		{"BlockScale", Need{Arch: BlockScale}, "sm_120 sm_121"},
	} {
		var got []string
		for _, target := range All {
			if c.what.On(target) {
				got = append(got, target.Name)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestNeedsChooseTheLowestVersion(t *testing.T) {
	sm90, _ := ByName("sm_90")
	for _, c := range []struct {
		need Need
		want PTX
		text string
	}{
		{Need{}, V(7, 8), "any target"},
		{Need{SM: 80, PTX: V(7, 0)}, V(7, 8), "sm_80 and later, PTX 7.0"},
		{Need{Arch: WGMMA, PTX: V(7, 8)}, V(8, 0), "sm_90a, PTX 7.8"},
		{Need{SM: 90, PTX: V(8, 3)}, V(8, 3), "sm_90 and later, PTX 8.3"},
	} {
		if got := c.need.Version(sm90); got != c.want {
			t.Errorf("%v on sm_90 needs PTX %v, want %v", c.need, got, c.want)
		}
		if got := c.need.String(); got != c.text {
			t.Errorf("need prints as %q, want %q", got, c.text)
		}
	}
}
