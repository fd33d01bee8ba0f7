package emu

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// TestConstantExpressions: values are those that ptxas 13.3 gives.
func TestConstantExpressions(t *testing.T) {
	for text, want := range map[string]int64{
		"(3+4)*2": 14, "1<<4|3": 19, "-(5)": -5, "1?2:3": 2, "0?2:1?5:6": 5, "-7/2": -3, "-7 % 4": -3, "-7>>1": -4, "-7U>>1": 9223372036854775804,
		"1<<65": 2, "-1<1U": 0, "-1<1": 1, "!5": 0, "~5": -6, "5&&0": 0, "0||3": 1, "2*-3": -6, "3-2-1": 0, "1+2<<3": 24, "7&3==3": 1, "(.s64)5": 5,
		"(.u64)-7/2": 9223372036854775804, "-7/2U": 9223372036854775804, "0xff-1": 254, "5>=5": 1, "5!=4": 1, "6^3": 5, "- - 5": 5, "!!5": 1, "+5": 5,
		"0x7fffffffffffffff+1": -9223372036854775808, "9223372036854775808/2": 4611686018427387904, "9223372036854775808>>1": 4611686018427387904,
		"-9223372036854775808>>1": 4611686018427387904, "1?2:3?4:5": 2, "3>2>1": 0, "1|2&0": 1, "010+1": 9, "0b11+1": 4, "1==1?7:8": 7, "WARP_SZ*2": 64, "WARP_SZ": 32,
	} {
		for _, src := range []string{
			strings.Replace(kernel("ld.global.b64 %rd5, [g]; st.global.b64 [%rd0], %rd5;"), ".visible", ".global .b64 g[] = {7, "+text+"};.visible", 1),
			kernel("mov.b64 %rd5, " + text + "; st.global.b64 [%rd0], %rd5;"),
		} {
			src = strings.Replace(src, "[g]", "[g+4*(1+1)]", 1)
			got, err := runText(t, src, 1, make([]byte, 8), Options{})
			if err != nil || int64(binary.LittleEndian.Uint64(got)) != want {
				t.Errorf("%s: %d, %v; want %d", text, int64(binary.LittleEndian.Uint64(got)), err, want)
			}
		}
	}
	for text, want := range map[string]string{
		"1/0": "divides by zero", "5 % 0": "divides by zero", "1.5+1": "'+' of a float", "1?2:1.5": "a choice is", "(.u32)5": "a cast is", "~1.5": "'~' of a float",
		"(1,2)": "expected ')'", "1+": "is not a number", "1+%r0": "is not a number",
	} {
		_, err := Parse("t", kernel("mov.b64 %rd5, "+text+";"))
		var s *SyntaxError
		if !errors.As(err, &s) || !strings.Contains(s.Msg, want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse("t", kernel("mov.b64 %rd5, "+strings.Repeat("(", 1000)+"1;")); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a thousand parentheses: %v", err)
	}
}

// TestBytesOfAddresses: an initial value may be one byte of an address, and places in a variable are expressions.
func TestBytesOfAddresses(t *testing.T) {
	const globals = ".global .u32 x[4] = {5, 6, 7, 8}; .global .b8 a[] = {0xff(x+2*4), 0xff00(x+2*4), 0xff0000(generic(x)), 0xff000000(x), 0xff00000000(x), 0xff0000000000(x), 0, 0};.visible"
	src := strings.Replace(kernel("ld.global.b64 %rd5, [a]; ld.global.u32 %r1, [%rd5+1<<2]; st.global.u32 [%rd0], %r1;"), ".visible", globals, 1)
	src = strings.Replace(src, "ld.global.b64 %rd5, [a];", strings.Join([]string{"mov.b64 %rd5, 0;", "mov.b64 %rd6, a;"}, " ")+
		strings.Repeat("shl.b64 %rd5, %rd5, 8; ld.global.u8 %rd7, [%rd6+5]; or.b64 %rd5, %rd5, %rd7; sub.s64 %rd6, %rd6, 1;", 6), 1)
	got, err := runText(t, src, 1, make([]byte, 4), Options{})
	if err != nil || got[0] != 8 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"0xff0(x)", "0x1ff(x)", "0(x)"} {
		if _, err := Parse("t", strings.Replace(src, "0xff00(x+2*4)", bad, 1)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if _, err := Parse("t", strings.Replace(src, "[%rd5+1<<2]", "x[1]", 1)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an index: %v", err)
	}
}
