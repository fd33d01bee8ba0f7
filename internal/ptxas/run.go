package ptxas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Job is one run of ptxas.
type Job struct {
	Path     string // of ptxas
	Arch     string // "sm_90a": that of .target
	Opt      int    // 0 to 3
	Extended bool   // static shared memory beyond 48 KB
	Sanitize bool   // instrument for compute-sanitizer's memcheck
	Verbose  bool   // have it say what kernels take; a note in the cubin says that it did
	Timeout  time.Duration
}

// flags are those with which NVIDIA's tileiras calls ptxas, without the host object. Old ones do not know that which allows static shared memory
// up to what the architecture has.
func (j *Job) flags() []string {
	args := []string{"-arch", j.Arch, "--opt-level", strconv.Itoa(j.Opt)}
	if j.Extended {
		args = append(args, "--enable-extended-smem=true", "-uumn")
	}
	if j.Sanitize {
		args = append(args, "-sanitize=memcheck", "-g-tmem-access-check")
	}
	if j.Verbose {
		args = append(args, "-v")
	}
	return args
}

// Failed is a run that gave no cubin.
type Failed struct {
	Messages []Message     // what ptxas said, one or more
	TimedOut time.Duration // if it took too long
	Err      error         // what the system said, if ptxas said nothing
}

func (e *Failed) Error() string {
	switch {
	case e.TimedOut > 0:
		return fmt.Sprintf("ptxas was stopped: it took longer than %v", e.TimedOut)
	case len(e.Messages) == 0:
		return fmt.Sprintf("ptxas failed: %v", e.Err)
	}
	var lines []string
	for _, m := range e.Messages {
		lines = append(lines, m.Text)
	}
	return "ptxas: " + strings.Join(lines, "\n")
}

func (e *Failed) Unwrap() error { return e.Err }

// Message is one message of ptxas.
type Message struct {
	Severity string // "error", "fatal", "warning", "info"
	Line     int    // of the PTX, 0 when it names none
	Text     string
}

// The most bytes that are kept of what ptxas says, and the most messages of an error.
const (
	maxOutput   = 1 << 20
	maxMessages = 100
)

// turns bounds how many run at once: each takes a processor.
var turns = sync.OnceValue(func() chan struct{} { return make(chan struct{}, runtime.GOMAXPROCS(0)) })

// Run assembles PTX when it has its turn, in a folder of its own for temporary files that is removed at the end. When ctx ends or the time is over ptxas is killed with all
// that it started; when this process dies the system kills it (Linux).
func (j *Job) Run(ctx context.Context, ptx []byte) (cubin []byte, messages []Message, err error) {
	select {
	case turns() <- struct{}{}:
		defer func() { <-turns() }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	dir, err := os.MkdirTemp("", "tileiras-")
	if err != nil {
		return nil, nil, &Failed{Err: fmt.Errorf("no folder for temporary files: %w", err)}
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "kernel.ptx"), filepath.Join(dir, "kernel.cubin")
	if err := os.WriteFile(in, ptx, 0o600); err != nil {
		return nil, nil, &Failed{Err: err}
	}
	inner := ctx
	if j.Timeout > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, j.Timeout)
		defer cancel()
	}
	cmd := exec.CommandContext(inner, j.Path, append(j.flags(), in, "-o", out)...)
	said := &limited{max: maxOutput}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second
	confine(cmd)
	// The system kills the child when the thread that started it ends, so the thread stays.
	runtime.LockOSThread()
	if err = children.start(cmd, dir); err == nil {
		err = cmd.Wait()
		children.remove(cmd)
	}
	runtime.UnlockOSThread()
	messages = parse(said.String())
	switch {
	case ctx.Err() != nil:
		return nil, messages, ctx.Err()
	case inner.Err() != nil:
		return nil, messages, &Failed{TimedOut: j.Timeout}
	case err != nil:
		return nil, messages, &Failed{Messages: serious(messages), Err: exitReason(err)}
	}
	cubin, err = os.ReadFile(out)
	if err != nil || !bytes.HasPrefix(cubin, []byte("\x7fELF")) {
		return nil, messages, &Failed{Err: errors.New("it wrote no cubin; is this NVIDIA's ptxas?")}
	}
	return cubin, messages, nil
}

// children are the runs that have not ended, with their folders.
var children runs

type runs struct {
	sync.Mutex
	dirs map[*exec.Cmd]string
}

// start starts a command. Kill comes before that or knows of it: what has started may have children already.
func (r *runs) start(cmd *exec.Cmd, dir string) error {
	r.Lock()
	defer r.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if r.dirs == nil {
		r.dirs = map[*exec.Cmd]string{}
	}
	r.dirs[cmd] = dir
	return nil
}

func (r *runs) remove(cmd *exec.Cmd) {
	r.Lock()
	defer r.Unlock()
	delete(r.dirs, cmd)
}

// Kill kills every ptxas that runs, with what it started, and removes its files: for a process that is about to end. No Run returns after it, so that
// nothing is said of what was killed.
func Kill() {
	children.Lock() // for good
	for cmd, dir := range children.dirs {
		cmd.Cancel()
		os.RemoveAll(dir)
	}
}

// exitReason is how the child ended, in words.
func exitReason(err error) error {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return fmt.Errorf("it ended with %s and said nothing", e.ProcessState)
	}
	return cause(err)
}

// limited is a buffer that stops growing.
type limited struct {
	bytes.Buffer
	max int
}

func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), l.max-l.Len())])
	return len(p), nil
}

// pattern is a regular expression that is compiled when it is first needed: most compiles need none.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// row is a line of ptxas: "ptxas error   : TEXT" or "ptxas FILE, line N; error   : TEXT".
var row = pattern(`^ptxas (?:.*, line (\d+); )?(error|fatal|warning|info)\s*: ?(.*)$`)

func parse(text string) []Message {
	var ms []Message
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimRight(line, "\r ")
		m := row().FindStringSubmatch(line)
		switch {
		case strings.HasPrefix(line, "    ") && len(ms) > 0 && ms[len(ms)-1].Severity == "info": // what is said goes on
			ms = append(ms, Message{Severity: "info", Text: strings.TrimSpace(line)})
		case m != nil:
			n, _ := strconv.Atoi(m[1])
			ms = append(ms, Message{Severity: m[2], Line: n, Text: strings.TrimSpace(m[3])})
		case line != "":
			ms = append(ms, Message{Severity: "error", Text: line})
		}
	}
	return ms
}

// serious are the messages that say why there is no cubin. That errors were met is said only when nothing else is.
func serious(all []Message) []Message {
	var out, last []Message
	for _, m := range all {
		switch {
		case m.Severity == "fatal" && strings.Contains(m.Text, "aborted due to errors"):
			last = append(last, m)
		case m.Severity == "error" || m.Severity == "fatal":
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return last
	}
	if more := len(out) - maxMessages; more > 0 {
		out = append(out[:maxMessages:maxMessages], Message{Severity: "error", Text: fmt.Sprintf("and %d more errors", more)})
	}
	return out
}
