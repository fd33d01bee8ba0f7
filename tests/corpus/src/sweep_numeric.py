"""Numeric kernels, for sweep.py: small matrices that are decomposed, transforms, sorts, sparse products, products with
structure, filters, statistics."""
import cuda.tile as ct
from cuda.tile import PaddingMode as PM

from perf import A, C, K, S, ZEROS
from sweep_serving import ints


@ct.kernel
def cholesky(a, out, G: C, N: C):
    """G matrices of N x N, column by column."""
    x = ct.load(a, (ct.bid(0), 0, 0), (G, N, N), padding_mode=PM.ZERO)
    i = ct.arange(N, dtype=ct.int32)[None, :, None]
    j = ct.arange(N, dtype=ct.int32)[None, None, :]
    for k in range(N):
        col = ct.sum(ct.where(j == k, x, 0.0), axis=2, keepdims=True)
        col = col / ct.sqrt(ct.sum(ct.where(i == k, col, 0.0), axis=1, keepdims=True))
        col = ct.where(i >= k, col, 0.0)
        x = ct.where(j == k, col, ct.where((j > k) & (i > k), x - col * ct.transpose(col, 1, 2), x))
    ct.store(out, (ct.bid(0), 0, 0), ct.where(i >= j, x, 0.0))


@ct.kernel
def lu(a, out, N: C):
    """A matrix of N x N without pivots; rows and columns are pieces."""
    x = ct.load(a, (ct.bid(0), 0, 0), (1, N, N)).reshape((N, N))
    i, j = ct.arange(N, dtype=ct.int32)[:, None], ct.arange(N, dtype=ct.int32)[None, :]
    for k in range(N - 1):
        row, col = ct.extract(x, (k, 0), (1, N)), ct.extract(x, (0, k), (N, 1))
        f = ct.where(i > k, col / ct.extract(x, (k, k), (1, 1)), 0.0)
        x = ct.where(j > k, x - f * row, ct.where((j == k) & (i > k), f, x))
    ct.store(out, (ct.bid(0), 0, 0), x.reshape((1, N, N)))


@ct.kernel
def inverse(a, out, N: C):
    """Gauss and Jordan with the largest pivot of a column."""
    x = ct.load(a, (ct.bid(0), 0, 0), (1, N, N)).reshape((N, N))
    i, j = ct.arange(N, dtype=ct.int32)[:, None], ct.arange(N, dtype=ct.int32)[None, :]
    y = (i == j).astype(ct.float32)
    for k in range(N):
        col = ct.sum(ct.where(j == k, x, 0.0), axis=1, keepdims=True)
        p = ct.argmax(ct.where(i >= k, ct.abs(col), -1.0), axis=0, keepdims=True)
        xp = ct.sum(ct.where(i == p, x, 0.0), axis=0, keepdims=True)
        yp = ct.sum(ct.where(i == p, y, 0.0), axis=0, keepdims=True)
        x = ct.where(i == p, ct.sum(ct.where(i == k, x, 0.0), axis=0, keepdims=True), x)
        y = ct.where(i == p, ct.sum(ct.where(i == k, y, 0.0), axis=0, keepdims=True), y)
        pivot = ct.sum(ct.where(j == k, xp, 0.0), axis=1, keepdims=True)
        f = ct.sum(ct.where(j == k, x, 0.0), axis=1, keepdims=True)
        xp, yp = xp / pivot, yp / pivot
        x, y = ct.where(i == k, xp, x - f * xp), ct.where(i == k, yp, y - f * yp)
    ct.store(out, (ct.bid(0), 0, 0), y.reshape((1, N, N)))


def complex_product(a, b, c, d, zero):
    return ct.mma(a, c, zero) - ct.mma(b, d, zero), ct.mma(a, d, ct.mma(b, c, zero))


@ct.kernel
def fft(re, im, fr, fi, tr, ti, outre, outim, N: C):
    """N * N points: products with the matrix of N, factors between them, the result transposed."""
    i, zero = ct.bid(0), ct.zeros((N, N), ct.float32)
    x, y = ct.load(re, (i, 0, 0), (1, N, N)).reshape((N, N)), ct.load(im, (i, 0, 0), (1, N, N)).reshape((N, N))
    a, b = ct.load(fr, (0, 0), (N, N)), ct.load(fi, (0, 0), (N, N))
    x, y = complex_product(a, b, x, y, zero)
    c, d = ct.load(tr, (0, 0), (N, N)), ct.load(ti, (0, 0), (N, N))
    x, y = complex_product(x * c - y * d, x * d + y * c, a, b, zero)
    ct.store(outre, (i, 0, 0), ct.transpose(x).reshape((1, N, N)))
    ct.store(outim, (i, 0, 0), ct.transpose(y).reshape((1, N, N)))


