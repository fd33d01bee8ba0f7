package ptxas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	Sanitize bool   // instrument for compute-sanitizer's memcheck
	Timeout  time.Duration
}

// flags are those with which NVIDIA's tileiras calls ptxas, without the host object. The second allows static shared memory up to
// what the architecture has.
func (j *Job) flags() []string {
	args := []string{"-arch", j.Arch, "--opt-level", strconv.Itoa(j.Opt), "--enable-extended-smem=true", "-uumn"}
	if j.Sanitize {
		args = append(args, "-sanitize=memcheck", "-g-tmem-access-check")
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

// maxOutput bounds what is kept of the messages, maxCubin what is read of a cubin.
const (
	maxOutput = 1 << 20
	maxCubin  = 1 << 30
)

// Run assembles PTX. ptxas reads it from a file without a name and writes the cubin to a pipe, so nothing lies on a disk that would have to be removed. When ctx
// ends or the time is over ptxas is killed with all that it started; when this process dies the system kills it (Linux).
func (j *Job) Run(ctx context.Context, ptx []byte) (cubin []byte, messages []Message, err error) {
	inner := ctx
	if j.Timeout > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, j.Timeout)
		defer cancel()
	}
	cmd := exec.CommandContext(inner, j.Path, append(j.flags(), "/dev/stdin", "-o", "/dev/stdout")...)
	cmd.Stdin = bytes.NewReader(ptx)
	if f := nameless(ptx); f != nil {
		defer f.Close()
		cmd.Stdin = f
	}
	out, said := &limited{max: maxCubin}, &limited{max: maxOutput}
	cmd.Stdout, cmd.Stderr = out, said
	cmd.WaitDelay = time.Second
	confine(cmd)
	// The system kills the child when the thread that started it ends, so the thread stays.
	runtime.LockOSThread()
	if err = cmd.Start(); err == nil {
		children.add(cmd)
		err = cmd.Wait()
		children.remove(cmd)
	}
	runtime.UnlockOSThread()
	messages = parse(said.String())
	switch {
	case ctx.Err() != nil:
		return nil, messages, context.Cause(ctx)
	case inner.Err() != nil:
		return nil, messages, &Failed{TimedOut: j.Timeout}
	case err != nil:
		return nil, messages, &Failed{Messages: serious(messages), Err: exitReason(err)}
	case out.over:
		return nil, messages, &Failed{Err: errors.New("its output is too large")}
	case !bytes.HasPrefix(out.Bytes(), []byte("\x7fELF")):
		return nil, messages, &Failed{Err: errors.New("it wrote no cubin; is this NVIDIA's ptxas?")}
	}
	return out.Bytes(), messages, nil
}

// nameless is a file without a name that holds the data, nil where the system has no such thing or no room for it. ptxas opens its standard input
// once more when it puts the text of the PTX into a cubin with source lines, which a pipe does not allow.
func nameless(data []byte) *os.File {
	f, err := os.CreateTemp("", "tileiras-*.ptx")
	if err != nil {
		return nil
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil
	}
	return f
}

// children are the runs that have not ended.
var children runs

type runs struct {
	sync.Mutex
	cmds map[*exec.Cmd]bool
}

func (r *runs) add(cmd *exec.Cmd) {
	r.Lock()
	defer r.Unlock()
	if r.cmds == nil {
		r.cmds = map[*exec.Cmd]bool{}
	}
	r.cmds[cmd] = true
}

func (r *runs) remove(cmd *exec.Cmd) {
	r.Lock()
	defer r.Unlock()
	delete(r.cmds, cmd)
}

// Kill kills every ptxas that runs, with what it started: for a process that is about to end.
func Kill() {
	children.Lock()
	defer children.Unlock()
	for cmd := range children.cmds {
		cmd.Cancel()
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
	max  int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.max {
		l.over = true
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

// row is a line of ptxas: "ptxas error   : TEXT" or "ptxas FILE, line N; error   : TEXT".
var row = regexp.MustCompile(`^ptxas (?:.*, line (\d+); )?(error|fatal|warning|info)\s*: ?(.*)$`)

func parse(text string) []Message {
	var ms []Message
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimRight(line, "\r ")
		m := row.FindStringSubmatch(line)
		switch {
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
	return out
}
