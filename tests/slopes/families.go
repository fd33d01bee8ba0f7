package main

import (
	"fmt"
	"strings"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
)

// family is a kind of program that can be generated in any size.
type family struct {
	name string
	// text makes a module of size n, cuda_tile text.
	text func(n int) string
}

// roles says whether warps of their own begin the copies of a family's loops.
func (f family) roles() driver.Roles {
	if f.name == "reconverging values behind a copy" {
		return options.On
	}
	return options.Auto
}

// maxSizes are limits for families of which each element is much code, so that a megabyte of text is no measure.
var maxSizes = map[string]int{"loops over products of loads": 300, "loops of attention": 300}

// body is a module with one kernel of these lines.
func body(lines string) string {
	return "cuda_tile.module @m {\nentry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %q: tile<ptr<i32>>, %cond: tile<i1>) {\n" + prelude + lines + "return\n}\n}\n"
}

// prelude makes what the families begin with: numbers, 128 pointers %c to floats, and what they point to, %x with its token %t.
const prelude = `%z = constant <i32: 0> : tile<i32>
%o = constant <i32: 1> : tile<i32>
%i = iota : tile<128xi32>
%pa = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
%pb = broadcast %pa : tile<1xptr<f32>> -> tile<128xptr<f32>>
%c = offset %pb, %i : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
%x, %t = load_ptr_tko weak %c : tile<128xptr<f32>> -> tile<128xf32>, token
`

// repeat joins what f makes of 0 .. n-1.
func repeat(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
		b.WriteByte('\n')
	}
	return b.String()
}

// numbered fills a number into lines: every $ is i, every $- is i-1.
func numbered(lines string, i int) string {
	return strings.NewReplacer("$-", fmt.Sprint(i-1), "$", fmt.Sprint(i)).Replace(lines)
}

const (
	storeX = "%end = store_ptr_tko weak %c, %x : tile<128xptr<f32>>, tile<128xf32> -> token\n"
	access = `%k$ = constant <i32: $> : tile<128xi32>
%p$ = offset %c, %k$ : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
`
)

