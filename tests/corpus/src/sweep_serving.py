"""Kernels that serve models, for sweep.py: attention of tokens over pages, latents, parts and lists of blocks, experts,
weights and activations of few bits, sampling and caches."""
import math

import cuda.tile as ct
from cuda.tile import PaddingMode as PM

from perf import A, C, K, LOG2E, S, ZEROS
from sweep_fused import weighed


def ints(low, high):
    return {"kind": "uniform_int", "lo": low, "hi": high}


@ct.kernel
def attention_paged(q, k, v, pages, lengths, out, scale, G: C, P: C, D: C):
    """A token's attention over pages of P keys, which a table lists."""
    n, h = ct.bid(0), ct.bid(1)
    length = ct.gather(lengths, n)
    a = ct.load(q, (n, h, 0, 0), (1, 1, G, D)).reshape((G, D))
    m = ct.full((G, 1), -1e30, ct.float32)
    s = ct.zeros((G, 1), ct.float32)
    acc = ct.zeros((G, D), ct.float32)
    for i in range(ct.cdiv(length, P)):
        page = ct.gather(pages, (n, i))
        b = ct.load(k, (page, h, 0, 0), (1, 1, P, D)).reshape((P, D))
        p = ct.mma(a, ct.transpose(b), ct.zeros((G, P), ct.float32)) * (scale * LOG2E)
        p = ct.where(i * P + ct.arange(P, dtype=ct.int32)[None, :] < length, p, -float("inf"))
        p, turn, m, s = weighed(p, m, s)
        c = ct.load(v, (page, h, 0, 0), (1, 1, P, D)).reshape((P, D))
        acc = ct.mma(p.astype(v.dtype), c, acc * turn)
    ct.store(out, (n, h, 0, 0), (acc / s).astype(out.dtype).reshape((1, 1, G, D)))


@ct.kernel
def attention_mla(q, qr, latent, turned, lengths, out, lse, scale, H: C, TN: C, D: C, R: C):
    """Keys are a latent of D and R turned columns, which all heads share; values are the latent."""
    n, h = ct.bid(0), ct.bid(1)
    length = ct.gather(lengths, n)
    a = ct.load(q, (n, h, 0), (1, H, D)).reshape((H, D))
    b = ct.load(qr, (n, h, 0), (1, H, R)).reshape((H, R))
    m = ct.full((H, 1), -1e30, ct.float32)
    s = ct.zeros((H, 1), ct.float32)
    acc = ct.zeros((H, D), ct.float32)
    for j in range(ct.cdiv(length, TN)):
        c = ct.load(latent, (n, j, 0), (1, TN, D), padding_mode=PM.ZERO).reshape((TN, D))
        r = ct.load(turned, (n, j, 0), (1, TN, R), padding_mode=PM.ZERO).reshape((TN, R))
        p = ct.mma(a, ct.transpose(c), ct.zeros((H, TN), ct.float32))
        p = ct.mma(b, ct.transpose(r), p) * (scale * LOG2E)
        p = ct.where(j * TN + ct.arange(TN, dtype=ct.int32)[None, :] < length, p, -float("inf"))
        p, turn, m, s = weighed(p, m, s)
        acc = ct.mma(p.astype(c.dtype), c, acc * turn)
    ct.store(out, (n, h, 0), (acc / s).astype(out.dtype).reshape((1, H, D)))
    ct.store(lse, (n, h), (m / LOG2E + ct.log(s)).reshape((1, H)))


