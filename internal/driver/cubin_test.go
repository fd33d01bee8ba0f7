package driver

import (
	"slices"
	"testing"

	"tileiras/internal/ptxas"
)

func TestMessagesOfPTXASAreOfTheKernelAbove(t *testing.T) {
	const ptx = ".version 8.0\n.visible .entry k()\n{\nret;\n}\n.visible .entry k$1()\n{\nret;\n}\n.visible .entry last()\n{\nret;\n}\n"
	for _, c := range []struct {
		message ptxas.Message
		want    []string
	}{
		{ptxas.Message{Line: 1}, nil},
		{ptxas.Message{Line: 4}, []string{"k"}},
		{ptxas.Message{Line: 8}, []string{"k$1"}},
		{ptxas.Message{Line: 8, Text: "Entry function 'last' uses too much shared data"}, []string{"k$1", "last"}},
		{ptxas.Message{Line: 1000}, []string{"last"}},
		{ptxas.Message{Text: "Entry function 'k$1' uses too much shared data"}, []string{"k$1"}},
	} {
		if got := kernelsOf(c.message, ptx); !slices.Equal(got, c.want) {
			t.Errorf("%+v is of %q, want %q", c.message, got, c.want)
		}
	}
}
