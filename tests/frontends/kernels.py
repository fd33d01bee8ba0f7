"""Kernels in cuTile Python, small and of many kinds, with the arrays that they are compiled for.

KERNELS lists (name, kernel, parameters); a parameter is an Array, a Scalar or a constant.
"""
import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, ConstantConstraint, ScalarConstraint

f16, bf16, f32, f64 = ct.float16, ct.bfloat16, ct.float32, ct.float64
i8, i16, i32, i64 = ct.int8, ct.int16, ct.int32, ct.int64

KERNELS = []


def array(dtype, rank, aligned=True):
    """A row-major array whose base and rows lie at multiples of 16 bytes, if aligned."""
    stride = [None] * (rank - 1) + [1]
    more = {}
    if aligned:
        elements = max(1, 128 // dtype.bitwidth)
        more = dict(base_addr_divisible_by=16,
                    stride_divisible_by=[elements] * (rank - 1) + [1],
                    shape_divisible_by=[16] * rank)
    return ArrayConstraint(dtype, rank, index_dtype=i32, stride_lower_bound_incl=0, alias_groups=(),
                           may_alias_internally=False, stride_constant=stride, **more)


def parameter(p):
    if isinstance(p, (bool, int, float)):
        return ConstantConstraint(p)
    if isinstance(p, tuple):
        return array(*p)
    return ScalarConstraint(p)


def case(name, *parameters):
    """Adds the decorated kernel, under a name, for these parameters."""
    def add(function):
        kernel = function if isinstance(function, ct.kernel) else ct.kernel(function)
        KERNELS.append((name, kernel, [parameter(p) for p in parameters]))
        return kernel
    return add


# Elementwise.

@case("add_f32", (f32, 1), (f32, 1), (f32, 1), 1024)
@case("add_f16", (f16, 1), (f16, 1), (f16, 1), 1024)
@case("add_bf16", (bf16, 1), (bf16, 1), (bf16, 1), 2048)
@case("add_f64", (f64, 1), (f64, 1), (f64, 1), 512)
@case("add_i32", (i32, 1), (i32, 1), (i32, 1), 256)
@case("add_i8_unaligned", (i8, 1, False), (i8, 1, False), (i8, 1, False), 64)
def add(a, b, c, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (T,)) + ct.load(b, (i,), (T,)))


@case("axpy_f32", (f32, 1), (f32, 1), f32, 1024)
@case("axpy_f64", (f64, 1), (f64, 1), f64, 256)
def axpy(x, y, a, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)) * a + ct.load(y, (i,), (T,)))


@case("gelu_f32", (f32, 2), (f32, 2), 16, 64)
@case("gelu_f16", (f16, 2), (f16, 2), 32, 128)
def gelu(x, y, M: ct.Constant[int], N: ct.Constant[int]):
    at = (ct.bid(0), ct.bid(1))
    t = ct.load(x, at, (M, N)).astype(ct.float32)
    u = 0.5 * t * (1.0 + ct.tanh(0.7978845608 * (t + 0.044715 * t * t * t)))
    ct.store(y, at, u.astype(y.dtype))


@case("silu_bf16", (bf16, 1), (bf16, 1), 1024)
def silu(x, y, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,)).astype(ct.float32)
    ct.store(y, (ct.bid(0),), (t / (1.0 + ct.exp(-t))).astype(y.dtype))


@case("relu_mask_f32", (f32, 1), (f32, 1), f32, 512)
def relu_mask(x, y, limit, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,))
    ct.store(y, (ct.bid(0),), ct.where(t > limit, t, 0.0))


@case("clamp_i16", (i16, 1), (i16, 1), 256)
def clamp(x, y, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,))
    ct.store(y, (ct.bid(0),), ct.minimum(ct.maximum(t, -100), 100).astype(y.dtype))


@case("roots_f32", (f32, 1), (f32, 1), 256)
def roots(x, y, T: ct.Constant[int]):
    t = ct.abs(ct.load(x, (ct.bid(0),), (T,)))
    ct.store(y, (ct.bid(0),), ct.sqrt(t) + ct.rsqrt(t + 1.0) + ct.log(t + 1.0) + ct.exp2(-t))


@case("waves_f32", (f32, 1), (f32, 1), 128)
def waves(x, y, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,))
    ct.store(y, (ct.bid(0),), ct.sin(t) * ct.cos(t) + ct.floor(t) - ct.ceil(t))


