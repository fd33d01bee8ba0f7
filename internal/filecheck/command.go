package filecheck

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// flag is one command line option of FileCheck.
type flag struct {
	name  string
	value bool // takes a value
	set   func(o *Options, value string)
}

func list(v string) []string { return strings.Split(v, ",") }

// flags are the options that tests use; LLVM has more, mostly for output.
var flags = []flag{
	{"check-prefix", true, func(o *Options, v string) { o.Prefixes = append(o.Prefixes, list(v)...) }},
	{"check-prefixes", true, func(o *Options, v string) { o.Prefixes = append(o.Prefixes, list(v)...) }},
	{"comment-prefixes", true, func(o *Options, v string) { o.CommentPrefixes = append(o.CommentPrefixes, list(v)...) }},
	{"input-file", true, func(o *Options, v string) { o.InputName = v }},
	{"implicit-check-not", true, func(o *Options, v string) { o.ImplicitNot = append(o.ImplicitNot, v) }},
	{"allow-unused-prefixes", false, func(o *Options, _ string) { o.AllowUnusedPrefixes = true }},
	{"allow-empty", false, func(o *Options, _ string) { o.AllowEmpty = true }},
	{"strict-whitespace", false, func(o *Options, _ string) { o.StrictWhitespace = true }},
	{"match-full-lines", false, func(o *Options, _ string) { o.MatchFullLines = true }},
	{"ignore-case", false, func(o *Options, _ string) { o.IgnoreCase = true }},
	{"enable-var-scope", false, func(o *Options, _ string) { o.EnableVarScope = true }},
	{"dump-input", true, func(*Options, string) {}}, // the report never dumps the input
}

// Main is the command: FileCheck [options] check-file, with the text to check
// on stdin or in --input-file. Status 1 means a failed check, 2 a usage error.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	usage := func(format string, args ...any) int {
		fmt.Fprintf(stderr, "FileCheck: "+format+"\n", args...)
		return 2
	}
	o := Options{Defines: map[string]string{}}
	var files []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			files = append(files, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if def, ok := strings.CutPrefix(name, "D"); ok && hasValue {
			o.Defines[def] = value
			continue
		}
		f := findFlag(name)
		switch {
		case f == nil:
			return usage("unknown option %s", arg)
		case f.value && !hasValue:
			if i++; i == len(args) {
				return usage("option %s needs a value", arg)
			}
			value = args[i]
		case !f.value && hasValue && value != "true":
			return usage("option %s takes no value", arg)
		}
		f.set(&o, value)
	}
	if len(files) != 1 {
		return usage("expected one check file, got %d", len(files))
	}
	o.CheckName = files[0]
	check, err := os.ReadFile(o.CheckName)
	if err != nil {
		return usage("could not open check file: %v", err)
	}
	var input []byte
	if o.InputName == "" || o.InputName == "-" {
		o.InputName = "<stdin>"
		input, err = io.ReadAll(stdin)
	} else {
		input, err = os.ReadFile(o.InputName)
	}
	if err != nil {
		return usage("could not read the input: %v", err)
	}
	if err := Check(string(check), string(input), o); err != nil {
		fmt.Fprint(stderr, err.Error())
		if e, ok := err.(*Error); ok && e.Usage {
			return 2
		}
		return 1
	}
	return 0
}

func findFlag(name string) *flag {
	for i := range flags {
		if flags[i].name == name {
			return &flags[i]
		}
	}
	return nil
}
