package driver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"tileiras/ir"
)

// FlagKind is what a flag takes.
type FlagKind uint8

const (
	BoolFlag     FlagKind = iota // nothing
	StringFlag                   // any text
	OptionalFlag                 // any text after =, or nothing
	IntFlag                      // an integer
	EnumFlag                     // one of Values
	ListFlag                     // comma-separated, of Values when there are any; may be repeated
)

// Flag is one row of the table of a command's flags.
type Flag struct {
	Name      string
	Aliases   []string // other spellings; one of a single letter takes its value without a space too if it is an integer (-O3)
	Kind      FlagKind
	Meta      string // what the help calls the value
	Values    []Value
	Default   string
	Help      string
	Group     string // heading of the help above this row and those after it that name none
	Hidden    bool
	Advise    func(value string) string // what to say of a value that an EnumFlag does not have
	Immediate bool                      // acts where it stands: what comes after it is not read, what was wrong before it is only told
}

// Value is one value of an EnumFlag.
type Value struct{ Name, Help string }

// Command is a command's flags and how its help begins.
type Command struct {
	Name     string
	Usage    string // after the name
	Overview string
	Flags    []Flag
	MaxArgs  int
}

// Line is a parsed command line. The last of a repeated flag wins; lists collect.
type Line struct {
	set       *pflag.FlagSet
	Args      []string
	Immediate string   // the flag that acted where it stood, if one did
	Problems  []string // what was wrong before it
}

func (l *Line) String(name string) string { v, _ := l.set.GetString(name); return v }
func (l *Line) Bool(name string) bool     { v, _ := l.set.GetBool(name); return v }
func (l *Line) List(name string) []string { v, _ := l.set.GetStringSlice(name); return v }
func (l *Line) Given(name string) bool    { return l.set.Changed(name) }
func (l *Line) Int(name string) int       { n, _ := strconv.Atoi(l.String(name)); return n }

// Names lists the flags that were given, in their order.
func (l *Line) Names() []string {
	var names []string
	l.set.Visit(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// usageError is a command line that cannot be understood, in the words of LLVM's command line library.
func (c *Command) usageError(format string, args ...any) *Failure {
	return &Failure{Code: ExitUsage, Lines: strings.Split(c.Name+": "+fmt.Sprintf(format, args...), "\n")}
}

// find looks a spelling up.
func (c *Command) find(spelling string) *Flag {
	for i := range c.Flags {
		f := &c.Flags[i]
		if f.Name == spelling {
			return f
		}
		for _, a := range f.Aliases {
			if a == spelling {
				return f
			}
		}
	}
	return nil
}

// Parse reads a command line in LLVM's style: one or two dashes, -x=v or -x v, @file for more arguments, flags and inputs in any
// order, -- before inputs that begin with a dash. All that is wrong is told, as LLVM does.
func (c *Command) Parse(args []string) (*Line, error) {
	args, err := expandResponseFiles(args, 0)
	if err != nil {
		return nil, err
	}
	r := &reading{c: c, args: args}
	r.read()
	if r.immediate == "" && len(r.inputs) > c.MaxArgs {
		r.problem("Too many positional arguments specified!\nCan specify at most %d positional arguments: See: %s --help", c.MaxArgs, c.Name)
	}
	if r.immediate == "" && len(r.problems) > 0 {
		return nil, &Failure{Code: ExitUsage, Lines: r.problems}
	}
	set := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	set.SortFlags = false
	for _, f := range c.Flags {
		switch f.Kind {
		case BoolFlag:
			set.Bool(f.Name, f.Default == "true", f.Help)
		case ListFlag:
			set.StringSlice(f.Name, nil, f.Help)
		default:
			set.String(f.Name, f.Default, f.Help)
		}
	}
	if err := set.Parse(r.flags); err != nil {
		return nil, c.usageError("%v", err)
	}
	return &Line{set, r.inputs, r.immediate, r.problems}, nil
}

// reading is a command line on its way to --name=value flags and inputs; every value is checked against the table.
type reading struct {
	c             *Command
	args          []string
	flags, inputs []string
	immediate     string
	problems      []string
}

// problem notes what is wrong, in the words of LLVM's command line library.
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
			r.flag(a)
		}
	}
}

// flag reads one flag, with the next argument where that is its value.
func (r *reading) flag(a string) {
	c := r.c
	body := strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-")
	name, value, hasValue := strings.Cut(body, "=")
	f := c.find(name)
	if f == nil && !strings.HasPrefix(a, "--") && len(body) > 1 {
		// -O3: a letter with its value after it.
		if g := c.find(body[:1]); g != nil && g.Kind == IntFlag && !hasValue {
			f, name, value, hasValue = g, body[:1], body[1:], true
		} else if g != nil && (g.Kind == StringFlag || g.Kind == ListFlag) && !hasValue {
			r.problem("for the -%s option: may not occur within a group!", body[:1])
		}
	} else if f != nil && f.Kind == IntFlag && len(name) == 1 && hasValue {
		value = "=" + value // -O=1: what stands after the letter is the value
	}
	switch {
	case f == nil:
		r.problem("Unknown command line argument '%s'.  Try: '%s --help'", a, c.Name)
		if n := c.nearest(name); n != "" {
			r.problem("Did you mean '%s%s'?", dashed(n), strings.TrimPrefix(body, name))
		}
		return
	case f.Immediate:
		r.immediate = f.Name
		value = "true"
	case f.Kind == BoolFlag:
		if _, err := strconv.ParseBool(value); hasValue && err != nil {
			r.problem("for the %s option: '%s' is invalid value for boolean argument! Try 0 or 1", dashed(f.Name), value)
			return
		}
		if !hasValue {
			value = "true"
		}
	case !hasValue && f.Kind != OptionalFlag:
		if len(r.args) == 0 || len(name) == 1 && f.Kind == IntFlag {
			r.problem("for the %s option: requires a value!", dashed(name))
			return
		}
		value, r.args = r.args[0], r.args[1:]
	}
	if !f.Immediate && !r.check(f, value) {
		return
	}
	r.flags = append(r.flags, "--"+f.Name+"="+value)
}

// check tells whether a value is one that the flag takes.
func (r *reading) check(f *Flag, value string) bool {
	switch f.Kind {
	case IntFlag:
		if _, err := strconv.Atoi(value); err != nil {
			r.problem("for the %s option: '%s' value invalid for integer argument!", dashed(f.Name), value)
			return false
		}
	case EnumFlag:
		if slices.ContainsFunc(f.Values, func(v Value) bool { return v.Name == value }) {
			return true
		}
		r.problem("for the %s option: Cannot find option named '%s'!", dashed(f.Name), value)
		if f.Advise != nil && value != "" {
			r.problem("%s", f.Advise(value))
		}
		return false
	case ListFlag:
		var names []string
		for _, v := range f.Values {
			names = append(names, v.Name)
		}
		for _, v := range strings.Split(value, ",") {
			if len(names) > 0 && !slices.Contains(names, v) {
				r.problem("for the --%[1]s option: unknown %[1]s feature '%s'; supported features: %s", f.Name, v, strings.Join(names, ", "))
				return false
			}
		}
	}
	return true
}

// dashed is a flag as the help spells it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// nearest is the flag whose name is closest to a misspelt one, be it ever so far.
func (c *Command) nearest(name string) string {
	var names []string
	for _, f := range c.Flags {
		if !f.Hidden {
			names = append(append(names, f.Name), f.Aliases...)
		}
	}
	return ir.Nearest(name, names, -1)
}
