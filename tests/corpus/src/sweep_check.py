"""Kernels of the sweep on small arrays, on the emulator, against numpy:

    python src/sweep_check.py FOLDER TILERUN GPU[,GPU] [NAME ...]

FOLDER is what sweep.py has written; NAME is part of a kernel's name. Every array is an argument of
its address, extents and strides, as cuTile passes it. SEED in the environment chooses other data.
The kernels of sweep.py itself are not among them.
"""
import os
import subprocess
import sys
import tempfile
from math import ceil, sqrt

import numpy as np

import sweep_check_numeric
import sweep_check_serving
from corpuslib import f64
from sweep_arrays import Array, bf16, integers, normal, random, result, rounded, small, softmax_of, uniform


class Check:
    def __init__(self, folder, tilerun, gpus, only):
        self.folder, self.tilerun, self.gpus, self.only = folder, tilerun, gpus, only
        self.runs, self.faults = 0, 0

    def __call__(self, name, grid, *args):
        if self.only and not any(o in name for o in self.only):
            return
        with tempfile.TemporaryDirectory() as scratch:
            command, outs, at = [], [], 0
            for a in args:
                path = os.path.join(scratch, f"{at}.npy")
                if not isinstance(a, Array):
                    command += ["--arg", f"i32:{a}" if isinstance(a, int) else f"f32:{float(np.float32(a))!r}"]
                    at += 1
                    continue
                a.save(path)
                command += ["--arg", path]
                if a.want is not None:
                    outs.append((a, path + ".out"))
                    command += ["--out", f"{at}:{path}.out"]
                shape = a.value.shape
                for n in (*shape, *(int(np.prod(shape[d + 1:])) for d in range(len(shape)))):
                    command += ["--arg", f"i32:{n}"]
                at += 1 + 2 * len(shape)
            for gpu in self.gpus:
                self.run(name, gpu, grid, command, outs)

    def run(self, name, gpu, grid, command, outs):
        self.runs += 1
        grid = ",".join(map(str, (*grid, 1, 1)[:3]))
        code = os.path.join(self.folder, name, "kernel.tileirbc")
        done = subprocess.run([self.tilerun, "--on", "emu", "--gpu-name", gpu, "--schedule", "random",
                               code, "--grid", grid, *command], capture_output=True, text=True)
        faults = [done.stdout + done.stderr] if done.returncode else [a.fault(p) for a, p in outs]
        for fault in filter(None, faults):
            self.faults += 1
            print(f"{gpu} {name}: {fault.strip()}")


