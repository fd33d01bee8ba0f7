"""Kernels of many shapes and kinds, to see where code is slow that nobody looks at:

    python src/sweep.py FOLDER [NAME ...]     those whose names contain one of these

`make sweep` predicts their speed beside that of NVIDIA's code. No data, and no part of perf/: what
turns out to matter goes there, or becomes a case.
"""
import math
import sys

import cuda.tile as ct
from cuda.tile import PaddingMode as PM

import models
import perf
import sweep_fused
import sweep_images
import sweep_kinds
import sweep_layers
import sweep_numeric
import sweep_sequences
import sweep_serving
import sweep_training
from perf import A, BYTES, C, K, LOG2E, S, ZEROS, Folder

IDS = {"kind": "uniform_int", "lo": 0, "hi": 4096}


@ct.kernel
def gemm_f32(a, b, c, TM: C, TN: C, TK: C):
    """Without the matrix unit."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        y = ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def gemm_i8(a, b, c, TM: C, TN: C, TK: C, KMAJOR: ct.Constant[bool]):
    """B stored as N x K if KMAJOR says so."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.int32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        if KMAJOR:
            y = ct.load(b, (k, j), (TK, TN), order=(1, 0), padding_mode=PM.ZERO)
        else:
            y = ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def gemm_gelu(a, b, w, c, TM: C, TN: C, TK: C):
    """A bias for each column, then GELU."""
    i, j = ct.bid(0), ct.bid(1)
    acc = perf._tile_product(a, b, i, j, TM, TN, TK, False)
    t = acc + ct.load(w, (j,), (TN,))[None, :].astype(ct.float32)
    u = 0.7978845608 * (t + 0.044715 * t * t * t)
    ct.store(c, (i, j), (0.5 * t * (1.0 + ct.tanh(u))).astype(c.dtype))


