package driver

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tileiras/codegen/options"
)

// FlagKind is what a flag takes.
type FlagKind uint8

const (
	BoolFlag     FlagKind = iota // nothing
	StringFlag                   // any text
	OptionalFlag                 // any text after =, or nothing
	IntFlag                      // an integer
	SecondsFlag                  // a time in seconds, 0.5
	EnumFlag                     // one of Values
	ListFlag                     // comma-separated, of Values when there are any; may be repeated
	RepeatFlag                   // any text, as often as it is given
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
	Separate  bool                      // of an IntFlag of one letter: the value may be the next argument (-j 1), which LLVM's command line refuses (-O 3)
	Unsigned  bool                      // of an IntFlag: 0 or more
	Bare      bool                      // of an Immediate flag: takes no value, not even =1
	Reads     func(*Line) []string      // the files of that name that the command reads (files.go)
	Writes    func(*Line) []string      // those that it writes
	Field     func(*Options) any        // the field of Options that the flag sets: a pointer to a type that Line.set knows
}

// Value is one value of an EnumFlag.
type Value struct{ Name, Help string }

// valuesOf are the values of an option that passes look at.
func valuesOf(list []options.Value) (values []Value) {
	for _, v := range list {
		values = append(values, Value(v))
	}
	return values
}

// namesOf are the names of values.
func namesOf(values []Value) (list []string) {
	for _, v := range values {
		list = append(list, v.Name)
	}
	return list
}

// Command is a command's flags and how its help begins.
type Command struct {
	Name     string
	Usage    string // after the name
	Overview string
	Flags    []Flag
	MaxArgs  int
	Variable string // of the environment, with flags that come before those of the command line; "" is none
}

// Line is a parsed command line. The last of a repeated flag wins; lists collect. Its methods panic for a flag that the command's
// table does not have.
type Line struct {
	command   *Command
	set       *pflag.FlagSet
	Args      []string
	Immediate string   // the flag that acted where it stood, if one did
	Problems  []string // what was wrong before it
}

func (l *Line) String(name string) string { return l.flag(name).Value.String() }
func (l *Line) Bool(name string) bool     { return l.String(name) == "true" }
func (l *Line) Given(name string) bool    { return l.flag(name).Changed }
func (l *Line) Int(name string) int       { n, _ := strconv.Atoi(l.String(name)); return n }
func (l *Line) List(name string) []string {
	switch v := l.flag(name).Value.(type) {
	case *listValue:
		return *v
	case *repeatValue:
		return *v
	}
	panic(fmt.Sprintf("BUG: --%s of %s is no list", name, l.command.Name))
}

func (l *Line) flag(name string) *pflag.Flag {
	f := l.set.Lookup(name)
	if f == nil {
		panic(fmt.Sprintf("BUG: %s has no flag --%s", l.command.Name, name))
	}
	return f
}

// listValue is the value of a ListFlag. That of pflag makes a writer of CSV for each flag, given or not.
type listValue []string

func (l *listValue) Set(v string) error {
	if v != "" {
		*l = append(*l, strings.Split(v, ",")...)
	}
	return nil
}

func (l *listValue) String() string { return "[" + strings.Join(*l, ",") + "]" }
func (l *listValue) Type() string   { return "list" }

// repeatValue is the value of a RepeatFlag.
type repeatValue []string

func (r *repeatValue) Set(v string) error { *r = append(*r, v); return nil }
func (r *repeatValue) String() string     { return strings.Join(*r, " ") }
func (r *repeatValue) Type() string       { return "list" }

// Options are the options of a compile that the command line asks for: each row of the table that has a Field sets it.
func (l *Line) Options() Options {
	var o Options
	for i := range l.command.Flags {
		if f := &l.command.Flags[i]; f.Field != nil {
			l.store(f, f.Field(&o))
		}
	}
	return o
}

// store sets a field to what the flag's row says, or to its default. A truth value behind a flag with values is whether it was given.
func (l *Line) store(f *Flag, field any) {
	switch p := field.(type) {
	case *bool:
		if *p = l.Given(f.Name); f.Kind == BoolFlag {
			*p = l.Bool(f.Name)
		}
	case *int:
		*p = l.Int(f.Name)
	case *time.Duration:
		seconds, err := strconv.ParseFloat(l.String(f.Name), 64)
		if err != nil {
			panic(fmt.Sprintf("BUG: --%s of %s is no SecondsFlag", f.Name, l.command.Name))
		}
		*p = time.Duration(seconds * float64(time.Second))
	case *[]string:
		*p = l.List(f.Name)
	default:
		text := reflect.ValueOf(field).Elem() // a string, or a type of strings
		if text.Kind() != reflect.String {
			panic(fmt.Sprintf("BUG: --%s of %s sets a %T, which no flag can", f.Name, l.command.Name, field))
		}
		text.SetString(l.String(f.Name))
	}
}

