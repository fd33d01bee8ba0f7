package main

import (
	"fmt"
	"strconv"
	"strings"

	"tileiras/internal/library"
)

// typesInPython are those of the values of options.
var typesInPython = map[library.Kind]string{library.Text: "str", library.File: "str | os.PathLike[str]", library.Flag: "bool", library.Number: "int", library.Seconds: "float"}

// optionsInPython is the text of python/tileiras/_options.py.
func optionsInPython() string {
	var b strings.Builder
	b.WriteString(`"""The options of the library. Written by go run ./internal/gen from the table in internal/library; edit that."""
from __future__ import annotations

import os
from typing import Literal, TypedDict


class CompileOptions(TypedDict, total=False):
    """What a compile can be asked for. None is as if the option were not there."""
`)
	for i, o := range library.Options {
		if o.Program && !library.Options[i-1].Program {
			b.WriteString(`

class ProgramOptions(CompileOptions, total=False):
    """What a program that runs on this machine can be asked for."""
`)
		}
		typ := typesInPython[o.Kind]
		if o.Values != nil {
			typ = "Literal[" + strings.Join(valuesInPython(o), ", ") + "]"
		}
		if o.Default != "" {
			typ += " | None  # " + o.Default + " (default): " + o.Help
		} else {
			typ += " | None  # " + o.Help
		}
		fmt.Fprintf(&b, "    %s: %s\n", o.Name, typ)
	}
	return b.String()
}

func valuesInPython(o library.Option) (list []string) {
	for _, v := range o.Values {
		if o.Kind == library.Text {
			v = strconv.Quote(v)
		}
		list = append(list, v)
	}
	return list
}
