//go:build !unix

package cache_test

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
