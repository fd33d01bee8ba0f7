package tests

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/llir/llvm/asm"
	llvm "github.com/llir/llvm/ir"

	"tileiras/internal/driver"
	"tileiras/internal/lit"
	"tileiras/internal/tilerun"
)

// TestLit runs the text tests: every tests/lit/<area>/*.tileir says in RUN lines which commands it runs and in CHECK lines what they
// must print. The commands run inside this process. Besides the commands there is "exits CODE command ...", which wants that exit
// code and hands standard error on to the next command, and "bytes OFFSET HEX FILE", which prints a file with bytes changed, or cut
// off there when HEX is "end".
func TestLit(t *testing.T) {
	parse := func(name, text string) (*llvm.Module, error) { return asm.ParseString(name, text) }
	tools := map[string]lit.Tool{
		"tileiras":       lit.Tool(driver.Tileiras),
		"tile-opt":       lit.Tool(driver.TileOpt(parse)),
		"tile-translate": lit.Tool(driver.TileTranslate),
		"tileirdisasm":   lit.Tool(driver.TileIRDisasm),
		"tilerun":        tilerun.Run,
		"bytes":          patched,
	}
	tools["exits"] = exits(tools)
	corpus, err := filepath.Abs("corpus")
	if err != nil {
		t.Fatal(err)
	}
	suite := lit.Suite{Tools: tools, Substitutions: map[string]string{"%corpus": corpus}}
	suite.Test(t, "lit", ".tileir")
}

// exits makes the tool that wants an exit code.
func exits(tools map[string]lit.Tool) lit.Tool {
	return func(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
		if len(args) < 2 || tools[args[1]] == nil {
			fmt.Fprintln(stderr, "exits: expected a code and a command of this suite")
			return 1
		}
		var errs bytes.Buffer
		code := tools[args[1]](args[2:], stdin, stdout, &errs)
		io.Copy(stdout, &errs)
		if fmt.Sprint(code) != args[0] {
			fmt.Fprintf(stderr, "%s ended with %d, not %s: %s\n", args[1], code, args[0], errs.String())
			return 1
		}
		return 0
	}
}

// patched prints a file with some bytes changed or the rest cut off.
func patched(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fail := func(err error) int {
		fmt.Fprintln(stderr, "bytes:", err)
		return 1
	}
	if len(args) != 3 {
		return fail(errors.New("expected OFFSET HEX FILE"))
	}
	data, err := os.ReadFile(args[2])
	if err != nil {
		return fail(err)
	}
	at, err := strconv.Atoi(args[0])
	if err != nil || at < 0 || at > len(data) {
		return fail(fmt.Errorf("%s is no offset in %s, which has %d bytes", args[0], args[2], len(data)))
	}
	if args[1] == "end" {
		data = data[:at]
	} else {
		change, err := hex.DecodeString(args[1])
		if err != nil {
			return fail(err)
		}
		data = append(data[:at:at], append(change, data[min(at+len(change), len(data)):]...)...)
	}
	stdout.Write(data)
	return 0
}
