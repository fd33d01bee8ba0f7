#!/usr/bin/env python3
"""Compiles kernels with Triton, which needs no GPU for that, and writes each with a launch record for tilerun.

    triton-kernels.py OUT [--sm 80,86,89,90,100,120] [--only WORD]

OUT/NAME.smNN/ gets kernel.ptx, launch.json and .npy files: inputs, and expected outputs that numpy computes in f64. The format of
launch.json is runtime/cases/launch.go. The kernels are chosen for the instructions that they lead to: rings of cp.async and
mma.sync (sm_80, sm_86, sm_89), wgmma, tensor maps built in the kernel, mbarriers and warp-specialised roles (sm_90), tcgen05 and tensor memory
(sm_100), block-scaled mma.sync (sm_120).
"""
import argparse
import json
import pathlib
import re
import sys

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

cx = tl.constexpr


@triton.jit
def matmul(a, b, c, M, N, K, BM: cx, BN: cx, BK: cx, ACC: cx, MASKED: cx):
    """C = A B by pointers; with MASKED no extent is a multiple of the tile."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), ACC)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        at_a = a + i[:, None] * K + k[None, :]
        at_b = b + k[:, None] * N + j[None, :]
        if MASKED:
            x = tl.load(at_a, mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
            y = tl.load(at_b, mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
        else:
            x = tl.load(at_a)
            y = tl.load(at_b)
        total = tl.dot(x, y, total, out_dtype=ACC)
    at_c = c + i[:, None] * N + j[None, :]
    if MASKED:
        tl.store(at_c, total.to(c.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N))
    else:
        tl.store(at_c, total.to(c.dtype.element_ty))


@triton.jit
def rounded(x):
    """f32 rounded to tf32, to nearest even; a NaN stays one."""
    bits = x.to(tl.uint32, bitcast=True)
    bits = tl.where(x != x, 0x7FFFFFFF, bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def matmul_rounded(a, b, c, M, N, K, BM: cx, BN: cx, BK: cx):
    """C = A B in tf32 of rounded operands; without that the tensor cores cut bits off."""
    k = tl.arange(0, BK)
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    at_a = a + i[:, None] * K + k[None, :]
    at_b = b + k[:, None] * N + j[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(rounded(tl.load(at_a)), rounded(tl.load(at_b)), total)
        at_a += BK
        at_b += BK * N
    tl.store(c + i[:, None] * N + j[None, :], total)


@triton.jit
def matmul_maps(a, b, c, M, N, K, BM: cx, BN: cx, BK: cx, ROLES: cx):
    """C = A B^T through tensor maps."""
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    ma = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    mb = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    mc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=ROLES):
        total = tl.dot(ma.load([i, k]), mb.load([j, k]).T, total)
    mc.store([i, j], total.to(c.dtype.element_ty))


@triton.jit
def matmul_persistent(a, b, c, M, N, K, BM: cx, BN: cx, BK: cx, CTAS: cx, ROLES: cx):
    """The same by few blocks that walk over all tiles."""
    ma = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    mb = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    mc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), across * tl.cdiv(M, BM), CTAS, flatten=True, warp_specialize=ROLES):
        i, j = tile // across * BM, tile % across * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(ma.load([i, k]), mb.load([j, k]).T, total)
        mc.store([i, j], total.to(c.dtype.element_ty))


@triton.jit
def matmul_scaled(a, sa, b, sb, c, M, N, K, BM: cx, BN: cx, BK: cx, TYPE: cx, PACK: cx):
    """C = A B where 32 elements along K share a scale; PACK elements lie in a byte."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        k = first // PACK + tl.arange(0, BK // PACK)
        s = first // 32 + tl.arange(0, BK // 32)
        x = tl.load(a + i[:, None] * (K // PACK) + k[None, :])
        y = tl.load(b + k[:, None] * N + j[None, :])
        u = tl.load(sa + i[:, None] * (K // 32) + s[None, :])
        v = tl.load(sb + j[:, None] * (K // 32) + s[None, :])
        total = tl.dot_scaled(x, u, TYPE, y, v, TYPE, total)
    tl.store(c + i[:, None] * N + j[None, :], total)


@triton.jit
def flash(q, k, v, o, S, factor, BM: cx, BN: cx, D: cx, CAUSAL: cx, ROLES: cx):
    """softmax(Q K^T factor) V of one head a block, online."""
    mq = tl.make_tensor_descriptor(q + tl.program_id(1) * S * D, [S, D], [D, 1], [BM, D])
    mk = tl.make_tensor_descriptor(k + tl.program_id(1) * S * D, [S, D], [D, 1], [BN, D])
    mv = tl.make_tensor_descriptor(v + tl.program_id(1) * S * D, [S, D], [D, 1], [BN, D])
    mo = tl.make_tensor_descriptor(o + tl.program_id(1) * S * D, [S, D], [D, 1], [BM, D])
    first = tl.program_id(0) * BM
    rows = mq.load([first, 0])
    top = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    end = first + BM if CAUSAL else S
    for j in tl.range(0, end, BN, warp_specialize=ROLES):
        logits = tl.dot(rows, mk.load([j, 0]).T) * (factor * 1.4426950408889634)
        if CAUSAL:
            seen = (j + tl.arange(0, BN))[None, :] <= (first + tl.arange(0, BM))[:, None]
            logits = tl.where(seen, logits, -1.0e30)
        now = tl.maximum(top, tl.max(logits, 1))
        e = tl.exp2(logits - now[:, None])
        shrink = tl.exp2(top - now)
        weight = weight * shrink + tl.sum(e, 1)
        out = tl.dot(e.to(v.dtype.element_ty), mv.load([j, 0]), out * shrink[:, None])
        top = now
    mo.store([first, 0], (out / weight[:, None]).to(o.dtype.element_ty))


@triton.jit
def softmax_rows(x, y, N, B: cx):
    at = tl.program_id(0) * N + tl.arange(0, B)
    inside = tl.arange(0, B) < N
    row = tl.load(x + at, mask=inside, other=float("-inf"))
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + at, e / tl.sum(e, 0), mask=inside)


@triton.jit
def normalize_rows(x, w, b, y, N, eps, B: cx):
    col = tl.arange(0, B)
    inside = col < N
    row = tl.load(x + tl.program_id(0) * N + col, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, row - tl.sum(row, 0) / N, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / N + eps)
    gain = tl.load(w + col, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(b + col, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + tl.program_id(0) * N + col, (centred * scale * gain + bias).to(y.dtype.element_ty), mask=inside)


@triton.jit
def add(x, y, z, N, B: cx):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(z + at, tl.load(x + at, mask=at < N) + tl.load(y + at, mask=at < N), mask=at < N)


@triton.jit
def turn(x, y, M, N, B: cx):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    tl.store(y + j[:, None] * M + i[None, :], tl.trans(tl.load(x + i[:, None] * N + j[None, :])))


@triton.jit
def _then(a1, b1, a2, b2):
    return a2 * a1, a2 * b1 + b2


@triton.jit
def recurrence(a, b, y, B: cx):
    """y[i] = a[i] y[i-1] + b[i]: a scan that depends on the order of its arguments."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    _, out = tl.associative_scan((tl.load(a + at), tl.load(b + at)), 0, _then)
    tl.store(y + at, out)


# --- numbers ---

def decode_table(ebits, mbits, bias):
    """Values of a small float format by its bits."""
    n = 1 << (1 + ebits + mbits)
    code = np.arange(n)
    e, m = code >> mbits & (1 << ebits) - 1, code & (1 << mbits) - 1
    v = np.where(e == 0, np.ldexp(m / 2.0 ** mbits, 1 - bias), np.ldexp(1 + m / 2.0 ** mbits, e - bias))
    return np.where(code >= n // 2, -v, v)


E4M3, E2M1 = decode_table(4, 3, 7), decode_table(2, 1, 1)


def in_memory(dtype, x):
    """An array as its buffer holds it: bf16 as the upper half of f32, fp8 codes as they are."""
    if dtype == "bf16":
        return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)  # the values are exact in bf16
    return np.asarray(x).astype({"f16": np.float16, "f32": np.float32, "i8": np.int8, "u8": np.uint8, "e4m3": np.uint8}[dtype])


class Kernel:
    """One kernel with its launch: buffers in the order of the parameters, then scalars, then constants."""

    def __init__(self, name, fn, grid, warps, stages=3, aligned=True):
        self.name, self.fn, self.grid, self.aligned = name, fn, (list(grid) + [1, 1])[:3], aligned
        self.options = {"num_warps": warps, "num_stages": stages}
        self.buffers, self.scalars, self.constants, self.expect = {}, {}, {}, {}

    def inputs(self, **arrays):
        for name, (dtype, x) in arrays.items():
            self.buffers[name] = (dtype, x.shape, in_memory(dtype, x))
        return self

    def output(self, name, dtype, want, rtol, atol):
        self.buffers[name] = (dtype, want.shape, None)
        self.expect[name] = (want, rtol, atol)
        return self

    def args(self, **scalars):
        self.scalars.update(scalars)
        return self

    def const(self, **constants):
        self.constants.update(constants)
        return self


def eighths(rng, *shape):
    """Multiples of 1/8 that every format here holds, so that sums of products are exact in f32."""
    return rng.integers(-8, 9, shape) / 8.0


def between(rng, *shape):
    """f32 from 1 to 2, half of them in the middle of two tf32."""
    bits = rng.integers(0x3F800000, 0x40000000, shape, dtype=np.uint32)
    return np.where(rng.integers(0, 2, shape) == 0, bits, bits & 0xFFFFE000 | 0x1000).astype(np.uint32).view(np.float32)


def tf32(x):
    """To nearest even, by counting in units of the last bit of numbers from 1 to 2: np.rint takes ties to even."""
    return np.rint(x.astype(np.float64) * 2 ** 10) / 2 ** 10


def products(rng):
    fine, exact = (2 ** -7, 1e-6), (0, 0)
    codes = np.array([0, 0x28, 0x30, 0x38, 0x40, 0xB0, 0xB8])

    def product(name, fn, dtype, size, tile, warps, stages=3, transposed=False, out=None, tol=fine, grid=None, aligned=True, **const):
        (m, n, k), (bm, bn, bk) = size, tile
        shape_b = (n, k) if transposed else (k, n)
        if dtype == "e4m3":
            a, b = rng.choice(codes, (m, k)), rng.choice(codes, shape_b)
            va, vb = E4M3[a], E4M3[b]
        elif dtype == "i8":
            a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, shape_b)
            va, vb = a.astype(float), b.astype(float)
        else:
            a, b = eighths(rng, m, k), eighths(rng, *shape_b)
            va, vb = a, b
        kern = Kernel(name, fn, grid or [-(-m // bm), -(-n // bn)], warps, stages, aligned)
        kern.inputs(a=(dtype, a), b=(dtype, b)).output("c", out or dtype, va @ (vb.T if transposed else vb), *tol)
        return kern.args(M=m, N=n, K=k).const(BM=bm, BN=bn, BK=bk, **const)

    usual, plain = (256, 256, 320), {"ACC": tl.float32, "MASKED": False}
    for dtype, tile, warps in (("bf16", (128, 128, 64), 4), ("bf16", (128, 256, 64), 8), ("f16", (128, 128, 64), 4), ("f32", (128, 128, 32), 4)):
        yield product(f"matmul_{dtype}_{tile[0]}x{tile[1]}", matmul, dtype, usual, tile, warps, **plain)
    yield product("matmul_bf16_64x64_4stages", matmul, "bf16", (128, 128, 256), (64, 64, 32), 4, stages=4, **plain)
    yield product("matmul_masked_f16", matmul, "f16", (100, 90, 75), (64, 64, 32), 4, aligned=False, ACC=tl.float32, MASKED=True)
    yield product("matmul_i8", matmul, "i8", (128, 128, 256), (64, 64, 64), 4, out="i32", tol=exact, ACC=tl.int32, MASKED=False)
    for roles in (False, True):
        word = "_roles" if roles else ""
        yield product(f"maps{word}_bf16_128x128", matmul_maps, "bf16", usual, (128, 128, 64), 4, transposed=True, ROLES=roles)
        yield product(f"persistent{word}_bf16_128x128", matmul_persistent, "bf16", usual, (128, 128, 64), 4, transposed=True, grid=[3], CTAS=3, ROLES=roles)
    yield product("maps_bf16_128x256", matmul_maps, "bf16", usual, (128, 256, 64), 8, transposed=True, ROLES=False)
    yield product("maps_e4m3_128x128", matmul_maps, "e4m3", (256, 256, 384), (128, 128, 128), 4, transposed=True, out="f32", ROLES=False)


def rounded_products(rng):
    m, n, k = 256, 256, 320
    for columns, warps in ((128, 4), (256, 8)):
        a, b = between(rng, m, k), between(rng, k, n)
        kern = Kernel(f"matmul_f32_rounded_128x{columns}", matmul_rounded, [m // 128, n // columns], warps).inputs(a=("f32", a), b=("f32", b))
        # All terms are positive: bits cut off, or ties rounded up, would add up to more than this.
        kern.output("c", "f32", tf32(a) @ tf32(b), 2 ** -16, 0)
        yield kern.args(M=m, N=n, K=k).const(BM=128, BN=columns, BK=32)


def scaled_products(rng):
    m, n, k = 128, 128, 256
    for word, table, pack in (("e4m3", E4M3, 1), ("e2m1", E2M1, 2)):
        codes = np.arange(16) if pack == 2 else np.array([0, 0x30, 0x38, 0x40, 0xB8])
        a, b = rng.choice(codes, (m, k)), rng.choice(codes, (k, n))
        sa, sb = rng.integers(125, 130, (m, k // 32)), rng.integers(125, 130, (n, k // 32))
        want = (table[a] * np.exp2(sa - 127.0).repeat(32, 1)) @ (table[b] * np.exp2(sb - 127.0).repeat(32, 1).T)
        if pack == 2:
            a, b = a[:, ::2] | a[:, 1::2] << 4, b[::2] | b[1::2] << 4
        stored = "u8" if pack == 2 else "e4m3"
        kern = Kernel(f"scaled_{word}", matmul_scaled, [1], 4).inputs(a=(stored, a), sa=("u8", sa), b=(stored, b), sb=("u8", sb))
        yield kern.output("c", "f32", want, 2 ** -10, 1e-5).args(M=m, N=n, K=k).const(BM=128, BN=128, BK=128, TYPE=word, PACK=pack)


def attentions(rng):
    s = 256
    for word, d, causal, warps, roles in (("d64", 64, False, 4, False), ("d128", 128, False, 8, False), ("d128_causal", 128, True, 8, False), ("d128_roles", 128, False, 4, True)):
        q, k, v = (eighths(rng, 1, s, d) for _ in range(3))
        logits = q @ k.transpose(0, 2, 1) / np.sqrt(d)
        if causal:
            logits = np.where(np.tri(s, dtype=bool), logits, -np.inf)
        e = np.exp(logits - logits.max(2, keepdims=True))
        kern = Kernel(f"attention_{word}", flash, [s // 128, 1], warps).inputs(q=("f16", q), k=("f16", k), v=("f16", v))
        kern.output("o", "f16", e / e.sum(2, keepdims=True) @ v, 1e-2, 2e-3).args(S=s, factor=d ** -0.5)
        yield kern.const(BM=128, BN=64, D=d, CAUSAL=causal, ROLES=roles)


def others(rng):
    rows, cols = 3, 1000
    x, w, b = eighths(rng, rows, cols), eighths(rng, cols), eighths(rng, cols)
    e = np.exp(x - x.max(1, keepdims=True))
    yield Kernel("softmax_f32", softmax_rows, [rows], 8, aligned=False).inputs(x=("f32", x)).output("y", "f32", e / e.sum(1, keepdims=True), 1e-5, 1e-7).args(N=cols).const(B=1024)
    z = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * w + b
    yield (Kernel("layernorm_bf16", normalize_rows, [rows], 8, aligned=False).inputs(x=("bf16", x), w=("bf16", w), b=("bf16", b))
           .output("y", "bf16", z, 2 ** -7, 1e-3).args(N=cols, eps=1e-5).const(B=1024))
    u, v = eighths(rng, 5000), eighths(rng, 5000)
    yield Kernel("add_f32", add, [5], 4, aligned=False).inputs(x=("f32", u), y=("f32", v)).output("z", "f32", u + v, 0, 0).args(N=5000).const(B=1024)
    t = eighths(rng, 128, 128)
    yield Kernel("transpose_f16", turn, [2, 2], 4).inputs(x=("f16", t)).output("y", "f16", t.T.copy(), 0, 0).args(M=128, N=128).const(B=64)
    a, c = rng.choice([-1, -0.5, 0.5, 1], (2, 256)), eighths(rng, 2, 256)
    y = np.zeros((2, 256))
    for i in range(256):
        y[:, i] = a[:, i] * (y[:, i - 1] if i else 0) + c[:, i]
    yield Kernel("recurrence_f32", recurrence, [2], 4).inputs(a=("f32", a), b=("f32", c)).output("y", "f32", y, 1e-4, 1e-4).const(B=256)


# --- compiling and writing ---

TRITON = {"bf16": "bf16", "f16": "fp16", "f32": "fp32", "e4m3": "fp8e4nv", "i8": "i8", "i32": "i32", "u8": "u8"}


def compile_for(kern, sm):
    kinds = {n: "*" + TRITON[d] for n, (d, _, _) in kern.buffers.items()}
    kinds |= {n: "fp32" if isinstance(v, float) else "i32" for n, v in kern.scalars.items()}
    kinds |= {n: "constexpr" for n in kern.constants}
    divisible = lambda n: n in kern.buffers or kern.aligned and isinstance(kern.scalars.get(n), int) and kern.scalars[n] % 16 == 0
    attrs = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(kinds) if divisible(n)}
    source = ASTSource(fn=kern.fn, signature=kinds, constexprs=kern.constants, attrs=attrs)
    return triton.compile(source, target=GPUTarget("cuda", sm, 32), options=kern.options)


def write(kern, sm, binary, out):
    folder = out / f"{kern.name}.sm{sm}"
    folder.mkdir(parents=True, exist_ok=True)
    ptx, meta = binary.asm["ptx"], binary.metadata
    (folder / "kernel.ptx").write_text(ptx)
    head = re.search(r"\.entry\s+(\w+)\s*\((.*?)\)", ptx, re.S)
    record = {"entry": head[1], "grid": kern.grid, "block": [int(re.search(r"\.(?:req|max)ntid\s+(\d+)", ptx)[1]), 1, 1],
              "shared": meta.shared, "scratch": meta.global_scratch_size, "params": [], "buffers": {}, "expect": {},
              "source": "triton " + triton.__version__, "sm": sm}
    for name, (dtype, shape, data) in kern.buffers.items():
        record["buffers"][name] = {"dtype": dtype, "shape": list(shape), "init": None}
        record["params"].append({"buffer": name})
        if data is not None:
            record["buffers"][name]["init"] = name + ".npy"
            np.save(folder / (name + ".npy"), np.ascontiguousarray(data))
    for name, (want, rtol, atol) in kern.expect.items():
        np.save(folder / (name + ".expect.npy"), np.ascontiguousarray(want, np.float64))
        record["expect"][name] = {"file": name + ".expect.npy", "rtol": rtol, "atol": atol}
    for v in kern.scalars.values():
        record["params"].append({"f32" if isinstance(v, float) else "i32": v})
    hidden = head[2].count(".param") - len(record["params"])  # the global scratch, then memory of the profiler
    record["params"] += [{"global_scratch": True}, {"null": True}][:hidden]
    (folder / "launch.json").write_text(json.dumps(record, indent=1))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--sm", default="80,86,89,90,100,120")
    p.add_argument("--only", default="")
    opts = p.parse_args()
    rng = np.random.default_rng(20)
    written = refused = 0
    for kern in [k for family in (products, scaled_products, attentions, others, rounded_products) for k in family(rng)]:
        for sm in map(int, opts.sm.split(",")):
            if opts.only not in f"{kern.name}.sm{sm}":
                continue
            try:
                binary = compile_for(kern, sm)
            except Exception as e:  # a kernel that Triton does not compile for a target is left out, in words
                print(f"{kern.name}.sm{sm}: Triton refuses: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", file=sys.stderr)
                refused += 1
                continue
            write(kern, sm, binary, opts.out)
            written += 1
    print(f"{written} kernels written to {opts.out}, {refused} refused by Triton")


if __name__ == "__main__":
    main()