// words are the flags that give these options: the inverse of Line.Options.
func (c *Command) words(o *Options) []string {
	var words []string
	for i := range c.Flags {
		f := &c.Flags[i]
		if f.Field == nil {
			continue
		}
		var value string
		switch p := f.Field(o).(type) {
		case *bool:
			switch {
			case *p && f.Kind == BoolFlag:
				words = append(words, "--"+f.Name)
			case *p:
				value = f.Values[0].Name
			}
		case *int:
			value = strconv.Itoa(*p)
		case *time.Duration:
			value = strconv.FormatFloat(p.Seconds(), 'f', -1, 64)
		case *[]string:
			value = strings.Join(*p, ",")
		default:
			value = reflect.ValueOf(p).Elem().String()
		}
		if value != f.Default && value != "" {
			words = append(words, "--"+f.Name+"="+value)
		}
	}
	return words
}

// flagOf is the flag that sets a field of the options; the name of the field where none does.
func (c *Command) flagOf(field string) string {
	var o Options
	at := reflect.ValueOf(&o).Elem().FieldByName(field).Addr().Interface()
	i := slices.IndexFunc(c.Flags, func(f Flag) bool { return f.Field != nil && f.Field(&o) == at })
	if i < 0 {
		return field
	}
	return dashed(c.Flags[i].Name)
}

// names lists the flags that were given, in their order.
func (l *Line) names() []string {
	var names []string
	l.set.Visit(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// usageError is a command line that cannot be understood, in the words of LLVM's command line library.
func (c *Command) usageError(format string, args ...any) *Failure {
	return &Failure{Code: ExitUsage, Kind: KindOption, Lines: strings.Split(c.Name+": "+fmt.Sprintf(format, args...), "\n")}
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

// fromEnvironment is what the environment puts in front of the command line: who calls through a frontend has no other way to ask for what that does not know.
func (c *Command) fromEnvironment() []string {
	if c.Variable == "" {
		return nil
	}
	return splitWords(os.Getenv(c.Variable))
}

// Parse reads a command line in LLVM's style: one or two dashes, -x=v or -x v, @file for more arguments, flags and inputs in any
// order, -- before inputs that begin with a dash. All that is wrong is told, as LLVM does.
func (c *Command) Parse(args []string) (*Line, error) {
	own := c.fromEnvironment()
	for _, w := range own { // nobody means an input by it
		if file, ok := strings.CutPrefix(w, "@"); ok {
			if _, err := readFile(file); err != nil {
				return nil, fail(ExitUsage, "cannot read the file of flags that %s names, '%s': %s", c.Variable, file, reason(err))
			}
		}
	}
	args, err := expandResponseFiles(append(own, args...), 0)
	if err != nil {
		return nil, err
	}
	r := &reading{c: c, args: args}
	r.read()
	if r.immediate == "" && len(r.inputs) > c.MaxArgs {
		r.problem("Too many positional arguments specified!\nCan specify at most %d positional arguments: See: %s --help", c.MaxArgs, c.Name)
	}
	if r.immediate == "" && len(r.problems) > 0 {
		if len(own) > 0 {
			r.problem("note: %s begins the command line with %s", c.Variable, strings.Join(own, " "))
		}
		return nil, &Failure{Code: ExitUsage, Kind: KindOption, Lines: r.problems}
	}
	set := pflag.NewFlagSet(c.Name, pflag.ContinueOnError)
	set.SortFlags = false
	for _, f := range c.Flags {
		switch f.Kind {
		case BoolFlag:
			set.Bool(f.Name, f.Default == "true", f.Help)
		case ListFlag:
			set.Var(&listValue{}, f.Name, f.Help)
		case RepeatFlag:
			set.Var(&repeatValue{}, f.Name, f.Help)
		default:
			set.String(f.Name, f.Default, f.Help)
		}
	}
	if err := set.Parse(r.flags); err != nil {
		return nil, c.usageError("%v", err)
	}
	return &Line{c, set, r.inputs, r.immediate, r.problems}, nil
}