@ct.kernel
def gemm_w8(a, b, s, c, TM: C, TN: C, TK: C):
    """Weights of 8 bits with a scale for each column."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        y = ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO).astype(a.dtype)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), (acc * ct.load(s, (j,), (TN,))[None, :]).astype(c.dtype))


@ct.kernel
def gemm_gathered(a, ids, b, c, TM: C, TN: C, TK: C):
    """Rows of A by a list, as for a mixture of experts."""
    i, j = ct.bid(0), ct.bid(1)
    r = ct.load(ids, (i,), (TM,))
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(b, 0, (TK, TN))):
        q = k * TK + ct.arange(TK, dtype=ct.int32)
        x = ct.gather(a, (r[:, None], q[None, :]))
        y = ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def gemm_splitk(a, b, c, TM: C, TN: C, TK: C, PARTS: C):
    i, j, z = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(z, ct.num_tiles(a, 1, (TM, TK)), PARTS):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=PM.ZERO)
        y = ct.load(b, (k, j), (TK, TN), padding_mode=PM.ZERO)
        acc = ct.mma(x, y, acc)
    r = (i * TM + ct.arange(TM, dtype=ct.int32))[:, None]
    q = (j * TN + ct.arange(TN, dtype=ct.int32))[None, :]
    ct.atomic_add(c, (r, q), acc, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def attention_decode(q, k, v, out, scale, G: C, TN: C, D: C):
    """One query for each of G heads that share keys and values."""
    h, n = ct.bid(0), ct.bid(1)
    scale = scale * LOG2E
    m = ct.full((G, 1), -float("inf"), ct.float32)
    s = ct.zeros((G, 1), ct.float32)
    acc = ct.zeros((G, D), ct.float32)
    x = ct.load(q, (n, h, 0, 0), (1, 1, G, D)).reshape((G, D))
    for j in range(ct.cdiv(k.shape[2], TN)):
        y = ct.load(k, (n, h, 0, j), (1, 1, D, TN), order=(0, 1, 3, 2)).reshape((D, TN))
        p = ct.mma(x, y, ct.zeros((G, TN), ct.float32))
        new = ct.maximum(m, ct.max(p, axis=1, keepdims=True) * scale)
        e = ct.exp2(p * scale - new)
        f = ct.exp2(m - new)
        s = s * f + ct.sum(e, axis=1, keepdims=True)
        z = ct.load(v, (n, h, j, 0), (1, 1, TN, D)).reshape((TN, D))
        acc = ct.mma(e.astype(q.dtype), z, acc * f)
        m = new
    ct.store(out, (n, h, 0, 0), (acc / s).astype(out.dtype).reshape((1, 1, G, D)))


@ct.kernel
def attention_dq(q, k, v, do, lse, delta, dq, scale, TM: C, TN: C, D: C):
    """Gradient of the queries."""
    i, h = ct.bid(0), ct.bid(1)
    x = ct.load(q, (h, i, 0), (1, TM, D)).reshape((TM, D))
    g = ct.load(do, (h, i, 0), (1, TM, D)).reshape((TM, D))
    m = ct.load(lse, (h, i), (1, TM)).reshape((TM, 1))
    d = ct.load(delta, (h, i), (1, TM)).reshape((TM, 1))
    acc = ct.zeros((TM, D), ct.float32)
    zero = ct.zeros((TM, TN), ct.float32)
    for j in range(ct.num_tiles(k, 1, (1, TN, D))):
        y = ct.load(k, (h, j, 0), (1, TN, D)).reshape((TN, D))
        z = ct.load(v, (h, j, 0), (1, TN, D)).reshape((TN, D))
        p = ct.exp2(ct.mma(x, ct.transpose(y), zero) * scale - m)
        s = p * (ct.mma(g, ct.transpose(z), zero) - d)
        acc = ct.mma(s.astype(q.dtype), y, acc)
    ct.store(dq, (h, i, 0), (acc * scale).astype(dq.dtype).reshape((1, TM, D)))


@ct.kernel
def attention_dkv(q, k, v, do, lse, delta, dk, dv, scale, TM: C, TN: C, D: C):
    """Gradients of the keys and values."""
    j, h = ct.bid(0), ct.bid(1)
    y = ct.load(k, (h, j, 0), (1, TN, D)).reshape((TN, D))
    z = ct.load(v, (h, j, 0), (1, TN, D)).reshape((TN, D))
    ak = ct.zeros((TN, D), ct.float32)
    av = ct.zeros((TN, D), ct.float32)
    zero = ct.zeros((TN, TM), ct.float32)
    for i in range(ct.num_tiles(q, 1, (1, TM, D))):
        x = ct.load(q, (h, i, 0), (1, TM, D)).reshape((TM, D))
        g = ct.load(do, (h, i, 0), (1, TM, D)).reshape((TM, D))
        m = ct.load(lse, (h, i), (1, TM)).reshape((1, TM))
        d = ct.load(delta, (h, i), (1, TM)).reshape((1, TM))
        p = ct.exp2(ct.mma(y, ct.transpose(x), zero) * scale - m)
        av = ct.mma(p.astype(q.dtype), g, av)
        s = p * (ct.mma(z, ct.transpose(g), zero) - d)
        ak = ct.mma(s.astype(q.dtype), x, ak)
    ct.store(dk, (h, j, 0), (ak * scale).astype(dk.dtype).reshape((1, TN, D)))
    ct.store(dv, (h, j, 0), av.astype(dv.dtype).reshape((1, TN, D)))


@ct.kernel
def swiglu(x, y, out, T: C):
    i, j = ct.bid(0), ct.bid(1)
    a = ct.load(x, (i, j), (1, T), padding_mode=PM.ZERO).astype(ct.float32)
    b = ct.load(y, (i, j), (1, T), padding_mode=PM.ZERO).astype(ct.float32)
    ct.store(out, (i, j), (a / (1.0 + ct.exp(-a)) * b).astype(out.dtype))


@ct.kernel
def gelu(x, out, T: C):
    i = ct.bid(0)
    a = ct.load(x, (i,), (T,)).astype(ct.float32)
    u = 0.7978845608 * (a + 0.044715 * a * a * a)
    ct.store(out, (i,), (0.5 * a * (1.0 + ct.tanh(u))).astype(out.dtype))


@ct.kernel
def cross_entropy(x, t, out, T: C):
    i = ct.bid(0)
    m = ct.full((1, T), -float("inf"), ct.float32)
    s = ct.zeros((1, T), ct.float32)
    for k in range(ct.num_tiles(x, 1, (1, T))):
        v = ct.load(x, (i, k), (1, T), padding_mode=PM.NEG_INF).astype(ct.float32)
        n = ct.maximum(m, v)
        s = s * ct.exp(m - n) + ct.exp(v - n)
        m = n
    top = ct.max(m, axis=1, keepdims=True)
    total = ct.sum(s * ct.exp(m - top), axis=1)
    hit = ct.gather(x, (i, ct.load(t, (i,), (1,)))).astype(ct.float32)
    ct.store(out, (i,), ct.log(total) + top.reshape((1,)) - hit)


@ct.kernel
def column_sum(x, out, TM: C, TN: C):
    j = ct.bid(0)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(x, 0, (TM, TN))):
        acc += ct.load(x, (k, j), (TM, TN), padding_mode=PM.ZERO).astype(ct.float32)
    ct.store(out, (j,), ct.sum(acc, axis=0))


@ct.kernel
def cumsum(x, out, T: C):
    i = ct.bid(0)
    ct.store(out, (i, 0), ct.cumsum(ct.load(x, (i, 0), (1, T), padding_mode=PM.ZERO), axis=1))


@ct.kernel
def argmax(x, out, T: C):
    i = ct.bid(0)
    ct.store(out, (i,), ct.argmax(ct.load(x, (i, 0), (1, T), padding_mode=PM.NEG_INF), axis=1))


@ct.kernel
def softmax(x, out, T: C):
    """A block for each row."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (1, T), padding_mode=PM.NEG_INF).astype(ct.float32)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, (i, 0), (e / ct.sum(e, axis=1, keepdims=True)).astype(out.dtype))


