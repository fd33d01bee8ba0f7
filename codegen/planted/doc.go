// Package planted switches miscompiles on, one at a time, to see that the oracles find them (tests/planted/README.md has the
// list). Without the build tag "planted" every question is answered no by a constant, so the hooks are not in the program.
package planted
