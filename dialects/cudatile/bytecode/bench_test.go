package bytecode_test

import (
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
)

// attention is the largest kind of kernel that the corpus has.
const attention = "../../../tests/corpus/perf/attention_f16_d128_causal_128x128/kernel.tileirbc"

// BenchmarkReadAndVerifyTheLargestFile is what a compile pays before it begins; it should stay below a millisecond.
func BenchmarkReadAndVerifyTheLargestFile(b *testing.B) {
	var data []byte
	for _, file := range corpusFiles(b) {
		if d := load(b, file); len(d) > len(data) {
			data = d
		}
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		c := ir.NewContext(cudatile.Dialect)
		m, _, err := bytecode.Read(c, data, bytecode.ReadOptions{})
		if err != nil || !ir.Verify(c, m) {
			b.Fatal(err, c.Diags.String())
		}
	}
}

func BenchmarkRead(b *testing.B) {
	data := load(b, attention)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := bytecode.Read(ir.NewContext(cudatile.Dialect), data, bytecode.ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	data := load(b, attention)
	m, o := read(b, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bytecode.Write(m, bytecode.WriteOptions{Origin: o}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	c := ir.NewContext(cudatile.Dialect)
	m, _, err := bytecode.Read(c, load(b, attention), bytecode.ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !ir.Verify(c, m) {
			b.Fatal(c.Diags.String())
		}
	}
}
