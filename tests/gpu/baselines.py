#!/usr/bin/env python3
"""Times what a user would otherwise run for the work of the performance corpus: PyTorch's libraries, and kernels written in Triton.

    python3 baselines.py CORPUS_DIR OUT.jsonl [--seconds 75]

CORPUS_DIR is tests/corpus/perf; of each folder only bench.json is read. Kernels of the corpus that differ in tiles alone are the same
work: it is measured once and reported under each of their names. The peers are
  torch   cuBLAS for products (fp8 by torch._scaled_mm, f32 in tf32), scaled_dot_product_attention by FlashAttention and by cuDNN,
          torch's own operators for the rest. torch._grouped_mm and bmm want one N and K for the whole group, which the groups
          here do not have, so these run as a loop of torch.mm, also in a CUDA graph, with and without a stream for each product;
  triton  the kernels below, each with a few configurations. All extents are multiples of the tiles, so nothing is masked.
Two ceilings come first: a device-to-device copy of 2 GiB and an 8192^3 product.

Before each run a buffer of 256 MiB is zeroed, which flushes the L2 cache and gives the CPU time to enqueue; CUDA events around
the run give its time; the median of 12 runs after 3 warm-ups counts. Inputs are random normal.

A line of OUT.jsonl is {"kernel", "peer", "what", "us", "tflops", "gbs", "error_norm", "others", "failed"}: the fastest of the
peer's candidates, its error norm relative to a reference by torch, the microseconds of the other candidates, and what became of those
that did not work; or {"kernel", "peer", "error"} where none worked. Warp-specialised Triton kernels run last and have lines of
their own, so of several lines of one kernel and peer the fastest counts. Line 1 ("setup") names device and versions, the last one ("end") says
what was left out. After --seconds no new measurement starts; a watchdog ends the script 40 s later, should a kernel hang.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
import triton

from triton_kernels import (product_pointers, product_maps, product_persistent, product_group, product_scaled,
                            attention, softmax_rows, layernorm_rows, rmsnorm_rows, rotate, add, turn, total_sum,
                            max_rows, lookup)

START = time.monotonic()
WARMUPS, RUNS = 3, 12
TOLERANCE = 0.05
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f8e4m3fn": torch.float8_e4m3fn,
          "f8e8m0fnu": torch.uint8, "i32": torch.int32}


# --- the work and its peers ---

@dataclass
class Candidate:
    """One way to do the work; run returns the output, around is entered for the whole measurement, before precedes the check."""
    label: str
    run: object
    around: object = contextlib.nullcontext
    before: object = None


@dataclass
class Launch:
    """A Triton kernel with its arguments; roles marks the warp-specialised ones."""
    label: str
    fn: object
    grid: tuple
    args: list
    options: dict
    output: object
    before: object = None
    roles: bool = False

    def candidate(self):
        def run():
            self.fn[self.grid](*self.args, **self.options)
            return self.output
        return Candidate(self.label, run, before=self.before)

    def compile(self):
        self.fn.warmup(*[a.dtype if isinstance(a, torch.Tensor) else a for a in self.args], grid=self.grid, **self.options)


def launch(fn, grid, args, output, warps, stages=None, before=None, roles=False, **constants):
    """A launch whose label tells the configuration."""
    size = [str(constants[n]) for n in ("BM", "BN", "BK", "B", "R") if n in constants]
    words = [fn.__name__, "x".join(size), f"{warps} warps", f"{stages} stages" if stages else "", "roles" if roles else ""]
    if fn is total_sum:
        words.append(f"{grid[0]} programs")
    options = dict(constants, num_warps=warps, **({"num_stages": stages} if stages else {}))
    return Launch(" ".join(w for w in words if w), fn, grid, args, options, output, before, roles)


@dataclass
class Work:
    """What kernels of the corpus compute, without the way they do it."""
    op: str
    bench: dict
    names: list = field(default_factory=list)

    def tensors(self, device):
        """Inputs as bench.json describes them, outputs full of NaN; on the device "meta" they have no data."""
        made = {}
        for name, buffer in self.bench["buffers"].items():
            if buffer["dtype"] not in DTYPES:
                continue
            dtype, shape, init = DTYPES[buffer["dtype"]], buffer["view"]["shape"], buffer["init"]
            if device == "meta":
                made[name] = torch.empty(shape, dtype=dtype, device=device)
            elif init["kind"] == "normal":
                made[name] = (torch.randn(shape, device=device) * init["std"]).to(dtype)
            elif init["kind"] == "uniform_int":
                made[name] = torch.randint(init["lo"], init["hi"], shape, dtype=dtype, device=device)
            elif init["kind"] == "ones":  # in f8e8m0fnu, the one scale type here
                made[name] = torch.full(shape, 127, dtype=dtype, device=device)
            else:
                made[name] = torch.full(shape, math.nan, dtype=dtype, device=device)
        return made

    def outputs(self):
        return [n for n, b in self.bench["buffers"].items() if b["init"].get("kind") == "zeros"]

    def scalar(self):
        """The one f32 parameter."""
        return next(p["f32"] for p in self.bench["params"] if "f32" in p)


def products(t):
    """The operands of a group of products in its order."""
    count = sum(1 for name in t if name.startswith("c"))
    return [(t[f"a{g}"], t[f"b{g}"], t[f"c{g}"]) for g in range(count)]


def rope(x, u, v):
    a, b = x.float().chunk(2, -1)
    u, v = u[:, None, :], v[:, None, :]
    return torch.cat([a * u - b * v, b * u + a * v], -1)


def reference(work, t):
    """The output in f32 where torch can do that."""
    op = work.op
    if op in ("gemm", "gemm_scaled"):  # the scales are ones
        b = t["b"].float()
        return torch.matmul(t["a"].float(), b.t() if op == "gemm_scaled" or work.bench["transposed_b"] else b)
    if op == "group_gemm":
        return tuple(a.float() @ b.float() for a, b, _ in products(t))
    if op == "attention":
        return F.scaled_dot_product_attention(t["q"], t["k"], t["v"], is_causal=work.bench["causal"], scale=work.scalar())
    if op == "softmax":
        return torch.softmax(t["x"], -1)
    if op == "layernorm":
        return F.layer_norm(t["x"].float(), t["w"].shape, t["w"], t["b"], work.scalar())
    if op == "rmsnorm":
        x = t["x"].float()
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + work.scalar()) * t["w"]
    if op == "rope":
        return rope(t["x"], t["cos"], t["sin"])
    if op == "sum":
        return t["x"].double().sum().reshape(1)
    return torch_candidates(work, t)[0].run().clone()  # the others only move or compare


def capture(run):
    """A candidate's run as the replay of a CUDA graph."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = run()

    def replay():
        graph.replay()
        return result
    return replay


