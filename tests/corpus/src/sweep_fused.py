"""Products whose factors or sums are something else first, or next, for sweep.py."""
import cuda.tile as ct
from cuda.tile import PaddingMode as PM

import perf
from perf import A, C, K, LOG2E, S, ZEROS

ROWS = {"kind": "uniform_int", "lo": 0, "hi": 4096}
CODES = {"kind": "uniform_int", "lo": 0, "hi": 16}


@ct.kernel
def linear_cross_entropy(x, w, t, out, TM: C, TN: C, TK: C):
    """Cross entropy of a product that is never stored."""
    i = ct.bid(0)
    target = ct.load(t, (i,), (TM,)).reshape((TM, 1))
    m = ct.full((TM, 1), -1e30, ct.float32)
    s = ct.zeros((TM, 1), ct.float32)
    picked = ct.zeros((TM, 1), ct.float32)
    for j in range(ct.num_tiles(w, 1, (TK, TN))):
        acc = perf._tile_product(x, w, i, j, TM, TN, TK, False)
        columns = (j * TN + ct.arange(TN, dtype=ct.int32))[None, :]
        acc = ct.where(columns < w.shape[1], acc, -1e30)
        new = ct.maximum(m, ct.max(acc, axis=1, keepdims=True))
        s = s * ct.exp(m - new) + ct.sum(ct.exp(acc - new), axis=1, keepdims=True)
        m = new
        picked += ct.sum(ct.where(columns == target, acc, 0.0), axis=1, keepdims=True)
    ct.store(out, (i,), (m + ct.log(s) - picked).reshape((TM,)))


@ct.kernel
def gemv(w, x, out, TM: C, TK: C):
    """A matrix by a vector."""
    i = ct.bid(0)
    acc = ct.zeros((TM, TK), ct.float32)
    for k in range(ct.num_tiles(w, 1, (TM, TK))):
        v = ct.load(x, (k,), (TK,), padding_mode=PM.ZERO).astype(ct.float32)[None, :]
        acc += ct.load(w, (i, k), (TM, TK), padding_mode=PM.ZERO).astype(ct.float32) * v
    ct.store(out, (i,), ct.sum(acc, axis=1).astype(out.dtype))


@ct.kernel
def nearest(x, c, norms, out, TM: C, TN: C, TK: C):
    """The code nearest to each row, by products."""
    i = ct.bid(0)
    best = ct.full((TM,), 1e30, ct.float32)
    which = ct.zeros((TM,), ct.int32)
    for j in range(ct.num_tiles(c, 1, (TK, TN))):
        acc = perf._tile_product(x, c, i, j, TM, TN, TK, False)
        far = ct.load(norms, (j,), (TN,))[None, :] - 2.0 * acc
        least, at = ct.min(far, axis=1), ct.argmin(far, axis=1)
        which = ct.where(least < best, at.astype(ct.int32) + j * TN, which)
        best = ct.minimum(best, least)
    ct.store(out, (i,), which)


@ct.kernel
def ffn(x, w1, w2, out, TM: C, TH: C, D: C):
    """Two layers whose hidden units are never stored."""
    i = ct.bid(0)
    a = ct.load(x, (i, 0), (TM, D))
    acc = ct.zeros((TM, D), ct.float32)
    for h in range(ct.num_tiles(w1, 1, (D, TH))):
        hidden = ct.mma(a, ct.load(w1, (0, h), (D, TH), padding_mode=PM.ZERO), ct.zeros((TM, TH), ct.float32))
        hidden = ct.maximum(hidden, 0.0)
        hidden = (hidden * hidden).astype(x.dtype)
        acc = ct.mma(hidden, ct.load(w2, (h, 0), (TH, D), padding_mode=PM.ZERO), acc)
    ct.store(out, (i, 0), acc.astype(out.dtype))