@ct.kernel
def bitonic(keys, values, outkeys, outvalues, N: C, LOG: C):
    """Rows of 2 ** LOG keys are sorted with their values; partners are parts of a shape."""
    i = ct.bid(0)
    k = ct.load(keys, (i, 0), (1, N), padding_mode=PM.POS_INF).reshape((N,))
    v = ct.load(values, (i, 0), (1, N), padding_mode=PM.ZERO).reshape((N,))
    at = ct.arange(N, dtype=ct.int32)
    for stage in ct.static_iter(range(1, LOG + 1)):
        for step in ct.static_iter(range(stage - 1, -1, -1)):
            d = 1 << step
            g = N // (2 * d)
            kk, vv, tt = k.reshape((g, 2, d)), v.reshape((g, 2, d)), at.reshape((g, 2, d))
            a, b = ct.extract(kk, (0, 0, 0), (g, 1, d)), ct.extract(kk, (0, 1, 0), (g, 1, d))
            p, q = ct.extract(vv, (0, 0, 0), (g, 1, d)), ct.extract(vv, (0, 1, 0), (g, 1, d))
            swap = (a > b) == (((ct.extract(tt, (0, 0, 0), (g, 1, d)) >> stage) & 1) == 0)
            k = ct.cat((ct.where(swap, b, a), ct.where(swap, a, b)), 1).reshape((N,))
            v = ct.cat((ct.where(swap, q, p), ct.where(swap, p, q)), 1).reshape((N,))
    ct.store(outkeys, (i, 0), k.reshape((1, N)))
    ct.store(outvalues, (i, 0), v.reshape((1, N)))


@ct.kernel
def csr_vector(starts, columns, values, x, y, R: C, W: C):
    """R rows of a sparse matrix by a vector, W entries of each at a time."""
    r = ct.bid(0) * R + ct.arange(R, dtype=ct.int32)
    live = r < y.shape[0]
    low, high = ct.gather(starts, r, mask=live), ct.gather(starts, r + 1, mask=live)
    acc = ct.zeros((R, W), ct.float32)
    for s in range(0, ct.max(high - low), W):
        e = low[:, None] + s + ct.arange(W, dtype=ct.int32)[None, :]
        m = e < high[:, None]
        acc += ct.gather(values, e, mask=m) * ct.gather(x, ct.gather(columns, e, mask=m), mask=m)
    ct.scatter(y, r, ct.sum(acc, axis=1), mask=live)


@ct.kernel
def csr_rows(starts, columns, values, x, y, T: C):
    """A row of a sparse matrix by rows of a dense one."""
    r, c = ct.bid(0), ct.bid(1) * T + ct.arange(T, dtype=ct.int32)
    acc = ct.zeros((T,), ct.float32)
    for e in range(ct.gather(starts, r), ct.gather(starts, r + 1)):
        acc += ct.gather(values, e) * ct.gather(x, (ct.gather(columns, e), c)).astype(ct.float32)
    ct.scatter(y, (r, c), acc.astype(y.dtype))


