package remark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tileiras/ir"
)

// YAML is a document per remark, as LLVM's optimization records (llvm/Remarks, "YAML remarks") and as NVIDIA's tileiras writes them:
// keys padded to a column, numbers in the order of the list.
func YAML(list []Remark) []byte {
	var b bytes.Buffer
	for i := range list {
		r := &list[i]
		fmt.Fprintf(&b, "--- !%s\n", r.Kind.Tag())
		field := func(key, value string) { fmt.Fprintf(&b, "%-16s %s\n", key+":", value) }
		field("Pass", scalar(r.Pass))
		field("Name", scalar(r.ID))
		if file, line, col, ok := ir.FileLine(r.Loc); ok {
			field("DebugLoc", fmt.Sprintf("{ File: %s, Line: %d, Column: %d }", scalar(file), line, col))
		}
		field("Function", scalar(r.Function))
		b.WriteString("Args:\n")
		arg := func(key string, value any) {
			text := fmt.Sprint(value)
			if s, ok := value.(string); ok {
				text = scalar(s)
			}
			fmt.Fprintf(&b, "  - %-12s %s\n", key+":", text)
		}
		if r.Arg("RemarkId") == "" {
			arg("RemarkId", i+1)
		}
		arg("Remark", r.Text)
		for _, a := range r.Args {
			arg(a.Key, a.Value)
		}
		b.WriteString("...\n")
	}
	return b.Bytes()
}

// scalar is a string in YAML, quoted by the rules of LLVM's writer (llvm/Support/YAMLTraits.h, needsQuotes).
func scalar(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r > 0x7e }) {
		out, _ := json.Marshal(s) // a JSON string is a double-quoted scalar
		return string(out)
	}
	plain := s != "" && !strings.HasPrefix(s, " ") && !strings.HasSuffix(s, " ") && !strings.ContainsAny(s[:1], "-?:\\,[]{}#&*!|>'\"%@`") && !special(s)
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		plain = plain && (letter || strings.IndexByte("_-^., \t", c) >= 0)
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// special reports whether a plain scalar would be read as something else than a string: null, a truth value, a number.
func special(s string) bool {
	switch strings.ToLower(s) {
	case "null", "~", "true", "false", "yes", "no", "on", "off", ".nan", ".inf":
		return true
	}
	return strings.Trim(s, "0123456789.eE+-_xXabcdfABCDF") == "" && strings.ContainsAny(s[:1], "0123456789.")
}

// Text is for people, in the form of NVIDIA's tileiras: grouped by kernel, then by pass in the order of the alphabet.
func Text(list []Remark) []byte {
	var b bytes.Buffer
	all := make([]*Remark, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	kernels, ofKernel := grouped(all, func(r *Remark) string { return r.Kernel })
	for _, kernel := range kernels {
		fmt.Fprintf(&b, "in function: %s:\n\n", kernel)
		passes, ofPass := grouped(ofKernel[kernel], func(r *Remark) string { return r.Pass })
		slices.Sort(passes)
		for i, pass := range passes {
			if i > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "  category: %s\n", pass)
			for _, r := range ofPass[pass] {
				r.text(&b)
			}
		}
	}
	return b.Bytes()
}

func (r *Remark) text(b *bytes.Buffer) {
	fmt.Fprintf(b, "    remark[%s]: %s\n", r.Kind.Word(), r.Text)
	if file, line, col, ok := ir.FileLine(r.Loc); ok {
		fmt.Fprintf(b, "      --> %q:%d:%d\n", file, line, col)
	}
	fmt.Fprintf(b, "       |\n       = name: %s\n", r.ID)
	for _, a := range r.Args {
		switch a.Key {
		case "Reason", "Suggestion":
			fmt.Fprintf(b, "       = %s: %v\n", strings.ToLower(a.Key), a.Value)
		default:
			fmt.Fprintf(b, "       = note: %s = %v\n", a.Key, a.Value)
		}
	}
	b.WriteString("\n")
}

// grouped puts the remarks together for which of returns the same, and lists what it returns, in order, without "".
func grouped(list []*Remark, of func(*Remark) string) (keys []string, groups map[string][]*Remark) {
	groups = map[string][]*Remark{}
	for _, r := range list {
		key := of(r)
		if key == "" {
			continue
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], r)
	}
	return keys, groups
}

// JSON is an array of objects with the keys pass, kind, id, text, function, kernel, loc (null where the place is not known) and args,
// a list of objects with key and value.
func JSON(list []Remark) []byte {
	type place struct {
		File   string `json:"file"`
		Line   uint32 `json:"line"`
		Column uint32 `json:"column"`
	}
	type arg struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
	type object struct {
		Pass     string `json:"pass"`
		Kind     string `json:"kind"`
		ID       string `json:"id"`
		Text     string `json:"text"`
		Function string `json:"function"`
		Kernel   string `json:"kernel"`
		Loc      *place `json:"loc"`
		Args     []arg  `json:"args"`
	}
	out := make([]object, len(list))
	for i := range list {
		r := &list[i]
		o := object{Pass: r.Pass, Kind: r.Kind.Word(), ID: r.ID, Text: r.Text, Function: r.Function, Kernel: r.Kernel, Args: []arg{}}
		if file, line, col, ok := ir.FileLine(r.Loc); ok {
			o.Loc = &place{file, line, col}
		}
		for _, a := range r.Args {
			o.Args = append(o.Args, arg(a))
		}
		out[i] = o
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		panic("BUG: " + err.Error()) // strings and ints only
	}
	return b.Bytes()
}
