package driver

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tileiras/ir"
)

// reading is a command line on its way to --name=value flags and inputs; every value is checked against the table. What is accepted, and
// what is said of the rest, is as in LLVM's command line library.
type reading struct {
	c             *Command
	args          []string
	flags, inputs []string
	immediate     string
	problems      []string
}

// spelled is a flag as it stands on the command line.
type spelled struct {
	*Flag
	name     string // as it is spelled, without dashes
	value    string
	hasValue bool
}

// problem notes what is wrong.
func (r *reading) problem(format string, args ...any) {
	r.problems = append(r.problems, r.c.usageError(format, args...).Lines...)
}

func (r *reading) read() {
	for len(r.args) > 0 && r.immediate == "" {
		a := r.args[0]
		r.args = r.args[1:]
		switch {
		case a == "--":
			r.inputs = append(r.inputs, r.args...)
			return
		case a == "-" || !strings.HasPrefix(a, "-"):
			r.inputs = append(r.inputs, a)
		default:
			r.argument(a)
		}
	}
}

// argument reads one argument that begins with a dash.
func (r *reading) argument(a string) {
	body := strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-")
	name, value, hasValue := strings.Cut(body, "=")
	f := r.c.find(name)
	if f != nil && f.Kind == IntFlag && len(name) == 1 && hasValue {
		value = "=" + value // -O=1: what stands after the letter is the value
	}
	s := spelled{f, name, value, hasValue}
	if f == nil {
		s = r.group(body)
	}
	switch {
	case s.Flag != nil:
		r.flag(s)
	case r.immediate == "":
		r.problem("Unknown command line argument '%s'.  Try: '%s --help'", a, r.c.Name)
		if n := r.c.nearest(name); n != "" {
			r.problem("Did you mean '%s'?", dashed(n+strings.TrimPrefix(body, name)))
		}
	}
}

// group reads flags of one letter in one word, -gO0. All but the last are set; the last may have a value, in the word or after it.
func (r *reading) group(body string) spelled {
	for len(body) > 1 && r.immediate == "" {
		f, letter, rest := r.c.find(body[:1]), body[:1], body[1:]
		switch {
		case f == nil:
			return spelled{}
		case f.Kind == IntFlag:
			return spelled{f, letter, rest, true}
		case rest[0] == '=':
			return spelled{f, letter, rest[1:], true}
		case f.Kind != BoolFlag && f.Kind != OptionalFlag:
			r.problem("for the -%s option: may not occur within a group!", letter)
			return spelled{}
		}
		r.flag(spelled{Flag: f, name: letter})
		body = rest
	}
	return spelled{Flag: r.c.find(body), name: body}
}

// flag takes a flag, with the next argument where that is its value.
func (r *reading) flag(s spelled) {
	switch {
	case s.Bare && s.hasValue:
		r.problem("for the %s option: does not allow a value! '%s' specified.", dashed(s.name), s.value)
		return
	case s.Kind == BoolFlag:
	case !s.hasValue && s.Kind != OptionalFlag:
		if len(r.args) == 0 || len(s.name) == 1 && s.Kind == IntFlag && !s.Separate {
			r.problem("for the %s option: requires a value!", dashed(s.name))
			return
		}
		s.value, r.args = r.args[0], r.args[1:]
	}
	value, ok := r.check(s.Flag, s.value)
	if !ok {
		return
	}
	if s.Immediate && value == "true" {
		r.immediate = s.Name
	}
	r.flags = append(r.flags, "--"+s.Name+"="+value)
}

// check tells whether a value is one that the flag takes, and what it means.
func (r *reading) check(f *Flag, value string) (meant string, ok bool) {
	switch f.Kind {
	case BoolFlag:
		b, ok := truth(value)
		if !ok {
			r.problem("for the %s option: '%s' is invalid value for boolean argument! Try 0 or 1", dashed(f.Name), value)
		}
		return strconv.FormatBool(b), ok
	case IntFlag:
		n, err := strconv.ParseInt(value, 0, 32) // 0x10 too
		kind := "integer"
		if f.Unsigned {
			kind = "uint"
		}
		if err != nil || strings.ContainsAny(value, "+_") || f.Unsigned && n < 0 {
			r.problem("for the %s option: '%s' value invalid for %s argument!", dashed(f.Name), value, kind)
			return "", false
		}
		return strconv.FormatInt(n, 10), true
	case SecondsFlag:
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil || !(math.Abs(seconds) < 1e9) {
			r.problem("for the %s option: '%s' value invalid for floating point argument!", dashed(f.Name), value)
			return "", false
		}
	case EnumFlag:
		if slices.ContainsFunc(f.Values, func(v Value) bool { return v.Name == value }) {
			return value, true
		}
		r.problem("for the %s option: Cannot find option named '%s'!", dashed(f.Name), value)
		switch {
		case value == "":
		case f.Advise != nil:
			r.problem("%s", f.Advise(value))
		default:
			r.problem("it is one of %s", strings.Join(namesOf(f.Values), ", "))
		}
		return "", false
	case ListFlag:
		names := namesOf(f.Values)
		for _, v := range strings.Split(value, ",") {
			if len(names) > 0 && !slices.Contains(names, v) {
				r.problem("for the --%[1]s option: unknown %[1]s feature '%s'; supported features: %s", f.Name, v, strings.Join(names, ", "))
				return "", false
			}
		}
	}
	return value, true
}

// truth reads a truth value as LLVM's tools do; none is true.
func truth(s string) (value, ok bool) {
	switch s {
	case "", "1", "true", "True", "TRUE":
		return true, true
	case "0", "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// dashed is a flag as the help spells it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// shortest is the shortest spelling of a flag.
func (f *Flag) shortest() string {
	name := f.Name
	for _, a := range f.Aliases {
		if len(a) < len(name) {
			name = a
		}
	}
	return dashed(name)
}

// nearest is the flag whose name is closest to a misspelt one, be it ever so far; of equals one that begins alike, then one that is no alias.
func (c *Command) nearest(name string) string {
	var names, aliases []string
	for _, f := range c.Flags {
		names = append(names, f.Name)
		aliases = append(aliases, f.Aliases...)
	}
	return ir.Nearest(name, slices.Concat(names, aliases), -1)
}
