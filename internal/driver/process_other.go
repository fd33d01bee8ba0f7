//go:build !unix

package driver

import "os"

// stdoutClosed reports whether nobody can read standard output.
func stdoutClosed() bool {
	_, err := os.Stdout.Stat()
	return err != nil
}

// raise ends this process.
func raise(os.Signal) { os.Exit(ExitUsage) }
