package driver

import "runtime/debug"

// buildVersion says which build this is, from what the Go linker knows.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "Build unknown"
	}
	rev, dirty := "devel", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	return "Build " + rev + dirty
}
