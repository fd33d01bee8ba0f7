"""Kernels that train models, for sweep.py: recurrences in chunks, by tokens and by scans, losses, gradients of norms,
optimizers, quantization by groups, clusters."""
import cuda.tile as ct
from cuda.tile import PaddingMode as PM

from perf import A, C, K, S, ZEROS
from sweep_serving import chance, ints


@ct.kernel
def gemm_ssd(x, dt, decay, b, c, skip, out, last, T: C, P: C, N: C):
    """Mamba 2: a state of N x P for each head goes from chunk to chunk; b and c are all heads'."""
    n, h = ct.bid(0), ct.bid(1)
    rate = -ct.exp(ct.gather(decay, h))
    state = ct.zeros((N, P), ct.float32)
    at = ct.arange(T, dtype=ct.int32)
    for i in range(ct.cdiv(x.shape[1], T)):
        u = ct.load(x, (n, i, h, 0), (1, T, 1, P), padding_mode=PM.ZERO).reshape((T, P))
        d = ct.load(dt, (n, i, h), (1, T, 1), padding_mode=PM.ZERO).reshape((T,))
        d = ct.where(d > 20.0, d, ct.log(1.0 + ct.exp(d)))
        d = ct.where(i * T + at < x.shape[1], d, 0.0)
        y = ct.load(b, (n, i, 0), (1, T, N), padding_mode=PM.ZERO).reshape((T, N))
        z = ct.load(c, (n, i, 0), (1, T, N), padding_mode=PM.ZERO).reshape((T, N))
        s, total = ct.cumsum(d * rate, axis=0), ct.sum(d * rate, axis=0)
        p = ct.mma(z, ct.transpose(y), ct.zeros((T, T), ct.float32))
        p *= ct.where(at[:, None] >= at[None, :], ct.exp(s[:, None] - s[None, :]), 0.0) * d[None, :]
        o = ct.mma(z, state.astype(z.dtype), ct.zeros((T, P), ct.float32)) * ct.exp(s)[:, None]
        o = ct.mma(p.astype(u.dtype), u, o) + u.astype(ct.float32) * ct.gather(skip, h)
        ct.store(out, (n, i, h, 0), o.astype(out.dtype).reshape((1, T, 1, P)))
        w = (y.astype(ct.float32) * (ct.exp(total - s) * d)[:, None]).astype(u.dtype)
        state = ct.mma(ct.transpose(w), u, state * ct.exp(total))
    ct.store(last, (n, h, 0, 0), state.reshape((1, 1, N, P)))


@ct.kernel
def delta_rule(q, k, v, beta, out, T: C, D: C):
    """Chunks of the delta rule: a triangle of T x T is inverted row by row."""
    h = ct.bid(0)
    rows, cols = ct.arange(T, dtype=ct.int32)[:, None], ct.arange(T, dtype=ct.int32)[None, :]
    state = ct.zeros((D, D), ct.float32)
    zero = ct.zeros((T, D), ct.float32)
    for c in range(ct.num_tiles(q, 1, (1, T, D))):
        x = ct.load(q, (h, c, 0), (1, T, D)).reshape((T, D))
        y = ct.load(k, (h, c, 0), (1, T, D)).reshape((T, D))
        z = ct.load(v, (h, c, 0), (1, T, D)).reshape((T, D)).astype(ct.float32)
        b = ct.load(beta, (h, c), (1, T)).reshape((T, 1))
        a = ct.mma(y, ct.transpose(y), ct.zeros((T, T), ct.float32)) * b
        a = ct.where(rows > cols, -a, 0.0)
        for i in range(1, T):
            row = ct.sum(ct.where(rows == i, a, 0.0), axis=0)
            row += ct.sum(ct.where(rows < i, row[:, None] * a, 0.0), axis=0)
            a = ct.where(rows == i, row[None, :], a)
        a = ct.where(rows == cols, 1.0, a).astype(q.dtype)
        w = ct.mma(a, (y.astype(ct.float32) * b).astype(q.dtype), zero).astype(q.dtype)
        s = state.astype(q.dtype)
        u = (ct.mma(a, (z * b).astype(q.dtype), zero) - ct.mma(w, s, zero)).astype(q.dtype)
        p = ct.mma(x, ct.transpose(y), ct.zeros((T, T), ct.float32))
        p = ct.where(rows >= cols, p, 0.0).astype(q.dtype)
        ct.store(out, (h, c, 0), ct.mma(p, u, ct.mma(x, s, zero)).astype(out.dtype).reshape((1, T, D)))
        state = ct.mma(ct.transpose(y), u, state)


