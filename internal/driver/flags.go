package driver

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// FlagKind is what a flag takes.
type FlagKind uint8

const (
	BoolFlag     FlagKind = iota // nothing
	StringFlag                   // any text
	OptionalFlag                 // any text behind =, or nothing
	IntFlag                      // an integer
	EnumFlag                     // one of Values
	ListFlag                     // comma-separated, of Values when there are any; may be repeated
)

// Flag is one row of the table of a command's flags.
type Flag struct {
	Name    string
	Aliases []string // other spellings; one of a single letter takes its value without a space too (-O3)
	Kind    FlagKind
	Meta    string // what the help calls the value
	Values  []Value
	Default string
	Help    string
	Hidden  bool
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
	set  *pflag.FlagSet
	Args []string
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
// order, -- before inputs that begin with a dash.
func (c *Command) Parse(args []string) (*Line, error) {
	args, err := expandResponseFiles(args, 0)
	if err != nil {
		return nil, err
	}
	canonical, inputs, err := c.normalize(args)
	if err != nil {
		return nil, err
	}
	if len(inputs) > c.MaxArgs {
		return nil, c.usageError("Too many positional arguments specified!\nCan specify at most %d positional arguments: See: %s --help", c.MaxArgs, c.Name)
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
	if err := set.Parse(canonical); err != nil {
		return nil, c.usageError("%v", err)
	}
	return &Line{set, inputs}, nil
}

// normalize turns a command line into --name=value flags and inputs, checking every value against the table.
func (c *Command) normalize(args []string) (flags, inputs []string, err error) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return flags, append(inputs, args[i+1:]...), nil
		}
		if a == "-" || !strings.HasPrefix(a, "-") {
			inputs = append(inputs, a)
			continue
		}
		body := strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-")
		name, value, hasValue := strings.Cut(body, "=")
		f := c.find(name)
		if f == nil && !strings.HasPrefix(a, "--") {
			// -O3: a letter with its value behind it.
			if g := c.find(body[:1]); g != nil && g.Kind == IntFlag && !hasValue {
				f, value, hasValue = g, body[1:], true
			}
		}
		if f != nil && f.Kind == IntFlag && len(name) == 1 && hasValue {
			value = "=" + value // -O=1: what stands behind the letter is the value
		}
		if f == nil {
			msg := fmt.Sprintf("Unknown command line argument '%s'.  Try: '%s --help'", a, c.Name)
			if n := c.nearest(name); n != "" {
				msg += fmt.Sprintf("\n%s: Did you mean '%s'?", c.Name, dashed(n))
			}
			return nil, nil, c.usageError("%s", msg)
		}
		if f.Kind == BoolFlag {
			if _, err := strconv.ParseBool(value); hasValue && err != nil {
				return nil, nil, c.usageError("for the --%s option: '%s' is invalid value for boolean argument! Try 0 or 1", f.Name, value)
			}
			if !hasValue {
				value = "true"
			}
			flags = append(flags, "--"+f.Name+"="+value)
			continue
		}
		if !hasValue && f.Kind != OptionalFlag {
			if i+1 >= len(args) || len(name) == 1 && f.Kind == IntFlag {
				return nil, nil, c.usageError("for the -%s option: requires a value!", name)
			}
			i++
			value = args[i]
		}
		if err := c.check(f, value); err != nil {
			return nil, nil, err
		}
		flags = append(flags, "--"+f.Name+"="+value)
	}
	return flags, inputs, nil
}

func (c *Command) check(f *Flag, value string) error {
	switch f.Kind {
	case IntFlag:
		if _, err := strconv.Atoi(value); err != nil {
			return c.usageError("for the --%s option: '%s' value invalid for integer argument!", f.Name, value)
		}
	case EnumFlag:
		for _, v := range f.Values {
			if v.Name == value {
				return nil
			}
		}
		return c.usageError("for the --%s option: Cannot find option named '%s'!", f.Name, value)
	case ListFlag:
		var names []string
		for _, v := range f.Values {
			names = append(names, v.Name)
		}
		for _, v := range strings.Split(value, ",") {
			if len(names) > 0 && !slices.Contains(names, v) {
				return c.usageError("for the --%[1]s option: unknown %[1]s feature '%s'; supported features: %s", f.Name, v, strings.Join(names, ", "))
			}
		}
	}
	return nil
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
	best, at := "", math.MaxInt
	for _, f := range c.Flags {
		for _, s := range append([]string{f.Name}, f.Aliases...) {
			if d := editDistance(name, s); d < at && !f.Hidden {
				best, at = s, d
			}
		}
	}
	return best
}

// editDistance is Levenshtein's.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diag, row[j] = row[j], min(row[j]+1, row[j-1]+1, diag+cost)
		}
	}
	return row[len(b)]
}

// maxResponseDepth bounds response files that name response files.
const maxResponseDepth = 8

func expandResponseFiles(args []string, depth int) ([]string, error) {
	var out []string
	for _, a := range args {
		if len(a) < 2 || a[0] != '@' || depth >= maxResponseDepth {
			out = append(out, a)
			continue
		}
		text, err := os.ReadFile(a[1:])
		if err != nil {
			return nil, &Failure{Code: ExitUsage, Lines: []string{"error: cannot read response file: " + err.Error()}}
		}
		inner, err := expandResponseFiles(strings.Fields(string(text)), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// Help is the text of --help; all shows hidden flags too.
func (c *Command) Help(all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "OVERVIEW: %s\n\nUSAGE: %s %s\n\nOPTIONS:\n\n", c.Overview, c.Name, c.Usage)
	for _, f := range c.Flags {
		if f.Hidden && !all {
			continue
		}
		name := dashed(f.Name)
		switch {
		case f.Kind == EnumFlag:
			name += "=<value>"
		case f.Kind == OptionalFlag:
			name += "[=<" + f.Meta + ">]"
		case f.Kind != BoolFlag:
			name += "=<" + f.Meta + ">"
		}
		help := f.Help
		if f.Default != "" && f.Kind != BoolFlag {
			help += " (default " + f.Default + ")"
		}
		if len(f.Aliases) > 0 {
			var as []string
			for _, a := range f.Aliases {
				as = append(as, dashed(a))
			}
			help += " [also " + strings.Join(as, " ") + "]"
		}
		fmt.Fprintf(&b, "  %-32s - %s\n", name, help)
		for _, v := range f.Values {
			fmt.Fprintf(&b, "    =%-28s -   %s\n", v.Name, v.Help)
		}
	}
	return b.String()
}
