"""More kinds of kernels for sweep.py: products that share a factor or unpack one, convolutions,
attention whose scores are changed, linear attention, statistics, and arithmetic without memory."""
import math

import cuda.tile as ct
from cuda.tile import PaddingMode as PM, RoundingMode as RM

import perf
from perf import A, BYTES, C, K, LOG2E, S, ZEROS


@ct.kernel
def gemm_dual(a, b, w, c, TM: C, TN: C, TK: C):
    """Two products of one left factor, SwiGLU of them."""
    i, j = ct.bid(0), ct.bid(1)
    p = ct.zeros((TM, TN), ct.float32)
    q = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        p = ct.mma(x, ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO), p)
        q = ct.mma(x, ct.load(w, (k, j), (TK, TN), padding_mode=PM.ZERO), q)
    ct.store(c, (i, j), (p / (1.0 + ct.exp(-p)) * q).astype(c.dtype))


@ct.kernel
def gemm_tn(a, b, c, TM: C, TN: C, TK: C):
    """A stored as K x M."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(b, 0, (TK, TN))):
        x = ct.load(a, (i, k), (TM, TK), order=(1, 0), padding_mode=PM.ZERO)
        y = ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def gemm_narrow_sums(a, b, c, TM: C, TN: C, TK: C):
    """Sums in f16."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float16)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        y = ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def gemm_w4(a, b, s, c, TM: C, TN: C, TK: C):
    """Weights of 4 bits, two rows in a byte, with a scale for each 64 rows of a column."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(b, 0, (TK // 2, TN))):
        w = ct.load(b, (k, j), (TK // 2, TN), padding_mode=PM.ZERO).astype(ct.int32)
        low = ((w & 15) - 8).astype(ct.bfloat16)
        high = (((w >> 4) & 15) - 8).astype(ct.bfloat16)
        g = ct.load(s, (k, j), (1, TN), padding_mode=PM.ZERO)
        x = ct.load(a, (i, 2 * k), (TM, TK // 2), padding_mode=PM.ZERO)
        y = ct.load(a, (i, 2 * k + 1), (TM, TK // 2), padding_mode=PM.ZERO)
        part = ct.mma(x, low, ct.zeros((TM, TN), ct.float32))
        acc += ct.mma(y, high, part) * g
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def conv3x3(x, w, out, P: C, TN: C, TK: C, WIDTH: C):
    """A row of P pixels by 3 x 3 x channels, NHWC; the image has a border."""
    n, y, j = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((P, TN), ct.float32)
    cols = ct.arange(P, dtype=ct.int32)[:, None]
    for k in range(ct.num_tiles(w, 1, (1, TK, TN))):
        channels = k * TK + ct.arange(TK, dtype=ct.int32)[None, :]
        for t in range(9):
            rows = (n * (WIDTH + 2) + y + t // 3) * (WIDTH + 2) + cols + t % 3
            a = ct.gather(x, (rows, channels), padding_value=0)
            b = ct.load(w, (t, k, j), (1, TK, TN)).reshape((TK, TN))
            acc = ct.mma(a, b, acc)
    ct.store(out, (n * WIDTH + y, j), acc.astype(out.dtype))


def taken_in(p, v, n, h, j, m, s, acc, TN, D):
    """The greatest scores in base 2, the sums and the results of flash attention with tile j."""
    new = ct.maximum(m, ct.max(p, axis=1, keepdims=True))
    e = ct.exp2(p - new, flush_to_zero=True)
    f = ct.exp2(m - new, flush_to_zero=True)
    s = s * f + ct.sum(e, axis=1, keepdims=True)
    z = ct.load(v, (n, h, j, 0), (1, 1, TN, D)).reshape((TN, D))
    return new, s, ct.mma(e.astype(v.dtype), z, acc * f)


@ct.kernel(occupancy=2)
def attention_changed(q, k, v, bias, out, scale, H: C, TM: C, TN: C, D: C, CAP: ct.Constant[bool]):
    """Scores with a bias from memory, or bent by a hyperbolic tangent."""
    i = ct.bid(0)
    n, h = ct.bid(1) // H, ct.bid(1) % H
    m = ct.full((TM, 1), -float("inf"), ct.float32)
    s = ct.zeros((TM, 1), ct.float32)
    acc = ct.zeros((TM, D), ct.float32)
    x = ct.load(q, (n, h, i, 0), (1, 1, TM, D)).reshape((TM, D))
    for j in range(ct.cdiv(k.shape[2], TN)):
        y = ct.load(k, (n, h, 0, j), (1, 1, D, TN), order=(0, 1, 3, 2)).reshape((D, TN))
        p = ct.mma(x, y, ct.zeros((TM, TN), ct.float32)) * scale
        if CAP:
            p = 50.0 * ct.tanh(p * 0.02)
        else:
            p += ct.load(bias, (h, i, j), (1, TM, TN)).reshape((TM, TN)).astype(ct.float32)
        p *= LOG2E
        m, s, acc = taken_in(p, v, n, h, j, m, s, acc, TN, D)
    r = ct.truediv(acc, s, flush_to_zero=True, rounding_mode=RM.APPROX)
    ct.store(out, (n, h, i, 0), r.astype(out.dtype).reshape((1, 1, TM, D)))


@ct.kernel
def attention_linear(q, k, v, g, out, T: C, D: C):
    """Chunks of linear attention with decay: a state of D x D goes from chunk to chunk."""
    h = ct.bid(0)
    state = ct.zeros((D, D), ct.float32)
    rows = ct.arange(T, dtype=ct.int32)[:, None]
    cols = ct.arange(T, dtype=ct.int32)[None, :]
    for c in range(ct.num_tiles(q, 1, (1, T, D))):
        x = ct.load(q, (h, c, 0), (1, T, D)).reshape((T, D))
        y = ct.load(k, (h, c, 0), (1, T, D)).reshape((T, D))
        z = ct.load(v, (h, c, 0), (1, T, D)).reshape((T, D))
        decay = ct.cumsum(ct.load(g, (h, c), (1, T)).reshape((T,)), axis=0)
        last = ct.sum(ct.where(ct.arange(T, dtype=ct.int32) == T - 1, decay, 0.0), axis=0)
        p = ct.mma(x, ct.transpose(y), ct.zeros((T, T), ct.float32))
        p *= ct.exp(decay[:, None] - decay[None, :])
        p = ct.where(rows >= cols, p, 0.0)
        o = ct.mma(x, state.astype(x.dtype), ct.zeros((T, D), ct.float32)) * ct.exp(decay)[:, None]
        o = ct.mma(p.astype(z.dtype), z, o)
        w = (y.astype(ct.float32) * ct.exp(last - decay)[:, None]).astype(y.dtype)
        state = ct.mma(ct.transpose(w), z, state * ct.exp(last))
        ct.store(out, (h, c, 0), o.astype(out.dtype).reshape((1, T, D)))


@ct.kernel
def nbody(x, out, T: C):
    """Forces between all pairs; x holds x, y, z and the mass in rows."""
    i = ct.bid(0)
    px = ct.load(x, (0, i), (1, T)).reshape((T, 1))
    py = ct.load(x, (1, i), (1, T)).reshape((T, 1))
    pz = ct.load(x, (2, i), (1, T)).reshape((T, 1))
    fx = ct.zeros((T, T), ct.float32)
    fy = ct.zeros((T, T), ct.float32)
    fz = ct.zeros((T, T), ct.float32)
    for j in range(ct.num_tiles(x, 1, (1, T))):
        dx = ct.load(x, (0, j), (1, T)) - px
        dy = ct.load(x, (1, j), (1, T)) - py
        dz = ct.load(x, (2, j), (1, T)) - pz
        r = ct.rsqrt(dx * dx + dy * dy + dz * dz + 1e-3)
        s = ct.load(x, (3, j), (1, T)) * r * r * r
        fx += dx * s
        fy += dy * s
        fz += dz * s
    ct.store(out, (0, i), ct.sum(fx, axis=1).reshape((1, T)))
    ct.store(out, (1, i), ct.sum(fy, axis=1).reshape((1, T)))
    ct.store(out, (2, i), ct.sum(fz, axis=1).reshape((1, T)))


@ct.function
def _normal_cdf(d):
    k = 1.0 / (1.0 + 0.2316419 * ct.abs(d))
    p = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    c = 0.39894228 * ct.exp(-0.5 * d * d) * p
    return ct.where(d > 0.0, 1.0 - c, c)


@ct.kernel
def black_scholes(s, x, t, call, put, T: C):
    i = ct.bid(0)
    price, strike, years = ct.load(s, (i,), (T,)), ct.load(x, (i,), (T,)), ct.load(t, (i,), (T,))
    root = ct.sqrt(years)
    d1 = (ct.log(price / strike) + (0.02 + 0.045) * years) / (0.3 * root)
    d2 = d1 - 0.3 * root
    e = strike * ct.exp(-0.02 * years)
    a, b = _normal_cdf(d1), _normal_cdf(d2)
    ct.store(call, (i,), price * a - e * b)
    ct.store(put, (i,), e * (1.0 - b) - price * (1.0 - a))


@ct.kernel
def batch_moments(x, out, TM: C, TN: C):
    """Sums and squares of each column: what batch normalization needs of NHWC."""
    j, part = ct.bid(0), ct.bid(1)
    s = ct.zeros((TM, TN), ct.float32)
    q = ct.zeros((TM, TN), ct.float32)
    for k in range(part, ct.num_tiles(x, 0, (TM, TN)), ct.num_blocks(1)):
        t = ct.load(x, (k, j), (TM, TN), padding_mode=PM.ZERO).astype(ct.float32)
        s += t
        q += t * t
    ct.atomic_add(out, (0, j * TN + ct.arange(TN, dtype=ct.int32)), ct.sum(s, axis=0))
    ct.atomic_add(out, (1, j * TN + ct.arange(TN, dtype=ct.int32)), ct.sum(q, axis=0))


@ct.kernel
def bag(ids, table, out, N: C, T: C):
    """The sum of N rows of a table for each bag."""
    i = ct.bid(0)
    rows = ct.load(ids, (i, 0), (1, N)).reshape((N, 1))
    cols = ct.bid(1) * T + ct.arange(T, dtype=ct.int32)[None, :]
    t = ct.gather(table, (rows, cols)).astype(ct.float32)
    ct.store(out, (i, ct.bid(1)), ct.sum(t, axis=0, keepdims=True).astype(out.dtype))


@ct.kernel
def heads_first(x, out, TM: C, H: C, D: C):
    """(batch, token, head, d) to (batch, head, token, d)."""
    n, i = ct.bid(0), ct.bid(1)
    t = ct.load(x, (n, i, 0, 0), (1, TM, H, D))
    ct.store(out, (n, 0, i, 0), ct.permute(t, (0, 2, 1, 3)))


@ct.kernel
def quantize(x, out, s, T: C):
    """A row to 8-bit floats with a scale."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (1, T)).astype(ct.float32)
    a = ct.maximum(ct.max(ct.abs(t), axis=1, keepdims=True), 1e-12) / 448.0
    ct.store(out, (i, 0), (t / a).astype(out.dtype))
    ct.store(s, (i, 0), a)