@ct.kernel
def wkv(r, k, v, w, u, first, out, last, D: C):
    """RWKV 6, token by token: a state of D x D."""
    n, h = ct.bid(0), ct.bid(1)
    state = ct.load(first, (n, h, 0, 0), (1, 1, D, D)).reshape((D, D))
    bonus = ct.load(u, (h, 0), (1, D)).reshape((D, 1))
    for t in range(r.shape[1]):
        a = ct.load(r, (n, t, h, 0), (1, 1, 1, D)).reshape((D, 1)).astype(ct.float32)
        b = ct.load(k, (n, t, h, 0), (1, 1, 1, D)).reshape((D, 1)).astype(ct.float32)
        c = ct.load(v, (n, t, h, 0), (1, 1, 1, D)).reshape((1, D)).astype(ct.float32)
        d = ct.load(w, (n, t, h, 0), (1, 1, 1, D)).reshape((D, 1)).astype(ct.float32)
        o = ct.sum((state + bonus * (b * c)) * a, axis=0)
        state = state * ct.exp(-ct.exp(d)) + b * c
        ct.store(out, (n, t, h, 0), o.astype(out.dtype).reshape((1, 1, 1, D)))
    ct.store(last, (n, h, 0, 0), state.reshape((1, 1, D, D)))


@ct.kernel
def recurrence(a, x, out, T: C, W: C):
    """y[t] = a[t] y[t - 1] + x[t] down the rows, by a scan of pairs."""
    n, j = ct.bid(0), ct.bid(1)
    carry = ct.zeros((1, W), ct.float32)
    rows = ct.arange(T, dtype=ct.int32)[:, None]
    for k in range(ct.cdiv(a.shape[1], T)):
        f = ct.load(a, (n, k, j), (1, T, W), padding_mode=PM.ZERO).reshape((T, W))
        u = ct.load(x, (n, k, j), (1, T, W), padding_mode=PM.ZERO).reshape((T, W))
        p, q = ct.scan((f, u), 0, lambda a0, x0, a1, x1: (a0 * a1, x0 * a1 + x1), (1.0, 0.0))
        y = q + p * carry
        ct.store(out, (n, k, j), y.reshape((1, T, W)))
        carry = ct.sum(ct.where(rows == T - 1, y, 0.0), axis=0, keepdims=True)


@ct.kernel
def adamw_clip(w16, w, m, v, g, squares, rate, b1, b2, decay, most, step, T: C):
    """AdamW with a bound on the norm of the gradient; the weights are stored in bf16 as well."""
    i = ct.bid(0)
    f = min(1.0, most / (ct.sqrt(ct.gather(squares, 0)) + 1e-6))
    t = ct.load(g, (i,), (T,)).astype(ct.float32) * f
    a = b1 * ct.load(m, (i,), (T,)) + (1.0 - b1) * t
    b = b2 * ct.load(v, (i,), (T,)) + (1.0 - b2) * t * t
    n = ct.astype(step, ct.float32)
    u = (a / (1.0 - b1 ** n)) / (ct.sqrt(b / (1.0 - b2 ** n)) + 1e-8)
    x = ct.load(w, (i,), (T,)) * (1.0 - rate * decay) - rate * u
    ct.store(m, (i,), a)
    ct.store(v, (i,), b)
    ct.store(w, (i,), x)
    ct.store(w16, (i,), x.astype(w16.dtype))