def products(check):
    for m, n, k in ((128, 128, 64), (128, 64, 64), (64, 64, 64)):
        M, N, K = m + 8, n + 16, 2 * k + 8
        a, b, w = small((M, K)), small((K, N)), small((K, N))
        p, q = a.value @ b.value, a.value @ w.value
        check(f"gemm_dual_bf16_{m}x{n}x{k}", (ceil(M / m), ceil(N / n)), a, b, w,
              result((M, N), "bf16", p / (1 + np.exp(-p)) * q, 0.02))
    for m, n, k in ((128, 128, 64), (64, 64, 64)):
        M, N, K = m + 16, n + 16, 3 * k + 8
        a, b = small((K, M)), small((K, N))
        check(f"gemm_tn_bf16_{m}x{n}x{k}", (ceil(M / m), ceil(N / n)), a, b,
              result((M, N), "bf16", a.value.T @ b.value, 0.01))
    for m, n, k in ((128, 128, 128), (16, 128, 128), (64, 128, 128)):
        a, w, s = small((m, 2 * k)), integers((k, n), -128, 128, "i8"), uniform((2, n), 0.1, 1)
        low, high = (w.value & 15) - 8, ((w.value >> 4) & 15) - 8
        x, h = a.value.reshape(m, 2, 2, k // 2), k // 2
        want = sum((x[:, i, 0] @ low[i * h:][:h] + x[:, i, 1] @ high[i * h:][:h]) * s.value[i]
                   for i in range(2))
        check(f"gemm_w4_bf16_{m}x{n}x{k}", (1, 1), a, w, s, result((m, n), "bf16", want, 0.01))
    for m, n, k in ((128, 128, 64), (64, 128, 64), (16, 128, 64)):
        M, K = m + 8, 5 * k + 8
        a, w, s = small((M, K)), integers((K, n), -128, 128, "i8"), uniform((n,), 0.1, 1)
        check(f"gemm_w8_bf16_{m}x{n}x{k}", (2, 1), a, w, s,
              result((M, n), "bf16", a.value @ w.value * s.value, 0.01))
    for m, n, k in ((128, 128, 128), (64, 128, 128), (128, 64, 128)):
        M, N, parts = m + 8, n + 16, 5
        a, b = small((M, parts * k), "f8e4m3fn"), small((N, parts * k), "f8e4m3fn")
        s, t = uniform((M, parts), 0.1, 1), uniform((2, parts), 0.1, 1)
        x, y = a.value.reshape(M, parts, k), b.value.reshape(N, parts, k)
        want = sum(x[:, i] @ y[:, i].T * s.value[:, [i]] * np.repeat(t.value[:, i], n)[:N] for i in range(parts))
        check(f"gemm_blockscaled_f8e4m3fn_{m}x{n}x{k}", (2, 2), a, s, b, t,
              result((M, N), "bf16", want, 0.01))
    for m, n, k in ((16, 128, 64), (128, 128, 64), (64, 64, 128)):
        a, w = small((m, 2 * k), "f16"), integers((k // 4, n), -2**31, 2**31, "i32")
        s = Array(random.integers(1, 8, (2, n)) / 8, "f16")
        y = np.stack([((w.value >> (4 * i)) & 15) - 8 for i in range(8)], 1).reshape(2 * k, n)
        check(f"gemm_words_f16_{m}x{n}x{k}", (1, 1), a, w, s,
              result((m, n), "f16", a.value @ (y * np.repeat(s.value, k, 0)), 0.01))
    for m, n, k in ((128, 128, 64), (128, 256, 64), (64, 64, 64)):
        a, b, r = small((m, 2 * k + 8)), small((2 * k + 8, n)), small((m, n))
        check(f"gemm_residual_bf16_{m}x{n}x{k}", (1, 1), a, b, r,
              result((m, n), "bf16", a.value @ b.value + r.value, 0.01))
    for rank in (16, 64):
        a, b, u, v = small((128, 128)), small((128, 128)), small((128, rank), most=2), small((rank, 128), most=2)
        check(f"gemm_lora{rank}_bf16_128x128x64", (1, 1), a, b, u, v,
              result((128, 128), "bf16", a.value @ b.value + bf16(a.value @ u.value) @ v.value, 0.01))
    for m, n, k in ((128, 128, 64), (64, 128, 64)):
        a, w, b = small((m, 128)), small((128,)), small((128, n))
        norm = np.sqrt((a.value ** 2).mean(1, keepdims=True) + 1e-5)
        check(f"gemm_norm_bf16_{m}x{n}x{k}", (1, 1), a, w, b,
              result((m, n), "bf16", bf16(a.value * w.value) @ b.value / norm, 0.01))
    for m, n, k in ((128, 128, 128), (128, 256, 64)):
        a, b = integers((m, 2 * k), -128, 128, "i8"), integers((n, 2 * k), -128, 128, "i8")
        s, t = uniform((m,), 0.01, 0.1), uniform((n,), 0.01, 0.1)
        check(f"gemm_i8scaled_{m}x{n}x{k}", (1, 1), a, s, b, t,
              result((m, n), "bf16", a.value @ b.value.T * s.value[:, None].astype(float) * t.value, 0.01))
    image, w = small((66 * 66, 256)), small((9, 256, 256), most=2)
    x = image.value.reshape(66, 66, 256)
    for p, n, k in ((64, 64, 64), (64, 128, 64)):
        want = np.zeros((64 * 64, 256))
        for y in range(2):  # rows of the image
            want[64 * y:64 * y + 64, :n] = sum(x[y + t // 3, t % 3:t % 3 + 64] @ w.value[t, :, :n]
                                               for t in range(9))
        check(f"gemm_conv3x3_bf16_{p}x{n}x{k}", (1, 2, 1), image, w, result(want.shape, "bf16", want, 0.01))


def attention(check):
    def of(scores, v):
        out = softmax_of(scores) @ v
        out[:, 3:] = 0  # three heads of sixteen are launched
        return out

    for d, m, n in ((64, 128, 64), (64, 64, 64), (128, 128, 64)):
        tokens, scale = 3 * 64 if m == 64 else 256, np.float32(1 / sqrt(d))
        shape = (1, 16, tokens, d)
        q, k, v = (normal(shape, "f16") for _ in range(3))
        scores = q.value @ k.value.transpose(0, 1, 3, 2) * scale
        bias, seen = normal((16, tokens, tokens), "f16"), integers((1, tokens, tokens), 0, 3, "i8")
        seen.value[:, :, 0] = -1
        slopes = Array(2.0 ** -np.arange(1, 17), "f32")
        away = np.arange(tokens)[None, :] - np.arange(tokens)[:, None]
        distances = np.where(away <= 0, slopes.value[:, None, None] * away, -np.inf)
        for kind, extra, changed in (
                ("bias", bias, scores + bias.value), ("cap", bias, 50 * np.tanh(scores / 50)),
                ("masked", seen, np.where(seen.value[:, None] != 0, scores, -1e30)),
                ("alibi", slopes, scores + distances)):
            check(f"attention_{kind}_f16_d{d}_{m}x{n}", (ceil(tokens / m), 3), q, k, v, extra,
                  result(shape, "f16", of(changed, v.value), 0.01), scale)
    for t, d in ((64, 64), (64, 128), (128, 64)):
        shape = (1, 2 * t, d)
        q, k, v = (normal(shape, "bf16", 0.25) for _ in range(3))
        g = uniform((1, 2 * t), -0.1, 0)
        state, want = np.zeros((d, d)), np.zeros(shape)
        for i in range(2 * t):  # token by token
            state = state * np.exp(float(g.value[0, i])) + np.outer(k.value[0, i], v.value[0, i])
            want[0, i] = q.value[0, i] @ state
        check(f"attention_linear_bf16_d{d}_{t}x{t}", (1,), q, k, v, g, result(shape, "bf16", want, 0.05))


def statistics(check):
    x = normal((256, 256), "bf16")
    for m, n in ((64, 64), (32, 128)):
        check(f"batch_moments_bf16_{m}x{n}", (256 // n, 2), x,
              result((2, 256), "f32", np.stack([x.value.sum(0), (x.value ** 2).sum(0)]), 1e-4))
    for dtype, n in (("bf16", 4096), ("f32", 1024)):
        y, g = normal((2, n), dtype), normal((2, n), dtype)
        want = y.value * (g.value - (y.value * g.value).sum(1, keepdims=True))
        check(f"softmax_gradient_{dtype}_{n}", (2,), y, g, result((2, n), dtype, want, 0.01))
    x = normal((5, 256), "bf16")
    order = np.argsort(-x.value, 1, kind="stable")[:, :2]
    check("top2_bf16_256", (5,), x, result((5, 2), "f32", np.take_along_axis(x.value, order, 1), 0),
          result((5, 2), "i32", order, 0))
    x = normal((256, 64), "bf16")
    check("gates_bf16_128x64", (2,), x, result((256, 64), "f32", softmax_of(x.value), 1e-4))
    x, w, b = normal((2, 64, 512), "bf16"), normal((64,), "f32"), normal((64,), "f32")
    group = x.value.reshape(2, 2, -1)
    y = (group - group.mean(2, keepdims=True)) / np.sqrt(group.var(2, keepdims=True) + 1e-5)
    want = y.reshape(2, 64, 512) * w.value[:, None] + b.value[:, None]
    check("groupnorm_bf16_32x256", (2, 2), x, w, b, result(want.shape, "bf16", want, 0.01))


def places(check):
    ids, table = integers((3, 32), 0, 50, "i32"), normal((50, 512), "bf16")
    check("bag_bf16_32x256", (3, 2), ids, table, result((3, 512), "bf16", table.value[ids.value].sum(1), 0.01))
    for tokens, h, d in ((16, 16, 64), (4, 32, 128)):
        x = normal((1, 2 * tokens, h, d), "bf16")
        check(f"heads_first_bf16_{tokens}x{h}x{d}", (1, 2), x,
              result((1, h, 2 * tokens, d), "bf16", x.value.transpose(0, 2, 1, 3), 0))
    x = integers((4096,), 0, 2**30, "i32")
    check("histogram_i32_256", (3,), x, result((256,), "i32", np.bincount(x.value % 256, minlength=256), 0))
    k, slots, want = normal((5, 1024), "bf16"), Array(random.permutation(9)[:5], "i32"), np.zeros((9, 1024))
    want[slots.value] = k.value
    check("cache_append_bf16", (5,), k, slots, result(want.shape, "bf16", want, 0))
    ids, g, want = integers((6,), 0, 4, "i32"), normal((6, 2048), "bf16"), np.zeros((4, 2048))
    np.add.at(want, ids.value, g.value)
    check("embedding_gradient_bf16", (6,), ids, g, result(want.shape, "f32", want, 1e-5))
    x = normal((3, 512), "f16")
    check("resize_f16_256", (3, 2), x, result((6, 1024), "f16", np.repeat(np.repeat(x.value, 2, 0), 2, 1), 0))


def neighbours(check):
    x = normal((4, 128), "f32")
    x.value[3] = np.abs(x.value[3])
    away = x.value[:3, None, :] - x.value[:3, :, None]
    near = x.value[3] / np.sqrt((away ** 2).sum(0) + 1e-3) ** 3
    check("nbody_f32_64", (2,), x, result((3, 128), "f32", (away * near).sum(2), 1e-3))
    x = normal((64, 512), "f32")
    y = np.pad(x.value, 1)
    want = 0.5 * x.value + 0.125 * (y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:])
    for m, n in ((32, 64), (8, 256)):
        check(f"stencil_f32_{m}x{n}", (64 // m, 512 // n), x, result((64, 512), "f32", want, 1e-5))
    x, w = normal((130, 256), "bf16"), normal((4, 256), "bf16")
    y = np.pad(x.value, ((3, 0), (0, 0)))
    a = sum(y[i:i + 130] * w.value[i] for i in range(4))
    check("depthwise_bf16_64x128", (3, 2), x, w, result(a.shape, "bf16", a / (1 + np.exp(-a)), 0.01))
    x, w, angle = normal((2, 32, 128), "bf16"), normal((128,), "f32"), random.uniform(0, 6, (2, 64))
    c, s = Array(rounded(np.cos(angle), "f32"), "f32"), Array(rounded(np.sin(angle), "f32"), "f32")
    t = x.value / np.sqrt((x.value ** 2).mean(2, keepdims=True) + 1e-6) * w.value
    a, b, cos, sin = t[..., :64], t[..., 64:], c.value[:, None], s.value[:, None]
    want = np.concatenate([a * cos - b * sin, b * cos + a * sin], 2)
    check("rope_norm_bf16_32x128", (2,), x, w, c, s, result(want.shape, "bf16", want, 0.01))


def fused(check):
    for m, n, k in ((128, 128, 32), (128, 128, 64), (128, 256, 64)):
        for M, N, K in ((m + 8, n + 16, 2 * k + 8), (m - 24, n - 48, k + 16)):
            x, w = small((M, K), "f16"), small((K, N), "f16")
            want = x.value @ w.value
            check(f"gemm_wrapped_f16_{m}x{n}x{k}", (ceil(M / m), ceil(N / n)), x, w, result((M, N), "f16", want, 1e-2))
    for m, n, k in ((128, 128, 64), (64, 128, 64)):
        M, N, K = m + 8, 2 * n - 16, 2 * k
        x, w, t = small((M, K)), small((K, N)), integers((M,), 0, N, "i32")
        p = x.value @ w.value
        e = np.log(np.exp(p).sum(1)) - p[np.arange(M), t.value]
        check(f"gemm_entropy_bf16_{m}x{n}x{k}", (ceil(M / m),), x, w, t, result((M,), "f32", e, 1e-3))
        c = Array(rounded(random.standard_normal((K, 2 * n)), "bf16"), "bf16")
        norms = Array(rounded((c.value ** 2).sum(0), "f32"), "f32")
        far = norms.value - 2 * (x.value @ c.value)
        check(f"gemm_nearest_bf16_{m}x{n}x{k}", (ceil(M / m),), x, c, norms,
              result((M,), "i32", far.argmin(1), 0))
        x, w = small((m, K)), small((K, n))
        r, weights = Array(random.permutation(2 * m)[:m], "i32"), uniform((m,), 0.5, 1)
        want = np.zeros((2 * m, n))
        want[r.value] = (x.value @ w.value) * f64(weights.value)[:, None]
        check(f"gemm_scattered_bf16_{m}x{n}x{k}", (1,), x, w, r, weights, result(want.shape, "f32", want, 1e-4))
        x, codes, table = small((m, K)), integers((K, n), 0, 16, "i8"), small((16,), "f32")
        scales = Array(np.float32(random.choice([0.5, 1, 2], (K // k, n))), "f32")
        w = table.value[codes.value] * np.repeat(f64(scales.value), k, 0)
        check(f"gemm_codes_bf16_{m}x{n}x{k}", (1,), x, codes, table, scales,
              result((m, n), "bf16", x.value @ w, 0.02))
    for m, t in ((128, 64), (64, 64)):
        x, w1, w2 = small((m, 128)), small((128, 144), most=4), small((144, 128), most=4)
        h = rounded(np.maximum(x.value @ w1.value, 0) ** 2, "bf16")
        check(f"gemm_ffn_bf16_d128_{m}x{t}", (1,), x, w1, w2, result((m, 128), "bf16", h @ w2.value, 0.02))
    for m, t, k in ((128, 64, 32), (64, 64, 64)):
        M, N, K = m + 8, t + 8, 2 * k + 8
        a, b, c, d = small((M, K)), small((M, K)), small((K, N)), small((K, N))
        z = (a.value + 1j * b.value) @ (c.value + 1j * d.value)
        check(f"gemm_complex_bf16_{m}x{t}x{k}", (2, 2), a, b, c, d,
              result((M, N), "bf16", z.real, 0.02), result((M, N), "bf16", z.imag, 0.02))
    for m, t, d in ((128, 64, 128), (64, 64, 64)):
        q, k, v = normal((2, m, d), "f16"), *(integers((2, 2 * t, d), -127, 128, "i8") for _ in "kv")
        ks, vs = uniform((2, 2 * t), 0.005, 0.01), uniform((2, 2 * t), 0.005, 0.01)
        scale = d ** -0.5
        p = softmax_of(q.value @ (k.value * f64(ks.value)[..., None]).transpose(0, 2, 1) * scale)
        check(f"attention_bytes_f16_d{d}_{m}x{t}", (2, 1), q, k, v, ks, vs,
              result((2, m, d), "f16", p @ (v.value * f64(vs.value)[..., None]), 0.01), scale)
        q, k, v = (normal((2, n, d), "f16") for n in (m, 2 * t, 2 * t))
        angle = random.uniform(0, 6, (2 * t, d // 2))
        cos, sin = (Array(np.float32(f(angle)), "f32") for f in (np.cos, np.sin))
        a, b, c, e = k.value[..., :d // 2], k.value[..., d // 2:], f64(cos.value), f64(sin.value)
        turned = rounded(np.concatenate([a * c - b * e, b * c + a * e], 2), "f16")
        p = softmax_of(q.value @ turned.transpose(0, 2, 1) * scale)
        check(f"attention_turned_f16_d{d}_{m}x{t}", (2, 1), q, k, v, cos, sin,
              result((2, m, d), "f16", p @ v.value, 0.01), scale)
    for dtype, m, k in (("bf16", 16, 512), ("bf16", 4, 1024), ("i8", 16, 512)):
        w = integers((2 * m, k + 64), -127, 128, "i8") if dtype == "i8" else small((2 * m, k + 64))
        x = small((k + 64,))
        check(f"gemv_{dtype}_{m}x{k}", (2,), w, x, result((2 * m,), "bf16", w.value @ x.value, 0.01))
    x, y = small((48, 40), "f32"), small((48, 40), "f32")
    check("city_blocks_f32_32x32x16", (2, 2), x, y,
          result((48, 48), "f32", np.abs(x.value[:, None] - y.value).sum(2), 1e-5))


if __name__ == "__main__":
    check = Check(sys.argv[1], sys.argv[2], sys.argv[3].split(","), sys.argv[4:])
    for kind in (products, attention, statistics, places, neighbours, fused,
                 *sweep_check_serving.KINDS, *sweep_check_numeric.KINDS):
        kind(check)
    print(f"{check.runs} runs, {check.faults} faults")
    sys.exit(check.faults > 0)
