package ptxop

import (
	"iter"
	"strconv"

	"tileiras/codegen/target"
)

// Loads, stores and copies: PTX ISA, "Data Movement and Conversion Instructions".

// space is a state space as loads, stores and atomics see it.
type space struct {
	dot         string // ".global", "" for generic
	base        byte   // letter of the address register
	read, write Effects
}

var (
	global  = space{".global", 'l', ReadGlobal, WriteGlobal}
	shared  = space{".shared", 'r', ReadShared, WriteShared}
	generic = space{"", 'l', ReadGeneric, WriteGeneric}
	local   = space{".local", 'l', ReadLocal, WriteLocal}
	spaces  = []space{global, shared, generic}
)

// scope is a thread scope of the memory model.
type scope struct {
	name string
	need target.Need
}

var scopes = []scope{{"cta", anySM}, {"cluster", sm90}, {"gpu", anySM}, {"sys", anySM}}

// width is a memory type with its register letter. An 8-bit value travels in a
// 16-bit register.
type width struct {
	name   string
	letter byte
	bits   int
}

var widths = []width{{"b8", 'h', 8}, {"b16", 'h', 16}, {"b32", 'r', 32}, {"b64", 'l', 64}, {"f32", 'f', 32}, {"f64", 'd', 64}}

// vector is what one access moves: its dotted part of the mnemonic, its operand as a result and as an argument, and its size.
type vector struct {
	suffix     string
	load, from string
	bits       int
}

var vectors = [...]vector{
	{".b8", "=h", "h", 8}, {".b16", "=h", "h", 16}, {".b32", "=r", "r", 32}, {".b64", "=l", "l", 64}, {".f32", "=f", "f", 32}, {".f64", "=d", "d", 64},
	{".v2.b8", "{=h*2}", "{h*2}", 16}, {".v2.b16", "{=h*2}", "{h*2}", 32}, {".v2.b32", "{=r*2}", "{r*2}", 64},
	{".v2.b64", "{=l*2}", "{l*2}", 128}, {".v2.f32", "{=f*2}", "{f*2}", 64}, {".v2.f64", "{=d*2}", "{d*2}", 128},
	{".v4.b8", "{=h*4}", "{h*4}", 32}, {".v4.b16", "{=h*4}", "{h*4}", 64}, {".v4.b32", "{=r*4}", "{r*4}", 128},
	{".v4.b64", "{=l*4}", "{l*4}", 256}, {".v4.f32", "{=f*4}", "{f*4}", 128}, {".v4.f64", "{=d*4}", "{d*4}", 256},
	{".v8.b32", "{=r*8}", "{r*8}", 256}, {".v8.f32", "{=f*8}", "{f*8}", 256},
}

// upTo are the vectors of at most so many bits.
func upTo(bits int) iter.Seq[*vector] {
	return func(yield func(*vector) bool) {
		for i := range vectors {
			if v := &vectors[i]; v.bits <= bits && !yield(v) {
				return
			}
		}
	}
}

// 256-bit global accesses: PTX ISA, ld, "Support for .v8.b32 and .v4.b64".
var wide = sm(100, 8, 8)

// L1::no_allocate: PTX ISA, ld, "level::eviction_priority".
var evict = sm(70, 7, 4)

func init() {
	define("ld.global", globalLoads("", ReadGlobal, anySM), globalLoads(".cs", ReadGlobal, anySM), globalLoads(".L1::no_allocate", ReadGlobal, evict),
		globalLoads(".nc", ReadConst, anySM), globalLoads(".nc.L1::no_allocate", ReadConst, evict))
	define("ld.shared", func(b *builder) { plainLoads(b, shared) })
	define("ld.local", func(b *builder) { plainLoads(b, local) })
	for _, word := range []string{"b8", "b16", "b32", "b64", "f32", "f64", "v2", "v4"} {
		define("ld."+word, func(b *builder) {
			for v := range upTo(128) {
				if secondWord(v.suffix) == word {
					b.guarded("ld"+v.suffix, "ld"+v.suffix, v.load+" [l]", ReadGeneric, anySM)
				}
			}
		})
		define("st."+word, func(b *builder) {
			for v := range upTo(128) {
				if secondWord(v.suffix) == word {
					b.guarded("st"+v.suffix, "st"+v.suffix, "[l] "+v.from, WriteGeneric, anySM)
				}
			}
		})
	}
	for _, order := range []string{"volatile", "relaxed", "acquire"} {
		define("ld."+order, func(b *builder) {
			eachStrong(order, func(prefix string, s space, need target.Need) {
				for _, w := range widths {
					m := "ld." + prefix + "." + w.name
					b.guarded(m, m, "="+string(w.letter)+" ["+string(s.base)+"]", s.read|Strong, need)
				}
			})
		})
	}

	define("st.global", globalStores("", anySM), globalStores(".cs", anySM), globalStores(".L1::no_allocate", evict))
	define("st.shared", func(b *builder) { plainStores(b, shared) })
	define("st.local", func(b *builder) { plainStores(b, local) })
	for _, order := range []string{"volatile", "relaxed", "release"} {
		define("st."+order, func(b *builder) {
			eachStrong(order, func(prefix string, s space, need target.Need) {
				for _, w := range widths {
					m := "st." + prefix + "." + w.name
					b.guarded(m, m, "["+string(s.base)+"] "+string(w.letter), s.write|Strong, need)
				}
			})
		})
	}

	// Parameters of the kernel; codegen/ptx alone uses them.
	define("ld.param", func(b *builder) {
		for _, w := range []width{{"u8", 'h', 8}, {"u16", 'h', 16}, {"u32", 'r', 32}, {"u64", 'l', 64}, {"f32", 'f', 32}, {"f64", 'd', 64}} {
			b.op("ld.param."+w.name, "="+string(w.letter)+" [l]", ReadConst, anySM)
		}
	})

	define("cp", asyncCopies)
	define("ldmatrix", func(b *builder) {
		for _, n := range []int{1, 2, 4} {
			for _, trans := range []string{"", ".trans"} {
				b.op("ldmatrix.sync.aligned.m8n8.x"+strconv.Itoa(n)+trans+".shared.b16", "{=r*"+strconv.Itoa(n)+"} [r]", ReadShared|Convergent, sm75)
			}
		}
	})
	define("stmatrix", func(b *builder) {
		for _, n := range []int{1, 2, 4} {
			for _, trans := range []string{"", ".trans"} {
				b.op("stmatrix.sync.aligned.m8n8.x"+strconv.Itoa(n)+trans+".shared.b16", "[r] {r*"+strconv.Itoa(n)+"}", WriteShared|Convergent, sm90)
			}
		}
	})
	define("movmatrix", func(b *builder) {
		b.op("movmatrix.sync.aligned.m8n8.trans.b16", "=r R", Convergent, sm(75, 7, 8))
	})
	define("prefetch", func(b *builder) {
		for _, level := range []string{"L1", "L2"} {
			m := "prefetch.global." + level
			b.guarded(m, m, "[l]", Async, anySM)
		}
	})
}