@ct.kernel
def gemm_bsr(starts, columns, values, x, y, TM: C, TN: C):
    """A matrix of sparse blocks of TM x TM by a dense one."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for e in range(ct.gather(starts, i), ct.gather(starts, i + 1)):
        a = ct.load(values, (e, 0, 0), (1, TM, TM)).reshape((TM, TM))
        b = ct.load(x, (ct.gather(columns, e), j), (TM, TN), padding_mode=PM.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(y, (i, j), acc.astype(y.dtype))


@ct.kernel
def shortest_paths(d, k, T: C):
    """Paths through the points of block k, of all blocks beside its row and column."""
    i, j = ct.bid(0), ct.bid(1)
    if i != k and j != k:
        c = ct.load(d, (i, j), (T, T), padding_mode=PM.POS_INF)
        a = ct.load(d, (i, k), (T, T), padding_mode=PM.POS_INF)
        b = ct.load(d, (k, j), (T, T), padding_mode=PM.POS_INF)
        for s in range(T):
            c = ct.minimum(c, ct.extract(a, (0, s), (T, 1)) + ct.extract(b, (s, 0), (1, T)))
        ct.store(d, (i, j), c)


@ct.kernel
def gemm_syrk(a, c, alpha, beta, T: C, TK: C):
    """A by its transpose: blocks of the lower triangle in turn, each stored twice."""
    n = ct.cdiv(c.shape[0], T)
    for t in range(ct.bid(0), n * (n + 1) // 2, ct.num_blocks(0)):
        i = ct.astype((ct.sqrt(ct.astype(8 * t + 1, ct.float32)) - 1.0) * 0.5, ct.int32)
        i = ct.where(i * (i + 1) // 2 > t, i - 1, i).item()
        j = t - i * (i + 1) // 2
        acc = ct.zeros((T, T), ct.float32)
        for k in range(ct.num_tiles(a, 1, (T, TK))):
            x = ct.load(a, (i, k), (T, TK), padding_mode=PM.ZERO)
            acc = ct.mma(x, ct.transpose(ct.load(a, (j, k), (T, TK), padding_mode=PM.ZERO)), acc)
        r = alpha * acc + beta * ct.load(c, (i, j), (T, T), padding_mode=PM.ZERO)
        ct.store(c, (i, j), r)
        if i != j:
            ct.store(c, (j, i), ct.transpose(r))


@ct.kernel
def gemm_gauss(ar, ai, br, bi, cr, ci, TM: C, TN: C, TK: C):
    """A product of complex numbers by three real ones."""
    i, j = ct.bid(0), ct.bid(1)
    p, q, s = ct.zeros((TM, TN), ct.float32), ct.zeros((TM, TN), ct.float32), ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(ar, 1, (TM, TK))):
        a = ct.load(ar, (i, k), (TM, TK), padding_mode=PM.ZERO)
        b = ct.load(ai, (i, k), (TM, TK), padding_mode=PM.ZERO)
        c = ct.load(br, (k, j), (TK, TN), padding_mode=PM.ZERO)
        d = ct.load(bi, (k, j), (TK, TN), padding_mode=PM.ZERO)
        p, q, s = ct.mma(a, c, p), ct.mma(b, d, q), ct.mma(a + b, c + d, s)
    ct.store(cr, (i, j), p - q)
    ct.store(ci, (i, j), s - p - q)


@ct.kernel
def gemm_strassen(a, b, c, T: C, TK: C):
    """Seven products of quarters of tiles instead of eight."""
    i, j = ct.bid(0), ct.bid(1)
    H, HK = T // 2, TK // 2
    zero = ct.zeros((H, H), ct.float32)
    p, q, r, s = zero, zero, zero, zero
    for k in range(ct.num_tiles(a, 1, (T, TK))):
        x = ct.load(a, (i, k), (T, TK), padding_mode=PM.ZERO)
        y = ct.load(b, (k, j), (TK, T), padding_mode=PM.ZERO)
        x11, x12 = ct.extract(x, (0, 0), (H, HK)), ct.extract(x, (0, 1), (H, HK))
        x21, x22 = ct.extract(x, (1, 0), (H, HK)), ct.extract(x, (1, 1), (H, HK))
        y11, y12 = ct.extract(y, (0, 0), (HK, H)), ct.extract(y, (0, 1), (HK, H))
        y21, y22 = ct.extract(y, (1, 0), (HK, H)), ct.extract(y, (1, 1), (HK, H))
        m1, m2 = ct.mma(x11 + x22, y11 + y22, zero), ct.mma(x21 + x22, y11, zero)
        m3, m4 = ct.mma(x11, y12 - y22, zero), ct.mma(x22, y21 - y11, zero)
        m5, m6 = ct.mma(x11 + x12, y22, zero), ct.mma(x21 - x11, y11 + y12, zero)
        p += m1 + m4 - m5 + ct.mma(x12 - x22, y21 + y22, zero)
        q, r, s = q + m3 + m5, r + m2 + m4, s + m1 - m2 + m3 + m6
    ct.store(c, (i, j), ct.cat((ct.cat((p, q), 1), ct.cat((r, s), 1)), 0))


@ct.kernel
def small_products(a, b, c, G: C, N: C):
    """G products of N x N in one of three dimensions."""
    i = ct.bid(0)
    x = ct.load(a, (i, 0, 0), (G, N, N), padding_mode=PM.ZERO)
    y = ct.load(b, (i, 0, 0), (G, N, N), padding_mode=PM.ZERO)
    ct.store(c, (i, 0, 0), ct.mma(x, y, ct.zeros((G, N, N), ct.float32)).astype(c.dtype))


@ct.kernel
def hadamard(x, out, scale, T: C, N: C, LOG: C):
    """Sums and differences of partners, LOG times, of T rows of 2 ** LOG."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (T, N), padding_mode=PM.ZERO).astype(ct.float32)
    for s in ct.static_iter(range(LOG)):
        g, d = N >> (s + 1), 1 << s
        y = t.reshape((T, g, 2, d))
        a, b = ct.extract(y, (0, 0, 0, 0), (T, g, 1, d)), ct.extract(y, (0, 0, 1, 0), (T, g, 1, d))
        t = ct.cat((a + b, a - b), 2).reshape((T, N))
    ct.store(out, (i, 0), (t * scale).astype(out.dtype))


