package driver

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"tileiras/internal/ptxas"
)

// unfinished are temporary files that a signal must not leave behind.
var unfinished struct {
	sync.Mutex
	files map[string]bool
}

// keepTidy notes a temporary file; the function that it returns removes it.
func keepTidy(file string) (remove func()) {
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.files == nil {
		unfinished.files = map[string]bool{}
	}
	unfinished.files[file] = true
	return func() {
		unfinished.Lock()
		defer unfinished.Unlock()
		os.Remove(file)
		delete(unfinished.files, file)
	}
}

// TidyOnSignals is for commands: when a signal ends the process, what it had begun to write is removed first. The process then ends by that
// signal, so that a shell sees what happened; ptxas ends with it.
func TidyOnSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
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
}