// families lists them: one per thing of which a program may have many.
var families = []family{
	{"chain of operations", func(n int) string {
		return body("%v0 = addf %x, %x : tile<128xf32>\n" + repeat(n-1, func(i int) string { return numbered("%v$ = addf %v$-, %x : tile<128xf32>", i+1) }) +
			fmt.Sprintf("%%end = store_ptr_tko weak %%c, %%v%d : tile<128xptr<f32>>, tile<128xf32> -> token\n", n-1))
	}},
	{"scalar operations", func(n int) string {
		return body("%v0 = addi %n, %n : tile<i32>\n" + repeat(n-1, func(i int) string { return numbered("%v$ = xori %v$-, %n : tile<i32>", i+1) }) +
			fmt.Sprintf("%%end = store_ptr_tko weak %%q, %%v%d : tile<ptr<i32>>, tile<i32> -> token\n", n-1))
	}},
	{"operations of one operand", func(n int) string {
		return body(repeat(n, func(i int) string { return numbered("%v$ = addf %x, %x : tile<128xf32>", i) }) + storeX)
	}},
	{"pairs of load and store", func(n int) string {
		return body("%s0 = join_tokens %t, %t : token\n" + repeat(n, func(i int) string {
			return numbered(access+`%l$, %t$ = load_ptr_tko weak %p$ token=%s$- : tile<128xptr<f32>> -> tile<128xf32>, token
%s$ = store_ptr_tko weak %p$, %l$ token=%t$ : tile<128xptr<f32>>, tile<128xf32> -> token`, i+1)
		}))
	}},
	{"loads that one token joins", func(n int) string {
		tokens := strings.TrimSuffix(strings.ReplaceAll(repeat(n, func(i int) string { return fmt.Sprintf("%%t%d, ", i) }), "\n", ""), ", ")
		return body(repeat(n, func(i int) string {
			return numbered(access+"%l$, %t$ = load_ptr_tko weak %p$ token=%t : tile<128xptr<f32>> -> tile<128xf32>, token", i)
		}) + "%all = join_tokens " + tokens + " : token\n%end = store_ptr_tko weak %c, %x token=%all : tile<128xptr<f32>>, tile<128xf32> -> token\n")
	}},
	{"chain of tokens of loads", func(n int) string {
		return body("%t0 = join_tokens %t, %t : token\n" + repeat(n, func(i int) string {
			return numbered(access+"%l$, %t$ = load_ptr_tko weak %p$ token=%t$- : tile<128xptr<f32>> -> tile<128xf32>, token", i+1)
		}) + fmt.Sprintf("%%end = store_ptr_tko weak %%c, %%x token=%%t%d : tile<128xptr<f32>>, tile<128xf32> -> token\n", n))
	}},
	{"loop of loads on one chain of tokens", func(n int) string {
		return body("%r, %rt = for %j in (%z to %n, step %o) : tile<i32> iter_values(%a0 = %x, %t0 = %t) -> (tile<128xf32>, token) {\n" + repeat(n, func(i int) string {
			return numbered(access+"%l$, %t$ = load_ptr_tko weak %p$ token=%t$- : tile<128xptr<f32>> -> tile<128xf32>, token\n%a$ = addf %a$-, %l$ : tile<128xf32>", i+1)
		}) + fmt.Sprintf("continue %%a%d, %%t%d : tile<128xf32>, token\n}\n%%end = store_ptr_tko weak %%c, %%r token=%%rt : tile<128xptr<f32>>, tile<128xf32> -> token\n", n, n))
	}},
	{"loop of loads whose addresses a load changes", func(n int) string {
		return body("%r = for %j in (%z to %n, step %o) : tile<i32> iter_values(%k0 = %i) -> (tile<128xi32>) {\n" + repeat(n, func(i int) string {
			return numbered("%k$ = muli %k$-, %i : tile<128xi32>\n%p$ = offset %c, %k$ : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>\n%l$, %t$ = load_ptr_tko weak %p$ : tile<128xptr<f32>> -> tile<128xf32>, token", i+1)
		}) + "%s0 = addf %x, %x : tile<128xf32>\n" + repeat(n, func(i int) string { return numbered("%s$ = addf %s$-, %l$ : tile<128xf32>", i+1) }) +
			fmt.Sprintf("%%next = bitcast %%s%d : tile<128xf32> -> tile<128xi32>\ncontinue %%next : tile<128xi32>\n}\n", n) + storeThroughPointers("%q", "i32", 128, "%r"))
	}},
	{"chain of joins", func(n int) string {
		return body("%j0 = join_tokens %t, %t : token\n" + repeat(n, func(i int) string {
			return numbered(access+`%t$ = store_ptr_tko weak %p$, %x token=%j$- : tile<128xptr<f32>>, tile<128xf32> -> token
%j$ = join_tokens %j$-, %t$ : token`, i+1)
		}))
	}},
	{"chain of joins that nothing else takes", func(n int) string {
		return body("%j0 = join_tokens %t, %t : token\n" + repeat(n, func(i int) string {
			return numbered(access+`%t$ = store_ptr_tko weak %p$, %x token=%t : tile<128xptr<f32>>, tile<128xf32> -> token
%j$ = join_tokens %j$-, %t$ : token`, i+1)
		}) + fmt.Sprintf("%%end = store_ptr_tko weak %%c, %%x token=%%j%d : tile<128xptr<f32>>, tile<128xf32> -> token\n", n))
	}},
	{"entries", func(n int) string {
		return "cuda_tile.module @m {\n" + repeat(n, func(i int) string {
			return numbered("entry @k$(%p: tile<ptr<i32>>) {\n%o = constant <i32: $> : tile<i32>\n%t = store_ptr_tko weak %p, %o : tile<ptr<i32>>, tile<i32> -> token\nreturn\n}", i)
		}) + "}\n"
	}},
	{"globals", func(n int) string {
		return "cuda_tile.module @m {\n" + repeat(n, func(i int) string {
			return numbered("global @g$ <i32: [1, 2, 3, $]> : tile<4xi32>", i)
		}) + "entry @k(%p: tile<ptr<i32>>) {\n%g = get_global @g0 : tile<ptr<i32>>\n%v, %t = load_ptr_tko weak %g : tile<ptr<i32>> -> tile<i32>, token\n" +
			"%e = store_ptr_tko weak %p, %v : tile<ptr<i32>>, tile<i32> -> token\nreturn\n}\n}\n"
	}},
	{"globals that a kernel takes", func(n int) string {
		return "cuda_tile.module @m {\n" + repeat(n, func(i int) string { return numbered("global @g$ <i32: [$]> : tile<1xi32>", i) }) + "entry @k(%v: tile<i32>) {\n" + repeat(8*n, func(i int) string {
			return numbered("%g$ = get_global @g", i) + fmt.Sprint(i%n) + numbered(" : tile<ptr<i32>>\n%t$ = store_ptr_tko weak %g$, %v : tile<ptr<i32>>, tile<i32> -> token", i)
		}) + "return\n}\n}\n"
	}},
	{"parameters", func(n int) string {
		return "cuda_tile.module @m {\nentry @k(%p: tile<ptr<i32>>" + strings.ReplaceAll(repeat(n, func(i int) string { return numbered(", %a$: tile<i32>", i) }), "\n", "") +
			") {\n%t = store_ptr_tko weak %p, %a0 : tile<ptr<i32>>, tile<i32> -> token\nreturn\n}\n}\n"
	}},
	{"loops one after another", func(n int) string {
		return body("%l0 = addf %x, %x : tile<128xf32>\n" + repeat(n, func(i int) string {
			return numbered(`%l$ = for %j$ in (%z to %n, step %o) : tile<i32> iter_values(%a$ = %l$-) -> (tile<128xf32>) {
%b$ = addf %a$, %x : tile<128xf32>
continue %b$ : tile<128xf32>
}`, i+1)
		}) + fmt.Sprintf("%%end = store_ptr_tko weak %%c, %%l%d : tile<128xptr<f32>>, tile<128xf32> -> token\n", n))
	}},
	{"loops in loops", func(n int) string {
		return body("%a0 = addf %x, %x : tile<128xf32>\n" + repeat(n, func(i int) string {
			return numbered("%l$ = for %j$ in (%z to %n, step %o) : tile<i32> iter_values(%a$ = %a$-) -> (tile<128xf32>) {", i+1)
		}) + fmt.Sprintf("continue %%a%d : tile<128xf32>\n}\n", n) + repeat(n-1, func(i int) string {
			return fmt.Sprintf("continue %%l%d : tile<128xf32>\n}", n-i)
		}) + "%end = store_ptr_tko weak %c, %l1 : tile<128xptr<f32>>, tile<128xf32> -> token\n")
	}},
	{"loops that count", func(n int) string {
		return body("%l0 = addf %x, %x : tile<128xf32>\n" + repeat(n, func(i int) string {
			return numbered(`%l$ = loop iter_values(%j$ = %z, %a$ = %l$-) : tile<i32>, tile<128xf32> -> tile<128xf32> {
%g$ = cmpi less_than %j$, %n, signed : tile<i32> -> tile<i1>
if %g$ {
} else {
break %a$ : tile<128xf32>
}
%k$ = addi %j$, %o : tile<i32>
%b$ = addf %a$, %x : tile<128xf32>
continue %k$, %b$ : tile<i32>, tile<128xf32>
}`, i+1)
		}) + fmt.Sprintf("%%end = store_ptr_tko weak %%c, %%l%d : tile<128xptr<f32>>, tile<128xf32> -> token\n", n))
	}},
	{"loops in loops with accesses", func(n int) string {
		return body("%s0 = join_tokens %t, %t : token\n" + repeat(n, func(i int) string {
			return numbered("%L$ = for %j$ in (%z to %n, step %o) : tile<i32> iter_values(%tt$ = %s$-) -> (token) {\n"+access+
				`%l$, %t$ = load_ptr_tko weak %p$ token=%tt$ : tile<128xptr<f32>> -> tile<128xf32>, token
%s$ = store_ptr_tko weak %p$, %l$ token=%t$ : tile<128xptr<f32>>, tile<128xf32> -> token`, i+1)
		}) + fmt.Sprintf("continue %%s%d : token\n}\n", n) + repeat(n-1, func(i int) string { return fmt.Sprintf("continue %%L%d : token\n}", n-i) }))
	}},
	{"carried scalars", func(n int) string {
		return carried(n, "%n", "tile<i32>", "%v$ = addi %a$, %n : tile<i32>", "%q", "tile<ptr<i32>>")
	}},
	{"carried tiles", func(n int) string {
		return carried(n, "%x", "tile<128xf32>", "%v$ = addf %a$, %x : tile<128xf32>", "%c", "tile<128xptr<f32>>")
	}},
	{"shifted carried values", func(n int) string {
		join := func(f func(i int) string) string {
			return strings.ReplaceAll(strings.TrimSpace(repeat(n, f)), "\n", ", ")
		}
		types := join(func(int) string { return "tile<i32>" })
		return body(join(func(i int) string { return fmt.Sprintf("%%r%d", i) }) + " = for %j in (%z to %n, step %o) : tile<i32> iter_values(" +
			join(func(i int) string { return fmt.Sprintf("%%a%d = %%n", i) }) + ") -> (" + types + ") {\ncontinue %j, " +
			strings.TrimSuffix(strings.ReplaceAll(repeat(n-1, func(i int) string { return fmt.Sprintf("%%a%d, ", i) }), "\n", ""), ", ") + " : " + types + "\n}\n" +
			repeat(n, func(i int) string {
				return numbered("%s$ = store_ptr_tko weak %q, %r$ : tile<ptr<i32>>, tile<i32> -> token", i)
			}))
	}},
	{"carried tokens that turn", func(n int) string {
		inits := repeat(n, func(i int) string { return fmt.Sprintf("%%a%d = %%t", i) })
		join := func(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", ", ") }
		return body("" + join(repeat(n, func(i int) string { return fmt.Sprintf("%%r%d", i) })) + " = for %j in (%z to %n, step %o) : tile<i32> iter_values(" + join(inits) + ") -> (" + join(repeat(n, func(int) string { return "token" })) + ") {\n" +
			"%s = store_ptr_tko weak %c, %x token=%a0 : tile<128xptr<f32>>, tile<128xf32> -> token\ncontinue " +
			join(repeat(n, func(i int) string {
				if i == n-1 {
					return "%s"
				}
				return fmt.Sprintf("%%a%d", i+1)
			})) + " : " + join(repeat(n, func(int) string { return "token" })) + "\n}\n")
	}},
	{"ifs one after another", func(n int) string {
		return body("%v0 = addi %n, %n : tile<i32>\n" + repeat(n, func(i int) string {
			return numbered(`%v$ = if %cond -> (tile<i32>) {
%w$ = addi %v$-, %n : tile<i32>
%u$ = store_ptr_tko weak %q, %w$ : tile<ptr<i32>>, tile<i32> -> token
yield %w$ : tile<i32>
} else {
yield %v$- : tile<i32>
}`, i+1)
		}) + fmt.Sprintf("%%end = store_ptr_tko weak %%q, %%v%d : tile<ptr<i32>>, tile<i32> -> token\n", n))
	}},
	{"ifs in ifs", func(n int) string {
		return body(repeat(n, func(i int) string {
			return numbered("%k$ = constant <i32: $> : tile<i32>\n%b$ = cmpi equal %n, %k$, signed : tile<i32> -> tile<i1>\nif %b$ {\n%s$ = store_ptr_tko weak %q, %n : tile<ptr<i32>>, tile<i32> -> token", i+1)
		}) + strings.Repeat("}\n", n))
	}},
	{"breaks", func(n int) string {
		return body("loop {\n" + repeat(n, func(i int) string {
			return numbered(`%k$ = constant <i32: $> : tile<i32>
%b$ = cmpi equal %n, %k$, signed : tile<i32> -> tile<i1>
if %b$ {
%s$ = store_ptr_tko weak %q, %k$ : tile<ptr<i32>>, tile<i32> -> token
break
}`, i)
		}) + "break\n}\n")
	}},
	{"scalar constants", func(n int) string {
		return body("%v0 = addi %n, %n : tile<i32>\n" + repeat(n, func(i int) string {
			return numbered("%k$ = constant <i32: 7$> : tile<i32>\n%w$ = muli %v$-, %k$ : tile<i32>\n%v$ = addi %w$, %k$ : tile<i32>", i+1)
		}) + fmt.Sprintf("%%end = store_ptr_tko weak %%q, %%v%d : tile<ptr<i32>>, tile<i32> -> token\n", n))
	}},
	{"elements of a constant", func(n int) string {
		n = powerOfTwo(n)
		return body(fmt.Sprintf("%%k = constant <i32: [%s]> : tile<%dxi32>\n", strings.TrimSuffix(strings.ReplaceAll(repeat(n, func(i int) string { return fmt.Sprint(i*7%1000, ",") }), "\n", ""), ","), n) +
			storeThroughPointers("%q", "i32", n, "%k"))
	}},
	{"elements of a tile", func(n int) string {
		n = powerOfTwo(n)
		return body(fmt.Sprintf("%%k = iota : tile<%dxi32>\n%%k2 = muli %%k, %%k : tile<%dxi32>\n", n, n) + storeThroughPointers("%q", "i32", n, "%k2"))
	}},
	{"operations on a big tile", func(n int) string {
		const tile = "tile<65536xi32>"
		return body("%v0 = iota : " + tile + "\n" + repeat(n, func(i int) string { return numbered("%v$ = muli %v$-, %v$- : "+tile, i+1) }) +
			storeThroughPointers("%q", "i32", 65536, fmt.Sprintf("%%v%d", n)))
	}},
	{"stores of one big tile", func(n int) string {
		const view, tile = "tensor_view<32768xf32, strides=[1]>", "tile<32768xf32>"
		const part = "partition_view<tile=(32768), " + view + ">"
		return body("%v = make_tensor_view %p, shape = [32768], strides = [1] : " + view + "\n%w = make_partition_view %v : " + part + "\n" +
			"%b, %t0 = load_view_tko weak %w[%z] token=%t : " + part + ", tile<i32> -> " + tile + ", token\n" + repeat(n, func(i int) string {
			return numbered("%k$ = constant <f32: $.0> : "+tile+"\n%d$ = addf %b, %k$ : "+tile+"\n%s$ = store_view_tko weak %d$, %w[%z] : "+tile+", "+part+", tile<i32> -> token", i)
		}))
	}},
	{"sum of loads", func(n int) string {
		return body("%a0 = addf %x, %x : tile<128xf32>\n" + repeat(n, func(i int) string {
			return numbered(access+"%l$, %t$ = load_ptr_tko weak %p$ : tile<128xptr<f32>> -> tile<128xf32>, token\n%a$ = addf %a$-, %l$ : tile<128xf32>", i+1)
		}) + fmt.Sprintf("%%end = store_ptr_tko weak %%c, %%a%d : tile<128xptr<f32>>, tile<128xf32> -> token\n", n))
	}},
	{"stores beside a big tile", func(n int) string {
		const tile, view = "tile<131072xf32>", "tensor_view<131072xf32, strides=[1]>"
		const big, small = "partition_view<tile=(131072), " + view + ">", "partition_view<tile=(128), " + view + ">"
		return body("%v = make_tensor_view %p, shape = [131072], strides = [1] : " + view + "\n%w = make_partition_view %v : " + big + "\n%u = make_partition_view %v : " + small + "\n" +
			"%b, %t0 = load_view_tko weak %w[%z] token=%t : " + big + ", tile<i32> -> " + tile + ", token\n%d = addf %b, %b : " + tile + "\n" +
			"%s0 = store_view_tko weak %d, %w[%z] token=%t0 : " + tile + ", " + big + ", tile<i32> -> token\n%v0 = addf %x, %x : tile<128xf32>\n" +
			repeat(4*n, func(i int) string { return numbered("%v$ = addf %v$-, %x : tile<128xf32>", i+1) }) + repeat(n, func(i int) string {
			return numbered("%k$ = constant <i32: $> : tile<i32>\n%s$ = store_view_tko weak %v", i+1) + fmt.Sprint(4*n) + numbered(", %u[%k$] token=%s$- : tile<128xf32>, "+small+", tile<i32> -> token", i+1)
		}))
	}},
	{"reductions of a big tile", func(n int) string {
		return body("%v0 = iota : tile<65536xi32>\n" + repeat(n, func(i int) string {
			return numbered("%v$ = muli %v$-, %v0 : tile<65536xi32>\n"+sum("%r$", "%v$", "65536xi32")+`%k$ = constant <i32: $> : tile<i32>
%p$ = offset %q, %k$ : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
%s$ = store_ptr_tko weak %p$, %r$ : tile<ptr<i32>>, tile<i32> -> token`, i+1)
		}))
	}},
	{"reductions", func(n int) string {
		return body("%v0 = iota : tile<128xi32>\n" + repeat(n, func(i int) string {
			return numbered(sum("%r$", "%v$-", "128xi32")+"%e$ = reshape %r$ : tile<i32> -> tile<1xi32>\n%f$ = broadcast %e$ : tile<1xi32> -> tile<128xi32>\n%v$ = addi %v$-, %f$ : tile<128xi32>", i+1)
		}) + storeThroughPointers("%q", "i32", 128, fmt.Sprintf("%%v%d", n)))
	}},
	{"costly values that one store wants", func(n int) string {
		return body("%s0 = itof %i signed : tile<128xi32> -> tile<128xf32>\n" + repeat(n, func(i int) string {
			return numbered("%k$ = constant <f32: $.5> : tile<128xf32>\n%b$ = addf %s0, %k$ : tile<128xf32>\n%e$ = exp %b$ : tile<128xf32>\n%s$ = addf %s$-, %e$ : tile<128xf32>", i+1)
		}) + fmt.Sprintf("%%end = store_ptr_tko weak %%c, %%s%d : tile<128xptr<f32>>, tile<128xf32> -> token\n", n))
	}},
	{"transposed tiles", func(n int) string {
		return body("%v0 = reshape %x : tile<128xf32> -> tile<16x8xf32>\n" + repeat(n, func(i int) string {
			return numbered("%a$ = permute %v$- [1, 0] : tile<16x8xf32> -> tile<8x16xf32>\n%b$ = reshape %a$ : tile<8x16xf32> -> tile<16x8xf32>\n%v$ = addf %b$, %v$- : tile<16x8xf32>", i+1)
		}) + fmt.Sprintf("%%e = reshape %%v%d : tile<16x8xf32> -> tile<128xf32>\n%%end = store_ptr_tko weak %%c, %%e : tile<128xptr<f32>>, tile<128xf32> -> token\n", n))
	}},
	{"products", func(n int) string {
		return body(loadThroughView("16x16") + "%v0 = constant <f32: 1.0> : tile<16x16xf32>\n%h = ftof %m : tile<16x16xf32> -> tile<16x16xf16>\n" + repeat(n, func(i int) string {
			return numbered(`%v$ = for %j$ in (%z to %n, step %o) : tile<i32> iter_values(%a$ = %v$-) -> (tile<16x16xf32>) {
%d$ = mmaf %h, %h, %a$ : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>
continue %d$ : tile<16x16xf32>
}`, i+1)
		}) + fmt.Sprintf("%%end = store_view_tko weak %%v%d, %%s[%%z, %%z] : tile<16x16xf32>, partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>, tile<i32> -> token\n", n))
	}},
	{"cheap values that meet again, before a product", func(n int) string {
		n /= 32 // chains beyond a length are not made again
		const tile = "tile<16x16xf32>"
		return body(blocks + halfFactor + "%j0 = iota : tile<16xi32>\n%j1 = reshape %j0 : tile<16xi32> -> tile<1x16xi32>\n" +
			"%j2 = broadcast %j1 : tile<1x16xi32> -> tile<16x16xi32>\n%v0 = itof %j2 signed : tile<16x16xi32> -> " + tile + "\n" +
			repeat(n, func(i int) string { return numbered("%v$ = fma %v$-, %v$-, %v$- : "+tile, i+1) }) +
			"%r = for %j in (%z to %n, step %o) : tile<i32> iter_values(%a = %v) -> (" + tile + ") {\n" +
			"%d = mmaf %h, %h, %a : tile<16x16xf16>, tile<16x16xf16>, " + tile + "\ncontinue %d : " + tile + "\n}\n" +
			fmt.Sprintf("%%s = addf %%r, %%v%d : ", n) + tile + "\n%end = store_view_tko weak %s, %ob[%z, %z] : " + tile + ", " + block + ", tile<i32> -> token\n")
	}},
	{"quotients on the way to pointers of a factor", func(n int) string {
		const tile, numbers, pointers = "tile<16x16xf32>", "tile<16x16xi32>", "tile<16x16xptr<f16>>"
		return body(blocks + halfFactor + "%n1 = reshape %n : tile<i32> -> tile<1x1xi32>\n%ns = broadcast %n1 : tile<1x1xi32> -> " + numbers + "\n%j0 = iota : tile<16xi32>\n" +
			"%j1 = reshape %j0 : tile<16xi32> -> tile<1x16xi32>\n%j2 = broadcast %j1 : tile<1x16xi32> -> " + numbers + "\n%v0 = addi %j2, %ns : " + numbers + "\n" +
			repeat(n, func(i int) string {
				return numbered("%w$ = remi %v$-, %ns signed : "+numbers+"\n%v$ = addi %w$, %ns : "+numbers, i+1)
			}) +
			"%g0 = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f16>>\n%g1 = reshape %g0 : tile<ptr<f16>> -> tile<1x1xptr<f16>>\n%g2 = broadcast %g1 : tile<1x1xptr<f16>> -> " + pointers + "\n" +
			fmt.Sprintf("%%g3 = offset %%g2, %%v%d : ", n) + pointers + ", " + numbers + " -> " + pointers + "\n" +
			"%r = for %j in (%z to %n, step %o) : tile<i32> iter_values(%a = %v) -> (" + tile + ") {\n%f, %ft = load_ptr_tko weak %g3 : " + pointers + " -> tile<16x16xf16>, token\n" +
			"%d = mmaf %h, %f, %a : tile<16x16xf16>, tile<16x16xf16>, " + tile + "\ncontinue %d : " + tile + "\n}\n" +
			"%end = store_view_tko weak %r, %ob[%z, %z] : " + tile + ", " + block + ", tile<i32> -> token\n")
	}},
	{"chain of products", func(n int) string {
		return body(loadThroughView("16x16") + "%v0 = constant <f32: 1.0> : tile<16x16xf32>\n%h = ftof %m : tile<16x16xf32> -> tile<16x16xf16>\n" + repeat(n, func(i int) string {
			return numbered("%v$ = mmaf %h, %h, %v$- : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>", i+1)
		}) + fmt.Sprintf("%%end = store_view_tko weak %%v%d, %%s[%%z, %%z] : tile<16x16xf32>, partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>, tile<i32> -> token\n", n))
	}},
	{"products of one left factor", func(n int) string {
		return sharing("%v$ = mmaf %h, %f$, %v$- : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>", n)
	}},
	{"products of one right factor", func(n int) string {
		return sharing("%v$ = mmaf %f$, %h, %v$- : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>", n)
	}},
	{"products of one factor, stored", func(n int) string {
		return body(halfFactor + blocks + repeat(n, func(i int) string {
			return numbered("%k$ = constant <i32: $> : tile<i32>\n%b$, %bt$ = load_view_tko weak %hb[%k$, %z] : "+halfBlock+", tile<i32> -> tile<16x16xf16>, token\n"+
				"%v$ = mmaf %h, %b$, %v : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>\n%s$ = store_view_tko weak %v$, %ob[%k$, %z] : tile<16x16xf32>, "+block+", tile<i32> -> token", i)
		}))
	}},
	{"products of single precision, stored", func(n int) string {
		return body(blocks + repeat(n, func(i int) string {
			return numbered("%k$ = constant <i32: $> : tile<i32>\n%x$, %xt$ = load_view_tko weak %ob[%k$, %z] : "+block+", tile<i32> -> tile<16x16xf32>, token\n"+
				"%y$, %yt$ = load_view_tko weak %ob[%k$, %n] : "+block+", tile<i32> -> tile<16x16xf32>, token\n"+
				"%v$ = mmaf %x$, %y$, %v : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>\n%s$ = store_view_tko weak %v$, %ob[%k$, %o] : tile<16x16xf32>, "+block+", tile<i32> -> token", i)
		}))
	}},
	{"products of loads in one loop", func(n int) string {
		return body(blocks + "%r = for %j in (%z to %n, step %o) : tile<i32> iter_values(%d0 = %v) -> (tile<16x16xf32>) {\n" + repeat(n, func(i int) string {
			return numbered(`%k$ = constant <i32: $> : tile<i32>
%b$ = addi %j, %k$ : tile<i32>
%x$, %xt$ = load_view_tko weak %hb[%b$, %z] : `+halfBlock+`, tile<i32> -> tile<16x16xf16>, token
%y$, %yt$ = load_view_tko weak %hb[%b$, %o] : `+halfBlock+`, tile<i32> -> tile<16x16xf16>, token
%d$ = mmaf %x$, %y$, %d$- : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>`, i+1)
		}) + fmt.Sprintf("continue %%d%d : tile<16x16xf32>\n}\n%%end = store_view_tko weak %%r, %%ob[%%z, %%z] : tile<16x16xf32>, "+block+", tile<i32> -> token\n", n))
	}},
	{"loops over products of loads", func(n int) string {
		return body(blocks + repeat(n, func(i int) string {
			return numbered(`%k$ = constant <i32: $> : tile<i32>
%v$ = for %j$ in (%z to %n, step %o) : tile<i32> iter_values(%a$ = %v) -> (tile<16x16xf32>) {
%x$, %xt$ = load_view_tko weak %hb[%j$, %z] : `+halfBlock+`, tile<i32> -> tile<16x16xf16>, token
%y$, %yt$ = load_view_tko weak %hb[%k$, %z] : `+halfBlock+`, tile<i32> -> tile<16x16xf16>, token
%d$ = mmaf %x$, %y$, %a$ : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>
continue %d$ : tile<16x16xf32>
}
%s$ = store_view_tko weak %v$, %ob[%k$, %z] : tile<16x16xf32>, `+block+", tile<i32> -> token", i)
		}))
	}},
	{"reconverging values behind a copy", func(n int) string {
		const load, store = "partition_view<tile=(32x32), tensor_view<?x16xf16, strides=[16,1]>>", "partition_view<tile=(32x32), tensor_view<?x16xf32, strides=[16,1]>>"
		const half, tile = "tile<32x32xf16>", "tile<32x32xf32>"
		get := func(names, at string) string {
			return names + " = load_view_tko weak %lb[" + at + "] : " + load + ", tile<i32> -> " + half + ", token\n"
		}
		return body(blocks + "%lb = make_partition_view %bw : " + load + "\n%sb = make_partition_view %ow : " + store + "\n%u = constant <f32: 0.0> : " + tile + "\n" +
			get("%l, %lt", "%z, %z") + "%s = for %j in (%z to %n, step %o) : tile<i32> iter_values(%a = %u) -> (" + tile + ") {\n" +
			get("%r, %rt", "%j, %z") + get("%b, %bt", "%j, %o") + "%d = mmaf %l, %r, %u : " + half + ", " + half + ", " + tile + "\n" +
			"%w = ftof %b : " + half + " -> " + tile + "\n%v0 = addf %d, %w : " + tile + "\n" +
			repeat(n, func(i int) string { return numbered("%v$ = addf %v$-, %v$- : "+tile, i+1) }) +
			fmt.Sprintf("%%f = ftof %%v%d : %s -> %s\n", n, tile, half) + "%g = mmaf %f, %r, %a : " + half + ", " + half + ", " + tile + "\ncontinue %g : " + tile + "\n}\n" +
			"%end = store_view_tko weak %s, %sb[%z, %z] : " + tile + ", " + store + ", tile<i32> -> token\n")
	}},
	{"loops of attention", func(n int) string {
		return body(blocks + halfFactor + repeat(n, func(i int) string {
			return numbered(`%k$ = constant <i32: $> : tile<i32>
%v$ = for %j$ in (%z to %n, step %o) : tile<i32> iter_values(%a$ = %v) -> (tile<16x16xf32>) {
%x$, %xt$ = load_view_tko weak %hb[%j$, %z] : `+halfBlock+`, tile<i32> -> tile<16x16xf16>, token
%y$, %yt$ = load_view_tko weak %hb[%k$, %j$] : `+halfBlock+`, tile<i32> -> tile<16x16xf16>, token
%d$ = mmaf %h, %x$, %v : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>
%e$ = exp2 %d$ : tile<16x16xf32>
%f$ = ftof %e$ : tile<16x16xf32> -> tile<16x16xf16>
%g$ = mmaf %f$, %y$, %a$ : tile<16x16xf16>, tile<16x16xf16>, tile<16x16xf32>
continue %g$ : tile<16x16xf32>
}
%s$ = store_view_tko weak %v$, %ob[%k$, %z] : tile<16x16xf32>, `+block+", tile<i32> -> token", i)
		}))
	}},
	{"transposed blocks", func(n int) string {
		return body(blocks + repeat(n, func(i int) string {
			return numbered("%k$ = constant <i32: $> : tile<i32>\n%b$, %bt$ = load_view_tko weak %ob[%k$, %z] : "+block+", tile<i32> -> tile<16x16xf32>, token\n"+
				"%r$ = permute %b$ [1, 0] : tile<16x16xf32> -> tile<16x16xf32>\n%s$ = store_view_tko weak %r$, %ob[%k$, %z] token = %bt$ : tile<16x16xf32>, "+block+", tile<i32> -> token", i)
		}))
	}},
	{"memory of a block", func(n int) string {
		return body(repeat(n, func(i int) string {
			return numbered(`%a$ = alloca num_elem = 4, alignment = 16 : tile<ptr<i32>>
%s$ = store_ptr_tko weak %a$, %n : tile<ptr<i32>>, tile<i32> -> token
%l$, %lt$ = load_ptr_tko weak %a$ token = %s$ : tile<ptr<i32>> -> tile<i32>, token
%e$ = store_ptr_tko weak %q, %l$ token = %lt$ : tile<ptr<i32>>, tile<i32> -> token`, i)
		}))
	}},
	{"views", func(n int) string {
		const view = "tensor_view<128xf32, strides=[1]>"
		return body(repeat(n, func(i int) string {
			return numbered("%k$ = constant <i32: $> : tile<i32>\n%w$ = make_tensor_view %p, shape = [128], strides = [1] : "+view+"\n%s$ = make_partition_view %w$ : partition_view<tile=(128), "+view+
				">\n%y$, %t$ = load_view_tko weak %s$[%k$] : partition_view<tile=(128), "+view+">, tile<i32> -> tile<128xf32>, token\n"+
				"%u$ = store_view_tko weak %y$, %s$[%n] token = %t$ : tile<128xf32>, partition_view<tile=(128), "+view+">, tile<i32> -> token", i)
		}))
	}},
	{"accesses of a view in a loop", func(n int) string {
		const view = "partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>"
		return body("%w = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>\n%s = make_partition_view %w : " + view +
			"\nfor %j in (%z to %n, step %o) : tile<i32> {\n" + repeat(n, func(i int) string {
			return numbered("%k$ = constant <i32: $> : tile<i32>\n%m$ = addi %j, %k$ : tile<i32>\n%y$, %t$ = load_view_tko weak %s[%m$] : "+view+", tile<i32> -> tile<128xf32>, token\n"+
				"%e$ = exp %y$ : tile<128xf32>\n%u$ = store_view_tko weak %e$, %s[%m$] token = %t$ : tile<128xf32>, "+view+", tile<i32> -> token", i)
		}) + "continue\n}\n")
	}},
	{"prints", func(n int) string {
		return body(repeat(n, func(i int) string { return numbered("%t$ = print_tko \"%d of $\\n\", %n : tile<i32> -> token", i) }))
	}},
	{"atomics", func(n int) string {
		return body("%t0 = join_tokens %t, %t : token\n" + repeat(n, func(i int) string {
			return numbered("%v$, %t$ = atomic_rmw_tko relaxed device %q, add, %n token=%t$- : tile<ptr<i32>>, tile<i32> -> tile<i32>, token", i+1)
		}))
	}},
}

// halfFactor loads a tile %h of f16 that becomes a factor as it is.
const halfFactor = `%hp = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f16>>
%hw = make_tensor_view %hp, shape = [16, 16], strides = [16, 1] : tensor_view<16x16xf16, strides=[16,1]>
%hs = make_partition_view %hw : partition_view<tile=(16x16), tensor_view<16x16xf16, strides=[16,1]>>
%h, %ht = load_view_tko weak %hs[%z, %z] : partition_view<tile=(16x16), tensor_view<16x16xf16, strides=[16,1]>>, tile<i32> -> tile<16x16xf16>, token
`

// blocks are 16x16 ones of an array of f32, %ob, and of one of f16, %hb, and zeros, %v.
const (
	block     = "partition_view<tile=(16x16), tensor_view<?x16xf32, strides=[16,1]>>"
	halfBlock = "partition_view<tile=(16x16), tensor_view<?x16xf16, strides=[16,1]>>"
	blocks    = `%ow = make_tensor_view %p, shape = [%n, 16], strides = [16, 1] : tile<i32> -> tensor_view<?x16xf32, strides=[16,1]>
%ob = make_partition_view %ow : ` + block + `
%bp = ptr_to_ptr %p : tile<ptr<f32>> -> tile<ptr<f16>>
%bw = make_tensor_view %bp, shape = [%n, 16], strides = [16, 1] : tile<i32> -> tensor_view<?x16xf16, strides=[16,1]>
%hb = make_partition_view %bw : ` + halfBlock + `
%v = constant <f32: 0.0> : tile<16x16xf32>
`
)

// sharing is a chain of products that share the factor %h, each of the rounded sums of the one before.
func sharing(product string, n int) string {
	return body(loadThroughView("16x16") + halfFactor + "%v0 = constant <f32: 1.0> : tile<16x16xf32>\n" + repeat(n, func(i int) string {
		return numbered("%f$ = ftof %v$- : tile<16x16xf32> -> tile<16x16xf16>\n"+product, i+1)
	}) + fmt.Sprintf("%%end = store_view_tko weak %%v%d, %%s[%%z, %%z] : tile<16x16xf32>, partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>, tile<i32> -> token\n", n))
}

func powerOfTwo(n int) int {
	p := 1
	for p*2 <= n {
		p *= 2
	}
	return p
}

// sum reduces a tile.
func sum(result, tile, shape string) string {
	return fmt.Sprintf("%s = reduce %s dim=0 identities=[0 : i32] : tile<%s> -> tile<i32>\n(%%m$: tile<i32>, %%n$: tile<i32>) {\n%%h$ = addi %%m$, %%n$ : tile<i32>\nyield %%h$ : tile<i32>\n}\n",
		result, tile, shape)
}

// storeThroughPointers stores n elements.
func storeThroughPointers(base, elem string, n int, value string) string {
	return fmt.Sprintf(`%%ei = iota : tile<%[3]dxi32>
%%ea = reshape %[1]s : tile<ptr<%[2]s>> -> tile<1xptr<%[2]s>>
%%eb = broadcast %%ea : tile<1xptr<%[2]s>> -> tile<%[3]dxptr<%[2]s>>
%%ec = offset %%eb, %%ei : tile<%[3]dxptr<%[2]s>>, tile<%[3]dxi32> -> tile<%[3]dxptr<%[2]s>>
%%end = store_ptr_tko weak %%ec, %[4]s : tile<%[3]dxptr<%[2]s>>, tile<%[3]dx%[2]s> -> token
`, base, elem, n, value)
}

// loadThroughView loads the tile %m of a 16x16 array through the view %s.
func loadThroughView(shape string) string {
	return fmt.Sprintf(`%%w = make_tensor_view %%p, shape = [16, 16], strides = [16, 1] : tensor_view<%[1]sxf32, strides=[16,1]>
%%s = make_partition_view %%w : partition_view<tile=(%[1]s), tensor_view<%[1]sxf32, strides=[16,1]>>
%%m, %%mt = load_view_tko weak %%s[%%z, %%z] : partition_view<tile=(%[1]s), tensor_view<%[1]sxf32, strides=[16,1]>>, tile<i32> -> tile<%[1]sxf32>, token
`, shape)
}

// carried is a loop that carries n values.
func carried(n int, init, typ, step, base, ptr string) string {
	join := func(f func(i int) string) string {
		return strings.ReplaceAll(strings.TrimSpace(repeat(n, f)), "\n", ", ")
	}
	types := join(func(int) string { return typ })
	return body(join(func(i int) string { return fmt.Sprintf("%%r%d", i) }) + " = for %j in (%z to %n, step %o) : tile<i32> iter_values(" +
		join(func(i int) string { return fmt.Sprintf("%%a%d = %s", i, init) }) + ") -> (" + types + ") {\n" +
		repeat(n, func(i int) string { return numbered(step, i) }) +
		"continue " + join(func(i int) string { return fmt.Sprintf("%%v%d", i) }) + " : " + types + "\n}\n" +
		repeat(n, func(i int) string {
			return numbered(fmt.Sprintf("%%s$ = store_ptr_tko weak %s, %%r$ : %s, %s -> token", base, ptr, typ), i)
		}))
}