@ct.kernel
def attention_split(q, k, v, results, largest, sums, scale, PARTS: C, G: C, TN: C, D: C):
    """One of PARTS parts of the keys: its result before division, its largest score and its sum."""
    z, h, n = ct.bid(0), ct.bid(1), ct.bid(2)
    tiles = ct.cdiv(k.shape[2], TN)
    each = ct.cdiv(tiles, PARTS)
    a = ct.load(q, (n, h, 0, 0), (1, 1, G, D)).reshape((G, D))
    m = ct.full((G, 1), -1e30, ct.float32)
    s = ct.zeros((G, 1), ct.float32)
    acc = ct.zeros((G, D), ct.float32)
    for j in range(z * each, min(z * each + each, tiles)):
        b = ct.load(k, (n, h, j, 0), (1, 1, TN, D), padding_mode=PM.ZERO).reshape((TN, D))
        p = ct.mma(a, ct.transpose(b), ct.zeros((G, TN), ct.float32)) * (scale * LOG2E)
        p = ct.where(j * TN + ct.arange(TN, dtype=ct.int32)[None, :] < k.shape[2], p, -float("inf"))
        p, turn, m, s = weighed(p, m, s)
        c = ct.load(v, (n, h, j, 0), (1, 1, TN, D), padding_mode=PM.ZERO).reshape((TN, D))
        acc = ct.mma(p.astype(v.dtype), c, acc * turn)
    ct.store(results, (n, h, z, 0, 0), acc.reshape((1, 1, 1, G, D)))
    ct.store(largest, (n, h, z, 0), m.reshape((1, 1, 1, G)))
    ct.store(sums, (n, h, z, 0), s.reshape((1, 1, 1, G)))


@ct.kernel
def merge_parts(results, largest, sums, out, PARTS: C, G: C, D: C):
    """The parts of a split attention."""
    h, n = ct.bid(0), ct.bid(1)
    m = ct.load(largest, (n, h, 0, 0), (1, 1, PARTS, G)).reshape((PARTS, G))
    s = ct.load(sums, (n, h, 0, 0), (1, 1, PARTS, G)).reshape((PARTS, G))
    w = ct.exp2(m - ct.max(m, axis=0, keepdims=True))
    r = ct.load(results, (n, h, 0, 0, 0), (1, 1, PARTS, G, D)).reshape((PARTS, G, D))
    r = ct.sum(r * w[:, :, None], axis=0) / ct.sum(w * s, axis=0)[:, None]
    ct.store(out, (n, h, 0, 0), r.astype(out.dtype).reshape((1, 1, G, D)))