@ct.kernel
def dropout(x, out, seed, T: C):
    """Ten rounds of Philox for four numbers."""
    i = ct.bid(0)
    c0 = (i * T + ct.arange(T, dtype=ct.int32)).astype(ct.uint32)
    c1 = ct.zeros((T,), ct.uint32)
    c2 = ct.zeros((T,), ct.uint32)
    c3 = ct.zeros((T,), ct.uint32)
    k0 = ct.full((T,), seed, ct.int32).astype(ct.uint32)
    k1 = ct.zeros((T,), ct.uint32)
    for _ in ct.static_iter(range(10)):
        p = c0.astype(ct.uint64) * 0xD2511F53
        q = c2.astype(ct.uint64) * 0xCD9E8D57
        c0, c1, c2, c3 = ((q >> 32).astype(ct.uint32) ^ c1 ^ k0, q.astype(ct.uint32),
                          (p >> 32).astype(ct.uint32) ^ c3 ^ k1, p.astype(ct.uint32))
        k0 += 0x9E3779B9
        k1 += 0xBB67AE85
    t = ct.load(x, (i, 0), (1, 4 * T)).reshape((4, T))
    keep = ct.cat((ct.cat((c0[None, :], c1[None, :]), 0), ct.cat((c2[None, :], c3[None, :]), 0)), 0)
    ct.store(out, (i, 0), ct.where(keep > 0x20000000, t * 1.142857, 0).astype(out.dtype).reshape((1, 4 * T)))


