package tilerun

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"tileiras/internal/driver"
)

// asWorker, as the first argument of tilerun, makes it a process that runs cases on a GPU for another tilerun with the same arguments: it
// reads names of case files and writes an answer to each, one a line in JSON. A kernel that is aborted, or does not end, costs this process only.
const asWorker = "--worker"

// answer is a line that a worker writes: first whether it can work, then what became of a case.
type answer struct {
	Line  line
	Error string // it cannot work
	Lost  bool   // it cannot run another case
}

// work is the process of a worker.
func work(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	line, err := Command.Parse(args)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return driver.ExitUsage
	}
	say := func(a answer) {
		text, _ := json.Marshal(a)
		fmt.Fprintf(stdout, "\n%s\n", text) // others may have left a line unfinished
	}
	m, err := newGPU(line)
	if err != nil {
		say(answer{Error: err.Error()})
		return driver.ExitOptions
	}
	say(answer{})
	r := newRunner(line)
	r.machines, r.limit = only(m), 0 // who asks ends what takes too long
	for file := range requests(stdin) {
		l := r.runCase(string(file))
		say(answer{Line: l, Lost: m.Context.Lost() != nil})
	}
	return driver.ExitOK
}

// requests are the files that a worker is to run. When no more can come, or nobody is there to ask, the process ends, even inside a kernel.
func requests(stdin io.Reader) <-chan []byte {
	files := make(chan []byte)
	go func() {
		for d := json.NewDecoder(stdin); ; {
			var file []byte // a name need not be UTF-8
			if d.Decode(&file) != nil {
				os.Exit(driver.ExitOK)
			}
			files <- file
		}
	}()
	return files
}

// workers are the processes that run cases.
type workers struct {
	args   []string // of their command line
	stderr io.Writer
	limit  time.Duration // for a case; 0 is for ever
	idle   chan *worker
}

// newWorkers starts the first worker, which shows whether there is a GPU.
func newWorkers(args []string, jobs int, limit time.Duration, stderr io.Writer) (*workers, error) {
	p := &workers{args: append([]string{asWorker}, args...), stderr: stderr, limit: limit, idle: make(chan *worker, jobs)}
	w, err := p.start()
	if err != nil {
		return nil, err
	}
	p.idle <- w
	return p, nil
}

// run has a case run by a worker that is idle, or by a new one.
func (p *workers) run(file string) line {
	var w *worker
	var err error
	select {
	case w = <-p.idle:
	default:
		w, err = p.start()
	}
	if err != nil {
		return failing(caseName(file), lost(err))
	}
	a, err := w.ask(file, p.limit)
	switch {
	case err != nil:
		return failing(caseName(file), lost(err))
	case a.Lost:
		w.end()
	default:
		p.idle <- w
	}
	return a.Line
}

// end ends the workers, which are idle.
func (p *workers) end() {
	close(p.idle)
	for w := range p.idle {
		w.end()
	}
}

// worker is a process that runs cases, one after the other.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

func (p *workers) start() (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: exec.Command(self, p.args...)}
	w.cmd.Stderr = p.stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.stdout = bufio.NewReader(stdout)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	a, err := w.answer()
	if err == nil && a.Error != "" {
		w.end()
		err = errors.New(a.Error)
	}
	return w, err
}

// ask has the worker run a case. After an error it has ended.
func (w *worker) ask(file string, limit time.Duration) (answer, error) {
	var kill *time.Timer
	if limit > 0 {
		kill = time.AfterFunc(limit, func() { w.cmd.Process.Kill() })
	}
	name, _ := json.Marshal([]byte(file))
	w.stdin.Write(append(name, '\n')) // where that fails there is no answer either
	a, err := w.answer()
	switch late := kill != nil && !kill.Stop(); {
	case late && err != nil:
		err = tooLate(limit)
	case late:
		a.Lost = true // just in time for the answer only
	}
	return a, err
}

// answer reads the next answer. Other text, of the driver or of a tool that watches the process, goes to standard error.
func (w *worker) answer() (a answer, err error) {
	for {
		text, err := w.stdout.ReadBytes('\n')
		if err != nil {
			w.end()
			return a, fmt.Errorf("the process that runs cases ended: %v", w.cmd.ProcessState)
		}
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		if json.Unmarshal(text, &a) == nil {
			return a, nil
		}
		fmt.Fprintf(w.cmd.Stderr, "%s\n", text)
	}
}

// end waits for the end of the process, which may have come already.
func (w *worker) end() {
	w.stdin.Close()
	w.cmd.Wait()
}