@ct.kernel(occupancy=2)
def attention_window(q, k, v, sink, out, scale, WINDOW: C, TM: C, TN: C, D: C):
    """Each token sees the last WINDOW of (batch, token, head, d), and a sink for each head."""
    i, h, n = ct.bid(0), ct.bid(1), ct.bid(2)
    rows = i * TM + ct.arange(TM, dtype=ct.int32)[:, None]
    a = ct.load(q, (n, i, h, 0), (1, TM, 1, D), padding_mode=PM.ZERO).reshape((TM, D))
    m = ct.full((TM, 1), 1.0, ct.float32) * (ct.gather(sink, h) * LOG2E)
    s = ct.full((TM, 1), 1.0, ct.float32)
    acc = ct.zeros((TM, D), ct.float32)
    for j in range(max(0, (i * TM - WINDOW + 1) // TN), min(ct.cdiv(k.shape[1], TN), ct.cdiv((i + 1) * TM, TN))):
        b = ct.load(k, (n, j, h, 0), (1, TN, 1, D), padding_mode=PM.ZERO).reshape((TN, D))
        p = ct.mma(a, ct.transpose(b), ct.zeros((TM, TN), ct.float32)) * (scale * LOG2E)
        away = rows - (j * TN + ct.arange(TN, dtype=ct.int32)[None, :])
        p = ct.where((away >= 0) & (away < WINDOW), p, -float("inf"))
        p, turn, m, s = weighed(p, m, s)
        c = ct.load(v, (n, j, h, 0), (1, TN, 1, D), padding_mode=PM.ZERO).reshape((TN, D))
        acc = ct.mma(p.astype(v.dtype), c, acc * turn)
    ct.store(out, (n, i, h, 0), (acc / s).astype(out.dtype).reshape((1, TM, 1, D)))


@ct.kernel
def attention_packed(q, k, v, starts, out, scale, TM: C, TN: C, D: C):
    """Sequences one behind the other, (token, head, d), whose tiles begin anywhere."""
    i, h, n = ct.bid(0), ct.bid(1), ct.bid(2)
    first, length = ct.gather(starts, n), ct.gather(starts, n + 1) - ct.gather(starts, n)
    if i * TM < length:
        rows = (i * TM + ct.arange(TM, dtype=ct.int32))[:, None]
        d = ct.arange(D, dtype=ct.int32)
        a = ct.gather(q, (first + rows, h, d[None, :]), mask=rows < length)
        m = ct.full((TM, 1), -1e30, ct.float32)
        s = ct.zeros((TM, 1), ct.float32)
        acc = ct.zeros((TM, D), ct.float32)
        for j in range(0, length, TN):
            cols = j + ct.arange(TN, dtype=ct.int32)
            b = ct.gather(k, (first + cols[None, :], h, d[:, None]), mask=cols[None, :] < length)
            p = ct.mma(a, b, ct.zeros((TM, TN), ct.float32)) * (scale * LOG2E)
            p = ct.where(cols[None, :] < length, p, -float("inf"))
            p, turn, m, s = weighed(p, m, s)
            c = ct.gather(v, (first + cols[:, None], h, d[None, :]), mask=cols[:, None] < length)
            acc = ct.mma(p.astype(v.dtype), c, acc * turn)
        ct.scatter(out, (first + rows, h, d[None, :]), (acc / s).astype(out.dtype), mask=rows < length)


@ct.kernel
def attention_blocks(q, k, v, offsets, columns, out, scale, TM: C, TN: C, D: C):
    """A list says which tiles of keys a tile of queries sees."""
    i, h = ct.bid(0), ct.bid(1)
    a = ct.load(q, (h, i, 0), (1, TM, D)).reshape((TM, D))
    m = ct.full((TM, 1), -1e30, ct.float32)
    s = ct.zeros((TM, 1), ct.float32)
    acc = ct.zeros((TM, D), ct.float32)
    for t in range(ct.gather(offsets, (h, i)), ct.gather(offsets, (h, i + 1))):
        j = ct.gather(columns, (h, t))
        b = ct.load(k, (h, 0, j), (1, D, TN), order=(0, 2, 1)).reshape((D, TN))
        p = ct.mma(a, b, ct.zeros((TM, TN), ct.float32)) * (scale * LOG2E)
        p, turn, m, s = weighed(p, m, s)
        c = ct.load(v, (h, j, 0), (1, TN, D)).reshape((TN, D))
        acc = ct.mma(p.astype(v.dtype), c, acc * turn)
    ct.store(out, (h, i, 0), (acc / s).astype(out.dtype).reshape((1, TM, D)))


@ct.kernel
def gemm_experts(a, b, ids, weights, experts, used, c, TOP: C, TM: C, TN: C, TK: C):
    """Pairs of tokens and experts, sorted by expert and padded to TM; each is weighted."""
    i, j = ct.bid(1), ct.bid(0)
    if i * TM < ct.gather(used, 0):
        pairs = ct.load(ids, (i,), (TM,))
        live = pairs < a.shape[0] * TOP
        expert = ct.gather(experts, i)
        acc = ct.zeros((TM, TN), ct.float32)
        for k in range(ct.cdiv(a.shape[1], TK)):
            q = k * TK + ct.arange(TK, dtype=ct.int32)
            x = ct.gather(a, ((pairs // TOP)[:, None], q[None, :]), mask=live[:, None], padding_value=0)
            w = ct.load(b, (expert, j, k), (1, TN, TK), padding_mode=PM.ZERO).reshape((TN, TK))
            acc = ct.mma(x, ct.transpose(w), acc)
        acc = acc * ct.gather(weights, pairs, mask=live, padding_value=0)[:, None]
        q = j * TN + ct.arange(TN, dtype=ct.int32)
        ct.scatter(c, (pairs[:, None], q[None, :]), acc.astype(c.dtype), mask=live[:, None])


@ct.kernel
def gemm_jagged(a, b, offsets, c, TM: C, TN: C, TK: C):
    """The rows of each expert are a slice of A and of C, tiles beyond whose end are cut off."""
    i, j, e = ct.bid(0), ct.bid(1), ct.bid(2)
    low, high = ct.gather(offsets, e), ct.gather(offsets, e + 1)
    if i * TM < high - low:
        rows = a.slice(0, low, high)
        acc = ct.zeros((TM, TN), ct.float32)
        for k in range(ct.cdiv(a.shape[1], TK)):
            x = ct.load(rows, (i, k), (TM, TK), padding_mode=PM.ZERO)
            w = ct.load(b, (e, k, j), (1, TK, TN), padding_mode=PM.ZERO).reshape((TK, TN))
            acc = ct.mma(x, w, acc)
        ct.store(c.slice(0, low, high), (i, j), acc.astype(c.dtype))


@ct.kernel
def gemm_gptq(a, b, zeros, scales, c, TM: C, TN: C, TK: C, GROUP: C):
    """Eight weights of 4 bits in 32 bits, along K; zero points lie so along N."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    shifts = ct.arange(8, dtype=ct.int32) * 4
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        w = ct.load(b, (k, j), (TK // 8, TN)).reshape((TK // 8, 1, TN))
        w = ((w >> shifts[None, :, None]) & 15).reshape((TK, TN))
        g = k * TK // GROUP
        z = ct.load(zeros, (g, j), (1, TN // 8)).reshape((TN // 8, 1))
        z = ((z >> shifts[None, :]) & 15).reshape((1, TN))
        y = (w - z - 1).astype(ct.float16) * ct.load(scales, (g, j), (1, TN))
        acc = ct.mma(ct.load(a, (i, k), (TM, TK)), y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def gemm_rowscaled(a, sa, b, sb, c, TM: C, TN: C, TK: C):
    """Scales for rows and columns behind the loop, tiles in groups of eight rows, fast sums."""
    high, wide = ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[0], TN)
    group, t = ct.bid(0) // (8 * wide), ct.bid(0) % (8 * wide)
    rows = min(high - group * 8, 8)
    i, j = group * 8 + t % rows, t // rows
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        y = ct.load(b, (k, j), (TK, TN), order=(1, 0), padding_mode=PM.ZERO)
        acc = ct.mma(x, y, acc, use_fast_acc=True)
    t = acc * ct.load(sa, (i,), (TM,))[:, None] * ct.load(sb, (j,), (TN,))[None, :]
    ct.store(c, (i, j), t.astype(c.dtype))


@ct.kernel
def gemm_requantized(a, b, bias, factors, c, za, zc, TM: C, TN: C, TK: C):
    """Bytes with a zero point by weights of 8 bits; sums become bytes by a factor for each column."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.int32)
    sums = ct.zeros((TN,), ct.int32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        w = ct.load(b, (j, k), (TN, TK), padding_mode=PM.ZERO)
        acc = ct.mma(ct.bitcast(x ^ 128, ct.int8), ct.transpose(w), acc)
        sums += ct.sum(w.astype(ct.int32), axis=1)
    t = acc + ((128 - za) * sums + ct.load(bias, (j,), (TN,)))[None, :]
    t = t.astype(ct.int64) * ct.load(factors, (j,), (TN,))[None, :].astype(ct.int64)
    t = ((t + (1 << 30)) >> 31).astype(ct.int32) + zc
    ct.store(c, (i, j), ct.minimum(ct.maximum(t, 0), 255).astype(ct.uint8))


@ct.function
def chance(x):
    """A number from 0 to 1 that follows from 32 bits."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return ((x ^ (x >> 16)) >> 8).astype(ct.float32) * (1.0 / (1 << 24))


@ct.kernel
def gumbel(x, heat, seeds, out, T: C):
    """A token of each row, by the largest of scores and noise; without heat by the largest score."""
    i = ct.bid(0)
    t, seed = ct.gather(heat, i), ct.gather(seeds, i)
    best = ct.full((T,), -float("inf"), ct.float32)
    at = ct.zeros((T,), ct.int32)
    for k in range(ct.cdiv(x.shape[1], T)):
        c = k * T + ct.arange(T, dtype=ct.int32)
        v = ct.load(x, (i, k), (1, T), padding_mode=PM.NEG_INF).reshape((T,)).astype(ct.float32)
        noise = -ct.log(-ct.log(chance(c.astype(ct.uint32) * 0x85EBCA6B + seed) + 1e-7))
        v = ct.where(t > 0.0, v / max(t, 1e-3) + noise, v)
        at = ct.where(v > best, c, at)
        best = ct.maximum(best, v)
    first = ct.arange(T, dtype=ct.int32) == ct.argmax(best, axis=0)
    ct.scatter(out, i, ct.sum(ct.where(first, at, 0)))


@ct.kernel
def routes(x, bias, weights, experts, counts, E: C, TOP: C, T: C):
    """The experts of T tokens by softmax and bias, and how many tokens each has."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (T, E), padding_mode=PM.ZERO).astype(ct.float32)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    p = e / ct.sum(e, axis=1, keepdims=True)
    choice = p + ct.load(bias, (0,), (E,))[None, :]
    lanes = ct.arange(E, dtype=ct.int32)[None, :]
    rows = i * T + ct.arange(T, dtype=ct.int32)
    counted = ct.zeros((E,), ct.int32)
    for r in ct.static_iter(range(TOP)):
        at = ct.argmax(choice, axis=1, keepdims=True)
        hit = lanes == at
        ct.scatter(weights, (rows, r), ct.sum(ct.where(hit, p, 0.0), axis=1))
        ct.scatter(experts, (rows, r), at.reshape((T,)).astype(ct.int32))
        counted += ct.sum((hit & (rows < x.shape[0])[:, None]).astype(ct.int32), axis=0)
        choice = ct.where(hit, -float("inf"), choice)
    ct.atomic_add(counts, (ct.arange(E, dtype=ct.int32),), counted, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def rope_cache(x, cs, sn, slots, keys, values, out, H: C, HK: C, D: C):
    """Queries and keys of a token are turned in pairs; keys, of 8 bits, and values go to its slot."""
    i = ct.bid(0)
    half = ct.arange(D // 2, dtype=ct.int32)
    c, s = ct.gather(cs, (i, half)), ct.gather(sn, (i, half))

    def turned(row):
        t = ct.load(x, (i, row, 0), (1, 1, D)).reshape((D // 2, 2)).astype(ct.float32)
        a, b = ct.extract(t, (0, 0), (D // 2, 1)), ct.extract(t, (0, 1), (D // 2, 1))
        p, q = c[:, None], s[:, None]
        return ct.cat((a * p - b * q, a * q + b * p), 1).reshape((1, 1, D))

    for h in range(H):
        ct.store(out, (i, h, 0), turned(h).astype(out.dtype))
    slot = ct.gather(slots, i)
    if slot >= 0:
        for h in range(HK):
            ct.store(keys, (slot, h, 0), turned(H + h).astype(keys.dtype))
            ct.store(values, (slot, h, 0), ct.load(x, (i, H + HK + h, 0), (1, 1, D)).astype(values.dtype))


def products(put):
    n = 4096
    for m, t, k in ((64, 128, 64), (128, 128, 64), (16, 64, 128)):
        put(f"gemm_experts_bf16_{m}x{t}x{k}", "Experts.", gemm_experts,
            [A("a", "bf16", (2 * n, n)), A("b", "bf16", (16, n, n)), A("ids", "i32", (4 * n,), ints(0, 4 * n)),
             A("weights", "f32", (4 * n,)), A("experts", "i32", (4 * n // m,), ints(0, 16)),
             A("used", "i32", (1,), ints(4 * n, 4 * n + 1)), A("c", "bf16", (4 * n, n), ZEROS),
             K(2), K(m), K(t), K(k)], [n // t, 4 * n // m], [], 8 * n ** 3, 0, "gemm")
    for m, t, k in ((128, 128, 64), (64, 128, 64)):
        put(f"gemm_jagged_bf16_{m}x{t}x{k}", "Slices of rows.", gemm_jagged,
            [A("a", "bf16", (4 * n, n)), A("b", "bf16", (8, n, n)), A("offsets", "i32", (9,), ints(0, n)),
             A("c", "bf16", (4 * n, n), ZEROS), K(m), K(t), K(k)],
            [4 * n // 8 // m, n // t, 8], [], 8 * n ** 3, 0, "gemm")
    for rows, m, t, k in ((16, 16, 128, 64), (n, 128, 128, 64), (n, 64, 128, 64)):
        put(f"gemm_gptq_w4_f16_{m}x{t}x{k}", "Words of eight weights.", gemm_gptq,
            [A("a", "f16", (rows, n)), A("b", "i32", (n // 8, n)), A("zeros", "i32", (n // 128, n // 8)),
             A("scales", "f16", (n // 128, n)), A("c", "f16", (rows, n), ZEROS), K(m), K(t), K(k), K(128)],
            [rows // m, n // t], [], 2 * rows * n * n, 0, "gemm")
    for m, t, k in ((128, 128, 128), (64, 128, 64)):
        put(f"gemm_rowscaled_f8e4m3fn_{m}x{t}x{k}", "Scales of rows.", gemm_rowscaled,
            [A("a", "f8e4m3fn", (n, n)), A("sa", "f32", (n,)), A("b", "f8e4m3fn", (n, n)), A("sb", "f32", (n,)),
             A("c", "bf16", (n, n), ZEROS), K(m), K(t), K(k)], [n // m * (n // t)], [], 2 * n ** 3, 0, "gemm")
    for m, t, k in ((128, 128, 64), (64, 64, 128)):
        put(f"gemm_i8requantized_{m}x{t}x{k}", "Sums become bytes.", gemm_requantized,
            [A("a", "u8", (n, n), ints(0, 256)), A("b", "i8", (n, n), ints(-128, 128)),
             *(A(x, "i32", (n,), ints(0, 1 << 20)) for x in ("bias", "factors")), A("c", "u8", (n, n), ZEROS),
             S("i32", 100), S("i32", 128), K(m), K(t), K(k)], [n // m, n // t], [], 2 * n ** 3, 0, "gemm")


def attention(put):
    def forward(kernel, name, args, out, tail, grid, flops):
        put(f"attention_{name}", kernel._annotated_function.pyfunc.__doc__, kernel,
            args + [*out, S("f32", 0.088), *map(K, tail)], grid, [], flops, 0, "attention")

    for g, page in ((8, 16), (16, 64)):
        q, pages = (64, 8, g, 128), (8192, 8, page, 128)
        forward(attention_paged, f"paged_f16_d128_{g}x{page}",
                [A("q", "f16", q), A("k", "f16", pages), A("v", "f16", pages),
                 A("pages", "i32", (64, 128), ints(0, 8192)), A("lengths", "i32", (64,), ints(2048, 2049))],
                [A("out", "f16", q, ZEROS)], (g, page, 128), [64, 8], 4 * 64 * 8 * g * 2048 * 128)
    for h, t in ((16, 64), (64, 64)):
        forward(attention_mla, f"mla_f16_d512_{h}x{t}",
                [A("q", "f16", (64, 128, 512)), A("qr", "f16", (64, 128, 64)), A("latent", "f16", (64, 4096, 512)),
                 A("turned", "f16", (64, 4096, 64)), A("lengths", "i32", (64,), ints(4096, 4097))],
                [A("out", "f16", (64, 128, 512), ZEROS), A("lse", "f32", (64, 128), ZEROS)], (h, t, 512, 64),
                [64, 128 // h], 2 * 64 * 128 * 4096 * (512 + 64 + 512))
    for g, t in ((16, 128), (8, 64)):
        forward(attention_split, f"split_f16_d128_{g}x{t}",
                [A("q", "f16", (16, 8, g, 128)), *(A(x, "f16", (16, 8, 16384, 128)) for x in "kv")],
                [A("results", "f32", (16, 8, 8, g, 128), ZEROS),
                 *(A(x, "f32", (16, 8, 8, g), ZEROS) for x in ("largest", "sums"))], (8, g, t, 128),
                [8, 8, 16], 4 * 16 * 8 * g * 16384 * 128)
    for m, t in ((64, 64), (128, 64)):
        shape = (2, 8192, 16, 128)
        forward(attention_window, f"window_f16_d128_{m}x{t}",
                [*(A(x, "f16", shape) for x in "qkv"), A("sink", "f32", (16,))], [A("out", "f16", shape, ZEROS)],
                (1024, m, t, 128), [8192 // m, 16, 2], 4 * 2 * 16 * 8192 * 1024 * 128)
        shape = (32768, 16, 128)
        forward(attention_packed, f"packed_f16_d128_{m}x{t}",
                [*(A(x, "f16", shape) for x in "qkv"), A("starts", "i32", (17,), ints(0, 32768))],
                [A("out", "f16", shape, ZEROS)], (m, t, 128), [2048 // m, 16, 16], 4 * 16 * 16 * 2048 ** 2 * 128)
        shape = (32, 8192, 128)
        forward(attention_blocks, f"blocks_f16_d128_{m}x{t}",
                [*(A(x, "f16", shape) for x in "qkv"), A("offsets", "i32", (32, 8192 // m + 1), ints(0, 2048)),
                 A("columns", "i32", (32, 2048), ints(0, 128))], [A("out", "f16", shape, ZEROS)],
                (m, t, 128), [8192 // m, 32], 4 * 32 * 8192 * 1024 * 128)


def rows(put):
    parts = (128, 8, 16, 16)
    put("merge_parts_f32", "Parts of attention.", merge_parts,
        [A("results", "f32", (*parts, 128)), A("largest", "f32", parts), A("sums", "f32", parts),
         A("out", "f16", (128, 8, 16, 128), ZEROS), K(16), K(16), K(128)], [8, 128], [], 0,
        128 * 8 * 16 * 128 * (16 * 4 + 2), "merge")
    put("gumbel_bf16_4096", "Sampling.", gumbel,
        [A("x", "bf16", (4096, 128256)), A("heat", "f32", (4096,)), A("seeds", "u32", (4096,), ints(0, 99)),
         A("out", "i32", (4096,), ZEROS), K(4096)], [4096], [], 0, 4096 * 128256 * 2, "gumbel")
    put("routes_bf16_64x32", "Experts of tokens.", routes,
        [A("x", "bf16", (1 << 16, 64)), A("bias", "f32", (64,)), A("weights", "f32", (1 << 16, 8), ZEROS),
         A("experts", "i32", (1 << 16, 8), ZEROS), A("counts", "i32", (64,), ZEROS), K(64), K(8), K(32)],
        [1 << 11], [], 0, (1 << 16) * (128 + 64), "routes")
    put("rope_cache_bf16_128", "Rotary with a cache.", rope_cache,
        [A("x", "bf16", (16384, 48, 128)), *(A(x, "f32", (16384, 64)) for x in ("cs", "sn")),
         A("slots", "i32", (16384,), ints(0, 16384)), A("keys", "f8e4m3fn", (16384, 8, 128), ZEROS),
         A("values", "bf16", (16384, 8, 128), ZEROS), A("out", "bf16", (16384, 32, 128), ZEROS),
         K(32), K(8), K(128)], [16384], [], 0, 16384 * 128 * (48 * 2 + 32 * 2 + 24), "rope_cache")
