package ir

// valueEntry is what a name stands for: the results of a group, or one block argument.
type valueEntry struct {
	vals []*Value
	pos  int
}

// scope remembers what to undo when a region ends.
type scope struct {
	added    []string
	isolated map[string]*valueEntry // the names of the outside, when the region must not see them
}

// bound is a name on the left of "=" with the number of results it takes.
type bound struct {
	name       string
	count, pos int
}

// binds reads "%a, %b:2 =".
func (p *Parser) binds() []bound {
	var bs []bound
	if p.tok.kind != tokPercent {
		return nil
	}
	for {
		b := bound{p.text(), 1, p.tok.pos}
		if p.tok.kind != tokPercent {
			p.failToken("expected valid ssa identifier")
			return nil
		}
		p.next()
		if p.Eat(":") {
			at := p.tok.pos
			n := p.Integer()
			switch {
			case n < 1:
				p.fail(at, "expected named operation to have at least 1 result")
				return nil
			case n > maxResults:
				p.fail(at, "one name is given %d results, %d are the most", n, maxResults)
				return nil
			}
			b.count = int(n)
		}
		bs = append(bs, b)
		if !p.Eat(",") {
			break
		}
	}
	p.Expect("=")
	return bs
}

// maxResults bounds the results that a text gives one name.
const maxResults = 1 << 16

func (p *Parser) bind(op *Op, binds []bound) {
	if len(binds) == 0 {
		return
	}
	if len(op.results) == 0 {
		p.fail(binds[0].pos, "cannot name an operation with no results")
		return
	}
	n := 0
	for _, b := range binds {
		n += b.count
	}
	if n != len(op.results) {
		p.fail(binds[0].pos, "operation defines %d results but was provided %d to bind", len(op.results), n)
		return
	}
	at := 0
	for _, b := range binds {
		p.define(b.name, b.pos, op.results[at:at+b.count])
		at += b.count
	}
}

// define gives a name its values in the current scope.
func (p *Parser) define(name string, pos int, vals []*Value) {
	if old := p.values[name]; old != nil {
		p.fail(pos, "redefinition of SSA value '%s'", name).Note(p.fileLoc(old.pos), "previously defined here")
		return
	}
	p.values[name] = &valueEntry{vals, pos}
	if n := len(p.scopes); n > 0 {
		p.scopes[n-1].added = append(p.scopes[n-1].added, name)
	}
}

func (p *Parser) pushScope(isolated bool) {
	s := scope{}
	if isolated {
		s.isolated, p.values = p.values, map[string]*valueEntry{}
	}
	p.scopes = append(p.scopes, s)
}

func (p *Parser) popScope() {
	s := p.scopes[len(p.scopes)-1]
	p.scopes = p.scopes[:len(p.scopes)-1]
	if s.isolated != nil {
		p.values = s.isolated // and the names of the inside are gone with their map
		return
	}
	for _, name := range s.added {
		delete(p.values, name)
	}
}

// Lookup finds the value of a use without looking at its type; nil after an error.
func (p *Parser) Lookup(r OperandRef) *Value {
	if p.err != nil {
		return nil
	}
	e := p.values[r.Name]
	if e == nil {
		p.fail(int(r.Pos), "use of undeclared SSA value name '%s'%s", r.Name, didYouMean(r.Name, p.valueNames()))
		return nil
	}
	if r.Num >= len(e.vals) {
		p.fail(int(r.Pos), "reference to invalid result number")
		return nil
	}
	return e.vals[r.Num]
}

// Resolve finds the value of a use, which must have this type; nil after an error.
func (p *Parser) Resolve(r OperandRef, t Type) *Value {
	v := p.Lookup(r)
	if v == nil {
		return nil
	}
	if v.typ != t {
		p.fail(int(r.Pos), "use of value '%s' expects different type than prior uses: '%s' vs '%s'", r.Name, TypeString(t), TypeString(v.typ)).
			Note(p.fileLoc(p.values[r.Name].pos), "prior use here")
		return nil
	}
	return v
}
