//go:build !linux

package driver

import (
	"errors"
	"os"
)

// createUnnamed makes a file without a name, where the system has such files.
func createUnnamed(string) (*pending, error) { return nil, errors.ErrUnsupported }

func nameUnnamed(*os.File, string) error { return errors.ErrUnsupported }

func replace(from, to string) error { return os.Rename(from, to) }
