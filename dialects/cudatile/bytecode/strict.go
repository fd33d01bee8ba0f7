package bytecode

import (
	"fmt"
	"strings"
	"sync"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// The strict reader takes files of 13.1 only and speaks of them as the tools of 13.1 did, which knew nothing that came later:
// no opcode and no type that is "of another version", no element type and no hint of one. The bytes of a 13.1 file mean the same
// to both readers. docs/bytecode-13.1.md has the whole list.

// laterElements takes the element types that came after 13.1 out of a list of them.
var laterElements = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, t := range typeTags {
		switch {
		case !def.V131.Before(t.since):
		case t.format != nil:
			pairs = append(pairs, " or "+t.format.Name(), "")
		case t.width > 0:
			pairs = append(pairs, fmt.Sprintf(" or i%d", t.width), "")
		}
	}
	return strings.NewReplacer(pairs...)
})

// typeError is a message about a type in the words of the reader.
func (r *reader) typeError(err error) string {
	if r.options.Strict131 {
		return laterElements().Replace(err.Error())
	}
	return err.Error()
}

// checkHints refuses what the tools of 13.1 did not know or allow; the modern reader leaves hints alone.
func (r *reader) checkHints(c *cursor, op *ir.OpDef, hints ir.DictAttr) {
	if !r.ok() || !r.options.Strict131 {
		return
	}
	if why := cudatile.CheckHints131(op.Code, hints); why != "" {
		c.fail("%s", why)
	}
}

// denseStrings reads the only form that self-contained dense elements have, strings, which the tools of 13.1 could read.
// No operation has a place for them.
func (r *reader) denseStrings(c *cursor) {
	const read = "read valid MLIR Type for self-contained DenseElementsAttr"
	if !r.options.Strict131 {
		c.fail("failed to %s", read)
	}
	if _, ok := r.typ(c, read).(*cudatile.TileType); !ok {
		c.fail("failed to %s", read)
	}
	for n := c.count("number of string attrs in DenseElementsAttr"); n > 0 && r.ok(); n-- {
		r.str(c, "string in DenseElementsAttr")
	}
	c.fail("not supported yet: DenseElementsAttr of strings")
}