def later(make):
    """A run that is made at its first call, so that what goes wrong there is this candidate's error."""
    made = []

    def run():
        if not made:
            made.append(make())
        return made[0]()
    return run


def torch_group(t):
    group = products(t)

    def loop():
        for a, b, c in group:
            torch.mm(a, b, out=c)
        return tuple(c for _, _, c in group)

    def fan():
        streams = [torch.cuda.Stream() for _ in group]

        def run():
            here = torch.cuda.current_stream()
            for stream, (a, b, c) in zip(streams, group):
                stream.wait_stream(here)
                with torch.cuda.stream(stream):
                    torch.mm(a, b, out=c)
            for stream in streams:
                here.wait_stream(stream)
            return tuple(c for _, _, c in group)
        return run
    return [Candidate("cublas, loop of mm", loop), Candidate("cublas, loop of mm in a graph", later(lambda: capture(loop))),
            Candidate("cublas, mm on parallel streams in a graph", later(lambda: capture(fan())))]


def torch_products(work, t):
    a, b, c = t["a"], t["b"].t() if work.bench["transposed_b"] else t["b"], t["c"]
    if a.dtype != torch.float8_e4m3fn:
        return [Candidate("cublas tf32" if a.dtype == torch.float32 else "cublas", lambda: torch.matmul(a, b, out=c))]
    one = torch.ones((), device=a.device)
    mul = lambda fast: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=c.dtype, use_fast_accum=fast)
    return [Candidate("cublas fp8, fast accumulation", lambda: mul(True)), Candidate("cublas fp8, f32 accumulation", lambda: mul(False))]


