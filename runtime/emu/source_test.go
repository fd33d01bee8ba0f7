package emu

import (
	"strings"
	"testing"
)

// TestReportsSayWhatTheyAreTyped: what was accessed how and where in the source are fields of a report, and its text is made of them.
func TestReportsSayWhatTheyAreTyped(t *testing.T) {
	lines := func(body string) string {
		return strings.Replace(kernel(body), "\n\tret;", "\n\t.loc 2 90 1\n\tret;", 1) + "\t.file 2 \"dir\\\\k.py\", 1700000000, 1024\n"
	}
	for _, c := range []struct {
		body   string
		access Access
		line   int
		other  *Other
	}{
		{".loc 2 7 5, function_name $str, inlined_at 2 3 4\nld.global.u32 %r1, [%rd1+4096];", Read, 7, nil},
		{".loc 2 7 5\nst.global.u32 [%rd1+4096], %r0;", Write, 7, nil},
		{".loc\t2 7 5\nmov.u32 %r1, 1;\n.loc 2 8 5\n\natom.global.add.u32 %r1, [%rd1+4096], 1;", Atomic, 8, nil},
		{"st.global.u32 [%rd1+4096], %r0;", Write, 0, nil},
		{".loc 3 7 5\nst.global.u32 [%rd1+4096], %r0;", Write, 0, nil}, // no such file
		{".loc 2 7 5\nst.global.u32 [%rd1], %r0;\n.loc 2 9 6\nld.global.u32 %r1, [%rd0+4];", Read, 9, &Other{Access: Write, Source: Source{`dir\k.py`, 7, 5}}},
	} {
		r := report(t, lines(c.body), Options{Block: [3]int{32, 1, 1}})
		if r == nil || r.Access != c.access || r.Source.Line != c.line || (r.Source.File == `dir\k.py`) != (c.line > 0) {
			t.Errorf("%s: got %+v", c.body, r)
			continue
		}
		if c.line > 0 && !strings.HasPrefix(r.Error(), r.Source.String()+": "+r.Kind.String()) {
			t.Errorf("%s: got %v", c.body, r)
		}
		if (r.Other == nil) != (c.other == nil) || c.other != nil && (r.Other.Access != c.other.Access || r.Other.Source != c.other.Source ||
			!strings.HasSuffix(r.Error(), `the earlier access is that of dir\k.py:7:5`)) {
			t.Errorf("%s: got %v", c.body, r)
		}
	}
}
