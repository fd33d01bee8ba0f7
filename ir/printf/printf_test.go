package printf_test

import (
	"fmt"
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/ir/printf"
)

// TestFormatsFitTheirOperands: the length is that of what is passed, h and hh but for; a letter that does not apply is that of the operand, and what is no
// conversion of one is refused.
func TestFormatsFitTheirOperands(t *testing.T) {
	c := ir.NewContext()
	i8, i32, i64, f16, f64 := ir.Type(c.Int(8)), ir.Type(c.Int(32)), ir.Type(c.Int(64)), ir.Type(c.Float(float.F16)), ir.Type(c.Float(float.F64))
	pointer, err := cudatile.Ptr(c, i8, cudatile.Optional[def.PtrAttr](cudatile.Absent))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		format string
		elem   ir.Type
		want   string
	}{
		{"%d", i32, "%d"}, {"%lld|", i32, "%d|"}, {"%zu", i8, "%u"}, {"%hhu", i8, "%hhu"}, {"%-08.3hd", i32, "%-08.3hd"}, {"%d", i64, "%lld"}, {"%#lx", i64, "%#llx"},
		{"%hd", i64, "%hd"}, {"%lc", i64, "%c"}, {"%p", i64, "%p"}, {"%.Lf", f16, "%.f"}, {"100%% %G%%", f16, "100%% %G%%"},
		{"%f", i32, "%d"}, {"%-+8.3e", i8, "%-+8d"}, {"%#g", i64, "%lld"}, {"%s", i64, "%lld"}, {"%p", i32, "%d"}, {"%lf", i32, "%d"}, {"%f", pointer, "%p"}, {"%.2s", pointer, "%p"},
		{"%d", pointer, "%lld"}, {"%x", f16, "%f"}, {"%-08.3d", f64, "%-08f"}, {"%hd", f16, "%f"}, {"%#llx", f64, "%f"}, {"%c", f16, "%f"}, {"%p", f64, "%f"}, {"%s", f16, "%f"},
		{"%n", i64, "flags, width"}, {"%*d", i32, "flags, width"}, {"%.*f", i32, "flags, width"}, {"%5% d", i32, "flags, width"}, {"%4096d", i32, "at most 4095"},
		{"%.99999999999999999999f", f16, "at most 4095"}, {"%.4096f", i32, "at most 4095"}, {"%4095d", i32, "%4095d"}, {"%d%%", f16, "%f%%"},
		{"%d%d", i32, "2 conversions for 1"}, {"%%d", i32, "0 conversions for 1"}, {"%d %", i32, "unterminated"},
	} {
		got, err := printf.Fit(tt.format, []ir.Type{tt.elem})
		if err != nil {
			got = err.Error()
		}
		if refused := !strings.Contains(tt.want, "%"); refused && (err == nil || !strings.Contains(got, tt.want)) || !refused && got != tt.want {
			t.Errorf("%q of %s: got %q, want %q", tt.format, fmt.Sprint(tt.elem), got, tt.want)
		}
	}
}
