"""Layers of models, fused as frameworks fuse them, for sweep.py."""
import math

import cuda.tile as ct
from cuda.tile import PaddingMode as PM

import perf
import sweep_kinds
from perf import A, C, K, LOG2E, S, ZEROS

SLOTS = {"kind": "uniform_int", "lo": 0, "hi": 1 << 16}
WORDS = {"kind": "uniform_int", "lo": 0, "hi": 32000}


@ct.kernel
def gemm_residual(a, b, r, c, TM: C, TN: C, TK: C):
    """A residual is added."""
    i, j = ct.bid(0), ct.bid(1)
    acc = perf._tile_product(a, b, i, j, TM, TN, TK, False)
    t = ct.load(r, (i, j), (TM, TN)).astype(ct.float32)
    ct.store(c, (i, j), (t + acc).astype(c.dtype))


@ct.kernel
def gemm_blockscaled(a, sa, b, sb, c, TM: C, TN: C, TK: C):
    """DeepSeek: scales for 1x128 of A and 128x128 of B, in f32."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        y = ct.load(b, (k, j), (TK, TN), order=(1, 0), padding_mode=PM.ZERO)
        p = ct.mma(x, y, ct.zeros((TM, TN), ct.float32))
        s = ct.load(sa, (i, k), (TM, 1))
        t = ct.load(sb, (j, k), (1, 1))
        acc += p * (s * t)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def gemm_lora(a, b, u, v, c, TM: C, TN: C, TK: C, R: C):
    """A product of low rank beside it."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    low = ct.zeros((TM, R), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        acc = ct.mma(x, ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO), acc)
        low = ct.mma(x, ct.load(u, (k, 0), (TK, R), padding_mode=PM.ZERO), low)
    acc = ct.mma(low.astype(a.dtype), ct.load(v, (0, j), (R, TN)), acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def gemm_norm(a, w, b, c, TM: C, TN: C, TK: C):
    """RMS norm of A on the way."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    sq = ct.zeros((TM, 1), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        f = x.astype(ct.float32)
        sq += ct.sum(f * f, axis=1, keepdims=True)
        g = ct.load(w, (k,), (TK,)).astype(ct.float32)[None, :]
        y = ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO)
        acc = ct.mma((f * g).astype(x.dtype), y, acc)
    ct.store(c, (i, j), (acc * ct.rsqrt(sq / a.shape[1] + 1e-5)).astype(c.dtype))


@ct.kernel
def gemm_words(a, b, s, c, TM: C, TN: C, TK: C):
    """Eight weights of 4 bits in 32 bits, along K (GPTQ)."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    shifts = (ct.arange(8, dtype=ct.int32) * 4)[None, :, None]
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        w = ct.load(b, (k, j), (TK // 8, TN)).reshape((TK // 8, 1, TN))
        q = ((w >> shifts) & 15) - 8
        y = q.astype(ct.float16).reshape((TK, TN)) * ct.load(s, (k, j), (1, TN))
        acc = ct.mma(ct.load(a, (i, k), (TM, TK)), y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def gemm_ab8(a, sa, b, sb, c, TM: C, TN: C, TK: C):
    """int8 with scales of rows and columns behind the loop."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.int32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        acc = ct.mma(x, ct.load(b, (k, j), (TK, TN), order=(1, 0), padding_mode=PM.ZERO), acc)
    t = acc.astype(ct.float32) * ct.load(sa, (i,), (TM,))[:, None] * ct.load(sb, (j,), (TN,))[None, :]
    ct.store(c, (i, j), t.astype(c.dtype))


@ct.kernel(occupancy=2)
def attention_masked(q, k, v, mask, out, scale, H: C, TM: C, TN: C, D: C):
    """A mask of bytes."""
    i = ct.bid(0)
    n, h = ct.bid(1) // H, ct.bid(1) % H
    scale = scale * LOG2E
    m = ct.full((TM, 1), -1e30, ct.float32)
    s = ct.zeros((TM, 1), ct.float32)
    acc = ct.zeros((TM, D), ct.float32)
    x = ct.load(q, (n, h, i, 0), (1, 1, TM, D)).reshape((TM, D))
    for j in range(ct.cdiv(k.shape[2], TN)):
        y = ct.load(k, (n, h, 0, j), (1, 1, D, TN), order=(0, 1, 3, 2)).reshape((D, TN))
        p = ct.mma(x, y, ct.zeros((TM, TN), ct.float32)) * scale
        b = ct.load(mask, (n, i, j), (1, TM, TN)).reshape((TM, TN))
        p = ct.where(b != 0, p, -1e30)
        m, s, acc = sweep_kinds.taken_in(p, v, n, h, j, m, s, acc, TN, D)
    ct.store(out, (n, h, i, 0), (acc / s).astype(out.dtype).reshape((1, 1, TM, D)))


@ct.kernel(occupancy=2)
def attention_alibi(q, k, v, slopes, out, scale, H: C, TM: C, TN: C, D: C):
    """A bias that follows from the distance."""
    i = ct.bid(0)
    n, h = ct.bid(1) // H, ct.bid(1) % H
    slope = ct.load(slopes, (h,), (1,)).reshape((1, 1)) * LOG2E
    scale = scale * LOG2E
    rows = (i * TM + ct.arange(TM, dtype=ct.int32))[:, None]
    cols = ct.arange(TN, dtype=ct.int32)[None, :]
    m = ct.full((TM, 1), -float("inf"), ct.float32)
    s = ct.zeros((TM, 1), ct.float32)
    acc = ct.zeros((TM, D), ct.float32)
    x = ct.load(q, (n, h, i, 0), (1, 1, TM, D)).reshape((TM, D))
    for j in range(ct.cdiv((i + 1) * TM, TN)):
        y = ct.load(k, (n, h, 0, j), (1, 1, D, TN), order=(0, 1, 3, 2)).reshape((D, TN))
        p = ct.mma(x, y, ct.zeros((TM, TN), ct.float32)) * scale
        d = j * TN + cols - rows
        p = ct.where(d <= 0, p + slope * d.astype(ct.float32), -float("inf"))
        m, s, acc = sweep_kinds.taken_in(p, v, n, h, j, m, s, acc, TN, D)
    ct.store(out, (n, h, i, 0), (acc / s).astype(out.dtype).reshape((1, 1, TM, D)))


@ct.kernel
def selective_scan(x, dt, b, c, out, T: C, D: C, N: C):
    """Mamba: a state of D x N for each block, step by step."""
    i, h = ct.bid(0), ct.bid(1)
    state = ct.zeros((D, N), ct.float32)
    for t in range(T):
        u = ct.load(x, (i, t, h), (1, 1, D)).reshape((D, 1))
        g = ct.load(dt, (i, t, h), (1, 1, D)).reshape((D, 1))
        p = ct.load(b, (i, t, 0), (1, 1, N)).reshape((1, N))
        q = ct.load(c, (i, t, 0), (1, 1, N)).reshape((1, N))
        state = state * ct.exp(-g) + (g * u) * p
        ct.store(out, (i, t, h), ct.sum(state * q, axis=1).reshape((1, 1, D)))


@ct.kernel
def depthwise(x, w, out, T: C, D: C):
    """Causal convolution of four taps over tokens, per channel."""
    i, j = ct.bid(0), ct.bid(1)
    cols = j * D + ct.arange(D, dtype=ct.int32)[None, :]
    acc = ct.zeros((T, D), ct.float32)
    for k in ct.static_iter(range(4)):
        rows = i * T + ct.arange(T, dtype=ct.int32)[:, None] - 3 + k
        t = ct.gather(x, (rows, cols), padding_value=0).astype(ct.float32)
        acc += t * ct.load(w, (k, j), (1, D)).astype(ct.float32)
    ct.store(out, (i, j), (acc / (1.0 + ct.exp(-acc))).astype(out.dtype))


@ct.kernel
def rope_norm(x, w, cs, sn, out, H: C, D: C):
    """RMS norm of each head, then rotary."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0, 0), (1, H, D)).reshape((H, D)).astype(ct.float32)
    t = t * ct.rsqrt(ct.sum(t * t, axis=1, keepdims=True) / D + 1e-6) * ct.load(w, (0,), (D,))[None, :]
    u = t.reshape((H, 2, D // 2))
    a = ct.extract(u, (0, 0, 0), (H, 1, D // 2)).reshape((H, D // 2))
    b = ct.extract(u, (0, 1, 0), (H, 1, D // 2)).reshape((H, D // 2))
    c, s = ct.load(cs, (i, 0), (1, D // 2)), ct.load(sn, (i, 0), (1, D // 2))
    r = ct.cat((a * c - b * s, b * c + a * s), 1)
    ct.store(out, (i, 0, 0), r.astype(out.dtype).reshape((1, H, D)))


@ct.kernel
def cache_append(k, slots, cache, H: C, D: C):
    """Rows go to their slots."""
    i = ct.bid(0)
    at = ct.load(slots, (i,), (1,)).reshape((1, 1))
    cols = ct.arange(H * D, dtype=ct.int32)[None, :]
    ct.scatter(cache, (at, cols), ct.load(k, (i, 0), (1, H * D)))


@ct.kernel
def embedding_gradient(ids, g, out, T: C):
    """Rows are added where their tokens point."""
    i = ct.bid(0)
    at = ct.load(ids, (i,), (1,)).reshape((1, 1))
    for j in range(ct.num_tiles(g, 1, (1, T))):
        cols = j * T + ct.arange(T, dtype=ct.int32)[None, :]
        ct.atomic_add(out, (at, cols), ct.load(g, (i, j), (1, T)).astype(ct.float32))


@ct.kernel
def softmax_topk(x, out, E: C, R: C):
    """Gates of experts: softmax of R rows of E."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (R, E)).astype(ct.float32)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, (i, 0), e / ct.sum(e, axis=1, keepdims=True))


@ct.kernel
def groupnorm(x, w, b, out, G: C, T: C):
    """(n, channels, pixels): a group of channels."""
    n, g = ct.bid(0), ct.bid(1)
    s = ct.zeros((G, T), ct.float32)
    q = ct.zeros((G, T), ct.float32)
    for k in range(ct.num_tiles(x, 2, (1, G, T))):
        t = ct.load(x, (n, g, k), (1, G, T)).reshape((G, T)).astype(ct.float32)
        s += t
        q += t * t
    c = G * x.shape[2]
    mu = ct.sum(s) / c
    r = ct.rsqrt(ct.sum(q) / c - mu * mu + 1e-5)
    u, v = ct.load(w, (g,), (G,)).reshape((G, 1)), ct.load(b, (g,), (G,)).reshape((G, 1))
    for k in range(ct.num_tiles(x, 2, (1, G, T))):
        t = ct.load(x, (n, g, k), (1, G, T)).reshape((G, T)).astype(ct.float32)
        ct.store(out, (n, g, k), ((t - mu) * r * u + v).astype(out.dtype).reshape((1, G, T)))


@ct.kernel
def resize(x, out, T: C):
    """Nearest, twice as big."""
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, (i, j), (1, T))
    u = ct.broadcast_to(t.reshape((1, T, 1)), (2, T, 2)).reshape((2, 2 * T))
    ct.store(out, (i, j), u)


def products(put):
    n = 4096
    square = (n, n)

    def product(kernel, name, dtype, tile, more, out="bf16", rows=n, b=None, tail=()):
        """more: arguments by their place."""
        m, t, k = tile
        args = [A("a", dtype, (rows, n)), b or A("b", dtype, square), A("c", out, (rows, n), ZEROS)]
        for at, arg in more:
            args.insert(at, arg)
        put(f"{name}_{m}x{t}x{k}", kernel._annotated_function.pyfunc.__doc__, kernel,
            args + [K(m), K(t), K(k), *tail], [rows // m, n // t], [], 2 * rows * n * n, 0, "gemm")

    for tile in ((128, 128, 64), (128, 256, 64), (64, 64, 64)):
        product(gemm_residual, "gemm_residual_bf16", "bf16", tile, [(2, A("r", "bf16", square))])
    for tile in ((128, 128, 128), (64, 128, 128), (128, 64, 128)):
        product(gemm_blockscaled, "gemm_blockscaled_f8e4m3fn", "f8e4m3fn", tile,
                [(1, A("sa", "f32", (n, n // tile[2]))), (3, A("sb", "f32", (n // tile[1], n // tile[2])))])
    for rank in (16, 64):
        product(gemm_lora, f"gemm_lora{rank}_bf16", "bf16", (128, 128, 64),
                [(2, A("u", "bf16", (n, rank))), (3, A("v", "bf16", (rank, n)))], tail=[K(rank)])
    for tile in ((128, 128, 64), (64, 128, 64)):
        product(gemm_norm, "gemm_norm_bf16", "bf16", tile, [(1, A("w", "bf16", (n,)))])
    for rows, tile in ((16, (16, 128, 64)), (n, (128, 128, 64)), (64, (64, 64, 128))):
        product(gemm_words, "gemm_words_f16", "f16", tile, [(2, A("s", "f16", (n // tile[2], n)))],
                "f16", rows, A("b", "i32", (n // 8, n)))
    for tile in ((128, 128, 128), (128, 256, 64)):
        product(gemm_ab8, "gemm_i8scaled", "i8", tile, [(1, A("sa", "f32", (n,))), (3, A("sb", "f32", (n,)))])


def attention(put):
    for d, m, n in ((64, 128, 64), (64, 64, 64), (128, 128, 64)):
        shape = (2, 16, 4096, d)
        q, k, v = (A(x, "f16", shape) for x in "qkv")
        tail = [A("out", "f16", shape, ZEROS), S("f32", 1 / math.sqrt(d)), K(16), K(m), K(n), K(d)]
        put(f"attention_masked_f16_d{d}_{m}x{n}", "A mask of bytes.", attention_masked,
            [q, k, v, A("mask", "i8", (2, 4096, 4096)), *tail], [4096 // m, 32], [],
            4 * 32 * 4096 ** 2 * d, 0, "attention")
        put(f"attention_alibi_f16_d{d}_{m}x{n}", "Distances.", attention_alibi,
            [q, k, v, A("slopes", "f32", (16,)), *tail], [4096 // m, 32], [],
            2 * 32 * 4096 ** 2 * d, 0, "attention")


def rows(put):
    states = (8, 2048, 16)
    put("selective_scan_f32", "Mamba.", selective_scan,
        [A("x", "f32", (8, 2048, 4096)), A("dt", "f32", (8, 2048, 4096)), A("b", "f32", states),
         A("c", "f32", states), A("out", "f32", (8, 2048, 4096), ZEROS), K(2048), K(64), K(16)],
        [8, 64], [], 0, 12 * 8 * 2048 * 4096, "selective_scan")
    put("depthwise_bf16_64x128", "Convolution of channels.", depthwise,
        [A("x", "bf16", (1 << 15, 4096)), A("w", "bf16", (4, 4096)),
         A("out", "bf16", (1 << 15, 4096), ZEROS), K(64), K(128)], [512, 32], [], 0, 1 << 29, "depthwise")
    put("rope_norm_bf16_32x128", "Rotary with a norm.", rope_norm,
        [A("x", "bf16", (16384, 32, 128)), A("w", "f32", (128,)), A("cs", "f32", (16384, 64)),
         A("sn", "f32", (16384, 64)), A("out", "bf16", (16384, 32, 128), ZEROS), K(32), K(128)],
        [16384], [], 0, 16384 * (4 * 4096 + 512), "rope")
    put("cache_append_bf16", "Cache.", cache_append,
        [A("k", "bf16", (1 << 16, 1024)), A("slots", "i32", (1 << 16,), SLOTS),
         A("cache", "bf16", (1 << 16, 1024), ZEROS), K(8), K(128)], [1 << 16], [], 0, 1 << 28, "cache")
    put("embedding_gradient_bf16", "Gradient of an embedding.", embedding_gradient,
        [A("ids", "i32", (8192,), WORDS), A("g", "bf16", (8192, 4096)),
         A("out", "f32", (32000, 4096), ZEROS), K(1024)], [8192], [], 0, 8192 * 4096 * 6, "embedding")
    put("gates_bf16_128x64", "Gates of experts.", softmax_topk,
        [A("x", "bf16", (1 << 20, 64)), A("out", "f32", (1 << 20, 64), ZEROS), K(64), K(128)],
        [1 << 13], [], 0, (1 << 20) * 64 * 6, "gates")
    put("groupnorm_bf16_32x256", "Group norm.", groupnorm,
        [A("x", "bf16", (32, 1024, 4096)), A("w", "f32", (1024,)), A("b", "f32", (1024,)),
         A("out", "bf16", (32, 1024, 4096), ZEROS), K(32), K(256)], [32, 32], [], 0, 6 << 27, "groupnorm")
    put("resize_f16_256", "An image twice as big.", resize,
        [A("x", "f16", (8192, 4096)), A("out", "f16", (16384, 8192), ZEROS), K(256)], [8192, 16], [], 0,
        10 * 8192 * 4096, "resize")