@ct.kernel
def gemm_complex(ar, ai, br, bi, cr, ci, TM: C, TN: C, TK: C):
    """A product of complex numbers."""
    i, j = ct.bid(0), ct.bid(1)
    re, im = ct.zeros((TM, TN), ct.float32), ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(ar, 1, (TM, TK))):
        a = ct.load(ar, (i, k), (TM, TK), padding_mode=PM.ZERO)
        b = ct.load(ai, (i, k), (TM, TK), padding_mode=PM.ZERO)
        c = ct.load(br, (k, j), (TK, TN), padding_mode=PM.ZERO)
        d = ct.load(bi, (k, j), (TK, TN), padding_mode=PM.ZERO)
        re = ct.mma(-b, d, ct.mma(a, c, re))
        im = ct.mma(b, c, ct.mma(a, d, im))
    ct.store(cr, (i, j), re.astype(cr.dtype))
    ct.store(ci, (i, j), im.astype(ci.dtype))


@ct.kernel
def gemm_scattered(x, w, rows, weights, out, TM: C, TN: C, TK: C):
    """What an expert gives is weighted and added to rows of a list."""
    i, j = ct.bid(0), ct.bid(1)
    acc = perf._tile_product(x, w, i, j, TM, TN, TK, False)
    r = ct.load(rows, (i,), (TM,))
    acc = acc * ct.load(weights, (i,), (TM,))[:, None]
    q = j * TN + ct.arange(TN, dtype=ct.int32)
    ct.atomic_add(out, (r[:, None], q[None, :]), acc, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def gemm_wrapped(x, w, out, TM: C, TN: C, TK: C):
    """A product as Triton writes it: through pointers of rows and columns that are remainders."""
    i, j = ct.bid(0), ct.bid(1)
    r, c = i * TM + ct.arange(TM, dtype=ct.int32), j * TN + ct.arange(TN, dtype=ct.int32)
    rows, columns = r % x.shape[0], c % w.shape[1]
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.cdiv(x.shape[1], TK)):
        q = k * TK + ct.arange(TK, dtype=ct.int32)
        a = ct.gather(x, (rows[:, None], q[None, :]), padding_value=0)
        b = ct.gather(w, (q[:, None], columns[None, :]), padding_value=0)
        acc = ct.mma(a, b, acc)
    ct.scatter(out, (r[:, None], c[None, :]), acc.astype(out.dtype))


@ct.kernel
def gemm_codes(x, codes, table, scales, out, TM: C, TN: C, TK: C):
    """Weights are looked up in a table of 16 numbers."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(codes, 0, (TK, TN))):
        code = ct.load(codes, (k, j), (TK, TN)).astype(ct.int32)
        w = ct.gather(table, code) * ct.load(scales, (k, j), (1, TN))
        acc = ct.mma(ct.load(x, (i, k), (TM, TK)), w.astype(x.dtype), acc)
    ct.store(out, (i, j), acc.astype(out.dtype))


@ct.kernel
def city_blocks(x, y, out, TM: C, TN: C, TK: C):
    """Distances in one norm, of all pairs of rows."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(x, 1, (TM, TK))):
        a = ct.load(x, (i, k), (TM, TK), padding_mode=PM.ZERO).reshape((TM, 1, TK))
        b = ct.load(y, (j, k), (TN, TK), padding_mode=PM.ZERO).reshape((1, TN, TK))
        acc += ct.sum(ct.abs(a - b), axis=2)
    ct.store(out, (i, j), acc)


def weighed(p, m, s):
    """Weights of scores in base 2, and of the sums before them; the largest score and the sum so far."""
    new = ct.maximum(m, ct.max(p, axis=1, keepdims=True))
    e, turn = ct.exp2(p - new), ct.exp2(m - new)
    return e, turn, new, s * turn + ct.sum(e, axis=1, keepdims=True)


