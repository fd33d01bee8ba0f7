"""Kernels on rows and sequences, for sweep.py: filters, selections, statistics in one pass, ranks, rings of history."""
import cuda.tile as ct
from cuda.tile import PaddingMode as PM

from perf import A, C, K, S, ZEROS
from sweep_serving import ints


@ct.kernel
def fir(x, taps, out, T: C, TAPS: C):
    """A filter, by a view whose tiles begin at every element."""
    i = ct.bid(0)
    view = x.tiled_view((T,), traversal_steps=(1,), padding_mode=PM.ZERO)
    acc = ct.zeros((T,), ct.float32)
    for k in range(TAPS):
        acc += view.load(i * T + k) * ct.gather(taps, k)
    ct.store(out, (i,), acc)


@ct.kernel
def welford(x, mean, var, T: C):
    """Mean and variance of a row by means, squares and counts of parts."""
    i, n = ct.bid(0), x.shape[1]

    def joined(m, q, a, mm, qq, b):
        f = ct.where(a + b > 0.0, b / ct.maximum(a + b, 1.0), 0.0)
        return m + (mm - m) * f, q + qq + (mm - m) * (mm - m) * a * f, a + b

    zero = ct.zeros((T,), ct.float32)
    m, q, c = zero, zero, zero
    for k in range(ct.cdiv(n, T)):
        p = k * T + ct.arange(T, dtype=ct.int32)
        v = ct.gather(x, (i, p)).astype(ct.float32)
        m, q, c = joined(m, q, c, v, zero, (p < n).astype(ct.float32))
    m, q, c = ct.reduce((m, q, c), 0, joined, (0.0, 0.0, 0.0))
    ct.scatter(mean, i, m)
    ct.scatter(var, i, q / c)


@ct.kernel
def rank_sort(x, order, out, N: C):
    """A row is sorted by how many of it are smaller."""
    i, k = ct.bid(0), ct.arange(N, dtype=ct.int32)
    v = ct.load(x, (i, 0), (1, N), padding_mode=PM.POS_INF).reshape((N,))
    less = (v[None, :] < v[:, None]) | ((v[None, :] == v[:, None]) & (k[None, :] < k[:, None]))
    rank = ct.sum(less.astype(ct.int32), axis=1)
    ct.scatter(out, (i, rank), v)
    ct.scatter(order, (i, rank), k)


@ct.kernel
def quantile(x, part, out, N: C):
    """A value below which part of a row lies, by halving an interval 24 times."""
    i, n = ct.bid(0), x.shape[1]
    t = ct.load(x, (i, 0), (1, N), padding_mode=PM.POS_INF)
    low = ct.min(t)
    high = ct.max(ct.where(ct.arange(N, dtype=ct.int32)[None, :] < n, t, -float("inf")))
    want = ct.astype(part * ct.astype(n, ct.float32), ct.int32)
    for _ in range(24):
        mid = 0.5 * (low + high)
        if ct.sum((t <= mid).astype(ct.int32)) > want:
            high = mid
        else:
            low = mid
    ct.scatter(out, i, high)


@ct.kernel
def compact(x, out, count, least, T: C):
    """Numbers above one go where a sum of those before them and a counter say."""
    p = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    v = ct.gather(x, p, padding_value=-float("inf"))
    k = (v > least).astype(ct.int32)
    first = ct.atomic_add(count, 0, ct.sum(k))
    ct.scatter(out, first + ct.cumsum(k, 0) - k, v, mask=v > least)


@ct.kernel
def history(x, out, T: C, W: C):
    """The largest of the last T rows, which a tile holds in a ring."""
    j = ct.bid(0)
    ring = ct.full((T, W), -float("inf"), ct.float32)
    for r in range(x.shape[0]):
        ring = ct.insert(ring, (r % T, 0), ct.load(x, (r, j), (1, W)))
        ct.store(out, (r, j), ct.max(ring, axis=0, keepdims=True))