@ct.kernel
def smooth_entropy(x, target, loss, smooth, scale, T: C):
    """Cross entropy with smooth labels; the gradient goes where the scores were. -100 is no label."""
    i, n = ct.bid(0), x.shape[1]
    y = ct.gather(target, i)
    lanes = ct.arange(T, dtype=ct.int32)[None, :]
    if y == -100:
        for k in range(ct.cdiv(n, T)):
            ct.store(x, (i, k), ct.zeros((1, T), x.dtype))
        ct.scatter(loss, i, 0.0)
    else:
        m, s, total = -float("inf"), 0.0, 0.0
        hit = ct.gather(x, (i, y)).astype(ct.float32)
        for k in range(ct.cdiv(n, T)):
            t = ct.load(x, (i, k), (1, T), padding_mode=PM.NEG_INF).astype(ct.float32)
            total += ct.sum(ct.where(k * T + lanes < n, t, 0.0))
            new = max(m, ct.max(t))
            s = s * ct.exp(m - new) + ct.sum(ct.exp(t - new))
            m = new
        lse = m + ct.log(s)
        for k in range(ct.cdiv(n, T)):
            t = ct.load(x, (i, k), (1, T), padding_mode=PM.NEG_INF).astype(ct.float32)
            g = ct.exp(t - lse) - smooth / n
            g = ct.where(k * T + lanes == y, g - (1.0 - smooth), g)
            ct.store(x, (i, k), (g * scale).astype(x.dtype))
        ct.scatter(loss, i, (lse - (1.0 - smooth) * hit - smooth / n * total) * scale)


@ct.kernel
def layernorm_gradient(dy, x, w, mean, rstd, dx, dw, db, R: C, T: C):
    """R rows at a time; gradients of the weights are summed in registers, then by atomics."""
    f = ct.load(w, (0,), (T,), padding_mode=PM.ZERO).astype(ct.float32)[None, :]
    aw, ab = ct.zeros((T,), ct.float32), ct.zeros((T,), ct.float32)
    n, cols = x.shape[1], ct.arange(T, dtype=ct.int32)
    for i in range(ct.bid(0), ct.cdiv(x.shape[0], R), ct.num_blocks(0)):
        t = ct.load(x, (i, 0), (R, T), padding_mode=PM.ZERO).astype(ct.float32)
        g = ct.load(dy, (i, 0), (R, T), padding_mode=PM.ZERO).astype(ct.float32)
        mu = ct.load(mean, (i,), (R,), padding_mode=PM.ZERO)[:, None]
        rs = ct.load(rstd, (i,), (R,), padding_mode=PM.ZERO)[:, None]
        t = ct.where(cols[None, :] < n, (t - mu) * rs, 0.0)
        c = ct.sum(t * g * f, axis=1, keepdims=True) / n
        d = ct.sum(g * f, axis=1, keepdims=True) / n
        ct.store(dx, (i, 0), ((g * f - (t * c + d)) * rs).astype(dx.dtype))
        aw += ct.sum(g * t, axis=0)
        ab += ct.sum(g, axis=0)
    ct.atomic_add(dw, (cols,), aw, memory_order=ct.MemoryOrder.RELAXED)
    ct.atomic_add(db, (cols,), ab, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def group_quantize(x, out, s, R: C, G: C, N: C):
    """R rows of G groups of N numbers to bytes, with a scale for each group."""
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, (i, j), (R, G * N), padding_mode=PM.ZERO).astype(ct.float32).reshape((R, G, N))
    a = ct.max(ct.abs(t), axis=2, keepdims=True)
    a = ct.where(a > 0.0, a / 127.0, 1.0)
    q = ct.minimum(ct.maximum(ct.floor(t / a + 0.5), -128.0), 127.0)
    ct.store(out, (i, j), q.astype(ct.int8).reshape((R, G * N)))
    ct.store(s, (i, j), a.reshape((R, G)))


