package lit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"

	"tileiras/internal/filecheck"
)

// Tool is a command: its exit status is 0 for success. It must not keep stdin
// or write to the outputs after it returns.
type Tool func(args []string, stdin io.Reader, stdout, stderr io.Writer) int

// Exit statuses of our own, as the shell has them.
const (
	statusPanic    = 134 // a tool panicked: 128 + SIGABRT
	statusNotFound = 127
)

// executor runs the pipelines of one RUN line.
type executor struct {
	suite *Suite
	dir   string // where external programs run
	log   strings.Builder
}

// list runs pipelines in order; the result is that of the last one that ran.
func (e *executor) list(pipelines []pipeline) int {
	status := 0
	for _, p := range pipelines {
		if status != 0 && !p.always {
			continue
		}
		status = e.pipeline(p)
	}
	return status
}

// pipeline runs the commands one after the other, each on the whole output of
// the one before. It fails with the last command that fails (pipefail).
func (e *executor) pipeline(p pipeline) int {
	var input []byte
	status := 0
	for i, c := range p.commands {
		var out, errs bytes.Buffer
		s, err := e.command(c, input, &out, &errs)
		if err != nil {
			fmt.Fprintf(&e.log, "%v\n", err)
			return statusNotFound
		}
		if s != 0 {
			status = s
		}
		fmt.Fprintf(&e.log, "$ %s\n", strings.Join(c.args, " "))
		e.section("stderr", errs.Bytes())
		if i == len(p.commands)-1 {
			e.section("stdout", out.Bytes())
		}
		if s != 0 {
			fmt.Fprintf(&e.log, "exit status %d\n", s)
		}
		input = out.Bytes()
	}
	return status
}

// maxLogged bounds an output in the log.
const maxLogged = 16 << 10

func (e *executor) section(name string, text []byte) {
	if len(text) == 0 {
		return
	}
	cut := ""
	if len(text) > maxLogged {
		cut = fmt.Sprintf("… %d more bytes\n", len(text)-maxLogged)
		text = text[:maxLogged]
	}
	fmt.Fprintf(&e.log, "%s:\n%s%s", name, text, cut)
	if !bytes.HasSuffix(text, []byte("\n")) {
		e.log.WriteByte('\n')
	}
}

// command runs one command with its redirections.
func (e *executor) command(c command, input []byte, pipe, errs io.Writer) (int, error) {
	if c.stdin != "" {
		var err error
		if input, err = os.ReadFile(c.stdin); err != nil {
			return 0, err
		}
	}
	stdout, closeOut, err := e.open(c.stdout, pipe)
	if err != nil {
		return 0, err
	}
	defer closeOut()
	stderr, closeErr, err := e.open(c.stderr, errs)
	if err != nil {
		return 0, err
	}
	defer closeErr()
	if c.merge {
		stderr = stdout
	}
	return e.call(c.args, bytes.NewReader(input), stdout, stderr), nil
}

func (e *executor) open(t target, otherwise io.Writer) (io.Writer, func(), error) {
	if t.path == "" {
		return otherwise, func() {}, nil
	}
	mode := os.O_APPEND
	if t.trunc {
		mode = os.O_TRUNC
	}
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { f.Close() }, nil
}

// call runs a tool by name: "not", the suite's, a builtin, then an external one.
func (e *executor) call(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if args[0] == "not" {
		return e.not(args[1:], stdin, stdout, stderr)
	}
	tool := e.suite.Tools[args[0]]
	if tool == nil {
		tool = builtins[args[0]]
	}
	if tool != nil {
		return guard(args[0], tool)(args[1:], stdin, stdout, stderr)
	}
	if slices.Contains(e.suite.External, args[0]) {
		return e.external(args, stdin, stdout, stderr)
	}
	fmt.Fprintf(stderr, "%s: no such tool in this suite\n", args[0])
	return statusNotFound
}

// not inverts the status of a command. A crash or a missing tool is never what
// a test asks for, unless it says --crash.
func (e *executor) not(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	crash := len(args) > 0 && args[0] == "--crash"
	if crash {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(stderr, "not: no command")
		return 1
	}
	status := e.call(args, stdin, stdout, stderr)
	crashed := status >= 128
	switch {
	case status == statusNotFound:
		return status
	case crashed != crash:
		return max(status, 1)
	case crash || status != 0:
		return 0
	}
	return 1
}

// guard turns a panic of a tool into a status and a message.
func guard(name string, tool Tool) Tool {
	return func(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
		defer func() {
			if r := recover(); r != nil {
				fmt.Fprintf(stderr, "%s: panic: %v\n%s", name, r, debug.Stack())
				status = statusPanic
			}
		}()
		return tool(args, stdin, stdout, stderr)
	}
}

func (e *executor) external(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = e.dir, stdin, stdout, stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	case errors.As(err, &exit): // ended by a signal
		return statusPanic
	}
	fmt.Fprintln(stderr, err)
	return statusNotFound
}

// missing names an external program of a pipeline that is not installed.
func (s *Suite) missing(p pipeline) string {
	for _, c := range p.commands {
		for _, name := range c.args {
			if name == "not" || name == "--crash" {
				continue
			}
			if s.Tools[name] == nil && builtins[name] == nil && slices.Contains(s.External, name) {
				if _, err := exec.LookPath(name); err != nil {
					return name
				}
			}
			break
		}
	}
	return ""
}

// builtins are the small programs that tests need.
var builtins = map[string]Tool{
	"FileCheck": filecheck.Main,
	"cat":       cat,
	"echo":      echo,
	"cmp":       cmp,
}

func cat(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		args = []string{"-"}
	}
	for _, name := range args {
		text, err := readFile(name, stdin)
		if err != nil {
			fmt.Fprintf(stderr, "cat: %v\n", err)
			return 1
		}
		stdout.Write(text)
	}
	return 0
}

func echo(args []string, _ io.Reader, stdout, _ io.Writer) int {
	fmt.Fprintln(stdout, strings.Join(args, " "))
	return 0
}

// cmp compares two files; "-" is the input.
func cmp(args []string, stdin io.Reader, _, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "cmp: expected two files")
		return 2
	}
	a, errA := readFile(args[0], stdin)
	b, errB := readFile(args[1], stdin)
	if err := errors.Join(errA, errB); err != nil {
		fmt.Fprintf(stderr, "cmp: %v\n", err)
		return 2
	}
	if bytes.Equal(a, b) {
		return 0
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	fmt.Fprintf(stderr, "cmp: %s and %s differ at byte %d, line %d\n", args[0], args[1], n, bytes.Count(a[:n], []byte("\n"))+1)
	return 1
}

func readFile(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}
