package cudatile

import (
	"fmt"
	"strings"
	"testing"

	"tileiras/ir"
	"tileiras/ir/float"
)

// TestFormatsFitTheirOperands: the length is that of what is passed, h and hh but for; what does not apply is refused.
func TestFormatsFitTheirOperands(t *testing.T) {
	c := ir.NewContext(Dialect)
	i8, i32, i64, f16 := ir.Type(c.Int(8)), ir.Type(c.Int(32)), ir.Type(c.Int(64)), ir.Type(c.Float(float.F16))
	for _, tt := range []struct {
		format string
		elem   ir.Type
		want   string
	}{
		{"%d", i32, "%d"}, {"%lld|", i32, "%d|"}, {"%zu", i8, "%u"}, {"%hhu", i8, "%hhu"}, {"%-08.3hd", i32, "%-08.3hd"}, {"%d", i64, "%lld"}, {"%#lx", i64, "%#llx"},
		{"%hd", i64, "%hd"}, {"%lc", i64, "%c"}, {"%p", i64, "%p"}, {"%.Lf", f16, "%.f"}, {"100%% %G%%", f16, "100%% %G%%"},
		{"%f", i32, "integers and pointers have diuoxXcp"}, {"%x", f16, "floats eEfFgGaA"}, {"%s", i64, "flags, width"}, {"%n", i64, "flags, width"}, {"%*d", i32, "flags, width"},
		{"%5% d", i32, "flags, width"}, {"%p", i32, "an address has 64 bits"}, {"%4096d", i32, "at most 4095"}, {"%.99999999999999999999f", f16, "at most 4095"}, {"%4095d", i32, "%4095d"},
	} {
		got, err := FitFormat(tt.format, []ir.Type{tt.elem})
		if err != nil {
			got = err.Error()
		}
		if refused := !strings.Contains(tt.want, "%"); refused && (err == nil || !strings.Contains(got, tt.want)) || !refused && got != tt.want {
			t.Errorf("%q of %s: got %q, want %q", tt.format, fmt.Sprint(tt.elem), got, tt.want)
		}
	}
}