@ct.kernel
def kmeans(x, centres, label, sums, counts, TM: C, TN: C, D: C):
    """The centre nearest to each point; sums of the points of each, by a product with ones."""
    i = ct.bid(0)
    a = ct.load(x, (i, 0), (TM, D), padding_mode=PM.ZERO)
    best, at = ct.full((TM,), 1e30, ct.float32), ct.zeros((TM,), ct.int32)
    for j in range(ct.cdiv(centres.shape[0], TN)):
        b = ct.load(centres, (j, 0), (TN, D), padding_mode=PM.ZERO)
        f = b.astype(ct.float32)
        far = ct.sum(f * f, axis=1)[None, :] - 2.0 * ct.mma(a, ct.transpose(b), ct.zeros((TM, TN), ct.float32))
        cols = j * TN + ct.arange(TN, dtype=ct.int32)
        far = ct.where(cols[None, :] < centres.shape[0], far, 1e30)
        least = ct.min(far, axis=1)
        at = ct.where(least < best, ct.argmin(far, axis=1).astype(ct.int32) + j * TN, at)
        best = ct.minimum(best, least)
    rows = i * TM + ct.arange(TM, dtype=ct.int32)
    ct.scatter(label, rows, at)
    at = ct.where(rows < x.shape[0], at, -1)
    for j in range(ct.cdiv(centres.shape[0], TN)):
        cols = j * TN + ct.arange(TN, dtype=ct.int32)
        ones = cols[:, None] == at[None, :]
        s = ct.mma(ones.astype(x.dtype), a, ct.zeros((TN, D), ct.float32))
        ct.atomic_add(sums, (cols[:, None], ct.arange(D, dtype=ct.int32)[None, :]), s,
                      memory_order=ct.MemoryOrder.RELAXED)
        ct.atomic_add(counts, (cols,), ct.sum(ones.astype(ct.int32), axis=1),
                      memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def dropout_norm(x, r, w, b, out, kept, seed, p, T: C):
    """Dropout by a hash, a residual, layer norm; what is kept is stored in bytes."""
    i, n = ct.bid(0), x.shape[1]
    c = ct.arange(T, dtype=ct.int32)
    keep = chance((i * n + c).astype(ct.uint32) ^ ct.astype(seed, ct.uint32)) >= p
    ct.scatter(kept, (i, c), keep)
    t = ct.where(keep, ct.gather(x, (i, c)).astype(ct.float32) / (1.0 - p), 0.0)
    t += ct.gather(r, (i, c)).astype(ct.float32)
    d = ct.where(c < n, t - ct.sum(t) / n, 0.0)
    d *= ct.rsqrt(ct.sum(d * d) / n + 1e-5)
    ct.scatter(out, (i, c), (d * ct.gather(w, c) + ct.gather(b, c)).astype(out.dtype))


def products(put):
    for t, n in ((64, 128), (128, 64)):
        shape, states = (8, 4096, 64, 64), (8, 4096, n)
        put(f"gemm_ssd_bf16_{t}x64x{n}", "Mamba 2.", gemm_ssd,
            [A("x", "bf16", shape), A("dt", "f32", shape[:3]), A("decay", "f32", (64,)), A("b", "bf16", states),
             A("c", "bf16", states), A("skip", "f32", (64,)), A("out", "bf16", shape, ZEROS),
             A("last", "f32", (8, 64, n, 64), ZEROS), K(t), K(64), K(n)], [8, 64], [],
            2 * 8 * 64 * 4096 * (t * n + t * 64 + 2 * n * 64), 0, "gemm")
    for m, t, d in ((128, 64, 64), (64, 64, 128)):
        n = 1 << 20
        put(f"gemm_kmeans_bf16_{m}x{t}x{d}", "Clusters.", kmeans,
            [A("x", "bf16", (n, d)), A("centres", "bf16", (1024, d)), A("label", "i32", (n,), ZEROS),
             A("sums", "f32", (1024, d), ZEROS), A("counts", "i32", (1024,), ZEROS), K(m), K(t), K(d)],
            [n // m], [], 4 * n * 1024 * d, 0, "gemm")


def rows(put):
    shape = (256, 4096, 64)
    put("delta_rule_bf16_64x64", "Delta rule.", delta_rule,
        [*(A(x, "bf16", shape) for x in "qkv"), A("beta", "f32", shape[:2]), A("out", "bf16", shape, ZEROS),
         K(64), K(64)], [256], [], 0, 256 * 4096 * 64 * 8, "delta_rule")
    shape, states = (8, 4096, 32, 64), (8, 32, 64, 64)
    put("wkv_bf16_64", "RWKV.", wkv,
        [*(A(x, "bf16", shape) for x in "rkvw"), A("u", "f32", (32, 64)), A("first", "f32", states),
         A("out", "bf16", shape, ZEROS), A("last", "f32", states, ZEROS), K(64)], [8, 32], [], 0,
        10 * 8 * 4096 * 32 * 64, "wkv")
    shape = (16, 4096, 1024)
    put("recurrence_f32_64x64", "A scan of pairs.", recurrence,
        [*(A(x, "f32", shape) for x in "ax"), A("out", "f32", shape, ZEROS), K(64), K(64)], [16, 16], [], 0,
        12 * 16 << 22, "recurrence")
    n = 1 << 26
    put("adamw_clip_bf16_1024", "AdamW.", adamw_clip,
        [A("w16", "bf16", (n,), ZEROS), *(A(x, "f32", (n,)) for x in "wmv"), A("g", "bf16", (n,)),
         A("squares", "f32", (1,)), *(S("f32", 0.1) for _ in range(5)), S("i32", 3), K(1024)], [n >> 10], [], 0,
        28 * n, "adamw")
    put("smooth_entropy_bf16_32000", "Smooth labels.", smooth_entropy,
        [A("x", "bf16", (8192, 32000)), A("target", "i32", (8192,), ints(0, 32000)),
         A("loss", "f32", (8192,), ZEROS), S("f32", 0.1), S("f32", 0.1), K(2048)], [8192], [], 0,
        8192 * 32000 * 6, "smooth_entropy")
    for r, w in ((1, 4096), (4, 1024)):
        m = (1 << 26) // w
        put(f"layernorm_gradient_bf16_{r}x{w}", "Gradients of layer norm.", layernorm_gradient,
            [*(A(x, "bf16", (m, w)) for x in ("dy", "x")), A("w", "bf16", (w,)),
             *(A(x, "f32", (m,)) for x in ("mean", "rstd")), A("dx", "bf16", (m, w), ZEROS),
             *(A(x, "f32", (w,), ZEROS) for x in ("dw", "db")), K(r), K(w)], [256], [], 0, 6 << 26, "norm")
    put("group_quantize_bf16_16x2x128", "Groups of bytes.", group_quantize,
        [A("x", "bf16", (16384, 4096)), A("out", "i8", (16384, 4096), ZEROS), A("s", "f32", (16384, 32), ZEROS),
         K(16), K(2), K(128)], [1024, 16], [], 0, 16384 * 4096 * 3, "quantize")
    put("dropout_norm_bf16_4096", "Dropout, residual, norm.", dropout_norm,
        [*(A(x, "bf16", (16384, 4096)) for x in "xr"), *(A(x, "f32", (4096,)) for x in "wb"),
         A("out", "bf16", (16384, 4096), ZEROS), A("kept", "bool", (16384, 4096), ZEROS), S("i32", 9),
         S("f32", 0.1), K(4096)], [16384], [], 0, 16384 * 4096 * 7, "norm")