func secondWord(suffix string) string {
	if len(suffix) > 3 && suffix[1] == 'v' {
		return suffix[1:3]
	}
	return suffix[1:]
}

func plainLoads(b *builder, s space) {
	address := " [" + string(s.base) + "]"
	for v := range upTo(128) {
		m := "ld" + s.dot + v.suffix
		b.guarded(m, m, v.load+address, s.read, anySM)
	}
}

func plainStores(b *builder, s space) {
	address := "[" + string(s.base) + "] "
	for v := range upTo(128) {
		m := "st" + s.dot + v.suffix
		b.guarded(m, m, address+v.from, s.write, anySM)
	}
}

// eachGlobal calls f for every access to global memory under a cache operator: the 256-bit ones have none but L1::no_allocate.
func eachGlobal(cache string, need target.Need, f func(v *vector, need target.Need)) {
	for v := range upTo(256) {
		switch {
		case v.bits <= 128:
			f(v, need)
		case cache != ".cs":
			f(v, wide)
		}
	}
}

func globalLoads(cache string, fx Effects, need target.Need) func(*builder) {
	return func(b *builder) {
		head := "ld.global" + cache
		eachGlobal(cache, need, func(v *vector, need target.Need) {
			m := head + v.suffix
			b.guarded(m, m, v.load+" [l]", fx, need)
		})
	}
}

func globalStores(cache string, need target.Need) func(*builder) {
	return func(b *builder) {
		head := "st.global" + cache
		eachGlobal(cache, need, func(v *vector, need target.Need) {
			m := head + v.suffix
			b.guarded(m, m, "[l] "+v.from, WriteGlobal, need)
		})
	}
}

// eachStrong calls f with "relaxed.gpu.global" and the like: every scope and space
// of one order; volatile has no scope.
func eachStrong(order string, f func(prefix string, s space, need target.Need)) {
	for _, s := range spaces {
		if order == "volatile" {
			f(order+s.dot, s, anySM)
			continue
		}
		for _, c := range scopes {
			f(order+"."+c.name+s.dot, s, c.need)
		}
	}
}

// asyncCopies: PTX ISA, "cp.async". The form with ".zfill" has a register that
// says how many bytes to read; the rest of the destination becomes zero. Its
// guarded form copies nothing where the guard is false.
func asyncCopies(b *builder) {
	const fx = ReadGlobal | WriteShared | Async
	for _, c := range []struct {
		cache string
		bytes int
	}{{"ca", 4}, {"ca", 8}, {"ca", 16}, {"cg", 16}} {
		for _, hint := range []string{"", ".L2::128B", ".L2::256B"} {
			need := target.CpAsync
			if hint != "" {
				need = sm(80, 7, 4)
			}
			m := "cp.async." + c.cache + ".shared.global" + hint
			bytes := strconv.Itoa(c.bytes)
			name := m + "." + bytes
			b.guarded(name, m, "[r] [l] '"+bytes, fx, need)
			b.guarded(name+".zfill", m, "[r] [l] '"+bytes+" r", fx, need)
		}
	}
	b.op("cp.async.commit_group", "", Async, target.CpAsync)
	b.op("cp.async.wait_group", "n", Async|Fence, target.CpAsync)
	b.op("cp.async.wait_all", "", Async|Fence, target.CpAsync)
	b.op("cp.async.mbarrier.arrive.noinc.shared.b64", "[r]", Async|Barrier, target.CpAsync)
	bulkCopies(b)
}