def products(put):
    n = 8192
    for m, t in ((32, 64), (64, 128)):
        put(f"gemm_bsr_bf16_{m}x{t}x{m}", "Sparse blocks.", gemm_bsr,
            [A("starts", "i32", (n // m + 1,), ints(0, 65536)), A("columns", "i32", (65536,), ints(0, n // m)),
             A("values", "bf16", (65536, m, m)), A("x", "bf16", (n, 4096)), A("y", "bf16", (n, 4096), ZEROS),
             K(m), K(t)], [n // m, 4096 // t], [], 2 * n * 4096 * 1024, 0, "gemm")
    put("gemm_syrk_bf16_128x128x64", "By its transpose.", gemm_syrk,
        [A("a", "bf16", (n, 4096)), A("c", "f32", (n, n), ZEROS), S("f32", 1.0), S("f32", 0.0), K(128), K(64)],
        [132], [], n ** 2 * 4096, 0, "gemm")
    n = 4096
    for m, t, k in ((64, 64, 64), (128, 64, 32)):
        put(f"gemm_gauss_bf16_{m}x{t}x{k}", "Complex numbers.", gemm_gauss,
            [*(A(x, "bf16", (n, n)) for x in ("ar", "ai", "br", "bi")),
             *(A(x, "f32", (n, n), ZEROS) for x in ("cr", "ci")), K(m), K(t), K(k)],
            [n // m, n // t], [], 6 * n ** 3, 0, "gemm")
    put("gemm_strassen_f16_128x128x64", "Seven products.", gemm_strassen,
        [A("a", "f16", (n, n)), A("b", "f16", (n, n)), A("c", "f32", (n, n), ZEROS), K(128), K(64)],
        [32, 32], [], 7 * n ** 3 // 4, 0, "gemm")


def rows(put):
    batch = (16384, 32, 32)
    put("cholesky_f32_4x32", "Cholesky.", cholesky,
        [A("a", "f32", batch), A("out", "f32", batch, ZEROS), K(4), K(32)], [4096], [], 0, 8 << 24, "cholesky")
    for kernel, name in ((lu, "lu"), (inverse, "inverse")):
        put(f"{name}_f32_32", kernel._annotated_function.pyfunc.__doc__, kernel,
            [A("a", "f32", batch), A("out", "f32", batch, ZEROS), K(32)], [16384], [], 0, 8 << 24, name)
    put("fft_f32_32", "A transform.", fft,
        [*(A(x, "f32", batch) for x in ("re", "im")), *(A(x, "f32", (32, 32)) for x in ("fr", "fi", "tr", "ti")),
         *(A(x, "f32", batch, ZEROS) for x in ("outre", "outim")), K(32)], [16384], [], 0, 16 << 24, "fft")
    for n in (256, 1024):
        shape = ((1 << 24) // n, n)
        put(f"bitonic_f32_{n}", "Sorted rows.", bitonic,
            [A("keys", "f32", shape), A("values", "i32", shape, ints(0, 99)), A("outkeys", "f32", shape, ZEROS),
             A("outvalues", "i32", shape, ZEROS), K(n), K(n.bit_length() - 1)], [shape[0]], [], 0, 16 << 24, "bitonic")
    n = 1 << 18
    matrix = [A("starts", "i32", (n + 1,), ints(0, 32 * n)), A("columns", "i32", (32 * n,), ints(0, n)),
              A("values", "f32", (32 * n,))]
    put("csr_vector_f32_16x32", "A sparse matrix.", csr_vector,
        [*matrix, A("x", "f32", (n,)), A("y", "f32", (n,), ZEROS), K(16), K(32)], [n // 16], [], 0, 256 * n, "csr")
    put("csr_rows_bf16_256", "A sparse matrix by rows.", csr_rows,
        [*matrix, A("x", "bf16", (n, 256)), A("y", "bf16", (n, 256), ZEROS), K(256)], [n], [], 0, n * 32 * 512, "csr")
    put("shortest_paths_f32_32", "Shortest paths.", shortest_paths,
        [A("d", "f32", (8192, 8192)), S("i32", 3), K(32)], [256, 256], [], 0, 8 << 26, "shortest_paths")
    batch = (1 << 18, 16, 16)
    put("small_products_f16_8x16", "Small products.", small_products,
        [A("a", "f16", batch), A("b", "f16", batch), A("c", "f16", batch, ZEROS), K(8), K(16)], [1 << 15], [], 0,
        6 << 26, "small_products")
    put("hadamard_bf16_16x128", "Hadamard.", hadamard,
        [A("x", "bf16", (1 << 19, 128)), A("out", "bf16", (1 << 19, 128), ZEROS), S("f32", 0.1), K(16), K(128), K(7)],
        [1 << 15], [], 0, 4 << 26, "hadamard")
