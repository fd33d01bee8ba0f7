"""Checks of sweep_images.py, sweep_numeric.py and sweep_sequences.py, for sweep_check.py."""
import numpy as np

from sweep_arrays import Array, integers, normal, random, result, rounded, small, softmax_of


def convolutions(check):
    x = small((16, 16, 11, 8), "f16")
    padded = np.pad(x.value, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for m, t, k in ((128, 64, 32), (64, 64, 32), (128, 128, 32)):
        w, bias = small((t + 16, 144), "f16"), normal((t + 16,), "f32")
        taps, want = w.value.reshape(t + 16, 16, 3, 3), np.zeros((16, t + 16, 6, 4))
        for y in range(6):
            for z in range(4):
                patch = padded[:, :, 2 * y:2 * y + 3, 2 * z:2 * z + 3]
                want[:, :, y, z] = np.einsum("ncyx,fcyx->nf", patch, taps) + bias.value
        check(f"gemm_conv_planes_f16_{m}x{t}x{k}", (16 * 24 // m, 2), x, w, bias,
              result(want.shape, "f16", np.maximum(want, 0.1 * want), 0.01), 2, 1)
    for m, t, k in ((128, 64, 64), (64, 64, 32)):
        x, w = small((16, 16, 16, 80), "f16"), small((16, 80, 80), "f16")
        want = np.zeros((34, 34, 80))
        for y in range(16):
            for z in range(16):
                want[2 * y:2 * y + 4, 2 * z:2 * z + 4] += (x.value[0, y, z] @ w.value).reshape(4, 4, 80)
        out = np.zeros((16, 32, 32, 80))
        out[0, :2 * m // 32] = want[1:33, 1:33][:2 * m // 32]
        check(f"gemm_conv_transposed_f16_{m}x{t}x{k}", (2, 2), x, w, result(out.shape, "f16", out, 0.01), 2, 1)


def images(check):
    x = normal((16, 16, 32), "f16")
    parts = np.lib.stride_tricks.sliding_window_view(
        np.pad(x.value, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf), (3, 3), (1, 2))[:2, ::2, ::2]
    at = parts.reshape(2, 8, 16, 9).argmax(3)
    y, z = np.mgrid[:8, :16]
    want, where = np.zeros((16, 8, 16)), np.zeros((16, 8, 16))
    want[:2], where[:2] = parts.max((3, 4)), (2 * y - 1 + at // 3) * 32 + 2 * z - 1 + at % 3
    check("max_pool_f16_8x64", (2, 1), x, result(want.shape, "f16", want, 0), result(want.shape, "i32", where, 0), 2, 1)
    x = normal((2, 16, 16, 64), "f16")
    theta = rounded([[0.9, 0.3, -0.5, -0.2, 1.1, 0.7], [1, 0, -3.25, 0, 1, 10.5]], "f32")
    wide, want = np.pad(x.value, ((0, 0), (40, 40), (40, 40), (0, 0))), np.zeros(x.value.shape)
    for n in range(2):
        y, z = np.mgrid[:16, :16].astype(np.float32)
        a, b, c, d, e, f = np.float32(theta[n])
        u, v = a * z + b * y + c, d * z + e * y + f
        for dy in (0, 1):
            for dz in (0, 1):
                p, q = np.int32(np.floor(v)) + dy, np.int32(np.floor(u)) + dz
                share = np.maximum(0, 1 - np.abs(v - p)) * np.maximum(0, 1 - np.abs(u - q))
                want[n] += wide[n, p + 40, q + 40] * share[..., None]
    check("warp_image_f16_16x64", (2, 16, 1), x, Array(theta, "f32"), result(want.shape, "f16", want, 0.01))
    x = normal((2, 16, 16, 64), "f16")
    want = np.zeros((2, 4, 32, 128))
    for y in range(2):
        for z in range(2):
            want[:, :, y::2, z::2] = x.value[:, 2 * y + z::4]
    check("pixel_shuffle_f16_8x32", (2, 2, 2), x, result(want.shape, "f16", want, 0))
    x = integers((16, 144), 0, 256, "u8")
    near = np.lib.stride_tricks.sliding_window_view(np.pad(x.value, 1, mode="edge"), (3, 3))
    check("median_u8_8x128", (2, 2), x, result((16, 144), "u8", np.median(near, axis=(2, 3)), 0))
    x = normal((128, 64), "f32")
    a, b, c, d = (x.value[i::2, j::2] for i in (0, 1) for j in (0, 1))
    check("haar_f32_64", (2, 1), x, *(result((64, 32), "f32", t / 2, 1e-5) for t in (
        a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d)))
    q, k, v = (normal((16, 4, 64, 32), "f16") for _ in "qkv")
    seen = Array(np.tri(64, dtype=bool), "bool")
    p = np.where(seen.value, q.value @ k.value.transpose(0, 1, 3, 2) * 0.18, -np.inf)
    want = softmax_of(p) @ v.value
    want[2:] = 0
    check("window_heads_f16_4x64x32", (2,), q, k, v, seen, result(want.shape, "f16", want, 0.01), 0.18)


def grids(check):
    x = normal((16, 16, 48), "f32")
    y = np.pad(x.value, 1, mode="edge")
    near = sum(np.roll(y, s, a) for s in (1, -1) for a in range(3))[1:-1, 1:-1, 1:-1]
    want = x.value + 0.1 * (near - 6 * x.value)
    check("heat_f32_4x8x32", (2, 2, 4), x, result(want.shape, "f32", want, 1e-5), 0.1)
    f = Array(rounded(random.random((9, 16, 144)) + 0.5, "f32"), "f32")
    speeds = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    weights = np.array([16, 4, 4, 4, 4, 1, 1, 1, 1]) / 36
    moved = np.stack([np.roll(t, (y, x), (0, 1)) for t, (x, y) in zip(f.value, speeds)])
    density = moved.sum(0)
    u = np.einsum("qd,qyx->dyx", speeds, moved) / density
    along = np.einsum("qd,dyx->qyx", speeds, u)
    rest = weights[:, None, None] * density * (1 + 3 * along + 4.5 * along ** 2 - 1.5 * (u ** 2).sum(0))
    check("lattice_f32_4x64", (3, 4), f, result(rest.shape, "f32", moved + 0.6 * (rest - moved), 1e-4),
          result(density.shape, "f32", density, 1e-5), 0.6)


def matrices(check):
    a = normal((16, 32, 32), "f32")
    a.value = rounded(a.value @ a.value.transpose(0, 2, 1) + 32 * np.eye(32), "f32")
    want = np.linalg.cholesky(a.value)
    want[12:] = 0
    check("cholesky_f32_4x32", (3,), a, result(want.shape, "f32", want, 1e-4))
    a = Array(rounded(random.standard_normal((16, 32, 32)) + 64 * np.eye(32), "f32"), "f32")
    want = np.zeros((16, 32, 32))
    for m in range(2):
        low, high = np.eye(32), np.zeros((32, 32))
        for i in range(32):  # by Crout's sums
            for j in range(i, 32):
                high[i, j] = a.value[m, i, j] - low[i, :i] @ high[:i, j]
            for j in range(i + 1, 32):
                low[j, i] = (a.value[m, j, i] - low[j, :i] @ high[:i, i]) / high[i, i]
        want[m] = np.tril(low, -1) + high
    check("lu_f32_32", (2,), a, result(want.shape, "f32", want, 1e-4))
    a = normal((16, 32, 32), "f32")
    a.value[1, 0, 0] = 0
    want = np.linalg.inv(a.value)
    want[2:] = 0
    check("inverse_f32_32", (2,), a, result(want.shape, "f32", want, 1e-3))
    z = [normal((16, 32, 32), "f32") for _ in "ri"]
    want = np.fft.fft((z[0].value + 1j * z[1].value).reshape(16, -1)).reshape(16, 32, 32)
    want[2:] = 0
    k = np.outer(range(32), range(32))
    factors = [Array(rounded(part, "f32"), "f32")
               for c in (np.exp(-2j * np.pi * k / 32), np.exp(-2j * np.pi * k / 1024))
               for part in (c.real, c.imag)]
    check("fft_f32_32", (2,), *z, *factors, result(want.shape, "f32", want.real, 1e-4),
          result(want.shape, "f32", want.imag, 1e-4))
    a, b = small((16, 16, 16), "f16"), small((16, 16, 16), "f16")
    check("small_products_f16_8x16", (2,), a, b, result((16, 16, 16), "f16", a.value @ b.value, 0.01))
    signs = np.array([[1]])
    for _ in range(7):
        signs = np.block([[signs, signs], [signs, -signs]])
    x = small((32, 128))
    check("hadamard_bf16_16x128", (2,), x, result((32, 128), "bf16", x.value @ signs / 8, 0.01), 0.125)


def sparse(check):
    for m, t in ((32, 64), (64, 128)):
        starts, columns = np.array([0, 2, 2, 5]), np.array([1, 3, 0, 2, 3] + [0] * 11)
        values, x = small((16, m, m)), small((4 * m, t + 16))
        want = np.zeros((3 * m, t + 16))
        for i in range(3):
            for e in range(starts[i], starts[i + 1]):
                want[i * m:][:m] += values.value[e] @ x.value[columns[e] * m:][:m]
        check(f"gemm_bsr_bf16_{m}x{t}x{m}", (3, 2), Array(starts, "i32"), Array(columns, "i32"), values, x,
              result(want.shape, "bf16", want, 0.01))
    counts = np.zeros(48, int)
    counts[[1, 2, 4, 5, 20, 47]] = 3, 17, 1, 60, 33, 46
    starts, values = np.append(0, counts.cumsum()), normal((160,), "f32")
    columns, dense = integers((160,), 0, 64, "i32"), np.zeros((48, 64))
    np.add.at(dense, (np.repeat(np.arange(48), counts), columns.value), values.value)
    x = normal((64,), "f32")
    check("csr_vector_f32_16x32", (3,), Array(starts, "i32"), columns, values, x,
          result((48,), "f32", dense @ x.value, 1e-4))
    x = normal((64, 256), "bf16")
    check("csr_rows_bf16_256", (48, 1), Array(starts, "i32"), columns, values, x,
          result((48, 256), "bf16", dense @ x.value, 0.01))
    d = Array(np.abs(normal((96, 96), "f32").value), "f32")
    d.want, d.within, beside = d.value.copy(), 1e-6, np.r_[0:32, 64:96]
    through = (d.value[beside, 32:64, None] + d.value[None, 32:64, beside]).min(1)
    d.want[np.ix_(beside, beside)] = np.minimum(d.value[np.ix_(beside, beside)], through)
    check("shortest_paths_f32_32", (3, 3), d, 1)


def structured(check):
    a, c = small((192, 80)), normal((192, 192), "f32")
    c.value = rounded(c.value + c.value.T, "f32")
    c.want, c.within = 2 * a.value @ a.value.T + 0.5 * c.value, 1e-4
    check("gemm_syrk_bf16_128x128x64", (2,), a, c, 2.0, 0.5)
    for m, t, k in ((64, 64, 64), (128, 64, 32)):
        M, N, K = m + 16, t + 16, k + 16
        a, b, c, d = small((M, K)), small((M, K)), small((K, N)), small((K, N))
        z = (a.value + 1j * b.value) @ (c.value + 1j * d.value)
        check(f"gemm_gauss_bf16_{m}x{t}x{k}", (2, 2), a, b, c, d, result((M, N), "f32", z.real, 1e-4),
              result((M, N), "f32", z.imag, 1e-4))
    a, b = small((144, 80), "f16"), small((80, 128), "f16")
    check("gemm_strassen_f16_128x128x64", (2, 1), a, b, result((144, 128), "f32", a.value @ b.value, 1e-4))


def sequences(check):
    for n in (256, 1024):
        keys, values = normal((16, n - 16), "f32"), integers((16, n - 16), 0, 99, "i32")
        order = keys.value.argsort(1)
        want = [np.take_along_axis(t.value, order, 1) for t in (keys, values)]
        want[0][2:] = want[1][2:] = 0
        check(f"bitonic_f32_{n}", (2,), keys, values, result(keys.value.shape, "f32", want[0], 0),
              result(values.value.shape, "i32", want[1], 0))
    x, taps = normal((2048,), "f32"), normal((16,), "f32")
    want = np.convolve(x.value, taps.value[::-1])[15:]
    check("fir_f32_1024", (2,), x, taps, result((2048,), "f32", want, 1e-4))
    x = Array(rounded(random.standard_normal((16, 1184)) + 100, "f32"), "f32")
    mean, var = x.value.mean(1), x.value.var(1)
    mean[3:], var[3:] = 0, 0
    check("welford_f32_8192", (3,), x, result((16,), "f32", mean, 1e-5), result((16,), "f32", var, 1e-3))
    x = Array(random.integers(0, 40, (16, 112)), "f32")
    order = x.value.argsort(1, kind="stable")
    want = np.take_along_axis(x.value, order, 1)
    order[3:], want[3:] = 0, 0
    check("rank_sort_f32_128", (3,), x, result(order.shape, "i32", order, 0), result(want.shape, "f32", want, 0))
    for n in (1024, 8192):
        x, want = normal((16, n - 16), "f32"), np.zeros(16)
        want[:3] = np.sort(x.value[:3], 1)[:, int(0.3 * (n - 16))]
        check(f"quantile_f32_{n}", (3,), x, 0.3, result((16,), "f32", want, 1e-5))
    x, want = normal((1008,), "f32"), np.zeros(1008)
    above = x.value[x.value > 0.2]
    want[:len(above)] = above
    check("compact_f32_1024", (1,), x, result((1008,), "f32", want, 0), result((1,), "i32", len(above), 0), 0.2)
    x = normal((48, 512), "f32")
    want = np.stack([x.value[max(0, i - 15):i + 1].max(0) for i in range(48)])
    check("history_f32_16x256", (2,), x, result(want.shape, "f32", want, 0))
    x, angle = normal((16, 8, 128), "bf16"), np.tile(random.uniform(0, 6, (16, 64)), 2)
    c, s = rounded(np.cos(angle), "f32"), rounded(np.sin(angle), "f32")
    want = x.value * c[:, None] + np.roll(x.value, 64, 2) * s[:, None] * np.repeat((-1, 1), 64)
    check("rotate_half_bf16_4x8x128", (4,), x, Array(c, "f32"), Array(s, "f32"), result(want.shape, "bf16", want, 0.01))


KINDS = (convolutions, images, grids, matrices, sparse, structured, sequences)