@ct.kernel
def rotate_half(x, cs, sn, out, T: C, H: C, D: C):
    """Rotary of H heads of T tokens; halves of a head change places."""
    i = ct.bid(0)
    t = ct.load(x, (i, 0, 0), (T, H, D), padding_mode=PM.ZERO).astype(ct.float32)
    c = ct.load(cs, (i, 0), (T, D), padding_mode=PM.ZERO)[:, None, :]
    s = ct.load(sn, (i, 0), (T, D), padding_mode=PM.ZERO)[:, None, :]
    a, b = ct.extract(t, (0, 0, 0), (T, H, D // 2)), ct.extract(t, (0, 0, 1), (T, H, D // 2))
    ct.store(out, (i, 0, 0), (t * c + ct.cat((-b, a), 2) * s).astype(out.dtype))


@ct.kernel
def jagged_softmax(x, offsets, out, T: C):
    """Softmax of pieces of an array, in three passes."""
    i = ct.bid(0)
    low, high = ct.gather(offsets, i), ct.gather(offsets, i + 1)
    m, s = -float("inf"), 0.0
    for k in range(low, high, T):
        p = k + ct.arange(T, dtype=ct.int32)
        m = max(m, ct.max(ct.gather(x, p, mask=p < high, padding_value=-float("inf"))))
    for k in range(low, high, T):
        p = k + ct.arange(T, dtype=ct.int32)
        s += ct.sum(ct.exp(ct.gather(x, p, mask=p < high, padding_value=-float("inf")) - m))
    for k in range(low, high, T):
        p = k + ct.arange(T, dtype=ct.int32)
        ct.scatter(out, p, ct.exp(ct.gather(x, p, mask=p < high) - m) / s, mask=p < high)


def rows(put):
    n = 1 << 26
    put("fir_f32_1024", "A filter.", fir,
        [A("x", "f32", (n,)), A("taps", "f32", (16,)), A("out", "f32", (n,), ZEROS), K(1024), K(16)],
        [n >> 10], [], 0, 8 * n, "fir")
    put("welford_f32_8192", "Means and variances.", welford,
        [A("x", "f32", (16384, 8192)), *(A(x, "f32", (16384,), ZEROS) for x in ("mean", "var")), K(1024)],
        [16384], [], 0, 8 * n, "welford")
    put("rank_sort_f32_128", "Ranks.", rank_sort,
        [A("x", "f32", (1 << 17, 128)), A("order", "i32", (1 << 17, 128), ZEROS),
         A("out", "f32", (1 << 17, 128), ZEROS), K(128)], [1 << 17], [], 0, 12 << 24, "rank_sort")
    for w in (1024, 8192):
        put(f"quantile_f32_{w}", "Quantiles.", quantile,
            [A("x", "f32", (n // w, w)), S("f32", 0.3), A("out", "f32", (n // w,), ZEROS), K(w)], [n // w], [], 0,
            4 * n, "quantile")
    put("compact_f32_1024", "Numbers above one.", compact,
        [A("x", "f32", (n,)), A("out", "f32", (n,), ZEROS), A("count", "i32", (1,), ZEROS), S("f32", 0.0), K(1024)],
        [n >> 10], [], 0, 8 * n, "compact")
    put("history_f32_16x256", "The last rows.", history,
        [A("x", "f32", (1024, 1 << 17)), A("out", "f32", (1024, 1 << 17), ZEROS), K(16), K(256)], [512], [], 0,
        16 * n, "history", version="13.4")
    put("rotate_half_bf16_4x8x128", "Halves of heads.", rotate_half,
        [A("x", "bf16", (16384, 8, 128)), *(A(x, "f32", (16384, 128)) for x in ("cs", "sn")),
         A("out", "bf16", (16384, 8, 128), ZEROS), K(4), K(8), K(128)], [4096], [], 0, 16384 * 128 * 40, "rope")
    put("jagged_softmax_f32_1024", "Softmax of pieces.", jagged_softmax,
        [A("x", "f32", (1 << 26,)), A("offsets", "i32", (16385,), ints(0, 1 << 26)),
         A("out", "f32", (1 << 26,), ZEROS), K(1024)], [16384], [], 0, 8 << 26, "jagged_softmax")
