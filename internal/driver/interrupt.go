package driver

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"tileiras/internal/ptxas"
)

// endings are the signals by which people and build systems end a process.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// unfinished is what a signal must not leave behind.
var unfinished struct {
	sync.Mutex
	files   map[string]bool // temporary ones
	command bool            // the process is a command: signals are its own
	last    bool            // the command ends with the file that it writes now
}

// keepTidy notes a temporary file; the function that it returns removes it.
func keepTidy(file string) (remove func()) {
	catchSignals()
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.files == nil {
		unfinished.files = map[string]bool{}
	}
	unfinished.files[file] = true
	return func() {
		os.Remove(file)
		settled(file)
	}
}

// settled forgets a temporary file that is there no longer.
func settled(file string) {
	unfinished.Lock()
	defer unfinished.Unlock()
	delete(unfinished.files, file)
}

// TidyOnSignals is for commands: when a signal ends the process, what it had begun to write is removed first. The process then ends by that
// signal, so that a shell sees what happened; ptxas ends with it.
func TidyOnSignals() { unfinished.command = true }

// catchSignals is called before there is something to tidy: handlers take threads, and those a twentieth of a compile that needs none.
var catchSignals = sync.OnceFunc(func() {
	if !unfinished.command {
		return
	}
	for _, s := range endings {
		if signal.Ignored(s) { // nohup
			continue
		}
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, s)
		go func() {
			<-caught
			unfinished.Lock()
			for f := range unfinished.files {
				os.Remove(f)
			}
			ptxas.Kill()
			signal.Reset(s)
			raise(s)
		}()
	}
})

// keepWhole is called when a file that is complete has a temporary name for a moment: the name is removed if the process goes on after it, and
// signals come too late for one that ends.
func keepWhole(file string) (remove func()) {
	if unfinished.last {
		signal.Ignore(endings...)
		return func() { os.Remove(file) }
	}
	return keepTidy(file)
}