@ct.kernel
def attention_bytes(q, k, v, ks, vs, out, scale, TM: C, TN: C, D: C):
    """Keys and values are bytes, with a scale for each row."""
    h, i = ct.bid(0), ct.bid(1)
    a = ct.load(q, (h, i, 0), (1, TM, D)).reshape((TM, D))
    m = ct.full((TM, 1), -1e30, ct.float32)
    s = ct.zeros((TM, 1), ct.float32)
    acc = ct.zeros((TM, D), ct.float32)
    for j in range(ct.num_tiles(k, 1, (1, TN, D))):
        b = ct.load(k, (h, j, 0), (1, TN, D)).reshape((TN, D)).astype(q.dtype)
        p = ct.mma(a, ct.transpose(b), ct.zeros((TM, TN), ct.float32))
        p = p * (ct.load(ks, (h, j), (1, TN)) * (scale * LOG2E))
        p, turn, m, s = weighed(p, m, s)
        p = (p * ct.load(vs, (h, j), (1, TN))).astype(q.dtype)
        c = ct.load(v, (h, j, 0), (1, TN, D)).reshape((TN, D)).astype(q.dtype)
        acc = ct.mma(p, c, acc * turn)
    ct.store(out, (h, i, 0), (acc / s).astype(out.dtype).reshape((1, TM, D)))


@ct.kernel
def attention_turned(q, k, v, cos, sin, out, scale, TM: C, TN: C, H: C):
    """Keys are turned by their places on the way; q has been. Heads have 2 H columns."""
    h, i = ct.bid(0), ct.bid(1)
    qa = ct.load(q, (h, i, 0), (1, TM, H)).reshape((TM, H))
    qb = ct.load(q, (h, i, 1), (1, TM, H)).reshape((TM, H))
    m = ct.full((TM, 1), -1e30, ct.float32)
    s = ct.zeros((TM, 1), ct.float32)
    acc = ct.zeros((TM, 2 * H), ct.float32)
    for j in range(ct.num_tiles(k, 1, (1, TN, H))):
        ka = ct.load(k, (h, j, 0), (1, TN, H)).reshape((TN, H)).astype(ct.float32)
        kb = ct.load(k, (h, j, 1), (1, TN, H)).reshape((TN, H)).astype(ct.float32)
        c, d = ct.load(cos, (j, 0), (TN, H)), ct.load(sin, (j, 0), (TN, H))
        p = ct.mma(qa, ct.transpose((ka * c - kb * d).astype(q.dtype)), ct.zeros((TM, TN), ct.float32))
        p = ct.mma(qb, ct.transpose((kb * c + ka * d).astype(q.dtype)), p) * (scale * LOG2E)
        p, turn, m, s = weighed(p, m, s)
        b = ct.load(v, (h, j, 0), (1, TN, 2 * H)).reshape((TN, 2 * H))
        acc = ct.mma(p.astype(q.dtype), b, acc * turn)
    ct.store(out, (h, i, 0), (acc / s).astype(out.dtype).reshape((1, TM, 2 * H)))