def torch_scaled(t):
    """The block scales of 32 need sm_100 in cuBLAS; coarser scales are the nearest that sm_90 has."""
    a, b, (m, k), n, on = t["a"], t["b"].t(), t["a"].shape, t["b"].shape[0], t["a"].device

    def mul(dtype, sa, sb, fast=False):
        return lambda: torch._scaled_mm(a, b, scale_a=sa, scale_b=sb, out_dtype=dtype, use_fast_accum=fast)

    def fine():
        small = [t[s].view(torch.float8_e8m0fnu).flatten() for s in ("sa", "sb")]  # all are one, in whatever order
        return mul(torch.bfloat16, *small)
    one = torch.ones((), device=on)
    blocks = torch.ones(k // 128, m, device=on).t(), torch.ones(k // 128, n, device=on)  # outer dimension fastest in both
    lines = torch.ones(m, 1, device=on), torch.ones(1, n, device=on)
    return [Candidate("cublas fp8, scales per 32 of K, bf16 out", later(fine)),
            Candidate("cublas fp8, scales per 128 of K (coarser)", mul(torch.float32, *blocks)),
            Candidate("cublas fp8, scales per 128 of K (coarser), bf16 out", mul(torch.bfloat16, *blocks)),
            Candidate("fp8, scales per row (coarser), bf16 out", mul(torch.bfloat16, *lines, True)),
            Candidate("cublas fp8, one scale (coarser)", mul(torch.float32, one, one, True))]


def torch_attention(work, t):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    run = lambda: F.scaled_dot_product_attention(t["q"], t["k"], t["v"], is_causal=work.bench["causal"], scale=work.scalar())
    backends = ("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)
    return [Candidate(f"sdpa {word}", run, around=lambda b=b: sdpa_kernel(b)) for word, b in backends]


def torch_candidates(work, t):
    op = work.op
    if op == "gemm":
        return torch_products(work, t)
    if op == "gemm_scaled":
        return torch_scaled(t)
    if op == "group_gemm":
        return torch_group(t)
    if op == "attention":
        return torch_attention(work, t)
    if op == "softmax":
        return [Candidate("softmax", lambda: torch.softmax(t["x"], -1))]
    if op == "layernorm":
        x, w, b = t["x"], t["w"], t["b"]
        narrow = w.to(x.dtype), b.to(x.dtype)
        return [Candidate("layer_norm", lambda: F.layer_norm(x, w.shape, w, b, work.scalar())),
                Candidate("layer_norm, bf16 weights", lambda: F.layer_norm(x, w.shape, *narrow, work.scalar()))]
    if op == "rmsnorm":
        x, w = t["x"], t["w"]
        narrow = w.to(x.dtype)
        return [Candidate("rms_norm", lambda: F.rms_norm(x, w.shape, w, work.scalar()).to(x.dtype)),
                Candidate("rms_norm, bf16 weights", lambda: F.rms_norm(x, w.shape, narrow, work.scalar()))]
    if op == "rope":
        return [Candidate("plain operators", lambda: rope(t["x"], t["cos"], t["sin"]).to(t["x"].dtype))]
    if op == "sum":
        return [Candidate("sum", lambda: torch.sum(t["x"]).reshape(1))]
    if op == "row_max":
        return [Candidate("amax", lambda: torch.amax(t["x"], 1))]
    if op == "transpose":
        return [Candidate("t().contiguous()", lambda: t["x"].t().contiguous())]
    if op == "vecadd":
        return [Candidate("add", lambda: torch.add(t["a"], t["b"], out=t["c"]))]
    if op == "gather_rows":
        return [Candidate("index_select", lambda: torch.index_select(t["table"], 0, t["ids"])),
                Candidate("indexing", lambda: t["table"][t["ids"]])]
    raise ValueError(f"no peer in torch for {op}")


def triton_products(work, t, processors):
    a, b, c, nk = t["a"], t["b"], t["c"], work.bench["transposed_b"]
    (m, k), n = a.shape, c.shape[1]
    args = [a, b, c, m, n, k]
    bk = 128 // a.element_size()  # a row of a tile has 128 bytes

    def one(fn, bn, warps, stages, **more):
        tiles = m // 128 * (n // bn)
        grid = (min(processors, tiles) if fn is product_persistent else tiles,)
        return launch(fn, grid, args, c, warps, stages, BM=128, BN=bn, BK=bk, NK=nk, **more)
    wide = 2 if a.dtype == torch.float32 else 3  # tf32 operands that are turned on the way take more shared memory
    made = [one(product_pointers, 128, 4, 4), one(product_pointers, 128, 8, 3), one(product_pointers, 256, 8, 3),
            one(product_maps, 128, 4, 3), one(product_maps, 128, 8, 4), one(product_maps, 256, 8, wide)]
    if wide == 3:
        made.append(one(product_maps, 256, 8, 4))
    made += [one(product_persistent, bn, 8, stages, ROLES=False) for bn, stages in ((128, 4), (256, wide))]
    if wide == 3:  # with 4 warps each of two groups takes half a tile; with 8 the compiler gives no roles, and tf32 does not compile
        made += [one(product_persistent, bn, 4, 3, ROLES=True, roles=True) for bn in (128, 256)]
    return made


def triton_group(t, processors):
    group = products(t)
    rows = [[a.data_ptr(), b.data_ptr(), c.data_ptr(), a.shape[0], b.shape[1], a.shape[1]] for a, b, c in group]
    table = torch.tensor(rows, dtype=torch.int64, device=group[0][0].device)
    args, outputs = [table, len(group)], tuple(c for _, _, c in group)
    tiles = (128, 4, 4), (128, 8, 3), (256, 8, 3)
    return [launch(product_group, (processors,), args, outputs, w, s, BM=128, BN=bn, BK=64) for bn, w, s in tiles]


def triton_attention(work, t):
    (batch, heads, length, depth), causal = t["q"].shape, work.bench["causal"]
    args = [t["q"], t["k"], t["v"], t["out"], length, batch * heads * length, work.scalar()]

    def one(bn, warps, stages, roles):
        return launch(attention, (length // 128, batch * heads), args, t["out"], warps, stages, roles=roles,
                      BM=128, BN=bn, D=depth, CAUSAL=causal, ROLES=roles)
    plain, roles = ((64, 4, 3), (64, 8, 3), (128, 8, 2), (128, 8, 3)), ((64, 4, 2), (64, 4, 3), (128, 4, 2))
    return [one(*c, False) for c in plain] + [one(*c, True) for c in roles]


def triton_launches(work, t, processors):
    op = work.op
    if op == "gemm":
        return triton_products(work, t, processors)
    if op == "gemm_scaled":
        m, n, k = t["a"].shape[0], t["b"].shape[0], t["a"].shape[1]
        args = [t["a"], t["sa"], t["b"], t["sb"], t["c"], m, n, k]
        return [launch(product_scaled, (m // 128 * (n // bn),), args, t["c"], 8, 3, BM=128, BN=bn, BK=bk)
                for bn, bk in ((128, 64), (128, 128), (256, 64))]
    if op == "group_gemm":
        return triton_group(t, processors)
    if op == "attention":
        return triton_attention(work, t)
    if op == "vecadd":
        a, b, c = t["a"], t["b"], t["c"]
        return [launch(add, (a.numel() // size,), [a, b, c], c, w, B=size) for size, w in ((1024, 4), (2048, 4), (4096, 8))]
    y = t["out"]
    if op == "gather_rows":
        return [launch(lookup, (y.shape[0] // r,), [t["table"], t["ids"], y], y, w, R=r, N=y.shape[1]) for r, w in ((1, 4), (4, 4), (8, 8))]
    x = t["x"]
    if op == "softmax":
        return [launch(softmax_rows, (x.shape[0],), [x, y], y, w, N=x.shape[1]) for w in (4, 8, 16)]
    if op == "layernorm":
        return [launch(layernorm_rows, (x.shape[0],), [x, t["w"], t["b"], y, work.scalar()], y, w, N=x.shape[1]) for w in (4, 8, 16)]
    if op == "rmsnorm":
        return [launch(rmsnorm_rows, (x.shape[0],), [x, t["w"], y, work.scalar()], y, w, N=x.shape[1]) for w in (4, 8, 16)]
    if op == "rope":
        return [launch(rotate, (x.shape[0],), [x, t["cos"], t["sin"], y], y, w, HEADS=x.shape[1], HALF=x.shape[2] // 2) for w in (2, 4, 8)]
    if op == "sum":
        return [launch(total_sum, (processors * each,), [x, y, x.numel()], y, w, before=y.zero_, B=size)
                for size, w, each in ((4096, 8, 4), (2048, 4, 16), (8192, 8, 8))]
    if op == "row_max":
        return [launch(max_rows, (x.shape[0],), [x, y], y, w, N=x.shape[1]) for w in (4, 8, 16)]
    if op == "transpose":
        m, n = x.shape
        return [launch(turn, (n // size, m // size), [x, y, m, n], y, w, B=size) for size, w in ((32, 4), (64, 4), (64, 8), (128, 8))]
    raise ValueError(f"no peer in Triton for {op}")


# --- measuring ---

class OutOfTime(Exception):
    pass


class DeviceLost(Exception):
    pass


def short(error):
    """An error in a line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


class Bench:
    """Measures candidates and writes lines as they come."""

    def __init__(self, out, seconds):
        self.out, self.deadline, self.best, self.left = out, START + seconds, {}, []
        self.scratch = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def emit(self, **record):
        self.out.write(json.dumps(record) + "\n")
        self.out.flush()

    def check_time(self):
        if time.monotonic() > self.deadline:
            raise OutOfTime

    def wake(self, seconds):
        """Keeps the device busy for a while, so that its clocks are up."""
        x = torch.randn(4096, 4096, device="cuda").to(torch.bfloat16)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(20):
                x @ x
            torch.cuda.synchronize()

    def median_us(self, run):
        for _ in range(WARMUPS):
            run()
        torch.cuda.synchronize()
        pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(RUNS)]
        for start, end in pairs:
            self.scratch.zero_()
            start.record()
            run()
            end.record()
        torch.cuda.synchronize()
        return statistics.median(start.elapsed_time(end) for start, end in pairs) * 1e3

    def error_norm(self, got, want):
        """||got - want|| / ||want||, over all of several outputs."""
        got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
        if [x.shape for x in got] != [x.shape for x in want]:
            raise ValueError(f"shapes {[tuple(x.shape) for x in got]}, not {[tuple(x.shape) for x in want]}")
        off = sum((g.float() - w.float()).square().sum(dtype=torch.float64) for g, w in zip(got, want))
        return math.sqrt(off.item() / sum(w.float().square().sum(dtype=torch.float64) for w in want).item())

    def measure(self, work, peer, t, candidates, want):
        """Tries the candidates of a peer and writes its line for each kernel of the work."""
        times, errors, failed, lost = {}, {}, {}, None
        for candidate in candidates:
            if lost or time.monotonic() > self.deadline:
                lost = lost or OutOfTime()
                failed[candidate.label] = "not measured"
                continue
            try:
                with candidate.around():
                    for name in work.outputs():
                        t[name].fill_(math.nan)
                    if candidate.before:
                        candidate.before()
                    error = self.error_norm(candidate.run(), want) if want is not None else None
                    if error is not None and not error < TOLERANCE:
                        raise ValueError(f"wrong result: error norm {error:.3g}")
                    times[candidate.label] = self.median_us(candidate.run)
                    errors[candidate.label] = error
            except Exception as e:
                failed[candidate.label] = short(e)
                try:
                    self.still_alive()
                except DeviceLost as e:  # what was measured before still counts
                    lost = e
        if times:
            what = min(times, key=times.get)
            us = times.pop(what)
            record = {"what": what, "us": round(us, 2)}
            if work.bench["flops"]:
                record["tflops"] = round(work.bench["flops"] / us / 1e6, 2)
            if work.bench["bytes"]:
                record["gbs"] = round(work.bench["bytes"] / us / 1e3, 1)
            record["error_norm"] = errors[what] and float(f"{errors[what]:.3g}")
            record |= {"others": {label: round(other, 2) for label, other in times.items()}, "failed": failed}
            for name in work.names:
                if us < self.best.get((name, peer), {"us": math.inf})["us"]:
                    self.best[name, peer] = record
        else:
            record = {"error": "; ".join(f"{label}: {e}" for label, e in failed.items())}
        for name in work.names:
            self.emit(kernel=name, peer=peer, **record)
        if lost:
            raise lost

    def still_alive(self):
        """After an error: a device that no longer answers ends the script."""
        try:
            torch.cuda.synchronize()
        except Exception as e:
            raise DeviceLost(short(e)) from e

    def each(self, stage, works, peer, candidates):
        """Measures one peer on all the works; candidates(work, t) lists its ways."""
        for work in works:
            self.check_time()
            try:
                t = work.tensors("cuda")
                listed = candidates(work, t)
                if listed:
                    self.measure(work, peer, t, listed, self.reference(work, t))
                self.left.remove((stage, work.names[0]))
            except (OutOfTime, DeviceLost):
                raise
            except Exception as e:
                for name in work.names:
                    self.emit(kernel=name, peer=peer, error=short(e))
                self.still_alive()
            t = listed = None

    def reference(self, work, t):
        try:
            return reference(work, t)
        except Exception as e:  # then the candidates go unchecked
            self.emit(kernel=work.names[0], peer="reference", error=short(e))
            self.still_alive()

    def compile(self, works, roles, processors):
        """Compiles in parallel what Triton runs next; what fails here fails again, and is recorded, when it is to run."""
        try:
            with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool, triton.AsyncCompileMode(pool, ignore_errors=True):
                for work in works:
                    with contextlib.suppress(Exception):
                        for made in triton_launches(work, work.tensors("meta"), processors):
                            if made.roles == roles:
                                made.compile()
        except Exception as e:
            print(f"compiling ahead: {short(e)}", file=sys.stderr)
        self.wake(0.2)

    def ceilings(self):
        for name, flops, size in (("ceiling_copy_2GiB", 0, 4 << 30), ("ceiling_bf16_8192", 2 * 8192 ** 3, 0)):
            try:
                if size:
                    x = torch.randint(0, 256, (size // 2,), dtype=torch.uint8, device="cuda")
                    y = torch.empty_like(x)
                    candidate = Candidate("copy_", lambda: y.copy_(x))
                else:
                    x = torch.randn(8192, 8192, device="cuda").to(torch.bfloat16)
                    y = torch.randn(8192, 8192, device="cuda").to(torch.bfloat16)
                    candidate = Candidate("cublas", lambda: torch.matmul(x, y))
                work = Work("ceiling", {"flops": flops, "bytes": size, "buffers": {}}, [name])
                self.measure(work, "torch", {}, [candidate], None)
            except (OutOfTime, DeviceLost):
                raise
            except Exception as e:
                self.emit(kernel=name, peer="torch", error=short(e))
                self.still_alive()
            x = y = candidate = None  # the next one needs the memory

    def table(self):
        print(f"\n{'kernel':40} {'torch us':>10}  {'Triton us':>10}  rate of the faster")
        for name in dict.fromkeys(name for name, _ in self.best):
            rows = [self.best.get((name, peer)) for peer in ("torch", "triton")]
            first = min((r for r in rows if r), key=lambda r: r["us"])
            rate = f"{first['tflops']:.0f} TFLOP/s" if first.get("tflops", 0) > 20 else f"{first.get('gbs', 0):.0f} GB/s"
            us = [f"{r['us']:.1f}" if r else "-" for r in rows]
            print(f"{name:40} {us[0]:>10}  {us[1]:>10}  {rate}, {first['what']}")
        sys.stdout.flush()


def read_works(folder):
    """The works of the corpus, the most important first: products and attention, then the memory-bound ones."""
    works = {}
    for file in sorted(folder.glob("*/bench.json")):
        bench = json.loads(file.read_text())
        buffers = {n: (b["dtype"], b.get("view")) for n, b in bench["buffers"].items()}
        key = json.dumps([bench["op"], buffers, bench.get("causal"), bench.get("transposed_b")])
        works.setdefault(key, Work(bench["op"], bench)).names.append(bench["name"])
    order = ["gemm", "attention", "group_gemm", "gemm_scaled", "softmax", "rmsnorm", "layernorm", "transpose"]
    return sorted(works.values(), key=lambda w: order.index(w.op) if w.op in order else len(order))


def setup(bench):
    device = torch.cuda.get_device_properties(0)
    bench.emit(kernel="setup", peer="torch", what=device.name, processors=device.multi_processor_count, memory=device.total_memory,
               torch=torch.__version__, cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version(), triton=triton.__version__)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    return device.multi_processor_count


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("corpus", type=pathlib.Path)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--seconds", type=float, default=75)
    opts = p.parse_args()
    works = read_works(opts.corpus)
    heavy = [w for w in works if w.op in ("gemm", "attention", "group_gemm", "gemm_scaled")]
    light = [w for w in works if w not in heavy]
    with opts.out.open("w") as out:
        bench, end = Bench(out, opts.seconds), "complete"

        def finish(end):
            bench.table()
            bench.emit(kernel="end", peer="script", what=end, seconds=round(time.monotonic() - START, 1), left_out=bench.left)
            left = ", ".join(f"{name} ({stage})" for stage, name in bench.left) or "nothing"
            print(f"{end}, after {time.monotonic() - START:.0f} s; left out: {left}", flush=True)

        def hung():
            try:
                finish("a run does not end, stopped by the watchdog")
            finally:
                os._exit(3)
        watchdog = threading.Timer(opts.seconds + 40 - (time.monotonic() - START), hung)
        watchdog.daemon = True
        watchdog.start()
        try:
            processors = setup(bench)
            of_triton = lambda roles: lambda w, t: [x.candidate() for x in triton_launches(w, t, processors) if x.roles == roles]
            stages = [("torch", heavy, None), ("torch", light, None),
                      ("triton", heavy, False), ("triton", light, False), ("triton roles", heavy, True)]
            bench.left = [(stage, work.names[0]) for stage, group, _ in stages for work in group]
            bench.wake(0.5)
            bench.ceilings()
            for stage, group, roles in stages:
                if roles is None:
                    bench.each(stage, group, "torch", torch_candidates)
                else:
                    bench.check_time()
                    bench.compile(group, roles, processors)
                    bench.each(stage, group, "triton", of_triton(roles))
        except OutOfTime:
            end = f"stopped starting measurements after {opts.seconds:.0f} s"
        except DeviceLost as e:
            end = f"the device no longer answers: {e}"
        except Exception as e:
            end = f"ended early: {short(e)}"
        watchdog.cancel()
        finish(end)


if __name__ == "__main__":
    main()
