package interp_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
	"tileiras/runtime/cases"
	"tileiras/runtime/interp"
)

const corpus = "../../tests/corpus"

// machine runs cases on the interpreter and remembers the memory that the last one left.
type machine struct {
	strict bool
	mem    *interp.Memory
	out    *cases.Outcome
}

func (m *machine) module(code []byte) (*ir.Op, error) {
	c := ir.NewContext(cudatile.Dialect)
	mod, _, err := bytecode.Read(c, code, bytecode.ReadOptions{})
	if err != nil {
		return nil, err
	}
	if !ir.Verify(c, mod) {
		return nil, errors.New(c.Diags.String())
	}
	return mod, nil
}

func (m *machine) Decode(_ context.Context, _ string, code []byte) error {
	mod, err := m.module(code)
	if err == nil {
		_, err = interp.New(mod)
	}
	return err
}

func (m *machine) Launch(ctx context.Context, l *cases.Launch) (*cases.Outcome, error) {
	mod, err := m.module(l.Bytecode)
	if err != nil {
		return nil, err
	}
	p, err := interp.New(mod)
	if err != nil {
		return nil, err
	}
	m.mem, m.out = interp.NewMemory(), &cases.Outcome{}
	for _, b := range l.Buffers {
		m.out.Addresses = append(m.out.Addresses, m.mem.Alloc(b.Name, b.Bytes, b.Align))
		m.out.Buffers = append(m.out.Buffers, m.mem.Bytes(m.out.Addresses[len(m.out.Addresses)-1]))
	}
	l.StorePointers(m.out.Buffers, m.out.Addresses)
	var args []uint64
	for _, a := range l.Params {
		bits := a.Bits
		if a.Type == nil {
			bits = m.out.Addresses[a.Buffer] + uint64(a.Offset)
		}
		args = append(args, bits)
	}
	var stdout bytes.Buffer
	_, err = p.Run(ctx, l.Kernel, m.mem, args, interp.Options{Grid: l.Grid, Stdout: &stdout, Strict: m.strict})
	m.out.Stdout = stdout.String()
	var r *interp.Report
	if errors.As(err, &r) && r.Kind == interp.AssertFailed {
		m.out.AssertFailed, m.out.Message = true, r.Error()
		return m.out, nil
	}
	return m.out, err
}

func eachCase(t *testing.T, do func(c *cases.Case)) {
	t.Helper()
	names, err := cases.List(filepath.Join(corpus, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		c, err := cases.Load(filepath.Join(corpus, "cases", name))
		if err != nil {
			t.Fatal(err)
		}
		do(c)
	}
}

func TestEveryCaseOfTheCorpusGivesTheExpectedResult(t *testing.T) {
	n := 0
	eachCase(t, func(c *cases.Case) {
		if v := cases.Run(context.Background(), &machine{}, c); v.Status != cases.Pass {
			t.Errorf("%s: %v", c.Name, v)
		}
		n++
	})
	if n != 391 {
		t.Errorf("%d cases; the corpus has 391", n)
	}
}

// roundedOnce are cases whose expected values numpy computed in f64 and rounded once, or without fusing, where the kernel
// rounds each operation: the kernel's result is as exact, but another one.
var roundedOnce = map[string]bool{"arith_f64": true, "dropout": true, "inlined_calls_133": true, "inlined_calls_135": true,
	"list_arg": true, "split_loop": true, "stencil_1d": true, "stencil_2d": true, "welford": true, "while_newton": true}

// What the interpreter calls exact has one right answer, so numpy must have found the same, whatever tolerance the case allows.
func TestExactBytesEqualTheExpectedOnes(t *testing.T) {
	exact, loose := 0, 0 // results; the biggest ones are those of products, which are inexact
	eachCase(t, func(c *cases.Case) {
		m := &machine{}
		if c.DecodeOnly || c.ExpectError != "" || c.ExpectAssert != "" || cases.Run(context.Background(), m, c).Status != cases.Pass {
			return
		}
		for i, b := range c.Buffers {
			for _, x := range c.Expect {
				if x.Buffer != b.Name {
					continue
				}
				got, inexact := bytes.Clone(m.out.Buffers[i]), false
				for at, in := range m.mem.Inexact(m.out.Addresses[i]) {
					if in {
						got[at], inexact = x.Data[at], true
					}
				}
				if inexact {
					loose++
				} else {
					exact++
				}
				if err := cases.Compare(b, got, x.Data, 0, 0); err != nil && !roundedOnce[c.Name] {
					t.Errorf("%s: the interpreter calls exact what is not: %v", c.Name, err)
				}
			}
		}
	})
	t.Logf("%d of %d results are exact", exact, exact+loose)
	if exact < 4*loose {
		t.Errorf("only %d of %d results are exact", exact, exact+loose)
	}
}
