//go:build !linux

package first

// The stack of an ordinary compile, at once.
func init() { deepen[[24 << 10]byte](false) }
