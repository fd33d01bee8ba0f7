"""Checks of sweep_serving.py and sweep_training.py, for sweep_check.py. Extents are multiples of sixteen where
those of the sweep are; where less is launched, the rest stays as it was."""
from math import ceil

import numpy as np

from corpuslib import f64
from sweep_arrays import Array, bf16, integers, normal, random, result, rounded, small, softmax_of, uniform

SCALE = 0.088
LN2 = np.log(2)


def places(*values):
    return Array(np.array(values), "i32")


def of_pages(check):
    for g, page in ((8, 16), (16, 64)):
        q, k, v = normal((16, 2, g, 128), "f16"), *(normal((16, 2, page, 128), "f16") for _ in "kv")
        pages, lengths = Array(random.permuted(np.tile(np.arange(16), (16, 1)), axis=1), "i32"), np.ones(16, int)
        lengths[:3] = 1, page, 3 * page + 5
        want = np.zeros(q.value.shape)
        for n in range(3):
            used, length = pages.value[n, :ceil(lengths[n] / page)], lengths[n]
            keys = k.value[used].transpose(1, 0, 2, 3).reshape(2, -1, 128)[:, :length]
            values = v.value[used].transpose(1, 0, 2, 3).reshape(2, -1, 128)[:, :length]
            want[n] = softmax_of(q.value[n] @ keys.transpose(0, 2, 1) * SCALE) @ values
        pages.value[:, 5:] = -7
        check(f"attention_paged_f16_d128_{g}x{page}", (3, 2), q, k, v, pages, Array(lengths, "i32"),
              result(want.shape, "f16", want, 0.01), SCALE)
    for h, t in ((16, 64), (64, 64)):
        q, qr = normal((16, h, 512), "f16", 0.3), normal((16, h, 64), "f16")
        latent, turned = normal((16, 2 * t + 16, 512), "f16"), normal((16, 2 * t + 16, 64), "f16")
        lengths = np.ones(16, int)
        lengths[0] = 2 * t + 7
        want, lse = np.zeros((16, h, 512)), np.zeros((16, h))
        for n in range(2):
            c, r = latent.value[n, :lengths[n]], turned.value[n, :lengths[n]]
            p = (q.value[n] @ c.T + qr.value[n] @ r.T) * SCALE
            want[n], lse[n] = softmax_of(p) @ c, np.log(np.exp(p).sum(1))
        check(f"attention_mla_f16_d512_{h}x{t}", (2, 1), q, qr, latent, turned, Array(lengths, "i32"),
              result(want.shape, "f16", want, 0.01), result(lse.shape, "f32", lse, 1e-3), SCALE)


def of_parts(check):
    for g, t in ((16, 128), (8, 64)):
        n = 7 * t + 16
        q, k, v = normal((16, 1, g, 128), "f16"), *(normal((16, 1, n, 128), "f16") for _ in "kv")
        p = q.value[0, 0] @ k.value[0, 0].T * SCALE / LN2
        whole, largest, sums = np.zeros((16, 1, 8, g, 128)), np.zeros((16, 1, 8, g)), np.zeros((16, 1, 8, g))
        for z in range(8):
            part = p[:, z * t:z * t + t]
            largest[0, 0, z] = part.max(1)
            e = np.exp2(part - part.max(1, keepdims=True))
            sums[0, 0, z], whole[0, 0, z] = e.sum(1), e @ v.value[0, 0, z * t:z * t + t]
        check(f"attention_split_f16_d128_{g}x{t}", (8, 1, 1), q, k, v, result(whole.shape, "f32", whole, 0.01),
              result(largest.shape, "f32", largest, 1e-3), result(sums.shape, "f32", sums, 1e-3), SCALE)
    parts, largest = normal((16, 1, 16, 16, 128), "f32"), normal((16, 1, 16, 16), "f32")
    sums = uniform((16, 1, 16, 16), 1, 9)
    w, want = np.exp2(largest.value), np.zeros((16, 1, 16, 128))
    total = (w * sums.value).sum(2)[..., None]
    want[:2] = ((parts.value * w[..., None]).sum(2) / total)[:2]
    check("merge_parts_f32", (1, 2), parts, largest, sums, result(want.shape, "f16", want, 0.01))


