package driver

import (
	"fmt"
	"io"
	"os"

	"tileiras/internal/remark"
)

// remarkKinds are the flags that select remarks of one kind.
var remarkKinds = map[remark.Kind]string{
	remark.Passed: "remarks-passed", remark.Missed: "remarks-missed", remark.Failed: "remarks-failed", remark.Analysis: "remarks-analysis",
}

// selection is what --remarks, for all kinds, and the flags of single kinds ask for.
func selection(line *Line) (s remark.Selection, any bool) {
	for kind, name := range remarkKinds { // each writes its own place: the order cannot matter
		for _, flag := range []string{"remarks", name} {
			if v := line.String(flag); v != "" && v != "none" {
				s[kind] = append(s[kind], v)
				any = true
			}
		}
	}
	return s, any
}

// remarkFiles is the file of remarks; none when they go to the terminal.
func remarkFiles(line *Line) []string {
	if _, any := selection(line); !any || line.String("remark-format") == "command-line" {
		return nil
	}
	return []string{line.String("remarks-output-file")}
}

// remarkFile opens the file of remarks before anything is compiled, as NVIDIA's tileiras does; nil when they go to the terminal.
func remarkFile(line *Line, stdout io.Writer) (io.WriteCloser, error) {
	files := remarkFiles(line)
	if files == nil {
		return nil, nil
	}
	name := files[0]
	if name == "-" {
		return standardOutput{stdout}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, &Failure{Code: ExitInput, Kind: KindOption, Lines: []string{
			fmt.Sprintf("Error opening remark output file '%s': %s", name, reason(err)), "error: failed to enable optimization remarks"}}
	}
	return f, nil
}

// standardOutput stays open.
type standardOutput struct{ io.Writer }

func (standardOutput) Close() error { return nil }

// printRemarks writes the remarks that the command line asks for, to the file or to the terminal.
func printRemarks(line *Line, list []remark.Remark, file io.WriteCloser, terminal io.Writer) error {
	s, any := selection(line)
	if !any {
		return nil
	}
	list = remark.Select(list, s)
	if file == nil {
		_, err := terminal.Write(remark.Text(list))
		return err
	}
	print := remark.YAML
	if line.String("remark-format") == "json" {
		print = remark.JSON
	}
	_, err := file.Write(print(list))
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fail(ExitUsage, "IO failure on output stream: %s", reason(err))
	}
	return nil
}
