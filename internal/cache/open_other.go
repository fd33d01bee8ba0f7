//go:build !unix

package cache

import "os"

func openFile(name string) (*os.File, error) { return os.Open(name) }