@case("bits_i32", (i32, 1), (i32, 1), 256)
def bits(x, y, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,))
    ct.store(y, (ct.bid(0),), ((t << 3) ^ (t >> 2)) & 0xFFFF | 1)


@case("quotients_i32", (i32, 1), (i32, 1), i32, 128)
def quotients(x, y, d, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,))
    ct.store(y, (ct.bid(0),), t // d + t % d)


@case("cast_f32_f16", (f32, 1), (f16, 1), 512)
@case("cast_f16_bf16", (f16, 1), (bf16, 1), 512)
@case("cast_i32_f32", (i32, 1), (f32, 1), 512)
@case("cast_f32_i8", (f32, 1), (i8, 1), 512)
@case("cast_i64_f64", (i64, 1), (f64, 1), 128)
def cast(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)).astype(y.dtype))


# Shapes.

@case("transpose_f32", (f32, 2), (f32, 2), 32)
@case("transpose_f16", (f16, 2), (f16, 2), 64)
def transpose(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(1), ct.bid(0)), ct.transpose(ct.load(x, (ct.bid(0), ct.bid(1)), (T, T))))


@case("permute_f32", (f32, 3), (f32, 3), 16)
def permute(x, y, T: ct.Constant[int]):
    ct.store(y, (0, 0, 0), ct.permute(ct.load(x, (0, 0, 0), (4, 8, T)), (2, 0, 1)))


@case("outer_f32", (f32, 1), (f32, 1), (f32, 2), 32)
def outer(x, y, z, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(z, (i, j), ct.load(x, (i,), (T,))[:, None] * ct.load(y, (j,), (T,))[None, :])


@case("concatenate_f32", (f32, 1), (f32, 1), (f32, 1), 64)
def concatenate(x, y, z, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(z, (i,), ct.cat((ct.load(x, (i,), (T,)), ct.load(y, (i,), (T,))), 0))


# Reductions and scans.

@case("sum_rows_f32", (f32, 2), (f32, 1), 1024)
@case("sum_rows_f16", (f16, 2), (f16, 1), 512)
def sum_rows(x, y, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0), 0), (1, T)).astype(ct.float32)
    ct.store(y, (ct.bid(0),), ct.sum(t, axis=1).astype(y.dtype))


@case("sum_long_rows_f32", (f32, 2), (f32, 1), 256)
def sum_long_rows(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    s = ct.zeros((1, T), ct.float32)
    for k in range(ct.num_tiles(x, 1, (1, T))):
        s = s + ct.load(x, (i, k), (1, T), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (i,), ct.sum(s, axis=1))


@case("max_columns_f32", (f32, 2), (f32, 1), 64)
def max_columns(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.max(ct.load(x, (0, ct.bid(0)), (T, T)), axis=0))


@case("argmax_rows_f32", (f32, 2), (i32, 1), 128)
def argmax_rows(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.argmax(ct.load(x, (ct.bid(0), 0), (1, T)), axis=1))


@case("cumsum_f32", (f32, 2), (f32, 2), 64)
@case("cumsum_i32", (i32, 2), (i32, 2), 32)
def cumsum(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0), 0), ct.cumsum(ct.load(x, (ct.bid(0), 0), (1, T)), axis=1))


@case("product_f64", (f64, 2), (f64, 1), 64)
def product(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.prod(ct.load(x, (ct.bid(0), 0), (1, T)), axis=1))


@case("softmax_f32", (f32, 2), (f32, 2), 1024)
@case("softmax_f16", (f16, 2), (f16, 2), 256)
def softmax(x, y, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0), 0), (1, T), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(y, (ct.bid(0), 0), (e / ct.sum(e, axis=1, keepdims=True)).astype(y.dtype))


@case("layernorm_f32", (f32, 2), (f32, 1), (f32, 1), (f32, 2), f32, 512)
@case("layernorm_bf16", (bf16, 2), (bf16, 1), (bf16, 1), (bf16, 2), f32, 1024)
def layernorm(x, w, b, y, eps, T: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (1, T)).astype(ct.float32)
    mean = ct.sum(t, axis=1, keepdims=True) / T
    d = t - mean
    r = ct.rsqrt(ct.sum(d * d, axis=1, keepdims=True) / T + eps)
    g = ct.load(w, (0,), (T,))[None, :].astype(ct.float32)
    h = ct.load(b, (0,), (T,))[None, :].astype(ct.float32)
    ct.store(y, (i, 0), (d * r * g + h).astype(y.dtype))


