//go:build planted

package planted

import "os"

// On is whether the environment asks for the named bug.
func On(name string) bool { return os.Getenv("TILEIRAS_PLANT") == name }
