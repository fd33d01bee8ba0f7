package ptxas

import (
	"os/exec"
	"syscall"
)

// confine puts the child into a process group of its own, so that what it starts is killed with it, and has the kernel kill it when
// this process dies, however it dies.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
