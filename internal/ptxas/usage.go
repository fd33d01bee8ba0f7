package ptxas

import (
	"strconv"
)

// Usage is what a kernel takes.
type Usage struct {
	Registers   int // of a thread
	SpillStores int // bytes
	SpillLoads  int // bytes
	Stack       int // bytes of a thread
}

var (
	entryRow     = pattern(`^Compiling entry function '(.*)' for '`)
	functionRow  = pattern(`^Function properties for (.*)$`)
	frameRow     = pattern(`^(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	registersRow = pattern(`^Used (\d+) registers`)
)

// Usages reads what ptxas says of the kernels when it is verbose, by their names. What it says of functions that they call is left out.
func Usages(messages []Message) map[string]Usage {
	out := map[string]Usage{}
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	entry, function := "", ""
	for _, msg := range messages {
		if m := entryRow().FindStringSubmatch(msg.Text); m != nil {
			entry, function = m[1], ""
		} else if m := functionRow().FindStringSubmatch(msg.Text); m != nil {
			function = m[1]
		} else if m := frameRow().FindStringSubmatch(msg.Text); m != nil && function == entry && entry != "" {
			u := out[entry]
			u.Stack, u.SpillStores, u.SpillLoads = number(m[1]), number(m[2]), number(m[3])
			out[entry] = u
		} else if m := registersRow().FindStringSubmatch(msg.Text); m != nil && entry != "" {
			u := out[entry]
			u.Registers = number(m[1])
			out[entry] = u
		}
	}
	return out
}
