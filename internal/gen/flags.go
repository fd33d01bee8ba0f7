package main

import (
	"fmt"
	"strings"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
)

// commands are all that have a table of flags.
var commands = []*driver.Command{driver.TileirasCommand(), driver.TileOptCommand(), driver.TileTranslateCommand(), driver.TileIRDisasmCommand(), tilerun.Command}

// kindsOfFlags says what a flag takes.
var kindsOfFlags = map[driver.FlagKind]string{driver.BoolFlag: "", driver.StringFlag: "text", driver.OptionalFlag: "text, may be left out", driver.IntFlag: "integer", driver.SecondsFlag: "number", driver.EnumFlag: "one of", driver.ListFlag: "list, may be repeated", driver.RepeatFlag: "text, may be repeated"}

// flagsDocument is the text of docs/flags.md.
func flagsDocument() string {
	var b strings.Builder
	b.WriteString(`# Flags

Written by ` + "`go run ./internal/gen`" + ` from the tables in internal/driver and internal/tilerun; edit those. ` + "`--help`" + ` of each command prints
the same.

Flags are written in the style of LLVM's tools: one dash or two, ` + "`-x=v` or `-x v`" + `, ` + "`@file`" + ` for more arguments, ` + "`--`" + ` before inputs
that begin with a dash; flags and inputs come in any order and the last of a repeated flag wins. A flag marked * is shown by
` + "`--help-hidden`" + ` only.
`)
	for _, c := range commands {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n    %s %s\n\n", c.Name, c.Overview, c.Name, c.Usage)
		if c.Variable != "" {
			fmt.Fprintf(&b, "Flags in the environment variable `%s` come before those of the command line.\n\n", c.Variable)
		}
		table(&b, "Flag", "Takes", "Default", "Meaning")
		for i := range c.Flags {
			f := &c.Flags[i]
			tableRow(&b, flagName(f), takes(f), f.Default, flagMeaning(f))
		}
	}
	return b.String()
}

func flagName(f *driver.Flag) string {
	names := make([]string, 0, 1+len(f.Aliases))
	for _, n := range append([]string{f.Name}, f.Aliases...) {
		dashes := "--"
		if len(n) == 1 {
			dashes = "-"
		}
		names = append(names, code(dashes+n))
	}
	s := strings.Join(names, ", ")
	if f.Hidden {
		s += " *"
	}
	return s
}

func takes(f *driver.Flag) string {
	s := kindsOfFlags[f.Kind]
	var values []string
	for _, v := range f.Values {
		values = append(values, code(v.Name))
	}
	if values != nil {
		s += " " + strings.Join(values, ", ")
	} else if f.Meta != "" && f.Meta != "int" {
		s = code(f.Meta)
	}
	return s
}

// flagMeaning is the help; values that explain more than their name follow it.
func flagMeaning(f *driver.Flag) string {
	var values []string
	for _, v := range f.Values {
		if !strings.HasPrefix(v.Help, "SM ") {
			values = append(values, v.Name+": "+v.Help)
		}
	}
	if values == nil {
		return f.Help
	}
	return f.Help + " (" + strings.Join(values, "; ") + ")"
}