def of_places(check):
    """Attention whose keys are those near by, of a sequence among others, or of a list."""
    for m, t in ((64, 64), (128, 64)):
        n = 1024 + 144
        q, k, v = (normal((1, n, 16, 128), "f16") for _ in "qkv")
        sink, want = normal((16,), "f32"), np.zeros((1, n, 16, 128))
        p = q.value[0, :, 0] @ k.value[0, :, 0].T * SCALE
        away = np.arange(n)[:, None] - np.arange(n)
        p = np.where((away >= 0) & (away < 1024), p, -np.inf)
        p = np.concatenate([p, np.full((n, 1), sink.value[0])], 1)
        want[0, :, 0] = softmax_of(p)[:, :-1] @ v.value[0, :, 0]
        check(f"attention_window_f16_d128_{m}x{t}", (ceil(n / m), 1, 1), q, k, v, sink,
              result(want.shape, "f16", want, 0.01), SCALE)
        starts = (0, m + 6, m + 7, 2 * m + 16)
        q, k, v = (normal((2 * m + 16, 16, 128), "f16") for _ in "qkv")
        want = np.zeros(q.value.shape)
        for a, b in zip(starts, starts[1:]):
            want[a:b, 0] = softmax_of(q.value[a:b, 0] @ k.value[a:b, 0].T * SCALE) @ v.value[a:b, 0]
        check(f"attention_packed_f16_d128_{m}x{t}", (2, 1, 3), q, k, v, places(*starts),
              result(want.shape, "f16", want, 0.01), SCALE)
        q, k, v = (normal((16, 256, 128), "f16") for _ in "qkv")
        offsets, columns = np.zeros((16, 256 // m + 1), int), np.zeros((16, 16), int)
        offsets[0, 1:], columns[0, :5] = (3, 4, 5, 5)[:256 // m], (3, 0, 2, 1, 3)
        want = np.zeros(q.value.shape)
        for i in range(2):
            seen = columns[0, offsets[0, i]:offsets[0, i + 1], None] * t + np.arange(t)
            rows = slice(i * m, i * m + m)
            p = softmax_of(q.value[0, rows] @ k.value[0, seen.ravel()].T * SCALE)
            want[0, rows] = p @ v.value[0, seen.ravel()]
        check(f"attention_blocks_f16_d128_{m}x{t}", (2, 1), q, k, v, Array(offsets, "i32"), Array(columns, "i32"),
              result(want.shape, "f16", want, 0.01), SCALE)


def experts(check):
    for m, t, k in ((64, 128, 64), (128, 128, 64), (16, 64, 128)):
        a, b, weights = small((32, k + 16)), small((16, 2 * t, k + 16)), uniform((64,), 0.5, 1)
        chosen, ids, blocks = random.choice([0, 2, 5], 64), [], []
        for e in (0, 2, 5):
            pairs = np.flatnonzero(chosen == e)
            ids += [*pairs, *[64] * (-len(pairs) % m)]
            blocks += [e] * ceil(len(pairs) / m)
        used, blocks = len(ids), blocks + [-1] * (16 - len(blocks))
        ids += [1 << 20] * (16 * m - used)
        want = np.stack([a.value[i // 2] @ b.value[chosen[i]].T for i in range(64)]) * f64(weights.value)[:, None]
        check(f"gemm_experts_bf16_{m}x{t}x{k}", (2, used // m + 1), a, b, places(*ids), weights, places(*blocks),
              places(used), result(want.shape, "bf16", want, 0.01))
    for m, t, k in ((128, 128, 64), (64, 128, 64)):
        offsets = (0, 20, 20, m + 50)
        a, b = small((m + 64, k + 16)), small((3, k + 16, t + 16))
        want = np.zeros((m + 64, t + 16))
        for e, (i, j) in enumerate(zip(offsets, offsets[1:])):
            want[i:j] = a.value[i:j] @ b.value[e]
        check(f"gemm_jagged_bf16_{m}x{t}x{k}", (2, 2, 3), a, b, places(*offsets),
              result(want.shape, "bf16", want, 0.01))
    x, bias = normal((48, 64), "bf16"), normal((64,), "f32", 0.1)
    p = softmax_of(x.value)
    order = np.argsort(-p - bias.value, 1)[:, :8]
    check("routes_bf16_64x32", (2,), x, bias, result((48, 8), "f32", np.take_along_axis(p, order, 1), 1e-4),
          result((48, 8), "i32", order, 0), result((64,), "i32", np.bincount(order.ravel(), minlength=64), 0))


def few_bits(check):
    for m, t, k in ((16, 128, 64), (128, 128, 64), (64, 128, 64)):
        a, codes, zeros = small((m, 256), "f16"), random.integers(0, 16, (256, t)), random.integers(0, 16, (2, t))
        scales = Array(random.integers(1, 5, (2, t)) / 4, "f16")
        words = sum(codes[i::8] << (4 * i) for i in range(8)).astype(np.uint32).view(np.int32)
        packed = sum(zeros[:, i::8] << (4 * i) for i in range(8)).astype(np.uint32).view(np.int32)
        w = (codes - np.repeat(zeros, 128, 0) - 1) * np.repeat(scales.value, 128, 0)
        check(f"gemm_gptq_w4_f16_{m}x{t}x{k}", (1, 1), a, Array(words, "i32"), Array(packed, "i32"), scales,
              result((m, t), "f16", a.value @ w, 0.01))
    for m, t, k in ((128, 128, 128), (64, 128, 64)):
        M, N, K = m + 16, t + 16, k + 16
        a, b = small((M, K), "f8e4m3fn"), small((N, K), "f8e4m3fn")
        s, u = uniform((M,), 0.5, 1), uniform((N,), 0.5, 1)
        want = a.value @ b.value.T * f64(s.value)[:, None] * u.value
        check(f"gemm_rowscaled_f8e4m3fn_{m}x{t}x{k}", (4,), a, s, b, u, result((M, N), "bf16", want, 0.01))
    for m, t, k in ((128, 128, 64), (64, 64, 128)):
        a, b = integers((m + 16, 2 * k + 16), 0, 256, "u8"), integers((t, 2 * k + 16), -128, 128, "i8")
        bias, factors = integers((t,), -5000, 5000, "i32"), integers((t,), 1 << 20, 1 << 21, "i32")
        s = (a.value - 100) @ b.value.T + bias.value
        want = np.clip(((s * factors.value + (1 << 30)) >> 31) + 128, 0, 255)
        check(f"gemm_i8requantized_{m}x{t}x{k}", (2, 1), a, b, bias, factors, result(want.shape, "u8", want, 0),
              100, 128)


def chances(x):
    """Numbers from 0 to 1 that follow from 32 bits."""
    with np.errstate(over="ignore"):
        x = np.asarray(x, np.uint32)
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
        x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
        return f64((x ^ (x >> np.uint32(16))) >> np.uint32(8)) / (1 << 24)


def tokens(check):
    x, heat, seeds = normal((16, 4160), "bf16", 2), np.zeros(16), integers((16,), 0, 99, "u32")
    heat[:3], x.value[0, 4100] = (0, 1, 0.5), 20
    want = np.zeros(16)
    for i in range(3):
        bits = np.arange(4160) * 0x85EBCA6B + seeds.value[i]
        noise = -np.log(-np.log(chances(bits & 0xFFFFFFFF) + 1e-7))
        want[i] = np.argmax(x.value[i] / heat[i] + noise if heat[i] else x.value[i])
    check("gumbel_bf16_4096", (3,), x, Array(heat, "f32"), seeds, result((16,), "i32", want, 0))
    x, angle = normal((16, 48, 128), "bf16"), random.uniform(0, 6, (16, 64))
    c, s = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    pairs = (x.value[..., ::2] + 1j * x.value[..., 1::2]) * (f64(c) + 1j * f64(s))[:, None]
    turned = np.stack([pairs.real, pairs.imag], 3).reshape(16, 48, 128)
    turned[3:] = 0
    slots, keys, values = np.full(16, -1), np.zeros((16, 8, 128)), np.zeros((16, 8, 128))
    slots[0], slots[2] = 4, 0
    for i in (0, 2):
        keys[slots[i]], values[slots[i]] = turned[i, 32:40], x.value[i, 40:]
    check("rope_cache_bf16_128", (3,), x, Array(c, "f32"), Array(s, "f32"), Array(slots, "i32"),
          result(keys.shape, "f8e4m3fn", keys, 0.07), result(values.shape, "bf16", values, 0),
          result((16, 32, 128), "bf16", turned[:, :32], 0.01))
    offsets, x, want = (0, 50, 50, 51, 1184), normal((1200,), "f32", 3), np.zeros(1200)
    for a, b in ((0, 50), (50, 51), (51, 1184)):
        want[a:b] = softmax_of(x.value[a:b])
    check("jagged_softmax_f32_1024", (4,), x, places(*offsets), result((1200,), "f32", want, 1e-4))


def recurrences(check):
    for t, n in ((64, 128), (128, 64)):
        T = t + 16
        x, dt = normal((1, T, 16, 64), "bf16"), normal((1, T, 16), "f32")
        decay, skip = normal((16,), "f32", 0.3), normal((16,), "f32")
        b, c = (normal((1, T, n), "bf16", 0.3) for _ in "bc")
        dt.value[0, 3] = 25
        d = np.logaddexp(0, dt.value[0])
        state, want = np.zeros((16, n, 64)), np.zeros(x.value.shape)
        for i in range(T):  # token by token
            new = np.einsum("h,n,hp->hnp", d[i], b.value[0, i], x.value[0, i])
            state = state * np.exp(-d[i] * np.exp(decay.value))[:, None, None] + new
            want[0, i] = np.einsum("n,hnp->hp", c.value[0, i], state) + x.value[0, i] * skip.value[:, None]
        want[:, :, 2:], state[2:] = 0, 0
        check(f"gemm_ssd_bf16_{t}x64x{n}", (1, 2), x, dt, decay, b, c, skip, result(want.shape, "bf16", want, 0.04),
              result((1, 16, n, 64), "f32", state[None], 0.04))
    q, v, k = normal((16, 128, 64), "bf16", 0.3), normal((16, 128, 64), "bf16"), random.standard_normal((16, 128, 64))
    k, beta = Array(bf16(k / np.sqrt((k ** 2).sum(2, keepdims=True))), "bf16"), uniform((16, 128), 0, 1)
    state, want = np.zeros((64, 64)), np.zeros(q.value.shape)
    for i in range(128):  # token by token
        new = v.value[0, i] - k.value[0, i] @ state
        state += np.outer(k.value[0, i], new) * float(beta.value[0, i])
        want[0, i] = q.value[0, i] @ state
    check("delta_rule_bf16_64x64", (1,), q, k, v, beta, result(want.shape, "bf16", want, 0.04))
    r, k, v, w = (normal((1, 16, 16, 64), "bf16", 0.5) for _ in "rkvw")
    u, first = normal((16, 64), "f32"), normal((1, 16, 64, 64), "f32")
    state, want = first.value[0].copy(), np.zeros(r.value.shape)
    for i in range(16):
        new = np.einsum("hk,hv->hkv", k.value[0, i], v.value[0, i])
        want[0, i] = np.einsum("hkv,hk->hv", state + u.value[..., None] * new, r.value[0, i])
        state = state * np.exp(-np.exp(w.value[0, i]))[..., None] + new
    want[:, :, 2:], state[2:] = 0, 0
    check("wkv_bf16_64", (1, 2), r, k, v, w, u, first, result(want.shape, "bf16", want, 0.01),
          result(first.value.shape, "f32", state[None], 1e-3))
    a, x = uniform((16, 144, 64), 0, 1), normal((16, 144, 64), "f32")
    want, y = np.zeros(x.value.shape), 0
    for i in range(144):
        y = a.value[0, i] * y + x.value[0, i]
        want[0, i] = y
    check("recurrence_f32_64x64", (1, 1), a, x, result(want.shape, "f32", want, 1e-4))


def training(check):
    w, m, v, g = normal((2048,), "f32"), normal((2048,), "f32", 0.1), uniform((2048,), 0, 1), normal((2048,), "bf16")
    t = g.value / (20 + 1e-6)
    a, b = 0.9 * m.value + 0.1 * t, 0.95 * v.value + 0.05 * t * t
    want = w.value * (1 - 1e-2 * 0.1) - 1e-2 * (a / (1 - 0.9 ** 7)) / (np.sqrt(b / (1 - 0.95 ** 7)) + 1e-8)
    changed = (Array(x.value, "f32", y, 1e-4) for x, y in ((w, want), (m, a), (v, b)))
    check("adamw_clip_bf16_1024", (2,), result((2048,), "bf16", want, 0.01), *changed, g,
          Array(np.array([400.0]), "f32"), 1e-2, 0.9, 0.95, 0.1, 1.0, 7)
    x, target = normal((16, 2208), "bf16", 3), places(3, -100, 2207, *[0] * 13)
    p = softmax_of(x.value)
    share = 0.1 / 2208 + 0.9 * (np.arange(2208) == target.value[:, None])
    loss, want = -(np.log(p) * share).sum(1) * 0.25, (p - share) * 0.25
    loss[1], want[1], loss[4:], want[4:] = 0, 0, 0, x.value[4:]
    check("smooth_entropy_bf16_32000", (4,), Array(x.value, "bf16", want, 0.01), target,
          result((16,), "f32", loss, 1e-3), 0.1, 0.25)
    for r, width in ((1, 4096), (4, 1024)):
        n = width - 16
        x, dy, w = normal((32, n), "bf16"), normal((32, n), "bf16"), normal((n,), "bf16")
        mean, rstd = rounded(x.value.mean(1), "f32"), rounded(1 / np.sqrt(x.value.var(1) + 1e-5), "f32")
        t = (x.value - mean[:, None]) * rstd[:, None]
        g = dy.value * w.value
        dx = (g - g.mean(1, keepdims=True) - t * (g * t).mean(1, keepdims=True)) * rstd[:, None]
        check(f"layernorm_gradient_bf16_{r}x{width}", (3,), dy, x, w, Array(mean, "f32"), Array(rstd, "f32"),
              result((32, n), "bf16", dx, 0.01), result((n,), "f32", (dy.value * t).sum(0), 1e-3),
              result((n,), "f32", dy.value.sum(0), 1e-3))
    x = normal((32, 512), "bf16")
    x.value[3, 128:256] = 0
    groups = x.value.reshape(32, 4, 128)
    scales = np.abs(groups).max(2) / 127
    scales[3, 1] = 1
    want = np.rint(groups / scales[..., None]).reshape(32, 512)
    check("group_quantize_bf16_16x2x128", (2, 2), x, result(want.shape, "i8", want, 0.035),
          result(scales.shape, "f32", scales, 1e-6))
    for m, t, d in ((128, 64, 64), (64, 64, 128)):
        centres = normal((80, d), "bf16")
        near = centres.value[random.integers(0, 80, m + 16)]
        x = Array(bf16(near + 0.2 * random.standard_normal(near.shape)), "bf16")
        label = ((x.value[:, None] - centres.value) ** 2).sum(2).argmin(1)
        sums = np.zeros((80, d))
        np.add.at(sums, label, x.value)
        check(f"gemm_kmeans_bf16_{m}x{t}x{d}", (2,), x, centres, result((m + 16,), "i32", label, 0),
              result((80, d), "f32", sums, 1e-4), result((80,), "i32", np.bincount(label, minlength=80), 0))
    n = 4080
    x, r, w, b = normal((16, n), "bf16"), normal((16, n), "bf16"), normal((n,), "f32"), normal((n,), "f32")
    kept = chances(np.arange(16 * n) ^ 99).reshape(16, n) >= 0.25
    t = np.where(kept, x.value / 0.75, 0) + r.value
    want = (t - t.mean(1, keepdims=True)) / np.sqrt(t.var(1, keepdims=True) + 1e-5) * w.value + b.value
    want[3:], kept[3:] = 0, False
    check("dropout_norm_bf16_4096", (3,), x, r, w, b, result((16, n), "bf16", want, 0.01),
          result((16, n), "bool", kept, 0), 99, 0.25)


KINDS = (of_pages, of_parts, of_places, experts, few_bits, tokens, recurrences, training)