def products(put):
    def product(kernel, name, dtype, out, n, tile, *more, kmajor=False, batch=0, flops=None):
        """c = a b of matrices of n x n, or of n = (M, N, K)."""
        M, N, depth = n if isinstance(n, tuple) else (n, n, n)
        m, t, k = tile
        lead = (batch,) if batch else ()
        b = (N, depth) if kmajor else (depth, N)
        grid = [-(-M // m), -(-N // t)] + ([batch] if batch else [])
        if kernel in (perf.gemm, gemm_i8):
            more = (K(kmajor),)
        if kernel is perf.gemm:
            grid = [grid[0] * grid[1]]
        args = [A("a", dtype, lead + (M, depth)), A("b", dtype, lead + b),
                A("c", out, lead + (M, N), ZEROS), K(m), K(t), K(k), *more]
        put(f"{name}_{dtype}_{m}x{t}x{k}{'_nt' if kmajor else ''}", "Matrix product.", kernel, args,
            grid, [], 2 * M * N * depth * max(1, batch), 0, "gemm")

    for tile in ((16, 128, 64), (16, 64, 128), (16, 256, 64), (32, 128, 64), (32, 64, 64),
                 (64, 64, 64), (64, 64, 32), (64, 128, 64), (64, 128, 32), (128, 64, 64),
                 (64, 256, 64), (256, 64, 64), (256, 128, 64), (128, 128, 128), (128, 256, 32),
                 (128, 256, 128), (128, 128, 256),
                 (32, 32, 32), (16, 16, 16)):
        product(perf.gemm, "gemm", "bf16", "bf16", 4096, tile)
    for tile in ((64, 64, 32), (64, 128, 32), (128, 64, 32), (32, 64, 32), (64, 64, 64),
                 (16, 128, 32), (128, 128, 64)):
        product(perf.gemm, "gemm", "f32", "f32", 4096, tile)
    for tile in ((128, 128, 64), (16, 128, 64)):
        product(perf.gemm, "gemm", "f16", "f16", 4096, tile, kmajor=True)
    product(perf.gemm, "gemm_ragged", "f16", "f16", (4095, 4097, 4091), (128, 128, 64))
    product(perf.gemm, "gemm_ragged", "bf16", "bf16", 4090, (64, 64, 64))
    for tile in ((128, 128, 64), (64, 64, 64)):
        product(models.bmm, "gemm_batched", "bf16", "bf16", 1024, tile, batch=16)
    for tile in ((128, 128, 16), (64, 64, 32), (32, 32, 32), (128, 64, 32)):
        product(gemm_f32, "gemm_simt", "f32", "f32", 4096, tile)
    for tile in ((128, 128, 64), (128, 256, 128), (64, 64, 64)):
        product(gemm_i8, "gemm", "i8", "i32", 4096, tile, kmajor=True)
    product(gemm_i8, "gemm", "i8", "i32", 4096, (128, 128, 64))
    for tile in ((128, 128, 64), (128, 256, 128)):
        product(perf.gemm, "gemm", "f8e4m3fn", "f32", 4096, tile)
    product(perf.gemm, "gemm", "f32", "f32", 4096, (128, 128, 32), kmajor=True)
    for tile in ((128, 128, 64), (64, 128, 64)):
        product(gemm_splitk, "gemm_splitk", "bf16", "f32", (1024, 1024, 16384), tile, K(4))

    def fed(kernel, name, n, tile, extra, b="bf16"):
        """A product with a third input, at place extra[0] of the arguments."""
        M, (m, t, k) = n, tile
        args = [A("a", "bf16", (M, 4096)), A("b", b, (4096, 4096)), A("c", "bf16", (M, 4096), ZEROS)]
        args.insert(*extra)
        put(f"{name}_bf16_{m}x{t}x{k}", kernel._annotated_function.pyfunc.__doc__, kernel,
            args + [K(m), K(t), K(k)], [-(-M // m), 4096 // t], [], 2 * M * 4096 ** 2, 0, "gemm")

    for tile in ((128, 128, 64), (64, 128, 64)):
        fed(gemm_gelu, "gemm_gelu", 4096, tile, (2, A("w", "bf16", (4096,))))
        fed(gemm_gathered, "gemm_gathered", 4096, tile, (1, A("ids", "i32", (4096,), IDS)))
        fed(gemm_w8, "gemm_w8", 4096, tile, (2, A("s", "f32", (4096,))), b="i8")
    fed(gemm_w8, "gemm_w8", 16, (16, 128, 64), (2, A("s", "f32", (4096,))), b="i8")


def attention(put):
    def forward(dtype, m, n, d, causal):
        shape = (2, 16, 4096, d)
        put(f"attention_{dtype}_d{d}{'_causal' if causal else ''}_{m}x{n}", "Attention forward.",
            perf.attention,
            [*(A(x, dtype, shape) for x in "qkv"), A("out", "f16", shape, ZEROS),
             S("f32", 1 / math.sqrt(d)), K(16), K(m), K(n), K(d), K(bool(causal))],
            [4096 // m, 32], [], 4 * 32 * 4096 ** 2 * d // (2 if causal else 1), 0, "attention",
            causal=bool(causal))

    for tile in ((64, 64, 64, 0), (64, 64, 128, 0), (64, 32, 128, 0), (128, 32, 128, 0),
                 (128, 64, 64, 1), (64, 64, 128, 1), (32, 64, 64, 0), (16, 64, 128, 0),
                 (64, 64, 256, 0), (64, 64, 256, 1), (128, 64, 256, 0), (256, 64, 64, 0),
                 (256, 64, 64, 1), (128, 128, 32, 0)):
        forward("f16", *tile)
    for tile in ((128, 64, 128, 0), (128, 128, 128, 0), (64, 64, 128, 0), (128, 128, 128, 1),
                 (128, 128, 64, 0), (128, 64, 64, 1)):
        forward("f8e4m3fn", *tile)
    for g, n, d in ((16, 64, 128), (8, 128, 128), (16, 128, 64), (4, 128, 128), (1, 128, 128)):
        few, many = (64, 8, g, d), (64, 8, 4096, d)
        put(f"attention_decode_f16_g{g}_{n}_d{d}", "A token's attention.", attention_decode,
            [A("q", "f16", few), A("k", "f16", many), A("v", "f16", many),
             A("out", "f16", few, ZEROS), S("f32", 1 / math.sqrt(d)), K(g), K(n), K(d)],
            [8, 64], [], 4 * 64 * 8 * 4096 * g * d, 64 * 8 * 4096 * d * 4, "attention")
    for m, n, d in ((64, 64, 64), (128, 64, 64), (64, 64, 128), (128, 128, 64), (32, 64, 128)):
        shape, rows = (32, 4096, d), (32, 4096)
        given = [*(A(x, "f16", shape) for x in ("q", "k", "v", "do")),
                 *(A(x, "f32", rows) for x in ("lse", "delta"))]
        tail = [S("f32", 1 / math.sqrt(d)), K(m), K(n), K(d)]
        grad = [A(x, "f16", shape, ZEROS) for x in ("dq", "dk", "dv")]
        put(f"attention_dq_f16_d{d}_{m}x{n}", "Gradient of queries.", attention_dq,
            given + grad[:1] + tail, [4096 // m, 32], [], 6 * 32 * 4096 ** 2 * d, 0, "attention")
        put(f"attention_dkv_f16_d{d}_{m}x{n}", "Gradients of keys and values.", attention_dkv,
            given + grad[1:] + tail, [4096 // n, 32], [], 8 * 32 * 4096 ** 2 * d, 0, "attention")


def rows(put):
    def by_row(kernel, name, r, w, tile, dtype, out, *more, each=1, passes=2):
        """A block for each row of w elements; passes is how often memory holds them."""
        put(name, kernel.__doc__ or name, kernel,
            [A("x", dtype, (r, w)), *more, A("out", *out, ZEROS), K(tile)], [r, each], [], 0,
            passes * r * w * BYTES[dtype], name.split("_")[0])

    for w in (1024, 4096):
        by_row(cumsum, f"cumsum_f32_{w}", 8192, w, w, "f32", ("f32", (8192, w)))
        by_row(argmax, f"argmax_f32_{w}", 8192, w, w, "f32", ("i32", (8192,)), passes=1)
    for dtype, w, tile in (("bf16", 4096, 4096), ("bf16", 1000, 1024), ("f32", 16384, 16384),
                           ("f16", 256, 256)):
        by_row(softmax, f"softmax_{dtype}_{w}", 16384, w, tile, dtype, (dtype, (16384, w)))
    by_row(swiglu, "swiglu_bf16", 8192, 11264, 1024, "bf16", ("bf16", (8192, 11264)),
           A("y", "bf16", (8192, 11264)), each=11, passes=3)
    by_row(cross_entropy, "cross_entropy_bf16_32000", 4096, 32000, 2048, "bf16", ("f32", (4096,)),
           A("t", "i32", (4096,), IDS), passes=1)
    for kernel, name, r, w, tile, extra in (
            (perf.layernorm, "layernorm_bf16_1000", 16384, 1000, 1024, ["w", "b"]),
            (perf.rmsnorm, "rmsnorm_bf16_16384", 4096, 16384, 16384, ["w"])):
        put(name, "Normalization.", kernel,
            [A("x", "bf16", (r, w)), *(A(x, "f32", (w,)) for x in extra),
             A("out", "bf16", (r, w), ZEROS), S("f32", 1e-5), K(tile)], [r], [], 0, 4 * r * w, "norm")
    put("gelu_bf16", "GELU.", gelu, [A("x", "bf16", (1 << 26,)), A("out", "bf16", (1 << 26,), ZEROS),
                                     K(2048)], [1 << 15], [], 0, 4 << 26, "gelu")
    for dtype, m, n in (("bf16", 32, 64), ("bf16", 128, 64), ("f32", 64, 128)):
        put(f"column_sum_{dtype}_{m}x{n}", "Sums of columns.", column_sum,
            [A("x", dtype, (8192, 8192)), A("out", "f32", (8192,), ZEROS), K(m), K(n)],
            [8192 // n], [], 0, 8192 ** 2 * BYTES[dtype], "column_sum")
    for dtype, tile in (("bf16", 32), ("bf16", 64), ("f32", 32), ("i8", 128)):
        put(f"transpose_{dtype}_{tile}", "Transpose.", perf.transpose,
            [A("x", dtype, (8192, 8192), ZEROS), A("out", dtype, (8192, 8192), ZEROS), K(tile), K(tile)],
            [8192 // tile] * 2, [], 0, 2 * 8192 ** 2 * BYTES[dtype], "transpose")


if __name__ == "__main__":
    folder = Folder(sys.argv[1], only=sys.argv[2:])
    others = (sweep_kinds, sweep_layers, sweep_fused, sweep_serving, sweep_training, sweep_images, sweep_numeric,
              sweep_sequences)
    for kinds in (products, attention, rows):
        kinds(folder.put)
    for module in others:
        for kinds in ("products", "attention", "rows"):
            if hasattr(module, kinds):
                getattr(module, kinds)(folder.put)
