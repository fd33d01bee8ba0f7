"""Kernels on images and grids, for sweep.py: convolutions of planes, pooling, warps, wavelets, medians, windows of
attention, stencils in three dimensions, lattices."""
import cuda.tile as ct
from cuda.tile import PaddingMode as PM

from perf import A, C, K, S, ZEROS
from sweep_serving import ints


@ct.kernel
def conv_planes(x, w, bias, out, stride, pad, SIDE: C, TM: C, TN: C, TK: C):
    """NCHW, SIDE x SIDE taps, any stride and border, a leaky ramp; w is (out, in * taps)."""
    i, j = ct.bid(0), ct.bid(1)
    H, W = out.shape[2], out.shape[3]
    m = i * TM + ct.arange(TM, dtype=ct.int32)
    n, oy, ox = m // (H * W), m % (H * W) // W, m % W
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.cdiv(w.shape[1], TK)):
        q = k * TK + ct.arange(TK, dtype=ct.int32)
        c, t = q // (SIDE * SIDE), q % (SIDE * SIDE)
        y = oy[:, None] * stride - pad + (t // SIDE)[None, :]
        z = ox[:, None] * stride - pad + (t % SIDE)[None, :]
        a = ct.gather(x, (n[:, None], c[None, :], y, z), padding_value=0)
        b = ct.load(w, (j, k), (TN, TK), padding_mode=PM.ZERO)
        acc = ct.mma(a, ct.transpose(b), acc)
    f = j * TN + ct.arange(TN, dtype=ct.int32)
    acc += ct.gather(bias, f)[None, :]
    acc = ct.where(acc > 0.0, acc, 0.1 * acc)
    ct.scatter(out, (n[:, None], f[None, :], oy[:, None], ox[:, None]), acc.astype(out.dtype))


@ct.kernel
def conv_transposed(x, w, out, stride, pad, SIDE: C, TM: C, TN: C, TK: C):
    """NHWC, each pixel of the result from those whose taps reach it; w is (taps, in, out)."""
    i, j = ct.bid(0), ct.bid(1)
    H, W = out.shape[1], out.shape[2]
    m = i * TM + ct.arange(TM, dtype=ct.int32)
    n, oy, ox = m // (H * W), m % (H * W) // W, m % W
    acc = ct.zeros((TM, TN), ct.float32)
    for t in range(SIDE * SIDE):
        y, z = oy + pad - t // SIDE, ox + pad - t % SIDE
        hit = (y % stride == 0) & (z % stride == 0)
        for k in range(ct.cdiv(x.shape[3], TK)):
            q = k * TK + ct.arange(TK, dtype=ct.int32)
            a = ct.gather(x, (n[:, None], (y // stride)[:, None], (z // stride)[:, None], q[None, :]),
                          mask=hit[:, None], padding_value=0)
            b = ct.load(w, (t, k, j), (1, TK, TN), padding_mode=PM.ZERO).reshape((TK, TN))
            acc = ct.mma(a, b, acc)
    f = j * TN + ct.arange(TN, dtype=ct.int32)
    ct.scatter(out, (n[:, None], oy[:, None], ox[:, None], f[None, :]), acc.astype(out.dtype))


@ct.kernel
def max_pool(x, out, at, stride, pad, SIDE: C, TM: C, TN: C):
    """The largest of SIDE x SIDE pixels of a plane, and where it is."""
    n, i, j = ct.bid(0), ct.bid(1), ct.bid(2)
    rows = (i * TM + ct.arange(TM, dtype=ct.int32))[:, None]
    cols = (j * TN + ct.arange(TN, dtype=ct.int32))[None, :]
    best = ct.full((TM, TN), -float("inf"), ct.float32)
    place = ct.full((TM, TN), -1, ct.int32)
    for t in ct.static_iter(range(SIDE * SIDE)):
        y, z = rows * stride - pad + t // SIDE, cols * stride - pad + t % SIDE
        v = ct.gather(x, (n, y, z), padding_value=-float("inf")).astype(ct.float32)
        place = ct.where(v > best, y * x.shape[2] + z, place)
        best = ct.maximum(best, v)
    ct.scatter(out, (n, rows, cols), best.astype(out.dtype))
    ct.scatter(at, (n, rows, cols), place)


@ct.kernel
def warp_image(x, theta, out, T: C, TC: C):
    """An affine map of NHWC, bilinear, zero outside."""
    n, y, j = ct.bid(0), ct.bid(1), ct.bid(2)
    cols = j * T + ct.arange(T, dtype=ct.int32)
    u, v = cols.astype(ct.float32), ct.astype(y, ct.float32)
    sx = ct.gather(theta, (n, 0)) * u + ct.gather(theta, (n, 1)) * v + ct.gather(theta, (n, 2))
    sy = ct.gather(theta, (n, 3)) * u + ct.gather(theta, (n, 4)) * v + ct.gather(theta, (n, 5))
    fx, fy = (sx - ct.floor(sx))[:, None], (sy - ct.floor(sy))[:, None]
    px, py = ct.floor(sx).astype(ct.int32)[:, None], ct.floor(sy).astype(ct.int32)[:, None]
    for k in range(ct.cdiv(x.shape[3], TC)):
        c = (k * TC + ct.arange(TC, dtype=ct.int32))[None, :]
        a = ct.gather(x, (n, py, px, c)).astype(ct.float32) * (1.0 - fx)
        a += ct.gather(x, (n, py, px + 1, c)).astype(ct.float32) * fx
        b = ct.gather(x, (n, py + 1, px, c)).astype(ct.float32) * (1.0 - fx)
        b += ct.gather(x, (n, py + 1, px + 1, c)).astype(ct.float32) * fx
        ct.scatter(out, (n, y, cols[:, None], c), (a * (1.0 - fy) + b * fy).astype(out.dtype))


@ct.kernel
def pixel_shuffle(x, out, TM: C, TN: C, R: C, CHANNELS: C):
    """R x R channels become pixels."""
    n, i, j = ct.bid(0), ct.bid(1), ct.bid(2)
    t = ct.load(x, (n, 0, i, j), (1, CHANNELS * R * R, TM, TN)).reshape((CHANNELS, R, R, TM, TN))
    t = ct.permute(t, (0, 3, 1, 4, 2)).reshape((1, CHANNELS, TM * R, TN * R))
    ct.store(out, (n, 0, i, j), t)


def ordered(a, b):
    return ct.minimum(a, b), ct.maximum(a, b)


@ct.kernel
def median(x, out, TM: C, TN: C):
    """The median of 3 x 3 bytes by a network; pixels of the border are repeated."""
    i, j = ct.bid(0), ct.bid(1)
    rows = (i * TM + ct.arange(TM, dtype=ct.int32))[:, None]
    cols = (j * TN + ct.arange(TN, dtype=ct.int32))[None, :]

    def at(y, z):
        y = ct.minimum(ct.maximum(rows + y, 0), x.shape[0] - 1)
        z = ct.minimum(ct.maximum(cols + z, 0), x.shape[1] - 1)
        return ct.gather(x, (y, z), check_bounds=False).astype(ct.int16)

    def sorted3(a, b, c):
        b, c = ordered(b, c)
        a, c = ordered(a, c)
        a, b = ordered(a, b)
        return a, b, c

    a, b, c = sorted3(at(-1, -1), at(-1, 0), at(-1, 1))
    d, e, f = sorted3(at(0, -1), at(0, 0), at(0, 1))
    g, h, k = sorted3(at(1, -1), at(1, 0), at(1, 1))
    low, high = ct.maximum(ct.maximum(a, d), g), ct.minimum(ct.minimum(c, f), k)
    _, mid, _ = sorted3(b, e, h)
    _, mid, _ = sorted3(low, mid, high)
    ct.scatter(out, (rows, cols), mid.astype(ct.uint8))


@ct.kernel
def haar(x, ll, lh, hl, hh, T: C):
    """One level of a wavelet, of T x T pixels."""
    i, j = ct.bid(0), ct.bid(1)
    H = T // 2
    t = ct.load(x, (i, j), (T, T)).reshape((H, 2, H, 2))
    a, b = ct.extract(t, (0, 0, 0, 0), (H, 1, H, 1)), ct.extract(t, (0, 0, 0, 1), (H, 1, H, 1))
    c, d = ct.extract(t, (0, 1, 0, 0), (H, 1, H, 1)), ct.extract(t, (0, 1, 0, 1), (H, 1, H, 1))
    ct.store(ll, (i, j), ((a + b + c + d) * 0.5).reshape((H, H)))
    ct.store(lh, (i, j), ((a - b + c - d) * 0.5).reshape((H, H)))
    ct.store(hl, (i, j), ((a + b - c - d) * 0.5).reshape((H, H)))
    ct.store(hh, (i, j), ((a - b - c + d) * 0.5).reshape((H, H)))


@ct.kernel
def window_heads(q, k, v, mask, out, scale, H: C, T: C, D: C):
    """All heads of a window of T tokens at once, with a mask of bits."""
    i = ct.bid(0)
    a = ct.load(q, (i, 0, 0, 0), (1, H, T, D)).reshape((H, T, D))
    b = ct.load(k, (i, 0, 0, 0), (1, H, T, D)).reshape((H, T, D))
    p = ct.mma(a, ct.permute(b, (0, 2, 1)), ct.zeros((H, T, T), ct.float32)) * scale
    p = ct.where(ct.load(mask, (0, 0), (T, T))[None, :, :], p, -float("inf"))
    e = ct.exp(p - ct.max(p, axis=2, keepdims=True))
    e = (e / ct.sum(e, axis=2, keepdims=True)).astype(q.dtype)
    c = ct.load(v, (i, 0, 0, 0), (1, H, T, D)).reshape((H, T, D))
    o = ct.mma(e, c, ct.zeros((H, T, D), ct.float32))
    ct.store(out, (i, 0, 0, 0), o.astype(out.dtype).reshape((1, H, T, D)))


@ct.kernel
def heat(x, out, rate, TZ: C, TY: C, TX: C):
    """Seven points of a box whose border is closed."""
    i, j, k = ct.bid(2), ct.bid(1), ct.bid(0)
    z = (i * TZ + ct.arange(TZ, dtype=ct.int32))[:, None, None]
    y = (j * TY + ct.arange(TY, dtype=ct.int32))[None, :, None]
    w = (k * TX + ct.arange(TX, dtype=ct.int32))[None, None, :]
    c = ct.load(x, (i, j, k), (TZ, TY, TX), padding_mode=PM.ZERO)
    s = ct.gather(x, (ct.maximum(z - 1, 0), y, w)) + ct.gather(x, (ct.minimum(z + 1, x.shape[0] - 1), y, w))
    s += ct.gather(x, (z, ct.maximum(y - 1, 0), w)) + ct.gather(x, (z, ct.minimum(y + 1, x.shape[1] - 1), w))
    s += ct.gather(x, (z, y, ct.maximum(w - 1, 0))) + ct.gather(x, (z, y, ct.minimum(w + 1, x.shape[2] - 1)))
    ct.store(out, (i, j, k), c + rate * (s - 6.0 * c))


@ct.kernel
def lattice(f, out, density, omega, TY: C, TX: C):
    """Lattice Boltzmann in two dimensions with nine speeds, a plane each; the borders meet."""
    i, j = ct.bid(1), ct.bid(0)
    H, W = f.shape[1], f.shape[2]
    y = (i * TY + ct.arange(TY, dtype=ct.int32))[:, None]
    x = (j * TX + ct.arange(TX, dtype=ct.int32))[None, :]
    ex = (0, 1, 0, -1, 0, 1, -1, -1, 1)
    ey = (0, 0, 1, 0, -1, 1, 1, -1, -1)
    share = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)
    rho = ct.zeros((TY, TX), ct.float32)
    ux, uy = ct.zeros((TY, TX), ct.float32), ct.zeros((TY, TX), ct.float32)
    for q in ct.static_iter(range(9)):
        v = ct.gather(f, (q, (y - ey[q] + H) % H, (x - ex[q] + W) % W))
        rho += v
        ux += v * ex[q]
        uy += v * ey[q]
    ux, uy = ux / rho, uy / rho
    energy = 1.5 * (ux * ux + uy * uy)
    for q in ct.static_iter(range(9)):
        v = ct.gather(f, (q, (y - ey[q] + H) % H, (x - ex[q] + W) % W))
        e = 3.0 * (ux * ex[q] + uy * ey[q])
        rest = share[q] * rho * (1.0 + e + 0.5 * e * e - energy)
        ct.scatter(out, (q, y, x), v + omega * (rest - v))
    ct.scatter(density, (y, x), rho)


def products(put):
    for m, t, k in ((128, 64, 32), (64, 64, 32), (128, 128, 32)):
        put(f"gemm_conv_planes_f16_{m}x{t}x{k}", "Convolution of planes.", conv_planes,
            [A("x", "f16", (32, 256, 56, 56)), A("w", "f16", (256, 2304)), A("bias", "f32", (256,)),
             A("out", "f16", (32, 256, 28, 28), ZEROS), S("i32", 2), S("i32", 1), K(3), K(m), K(t), K(k)],
            [32 * 784 // m, 256 // t], [], 2 * 32 * 784 * 256 * 2304, 0, "gemm")
    for m, t, k in ((128, 64, 64), (64, 64, 32)):
        put(f"gemm_conv_transposed_f16_{m}x{t}x{k}", "Transposed convolution.", conv_transposed,
            [A("x", "f16", (16, 64, 64, 256)), A("w", "f16", (16, 256, 128)),
             A("out", "f16", (16, 128, 128, 128), ZEROS), S("i32", 2), S("i32", 1), K(4), K(m), K(t), K(k)],
            [16 * 16384 // m, 128 // t], [], 2 * 16 * 16384 * 128 * 16 * 256, 0, "gemm")


def rows(put):
    put("max_pool_f16_8x64", "Pooling.", max_pool,
        [A("x", "f16", (2048, 112, 112)), A("out", "f16", (2048, 56, 56), ZEROS),
         A("at", "i32", (2048, 56, 56), ZEROS), S("i32", 2), S("i32", 1), K(3), K(8), K(64)], [2048, 7], [], 0,
        2048 * (112 * 112 * 2 + 56 * 56 * 6), "pool")
    put("warp_image_f16_16x64", "An affine map.", warp_image,
        [A("x", "f16", (8, 256, 256, 64)), A("theta", "f32", (8, 6)), A("out", "f16", (8, 256, 256, 64), ZEROS),
         K(16), K(64)], [8, 256, 16], [], 0, 2 * 8 * 65536 * 128, "warp")
    put("pixel_shuffle_f16_8x32", "Channels become pixels.", pixel_shuffle,
        [A("x", "f16", (8, 16, 512, 512)), A("out", "f16", (8, 4, 1024, 1024), ZEROS), K(8), K(32), K(2), K(4)],
        [8, 64, 16], [], 0, 4 * 8 * 16 << 18, "pixel_shuffle")
    put("median_u8_8x128", "Median.", median,
        [A("x", "u8", (8192, 8192), ints(0, 256)), A("out", "u8", (8192, 8192), ZEROS), K(8), K(128)],
        [1024, 64], [], 0, 2 << 26, "median")
    put("haar_f32_64", "Wavelet.", haar,
        [A("x", "f32", (8192, 8192)), *(A(x, "f32", (4096, 4096), ZEROS) for x in ("ll", "lh", "hl", "hh")),
         K(64)], [128, 128], [], 0, 8 << 26, "haar")
    shape = (8192, 4, 64, 32)
    put("window_heads_f16_4x64x32", "Windows of tokens.", window_heads,
        [*(A(x, "f16", shape) for x in "qkv"), A("mask", "bool", (64, 64)), A("out", "f16", shape, ZEROS),
         S("f32", 0.18), K(4), K(64), K(32)], [8192], [], 0, 8 << 26, "window_heads")
    put("heat_f32_4x8x32", "A box.", heat,
        [A("x", "f32", (512, 512, 512)), A("out", "f32", (512, 512, 512), ZEROS), S("f32", 0.1),
         K(4), K(8), K(32)], [16, 64, 128], [], 0, 8 << 27, "heat")
    put("lattice_f32_4x64", "Lattice Boltzmann.", lattice,
        [A("f", "f32", (9, 4096, 4096)), A("out", "f32", (9, 4096, 4096), ZEROS),
         A("density", "f32", (4096, 4096), ZEROS), S("f32", 0.6), K(4), K(64)], [64, 1024], [], 0, 76 << 24,
        "lattice")