@ct.kernel
def histogram(x, out, T: C, BINS: C):
    i = ct.bid(0)
    for k in range(i, ct.num_tiles(x, 0, (T,)), ct.num_blocks(0)):
        t = ct.load(x, (k,), (T,))
        ct.atomic_add(out, (t % BINS,), 1)


@ct.kernel
def stencil(x, out, TM: C, TN: C):
    """Five points of a grid."""
    i, j = ct.bid(0), ct.bid(1)
    rows = i * TM + ct.arange(TM, dtype=ct.int32)[:, None]
    cols = j * TN + ct.arange(TN, dtype=ct.int32)[None, :]
    c = ct.load(x, (i, j), (TM, TN))
    n = ct.gather(x, (rows - 1, cols)) + ct.gather(x, (rows + 1, cols))
    w = ct.gather(x, (rows, cols - 1)) + ct.gather(x, (rows, cols + 1))
    ct.store(out, (i, j), 0.5 * c + 0.125 * (n + w))


@ct.kernel
def softmax_gradient(y, dy, dx, T: C):
    i = ct.bid(0)
    p = ct.load(y, (i, 0), (1, T)).astype(ct.float32)
    g = ct.load(dy, (i, 0), (1, T)).astype(ct.float32)
    ct.store(dx, (i, 0), (p * (g - ct.sum(p * g, axis=1, keepdims=True))).astype(dx.dtype))


