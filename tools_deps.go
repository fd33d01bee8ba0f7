//go:build deps

package tileiras

import (
	_ "github.com/ebitengine/purego"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/llir/llvm/asm"
	_ "github.com/llir/llvm/ir"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/sergi/go-diff/diffmatchpatch"
	_ "github.com/spf13/pflag"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "pgregory.net/rapid"
)
