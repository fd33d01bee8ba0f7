package driver

import (
	"strings"
	"testing"

	"tileiras/ir"
)

// said is a diagnostic in a form that tests can write: "error 3 text", with line 0 for none.
func said(sev ir.Severity, line uint32, msg string, notes ...ir.Diagnostic) *ir.Diagnostic {
	d := &ir.Diagnostic{Severity: sev, Msg: msg, Loc: ir.UnknownLoc{}, Notes: notes}
	if line > 0 {
		d.Loc = &ir.FileLoc{File: "f", Line: line, Col: 1}
	}
	return d
}

func TestDiagnosticsMeetTheirComments(t *testing.T) {
	tests := []struct {
		name, src string
		list      []*ir.Diagnostic
		want      string // of the complaints, in order; "" = none
	}{
		{"on its line", "x // expected-error {{bad}}", []*ir.Diagnostic{said(ir.Error, 1, "this is bad indeed")}, ""},
		{"below, after other comments", "// expected-error @below {{a}}\n// expected-warning@below {{b}}\nx",
			[]*ir.Diagnostic{said(ir.Error, 3, "a"), said(ir.Warning, 3, "b")}, ""},
		{"above", "x\n// expected-error @above {{a}}", []*ir.Diagnostic{said(ir.Error, 1, "a")}, ""},
		{"by offset", "// expected-remark @+2 {{a}}\n\nx\n// expected-error @-1 {{b}}",
			[]*ir.Diagnostic{said(ir.Remark, 3, "a"), said(ir.Error, 3, "b")}, ""},
		{"without a place", "// expected-error @unknown {{a}}", []*ir.Diagnostic{said(ir.Error, 0, "a")}, ""},
		{"with a note", "// expected-error @below {{a}}\n// expected-note @below {{n}}\nx",
			[]*ir.Diagnostic{said(ir.Error, 3, "a", *said(ir.Note, 3, "n"))}, ""},
		{"a pattern", "x // expected-error-re {{dim {{[0-9]+}} (of 4)}}", []*ir.Diagnostic{said(ir.Error, 1, "the dim 12 (of 4)")}, ""},
		{"one for several", "x // expected-error {{a}}", []*ir.Diagnostic{said(ir.Error, 1, "a"), said(ir.Error, 1, "also a")}, ""},

		{"nothing said", "x // expected-error {{bad}}", nil, `f:1: error: expected error "bad" was not produced`},
		{"another line", "x // expected-error {{bad}}", []*ir.Diagnostic{said(ir.Error, 2, "bad")},
			"f:2:1: error: unexpected error: bad\n" + `f:1: error: expected error "bad" was not produced`},
		{"another severity", "x // expected-warning {{bad}}", []*ir.Diagnostic{said(ir.Error, 1, "bad")},
			"f:1:1: error: unexpected error: bad\n" + `f:1: error: expected warning "bad" was not produced`},
		{"a note nobody expects", "x // expected-error {{a}}", []*ir.Diagnostic{said(ir.Error, 1, "a", *said(ir.Note, 1, "n"))},
			"f:1:1: error: unexpected note: n"},
		{"a place nobody expects", "// expected-error @unknown {{a}}", []*ir.Diagnostic{said(ir.Error, 1, "a")},
			"f:1:1: error: unexpected error: a\n" + `f:1: error: expected error "a" was not produced`},
		{"literal dots", "x // expected-error-re {{a.{{b}}}}", []*ir.Diagnostic{said(ir.Error, 1, "a-b")},
			"f:1:1: error: unexpected error: a-b\n" + `f:1: error: expected error "a.{{b}}" was not produced`},
		{"a pattern that is none", "x // expected-error-re {{a {{(}}}}", nil, "f: line 1: invalid regular expression: error parsing regexp: missing closing ): `a (?:()`"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := strings.Join(checkExpected(piece{"f", []byte(test.src), 1}, test.list), "\n")
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestPiecesKeepTheirLines(t *testing.T) {
	var got []string
	for _, p := range split("f", []byte("a\nb\n// -----\nc\n// ----- d\n")) {
		got = append(got, strings.TrimSpace(string(p.src))+"@"+string(rune('0'+p.firstLine)))
	}
	if s := strings.Join(got, " "); s != "a\nb@1 c@3 d@5" {
		t.Errorf("got %q", s)
	}
}

func TestPipelinesOfMLIR(t *testing.T) {
	for text, want := range map[string]string{
		"builtin.module(cuda_tile.module(nothing))":                       "'nothing' does not refer to a registered pass",
		"builtin.module(cuda_tile.module(canonicalize)":                   "expected ')' at the end",
		"builtin.module(,)":                                               "expected the name of a pass or an operation before ',)'",
		"builtin.module(canonicalize) x":                                  "expected ',' or the end before 'x'",
		"canonicalize{a":                                                  "expected '}' after the options of canonicalize",
		strings.Repeat("any(", 100) + "cse" + strings.Repeat(")", 100):    "nesting is deeper than 64 levels",
		"builtin.module( cuda_tile.module( canonicalize , cse ) ,any() )": "",
	} {
		p := &pipelineParser{rest: text}
		_, err := p.steps("")
		if got := errText(err); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
