package driver

import (
	"fmt"
	"slices"
	"strings"
)

// help is the text of --help: the flags under their headings, in the order of the table; all shows hidden ones too.
func (c *Command) help(all bool) string {
	var b strings.Builder
	c.helpHead(&b)
	for _, f := range c.Flags {
		if f.Group != "" {
			fmt.Fprintf(&b, "\n%s:\n\n", f.Group)
		}
		if !f.Hidden || all {
			f.help(&b)
		}
	}
	return b.String()
}

// helpList is the text of --help-list: all flags by name, without headings.
func (c *Command) helpList(all bool) string {
	var b strings.Builder
	c.helpHead(&b)
	flags := slices.Clone(c.Flags)
	slices.SortStableFunc(flags, func(x, y Flag) int { return strings.Compare(x.Name, y.Name) })
	for _, f := range flags {
		if !f.Hidden || all {
			f.help(&b)
		}
	}
	return b.String()
}

func (c *Command) helpHead(b *strings.Builder) {
	fmt.Fprintf(b, "OVERVIEW: %s\n\nUSAGE: %s %s\n\nOPTIONS:\n", c.Overview, c.Name, c.Usage)
	if len(c.Flags) > 0 && c.Flags[0].Group == "" {
		b.WriteByte('\n')
	}
}

// help is a flag's line, with a line for each value in the shape that callers parse.
func (f *Flag) help(b *strings.Builder) {
	name := dashed(f.Name)
	switch {
	case f.Kind == EnumFlag:
		name += "=<value>"
	case f.Kind == OptionalFlag:
		name += "[=<" + f.Meta + ">]"
	case f.Kind != BoolFlag && len(f.Name) == 1:
		name += " <" + f.Meta + ">"
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
	fmt.Fprintf(b, "  %-32s - %s\n", name, help)
	for _, v := range f.Values {
		fmt.Fprintf(b, "    =%-28s -   %s\n", v.Name, v.Help)
	}
}