@ct.kernel
def adam(w, m, v, g, rate, T: C):
    i = ct.bid(0)
    t = ct.load(g, (i,), (T,)).astype(ct.float32)
    a = 0.9 * ct.load(m, (i,), (T,)) + 0.1 * t
    b = 0.999 * ct.load(v, (i,), (T,)) + 0.001 * t * t
    x = ct.load(w, (i,), (T,))
    ct.store(m, (i,), a)
    ct.store(v, (i,), b)
    ct.store(w, (i,), x - rate * (a / (ct.sqrt(b) + 1e-8) + 0.01 * x))


@ct.kernel
def top2(x, out, ids, T: C):
    """The two greatest logits of a row, and where."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (1, T), padding_mode=PM.NEG_INF).astype(ct.float32).reshape((T,))
    for r in ct.static_iter(range(2)):
        at = ct.argmax(t, axis=0)
        ct.store(out, (i, r), ct.max(t, axis=0).reshape((1, 1)))
        ct.store(ids, (i, r), at.reshape((1, 1)))
        t = ct.where(ct.arange(T, dtype=ct.int32) == at, -float("inf"), t)


def products(put):
    for tile in ((128, 128, 64), (128, 64, 64), (64, 64, 64)):
        m, n, k = tile
        shape = (4096, 4096)
        put(f"gemm_dual_bf16_{m}x{n}x{k}", "Two products.", gemm_dual,
            [A("a", "bf16", shape), A("b", "bf16", shape), A("w", "bf16", shape),
             A("c", "bf16", shape, ZEROS), K(m), K(n), K(k)],
            [4096 // m, 4096 // n], [], 4 * 4096 ** 3, 0, "gemm")
    for kernel, name, dtype, tiles in (
            (gemm_tn, "gemm_tn", "bf16", ((128, 128, 64), (128, 256, 64), (64, 64, 64))),
            (gemm_narrow_sums, "gemm_f16sums", "f16", ((128, 128, 64), (128, 256, 64)))):
        for m, n, k in tiles:
            put(f"{name}_{dtype}_{m}x{n}x{k}", "Matrix product.", kernel,
                [*(A(x, dtype, (4096, 4096)) for x in "ab"), A("c", dtype, (4096, 4096), ZEROS),
                 K(m), K(n), K(k)],
                [4096 // m, 4096 // n], [], 2 * 4096 ** 3, 0, "gemm")
    for M, m, n, k in ((4096, 128, 128, 128), (16, 16, 128, 128), (64, 64, 128, 128)):
        put(f"gemm_w4_bf16_{m}x{n}x{k}", "Weights of 4 bits.", gemm_w4,
            [A("a", "bf16", (M, 4096)), A("b", "i8", (2048, 4096)), A("s", "f32", (32, 4096)),
             A("c", "bf16", (M, 4096), ZEROS), K(m), K(n), K(k)],
            [M // m, 4096 // n], [], 2 * M * 4096 ** 2, 0, "gemm")
    for p, n, k in ((64, 64, 64), (64, 128, 64), (64, 128, 32)):
        put(f"gemm_conv3x3_bf16_{p}x{n}x{k}", "Convolution.", conv3x3,
            [A("x", "bf16", (32 * 66 * 66, 256)), A("w", "bf16", (9, 256, 256)),
             A("out", "bf16", (32 * 64 * 64, 256), ZEROS), K(p), K(n), K(k), K(64)],
            [32, 64, 256 // n], [], 2 * 32 * 64 * 64 * 9 * 256 * 256, 0, "gemm")


def attention(put):
    for kind, cap in (("bias", False), ("cap", True)):
        for d, m, n in ((64, 128, 64), (64, 64, 64), (128, 128, 64)):
            shape = (2, 16, 4096, d)
            put(f"attention_{kind}_f16_d{d}_{m}x{n}", "Attention.", attention_changed,
                [*(A(x, "f16", shape) for x in "qkv"), A("bias", "f16", (16, 4096, 4096)),
                 A("out", "f16", shape, ZEROS), S("f32", 1 / math.sqrt(d)), K(16), K(m), K(n), K(d), K(cap)],
                [4096 // m, 32], [], 4 * 32 * 4096 ** 2 * d, 0, "attention")
    for t, d in ((64, 64), (64, 128), (128, 64)):
        put(f"attention_linear_bf16_d{d}_{t}x{t}", "Linear attention.", attention_linear,
            [*(A(x, "bf16", (256, 4096, d)) for x in "qkv"), A("g", "f32", (256, 4096)),
             A("out", "bf16", (256, 4096, d), ZEROS), K(t), K(d)], [256], [],
            256 * 4096 * (4 * t * d + 4 * d * d), 0, "attention")


def rows(put):
    n = 1 << 16
    put("nbody_f32_64", "n bodies.", nbody, [A("x", "f32", (4, n)), A("out", "f32", (3, n), ZEROS), K(64)],
        [n // 64], [], 0, 28 * n, "nbody")
    n = 1 << 24
    put("black_scholes_f32", "Options.", black_scholes,
        [*(A(x, "f32", (n,)) for x in "sxt"), *(A(x, "f32", (n,), ZEROS) for x in ("call", "put")), K(1024)],
        [n // 1024], [], 0, 20 * n, "black_scholes")
    for m, t in ((64, 64), (32, 128)):
        put(f"batch_moments_bf16_{m}x{t}", "Moments.", batch_moments,
            [A("x", "bf16", (1 << 18, 256)), A("out", "f32", (2, 256), ZEROS), K(m), K(t)],
            [256 // t, 256], [], 0, (1 << 18) * 512, "batch_moments")
    put("bag_bf16_32x256", "Embedding bags.", bag,
        [A("ids", "i32", (8192, 32), {"kind": "uniform_int", "lo": 0, "hi": 1 << 17}),
         A("table", "bf16", (1 << 17, 1024)), A("out", "bf16", (8192, 1024), ZEROS), K(32), K(256)],
        [8192, 4], [], 0, 8192 * 33 * 2048, "bag")
    for tm, h, d in ((16, 16, 64), (4, 32, 128)):
        put(f"heads_first_bf16_{tm}x{h}x{d}", "Heads first.", heads_first,
            [A("x", "bf16", (4, 4096, h, d)), A("out", "bf16", (4, h, 4096, d), ZEROS), K(tm), K(h), K(d)],
            [4, 4096 // tm], [], 0, 4 * 4096 * h * d * 4, "heads_first")
    put("quantize_rows_bf16_4096", "Quantized rows.", quantize,
        [A("x", "bf16", (16384, 4096)), A("out", "f8e4m3fn", (16384, 4096), ZEROS),
         A("s", "f32", (16384, 1), ZEROS), K(4096)], [16384], [], 0, 16384 * 4096 * 3, "quantize")
    put("dropout_bf16", "Dropout.", dropout,
        [A("x", "bf16", (1 << 14, 4096)), A("out", "bf16", (1 << 14, 4096), ZEROS), S("i32", 7), K(1024)],
        [1 << 14], [], 0, (1 << 14) * 4096 * 4, "dropout")
    put("histogram_i32_256", "Histogram.", histogram,
        [A("x", "i32", (1 << 24,)), A("out", "i32", (256,), ZEROS), K(1024), K(256)],
        [1024], [], 0, 4 << 24, "histogram")
    for m, t in ((32, 64), (8, 256)):
        put(f"stencil_f32_{m}x{t}", "Stencil.", stencil,
            [A("x", "f32", (8192, 8192)), A("out", "f32", (8192, 8192), ZEROS), K(m), K(t)],
            [8192 // m, 8192 // t], [], 0, 8192 ** 2 * 8, "stencil")
    for dtype, w in (("bf16", 4096), ("f32", 1024)):
        put(f"softmax_gradient_{dtype}_{w}", "Gradient of softmax.", softmax_gradient,
            [A("y", dtype, (16384, w)), A("dy", dtype, (16384, w)), A("dx", dtype, (16384, w), ZEROS), K(w)],
            [16384], [], 0, 3 * 16384 * w * BYTES[dtype], "softmax_gradient")
    put("adam_bf16", "Adam.", adam,
        [*(A(x, "f32", (1 << 26,)) for x in "wmv"), A("g", "bf16", (1 << 26,)), S("f32", 1e-3), K(1024)],
        [1 << 16], [], 0, (1 << 26) * 26, "adam")
    put("top2_bf16_256", "Top two.", top2,
        [A("x", "bf16", (1 << 16, 256)), A("out", "f32", (1 << 16, 2), ZEROS),
         A("ids", "i32", (1 << 16, 2), ZEROS), K(256)], [1 << 16], [], 0, (1 << 16) * 528, "top2")