# Matrices.

@case("matmul_f16", (f16, 2), (f16, 2), (f32, 2), 64, 64, 32)
@case("matmul_bf16", (bf16, 2), (bf16, 2), (bf16, 2), 128, 64, 64)
@case("matmul_f32", (f32, 2), (f32, 2), (f32, 2), 32, 32, 16)
@case("matmul_f64", (f64, 2), (f64, 2), (f64, 2), 16, 16, 16)
def matmul(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    s = ct.zeros((M, N), ct.float64 if c.dtype == ct.float64 else ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        s = ct.mma(ct.load(a, (i, k), (M, K)), ct.load(b, (k, j), (K, N)), s)
    ct.store(c, (i, j), s.astype(c.dtype))


@case("matmul_i8", (i8, 2), (i8, 2), (i32, 2), 64, 64, 64)
def matmul_i8(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    s = ct.zeros((M, N), ct.int32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        s = ct.mma(ct.load(a, (i, k), (M, K)), ct.load(b, (k, j), (K, N)), s)
    ct.store(c, (i, j), s)


@case("attention_f16", (f16, 2), (f16, 2), (f16, 2), (f16, 2), f32, 64, 64)
def attention(q, k, v, o, scale, T: ct.Constant[int], D: ct.Constant[int]):
    i = ct.bid(0)
    tq = ct.load(q, (i, 0), (T, D))
    m = ct.full((T, 1), -float("inf"), ct.float32)
    s = ct.zeros((T, 1), ct.float32)
    acc = ct.zeros((T, D), ct.float32)
    for j in range(ct.num_tiles(k, 0, (T, D))):
        z = ct.mma(tq, ct.transpose(ct.load(k, (j, 0), (T, D))), ct.zeros((T, T), ct.float32)) * scale
        top = ct.maximum(m, ct.max(z, axis=1, keepdims=True))
        p = ct.exp(z - top)
        f = ct.exp(m - top)
        s = s * f + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(ct.float16), ct.load(v, (j, 0), (T, D)), acc * f)
        m = top
    ct.store(o, (i, 0), (acc / s).astype(o.dtype))


# Gathers, scatters, atomics.

@case("gather_f32", (f32, 1), (i32, 1), (f32, 1), 256)
def gather(x, at, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.gather(x, ct.load(at, (i,), (T,))))


@case("scatter_f32", (f32, 1), (i32, 1), (f32, 1), 256)
def scatter(x, at, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.scatter(y, ct.load(at, (i,), (T,)), ct.load(x, (i,), (T,)))


@case("histogram_i32", (i32, 1), (i32, 1), 128)
def histogram(x, counts, T: ct.Constant[int]):
    ct.atomic_add(counts, ct.load(x, (ct.bid(0),), (T,)), 1)


@case("total_f32", (f32, 1), (f32, 1), 512)
def total(x, y, T: ct.Constant[int]):
    ct.atomic_add(y, 0, ct.sum(ct.load(x, (ct.bid(0),), (T,))))


# Control.

@case("collatz_i32", (i32, 1), 1)
def collatz(x, T: ct.Constant[int]):
    n = ct.gather(x, ct.bid(0))
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps = steps + 1
    ct.scatter(x, ct.bid(0), steps)


@case("branches_f32", (f32, 1), (f32, 1), i32, 128)
def branches(x, y, which, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,))
    if which == 0:
        t = t + 1.0
    elif which == 1:
        t = t * 2.0
    ct.store(y, (ct.bid(0),), t)


@case("grid_stride_f32", (f32, 1), (f32, 1), 512)
def grid_stride(x, y, T: ct.Constant[int]):
    for i in range(ct.bid(0), ct.num_tiles(x, 0, (T,)), ct.num_blocks(0)):
        ct.store(y, (i,), ct.load(x, (i,), (T,)) * 2.0)


@case("printing_f32", (f32, 1), 8)
def printing(x, T: ct.Constant[int]):
    ct.printf("tile %f\n", ct.load(x, (ct.bid(0),), (T,)))


@case("asserting_i32", (i32, 1), (i32, 1), 32)
def asserting(x, y, T: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0),), (T,))
    ct.assert_(t >= 0, "negative")
    ct.store(y, (ct.bid(0),), t + 1)