def products(put):
    n = 4096
    for tile in ((128, 128, 64), (64, 128, 64)):
        m, t, k = tile
        put(f"gemm_entropy_bf16_{m}x{t}x{k}", "Cross entropy of a product.", linear_cross_entropy,
            [A("x", "bf16", (n, 2048)), A("w", "bf16", (2048, 32000)), A("t", "i32", (n,), ROWS),
             A("out", "f32", (n,), ZEROS), K(m), K(t), K(k)], [n // m], [], 2 * n * 2048 * 32000, 0, "gemm")
        put(f"gemm_nearest_bf16_{m}x{t}x{k}", "The nearest code.", nearest,
            [A("x", "bf16", (n * 16, 256)), A("c", "bf16", (256, 8192)), A("norms", "f32", (8192,)),
             A("out", "i32", (n * 16,), ZEROS), K(m), K(t), K(k)], [n * 16 // m], [],
            2 * n * 16 * 256 * 8192, 0, "gemm")
        put(f"gemm_scattered_bf16_{m}x{t}x{k}", "Rows of a list.", gemm_scattered,
            [A("x", "bf16", (n, n)), A("w", "bf16", (n, n)), A("rows", "i32", (n,), ROWS),
             A("weights", "f32", (n,)), A("out", "f32", (n, n), ZEROS), K(m), K(t), K(k)],
            [n // m, n // t], [], 2 * n ** 3, 0, "gemm")
        put(f"gemm_codes_bf16_{m}x{t}x{k}", "A table of weights.", gemm_codes,
            [A("x", "bf16", (n, n)), A("codes", "i8", (n, n), CODES), A("table", "f32", (16,)),
             A("scales", "f32", (n // k, n)), A("out", "bf16", (n, n), ZEROS), K(m), K(t), K(k)],
            [n // m, n // t], [], 2 * n ** 3, 0, "gemm")
    for m, t, k in ((128, 128, 32), (128, 128, 64), (128, 256, 64)):
        put(f"gemm_wrapped_f16_{m}x{t}x{k}", "Pointers.", gemm_wrapped,
            [A("x", "f16", (n, n)), A("w", "f16", (n, n)), A("out", "f16", (n, n), ZEROS), K(m), K(t), K(k)],
            [n // m, n // t], [], 2 * n ** 3, 0, "gemm")
    for m, t in ((128, 64), (64, 64)):
        put(f"gemm_ffn_bf16_d128_{m}x{t}", "Two layers.", ffn,
            [A("x", "bf16", (n * 4, 128)), A("w1", "bf16", (128, 2048)), A("w2", "bf16", (2048, 128)),
             A("out", "bf16", (n * 4, 128), ZEROS), K(m), K(t), K(128)], [n * 4 // m], [],
            4 * n * 4 * 128 * 2048, 0, "gemm")
    for m, t, k in ((128, 64, 32), (64, 64, 64)):
        put(f"gemm_complex_bf16_{m}x{t}x{k}", "Complex numbers.", gemm_complex,
            [*(A(x, "bf16", (n, n)) for x in ("ar", "ai", "br", "bi")),
             *(A(x, "bf16", (n, n), ZEROS) for x in ("cr", "ci")), K(m), K(t), K(k)],
            [n // m, n // t], [], 8 * n ** 3, 0, "gemm")


def attention(put):
    n, heads = 4096, 32
    for m, t, d in ((128, 64, 128), (64, 64, 64)):
        array = [A("q", "f16", (heads, n, d)), A("k", "i8", (heads, n, d)), A("v", "i8", (heads, n, d)),
                 A("ks", "f32", (heads, n)), A("vs", "f32", (heads, n))]
        end = [A("out", "f16", (heads, n, d), ZEROS), S("f32", d ** -0.5), K(m), K(t)]
        put(f"attention_bytes_f16_d{d}_{m}x{t}", "Keys of bytes.", attention_bytes, array + end + [K(d)],
            [heads, n // m], [], 4 * heads * n * n * d, 0, "attention")
        array = [*(A(x, "f16", (heads, n, d)) for x in "qkv"), A("cos", "f32", (n, d // 2)),
                 A("sin", "f32", (n, d // 2))]
        put(f"attention_turned_f16_d{d}_{m}x{t}", "Turned keys.", attention_turned, array + end + [K(d // 2)],
            [heads, n // m], [], 4 * heads * n * n * d, 0, "attention")


def rows(put):
    for dtype, m, k in (("bf16", 16, 512), ("bf16", 4, 1024), ("i8", 16, 512)):
        put(f"gemv_{dtype}_{m}x{k}", "A vector.", gemv,
            [A("w", dtype, (16384, 8192)), A("x", "bf16", (8192,)), A("out", "bf16", (16384,), ZEROS),
             K(m), K(k)], [16384 // m], [], 0, 16384 * 8192 * (1 if dtype == "i8" else 2), "gemv")
    put("city_blocks_f32_32x32x16", "Distances.", city_blocks,
        [A("x", "f32", (2048, 64)), A("y", "f32", (2048, 64)), A("out", "f32", (2048, 2048), ZEROS),
         K(32), K(32), K(16)], [64, 64], [], 0, 2048 * 2048 * 4, "city_blocks")
