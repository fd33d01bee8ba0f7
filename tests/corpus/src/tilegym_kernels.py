"""Benchmark kernels from NVIDIA's TileGym, which the package `tilegym` of PyPI brings:

    python src/tilegym_kernels.py FOLDER [NAME ...]     the cases whose names contain one of these

A wrapper may choose tiles by the device: it runs as on sm_80 and then as on sm_120, and a kernel that differs ends in `_as120`. TUNE=1 lets wrappers tune, of which
they get the first choice; by default they take what they have for those who do not tune. TRACE=1 prints where a case fails. Sizes are those of models of 7 to 8
billion parameters, unless the kernel is of another kind of model.
"""
import contextlib
import os
import subprocess
import sys
import traceback
import types

if "AS_SM" not in os.environ:                     # wrappers remember their choices, so each device has a process
    os.makedirs(sys.argv[1], exist_ok=True)
    for sm in ("80", "120"):
        subprocess.run([sys.executable, __file__, *sys.argv[1:]], env={**os.environ, "AS_SM": sm}, check=True)
    sys.exit()

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from tilegym_launches import SEEN, SM, WORK, Device, work  # noqa: E402

f16, bf16, f32, f8, i32, i64 = torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn, torch.int32, torch.int64
TOKENS, HIDDEN, INNER, VOCAB, HEADS, KV, SEQ, HD = 8192, 4096, 14336, 128256, 32, 8, 4096, 128
CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


def T(*shape, dtype=bf16, grad=False):
    return torch.empty(*shape, dtype=dtype).requires_grad_(grad)


def G(*shape, dtype=bf16):
    return T(*shape, dtype=dtype, grad=True)


def I(*shape, dtype=i32, value=0):
    return torch.full(shape, value, dtype=dtype)


def back(*outs):
    outs = [o for o in outs if isinstance(o, torch.Tensor) and o.requires_grad]
    torch.autograd.backward(outs, [torch.empty_like(o) for o in outs])


@contextlib.contextmanager
def choosing(module, name, choice):
    """What a wrapper may choose from is one thing. What it chose earlier is forgotten."""
    old = getattr(module, name)
    setattr(module, name, lambda *args: iter([choice]))
    for cache in [v for n, v in vars(module).items() if "cache" in n.lower() and isinstance(v, dict)]:
        cache.clear()
    try:
        yield
    finally:
        setattr(module, name, old)
        for cache in [v for n, v in vars(module).items() if "cache" in n.lower() and isinstance(v, dict)]:
            cache.clear()


def op(path, function):
    """A function of a module of TileGym: c = ops.cutile, l = liger, u = unsloth, f = flashinfer."""
    root = {"c": "tilegym.ops.cutile", "l": "tilegym.suites.liger.cutile", "u": "tilegym.suites.unsloth.cutile",
            "f": "tilegym.suites.flashinfer.cutile"}[path[0]]
    module = __import__((root + path[1:]).lstrip("."), fromlist=["x"])
    return getattr(module, function)


# -- products


@case
def matmul():
    n = 4096
    work("", 2 * n ** 3)
    a, b = T(n, n, dtype=f16), T(n, n, dtype=f16)
    op("c.matmul", "matmul")(a, b)
    op("c.matmul", "matmul")(a, b, static_persistent=True, use_tma=True)
    op("c.matmul", "matmul")(a, b, static_persistent=False)
    work("nt", 2 * n ** 3)
    op("c.matmul", "matmul")(T(n, n), T(n, n), trans_b=True, static_persistent=True, use_tma=True)
    work("", 2 * n ** 3)
    op("c.matmul", "matmul")(T(n, n, dtype=f32), T(n, n, dtype=f32), static_persistent=True)
    op("c.matmul", "matmul")(T(n, n, dtype=f32), T(n, n, dtype=f32), static_persistent=False)
    work("", 2 * n ** 3)
    op("c.matmul", "matmul")(T(n, n, dtype=f8), T(n, n, dtype=f8), static_persistent=True)


@case
def bmm():
    q, n = 16, 2048
    work("", 2 * q * n ** 3)
    for persistent in (True, False):
        op("c.bmm", "bmm")(T(q, n, n), T(q, n, n), static_persistent=persistent)
    work("nt", 2 * q * n ** 3)
    op("c.bmm", "bmm")(T(q, n, n, dtype=f16), T(q, n, n, dtype=f16), transpose_b=True)
    work("tn", 2 * q * n ** 3)
    op("c.bmm", "bmm")(T(q, n, n, dtype=f16), T(q, n, n, dtype=f16), transpose_a=True)


@case
def group_gemm():
    for tb in (False, True):
        sizes = [(m, HIDDEN, 2048) for m in (1024, 2048, 512, 3072, 256, 1024, 4096, 768)]
        work("nt" if tb else "", sum(2 * m * n * k for m, n, k in sizes))
        op("c.group_gemm", "group_gemm")([T(m, k) for m, n, k in sizes], [T(*((n, k) if tb else (k, n))) for m, n, k in sizes], transpose_b=tb)


@case
def gemm_alpha_beta():
    n = 4096
    work("", 2 * n ** 3)
    for tb in (True, False):
        op("f.gemm.gemm_alpha_beta", "gemm_alpha_beta")(T(n, n), T(n, n), T(n, n), trans_b=tb, alpha=1.0, beta=0.5)


@case
def masked_bmm():
    q, m, n, k = 8, 1024, 4096, 4096
    work("", 2 * q * m * n * k, masked_m=m)
    op("f.gemm.masked_bmm", "masked_bmm")(T(q, m, k), T(q, n, k), I(q, value=m), transpose_b=True)


@case
def ragged_bmm():
    q, m, n, k = 8, 1024, 4096, 4096
    for tag, m in (("", 1024), ("small", 64)):
        work(tag, 2 * q * m * n * k)
        op("f.gemm.ragged_bmm", "ragged_bmm")(T(q * m, k), T(q, n, k), I(q + 1), m)


@case
def ragged_block_scaled_bmm():
    q, n, k = 8, 4096, 4096
    for tag, m in (("", 1024), ("small", 64)):
        work(tag, 2 * q * m * n * k)
        op("f.gemm.ragged_block_scaled_bmm", "ragged_block_scaled_bmm")(
            T(q * m, k, dtype=f8), T(q, n, k, dtype=f8), T(q * m, k // 128, dtype=f32), T(q, n // 128, k // 128, dtype=f32), I(q + 1), m)


@case
def fused_moe():
    for tag, tokens, experts, topk, n, k, tile in (("mixtral", 4096, 8, 2, 2 * 14336, 4096, (128, 128, 64, 8)),
                                                   ("decode", 64, 64, 8, 2816, 2048, (16, 128, 64, 1)),
                                                   ("fp8", 4096, 64, 8, 2816, 2048, (128, 128, 128, 8))):
        em = -(-(tokens * topk + experts * (tile[0] - 1)) // 16) * 16
        fp8 = tag == "fp8"
        dt = f8 if fp8 else bf16
        work(tag, 2 * tokens * topk * n * k, expert_ids=experts, sorted_token_ids=tokens * topk)
        op("c.moe", "invoke_fused_moe_kernel")(
            T(tokens, k, dtype=dt), T(experts, n, k, dtype=dt), T(tokens, topk, n), T(tokens, k // 128, dtype=f32) if fp8 else None,
            T(experts, n // 128, k // 128, dtype=f32) if fp8 else None, T(tokens, topk, dtype=f32), I(tokens, topk), I(em), I(-(-em // tile[0])),
            I(1), False, topk, dict(zip(("TILE_SIZE_M", "TILE_SIZE_N", "TILE_SIZE_K", "GROUP_SIZE_M"), tile)), ct.bfloat16, fp8,
            block_shape=[128, 128] if fp8 else None)


@case
def moe_align():
    work("moe", topk_ids=64)
    op("c.moe_align_block", "moe_align_block_size")(I(4096, 8), 128, 64)


@case
def unsloth_grouped_gemm():
    experts, tokens, topk, n, k = 16, 4096, 2, 4096, 2048
    work("unsloth", 2 * tokens * topk * n * k)
    x, w = G(tokens * topk, k), G(experts, n, k)
    back(op("u.grouped_gemm", "grouped_gemm_cutile")(x, w, I(experts, value=tokens * topk // experts), topk))
    work("unsloth_permuted", 2 * tokens * topk * n * k)
    back(op("u.grouped_gemm", "grouped_gemm_cutile")(G(tokens, k), G(experts, n, k), I(experts, value=tokens * topk // experts), topk,
                                                     gather_indices=I(tokens * topk), permute_x=True))


@case
def unsloth_fp8():
    m, n, k = 4096, 4096, 4096
    work("unsloth", 2 * m * n * k)
    op("u.fp8", "act_quant")(T(TOKENS, HIDDEN))
    op("u.fp8", "weight_dequant_block")(T(INNER, HIDDEN, dtype=f8), T(INNER // 128, HIDDEN // 128, dtype=f32))
    op("u.fp8", "w8a8_block_fp8_matmul_cutile")(T(m, k, dtype=f8), T(n, k, dtype=f8), T(m, k // 128, dtype=f32),
                                                T(n // 128, k // 128, dtype=f32), [128, 128], bf16)


@case
def mhc():
    n, c, m = 4, 4096, 4096
    width = 2 * n + n * n
    work("", 2 * m * n * c * width)
    op("c.experimental.mhc", "mhc_gemm_rms_scale")(T(m, n * c), T(n * c, width), n, 1.0, 1.0, 1.0, T(width, dtype=f32))
    op("c.experimental.mhc", "mhc_apply_residual")(T(m, n * c), T(m, c), T(m, width, dtype=f32), n)
    op("c.experimental.mhc", "mhc_sinkhorn")(T(m, width, dtype=f32), n)


# -- attention


def qkv(b, h, kv, s, d, dtype=bf16, grad=False, skv=None):
    return T(b, h, s, d, dtype=dtype, grad=grad), T(b, kv, skv or s, d, dtype=dtype, grad=grad), T(b, kv, skv or s, d, dtype=dtype, grad=grad)


def attention_flops(b, h, s, d, causal, products=2):
    return 2 * products * b * h * s * s * d // (2 if causal else 1)


@case
def fmha():
    for d, h, kv, dt in ((128, 32, 8, bf16), (64, 32, 32, f16)):
        for causal in (True, False):
            work("", attention_flops(2, h, SEQ, d, causal), causal)
            op("c.attention", "tile_fmha")(*qkv(2, h, kv, SEQ, d, dt), is_causal=causal)
    work("d256", attention_flops(2, 16, SEQ, 256, True), True)
    op("c.attention", "tile_fmha")(*qkv(2, 16, 8, SEQ, 256), is_causal=True)


@case
def fmha_backward():
    for d, h, kv in ((128, 32, 8), (64, 32, 32)):
        for causal in (True, False):
            work("", {"dkdv": attention_flops(2, h, SEQ, d, causal, 4), "dq": attention_flops(2, h, SEQ, d, causal, 3),
                      "": attention_flops(2, h, SEQ, d, causal)}, causal)
            back(op("c.attention", "tile_fmha_with_backward")(*qkv(2, h, kv, SEQ, d, grad=True), is_causal=causal))


@case
def attention_sink():
    b, s, kv, r, d = 2, SEQ, 8, 8, 64
    for window in (None, 128):
        work("window" if window else "", 4 * b * kv * r * d * (s * window if window else s * s // 2), True)
        op("c.attention_sink", "attention_sink")(T(b, s, kv, r, d), T(b, s, kv, d), T(b, s, kv, d), T(kv * r), 0.125, window)


@case
def attention_sink_decode():
    b, s, kv, r, d = 2, 32768, 8, 8, 64
    work("", 4 * b * kv * r * d * s)
    op("c.attention_sink_decode", "attention_sink_decode")(T(b, 1, kv, r, d), T(b, s, kv, d), T(b, s, kv, d), T(kv * r), 0.125, None,
                                                           I(1, dtype=i64, value=s - 1))


@case
def flash_decode():
    for b, s in ((1, 32768), (16, 8192)):
        work(f"b{b}", 4 * b * HEADS * HD * s)
        op("c.flash_decode", "fmha_decode")(*[T(b, HEADS, 1, HD), T(b, KV, s, HD), T(b, KV, s, HD)], HD ** -0.5)


@case
def gemma_attention():
    for window in (0, 1024):
        work("window" if window else "", 4 * 2 * 16 * 256 * (SEQ * window if window else SEQ * SEQ // 2), True)
        op("c.gemma_attention", "gemma_attention_cutile")(*qkv(2, 16, 8, SEQ, 256), window_size=window, soft_cap=50.0)
    work("decode", 4 * 16 * 16 * 256 * 8192)
    op("c.gemma_attention_decode", "gemma_fmha_decode")(T(16, 16, 1, 256), T(16, 8, 8192, 256), T(16, 8, 8192, 256), 0.0625, soft_cap=50.0)


@case
def mla():
    b, h, s = 1, 32, SEQ
    work("", 2 * b * h * s * s // 2 * (128 + 64 + 128), True)
    op("c.mla", "tile_mla")(T(b, h, s, 128), T(b, h, s, 128), T(b, h, s, 128), T(b, h, s, 64), T(b, 1, s, 64), True, 192 ** -0.5)
    b, h, s = 16, 128, 4096
    work("decode", 2 * b * h * s * (512 + 64 + 512))
    op("c.mla_decoding", "mla_decoding")(T(b, h, 512), T(b, h, 64), T(b, s, 512), T(b, s, 64), 576 ** -0.5)
    work("decode_split", 2 * b * h * s * (512 + 64 + 512))
    op("c.mla_decoding_split_kv", "mla_decoding_split_kv")(T(b, h, 512), T(b, h, 64), T(b, s, 512), T(b, s, 64), 576 ** -0.5)


@case
def sparse_mla():
    b, h, s, topk = 1, 32, 4096, 512
    work("", 2 * b * h * s * topk * (128 + 64 + 128), indices=s)
    op("c.experimental.sparse_mla", "tile_sparse_mla")(T(b, h, s, 128), T(b, 1, s, 128), T(b, 1, s, 128), I(b, s, 1, topk), T(b, h, s, 64),
                                                       T(b, 1, s, 64))


@case
def swa_attention():
    work("", 4 * 2 * 32 * HD * SEQ * 1024, True)
    op("c.experimental.swa_attention", "tile_swa_attention")(*qkv(2, 32, 8, SEQ, HD, f16), 1024)


@case
def neighborhood_attention():
    b, h, s, d, w = 4, 16, 4096, 64, 127
    work("", {"dkdv": 8 * b * h * s * w * d, "dq": 6 * b * h * s * w * d, "": 4 * b * h * s * w * d})
    back(op("l.fused_neighborhood_attention", "fused_neighborhood_attention")(G(b, h, s, d), G(b, h, s, d), G(b, h, s, d), w))


@case
def flashinfer_decode():
    page, s = 64, 4096
    for b in (4, 64):
        pages = b * s // page
        work(f"b{b}", 4 * b * HEADS * HD * s, block_tables=pages, actual_seq_lens=s)
        op("f.fmha_decode_bsr", "decode_attention_kv_paged")(T(b, HEADS, HD), T(pages, page, KV, HD), T(pages, page, KV, HD), I(b, value=s),
                                                             I(b, s // page), HD ** -0.5, 1.0, s)
    b, h = 16, 128
    pages = b * s // page
    work("mla", 2 * b * h * s * (512 + 64 + 512), block_tables=pages)
    op("f.fmha_decode_bsr", "decode_mla_kv_paged")(T(b, h, 512), T(b, h, 64), T(pages, page, 512), T(pages, page, 64), I(b, value=s),
                                                   I(b, s // page), 576 ** -0.5, 1.0, s)


@case
def flashinfer_prefill():
    b, page, s = 2, 64, SEQ
    pages = b * s // page
    for causal in (True, False):
        for lpt in (True, False):
            work("lpt" if lpt else "", attention_flops(b, HEADS, s, HD, causal), causal, block_tables=pages)
            op("f.fmha_prefill_bsr", "prefill_attention_kv_paged")(
                T(b * s, HEADS, HD), T(pages, page, KV, HD), T(pages, page, KV, HD), I(b, value=s), I(b, value=s), I(b + 1), I(b, s // page),
                HD ** -0.5, 1.0, b, s, causal, use_lpt_scheduler=lpt)
            op("f.fmha_prefill_bsr", "prefill_attention_kv_ragged")(
                T(b * s, HEADS, HD), T(b * s, KV, HD), T(b * s, KV, HD), I(b, value=s), I(b, value=s), I(b + 1), None, HD ** -0.5, 1.0, b, s, causal,
                use_lpt_scheduler=lpt)


@case
def delta_rule():
    b, t, h, d = 2, 4096, 32, 128
    x = [T(b, t, h, d), T(b, t, h, d), T(b, t, h, d), T(b, t, h, dtype=f32), T(b, t, h)]
    for norm in (False, True):
        work("norm" if norm else "")
        op("c.chunk_gated_delta_rule", "chunk_gated_delta_rule")(*x, output_final_state=True, use_qk_l2norm_in_kernel=norm)
    work("")
    op("c.recurrent_gated_delta_rule", "recurrent_gated_delta_rule")(*x, output_final_state=True)
    x = [T(64, 1, h, d), T(64, 1, h, d), T(64, 1, h, d), T(64, 1, h, dtype=f32), T(64, 1, h)]
    work("decode")
    op("c.recurrent_gated_delta_rule", "recurrent_gated_delta_rule")(*x, initial_state=T(64, h, d, d, dtype=f32), output_final_state=True)


# -- rows


@case
def rms_norm():
    for n in (HIDDEN, 7168):
        for mode in (None, "static_persistent", "multi_wave_reload", "multi_wave_cached"):
            work(f"tg_{n}")
            back(op("c.rms_norm", "rms_norm")(G(TOKENS, n), (n,), G(n), 1e-6, mode=mode))


@case
def layer_norm_legacy():
    for name in ("layer_norm_legacy", "persistent_layer_norm"):
        work("")
        r = op("c.layer_norm_legacy", name)(T(TOKENS, HIDDEN), (HIDDEN,), T(HIDDEN), T(HIDDEN), 1e-5)


@case
def softmax():
    for kw in ({}, {"use_tma": True}, {"use_chunked": True}, {"use_multi_wave": True}):
        work("")
        op("c.softmax", "softmax")(T(TOKENS, 4096, dtype=f32), **kw)
        work("long")
        op("c.softmax", "softmax")(T(4096, 32768), **kw)


@case
def activations():
    work("")
    x = G(TOKENS, 2 * INNER)
    for approximate in ("none", "tanh"):
        work("" if approximate == "none" else "tanh")
        back(op("c.activation.geglu", "geglu")(G(TOKENS, 2 * INNER), -1, approximate))
        op("c.activation.gelu", "gelu")(T(TOKENS, INNER), approximate)
    work("")
    op("c.activation.relu", "relu")(T(TOKENS, INNER))
    back(op("c.silu_and_mul", "silu_and_mul")(G(TOKENS, 2 * INNER)))
    a, b = G(TOKENS, INNER), G(TOKENS, INNER)
    back(op("c.swiglu", "swiglu")(a, b))
    op("c.dropout", "dropout")(T(TOKENS, HIDDEN), 42, 0.1)


@case
def rope():
    work("")
    b, s = 2, SEQ
    q, k = G(b, HEADS, s, HD), G(b, KV, s, HD)
    back(*op("c.rope", "apply_rope_base")(q, k, T(b, s, HD), T(b, s, HD)))


@case
def fused_linear_cross_entropy():
    work("ce")
    op("c.experimental.fused_linear_cross_entropy", "fused_linear_cross_entropy")(T(TOKENS, HIDDEN), T(VOCAB, HIDDEN), I(TOKENS, dtype=i64))


@case
def nvfp4_quantize():
    work("")
    op("c.experimental.nvfp4_quantize", "tile_nvfp4_quantize")(T(TOKENS, HIDDEN))


@case
def splitk_reduce():
    work("")
    b, splits = 64, 16
    op("c.splitk_reduce", "splitk_reduce")(T(b, HEADS, splits, HD), T(b, HEADS, splits, dtype=f32), T(b, HEADS, HD), 8192)


@case
def flashinfer_quant():
    for kw in ({}, {"column_major_scales": True, "scale_tma_aligned": True}, {"column_major_scales": True, "scale_ue8m0": True}):
        work("")
        op("f.per_token_group_quant_8bit", "per_token_group_quant_8bit")(T(TOKENS, HIDDEN), 128, dst_dtype=f8, **kw)


@case
def flashinfer_rope_quantize():
    work("", pos_ids=4096)
    t = 4096
    op("f.rope_quantize_fp8", "rope_quantize_fp8")(T(t, 128, 64), T(t, 64), T(t, 128, 512), T(t, 512), T(4096, 64, dtype=f32), I(t),
                                                   is_neox=False, quantize_dtype=f8)


@case
def liger_losses():
    t, v = 4096, 32000
    work("liger", target=v, Y=v)
    back(op("l.cross_entropy", "cross_entropy")(G(t, VOCAB), I(t, dtype=i64)))
    back(op("l.jsd", "jsd")(G(t, v), T(t, v)))
    back(op("l.kl_div", "kl_div")(G(t, v), T(t, v)))
    op("l.kl_div", "kl_div")(T(t, v), T(t, v), "none")
    back(op("l.tvd", "tvd")(G(t, v), T(t, v)))
    work("liger_f32")
    back(op("l.tvd", "tvd")(G(t, 4096, dtype=f32), T(t, 4096, dtype=f32)))


@case
def liger_fused_losses():
    work("liger_fused")
    back(op("l.fused_linear_cross_entropy", "fused_linear_cross_entropy")(G(4096, HIDDEN), G(VOCAB, HIDDEN), I(4096, dtype=i64)))
    back(op("l.fused_linear_jsd", "fused_linear_jsd")(G(1024, 2048), G(32000, 2048), T(1024, HIDDEN), T(32000, HIDDEN)))


@case
def liger_grpo():
    b, length = 8, 1024
    v = 32000
    for level in ("token", "sequence"):
        work("liger", completion_ids=v)
        r = op("l.grpo_loss", "grpo_loss")(G(b, length + 1, v), T(b, length, dtype=f32), T(b, length, dtype=f32), I(b, length, dtype=i64),
                                           T(b, dtype=f32), I(b, length, value=1), beta=0.04, inplace=False, importance_sampling_level=level)
        back(*(r if isinstance(r, tuple) else [r]))


@case
def liger_norms():
    work("liger")
    back(op("l.rms_norm", "rms_norm")(G(TOKENS, HIDDEN), G(HIDDEN), 1e-6, in_place=False))
    back(op("l.layer_norm", "layer_norm")(G(TOKENS, HIDDEN), G(HIDDEN), G(HIDDEN)))
    back(*op("l.fused_add_rms_norm", "fused_add_rms_norm")(G(TOKENS, HIDDEN), G(TOKENS, HIDDEN), G(HIDDEN)))
    back(op("l.poly_norm", "poly_norm")(G(TOKENS, HIDDEN), G(3), G(1)))
    back(op("l.group_norm", "group_norm")(G(32, 512, 4096), 512, 32, G(512), G(512)))
    back(op("l.dyt", "dyt")(G(TOKENS, HIDDEN), G(1), G(HIDDEN), G(HIDDEN)))
    work("liger_gemma")
    back(op("l.rms_norm", "rms_norm")(G(TOKENS, HIDDEN), G(HIDDEN), 1e-6, offset=1.0, casting_mode="gemma", in_place=False))


@case
def liger_rows():
    work("liger")
    back(op("l.softmax", "softmax")(G(TOKENS, 4096)))
    back(op("l.sparsemax", "sparsemax")(G(4096, 4096, dtype=f32)))
    work("liger_long")
    back(op("l.softmax", "softmax")(G(4096, 32768)))


@case
def liger_activations():
    work("liger")
    back(op("l.geglu", "geglu")(G(TOKENS, INNER), G(TOKENS, INNER)))
    back(op("l.swiglu", "swiglu")(G(TOKENS, INNER), G(TOKENS, INNER)))
    back(op("l.relu_squared", "relu_squared")(G(TOKENS, INNER)))
    work("liger_odd")
    back(op("l.swiglu", "swiglu")(G(TOKENS, 11000), G(TOKENS, 11000)))
    back(op("l.relu_squared", "relu_squared")(G(TOKENS, 11000)))


@case
def liger_ropes():
    b, s = 2, SEQ
    work("liger")
    back(*op("l.rope", "rope")(G(b, HEADS, s, HD), G(b, KV, s, HD), T(1, s, HD), T(1, s, HD)))
    back(*op("l.llama4_rope", "llama4_rope")(G(b, s, HEADS, HD), G(b, s, KV, HD), T(s, HD // 2, 2, dtype=f32)))
    back(*op("l.qwen2vl_mrope", "qwen2vl_mrope")(G(b, HEADS, s, HD), G(b, KV, s, HD), T(3, b, s, HD), T(3, b, s, HD), [16, 24, 24]))


@case
def liger_multi_token_attention():
    b, c, s = 1, 8, 2048
    work("liger")
    back(op("l.multi_token_attention", "multi_token_attention")(G(b, c, s, s), G(c, c, 3, 3), padding=1))


@case
def unsloth_rows():
    work("unsloth", labels=VOCAB)
    back(op("u.cross_entropy_loss", "cross_entropy_loss")(G(2, 2048, VOCAB), I(2, 2048, dtype=i64)))
    work("unsloth_small", labels=32000)
    back(op("u.cross_entropy_loss", "cross_entropy_loss")(G(2, 2048, 32000), I(2, 2048, dtype=i64), 30.0))
    work("unsloth")
    back(op("u.layernorm", "layernorm")(G(TOKENS, HIDDEN), T(HIDDEN), T(HIDDEN)))
    back(op("u.rms_layernorm", "rms_layernorm")(G(TOKENS, HIDDEN), T(HIDDEN)))
    work("unsloth_gemma")
    back(op("u.rms_layernorm", "rms_layernorm")(G(TOKENS, HIDDEN), T(HIDDEN), gemma=True))


@case
def unsloth_activations():
    work("unsloth")
    x = lambda: T(2, SEQ, INNER)
    for kind in ("exact", "approx"):
        op("u.geglu", f"geglu_{kind}_forward")(x(), x())
        op("u.geglu", f"geglu_{kind}_backward")(*(T(TOKENS, INNER) for _ in range(3)))
    op("u.swiglu", "swiglu_fg")(x(), x())
    op("u.swiglu", "swiglu_bwd")(*(T(TOKENS, INNER) for _ in range(3)))


@case
def unsloth_rope():
    b, s = 2, SEQ
    work("unsloth")
    back(op("u.rope_embedding", "rope_embedding")(G(b, s, HEADS, HD), T(s, HD // 2), T(s, HD // 2)))
    back(*op("u.rope_embedding", "rope_embedding_qk")(G(b, HEADS, s, HD), G(b, KV, s, HD), T(s, HD // 2), T(s, HD // 2)))


# -- what other shapes and other choices take


@case
def tuned():
    """Tiles as tuning finds them for long products, in place of the careful ones that wrappers take without."""
    n = 4096
    work("tuned", 2 * n ** 3)
    module = __import__("tilegym.ops.cutile.matmul", fromlist=["x"])
    for m, k, t in ((128, 128, 64), (128, 256, 64), (256, 128, 64)):
        choice = types.SimpleNamespace(TILE_SIZE_M=m, TILE_SIZE_N=k, TILE_SIZE_K=t, GROUP_SIZE_M=8, num_ctas=1, occupancy=1, LOAD_LATENCY=-1)
        for name, persistent in (("_matmul_autotune_configs", False), ("_static_persistent_matmul_autotune_configs", True)):
            with choosing(module, name, choice):
                op("c.matmul", "matmul")(T(n, n), T(n, n), static_persistent=persistent)
    q, m, k = 8, 64, 4096
    work("tuned", 2 * q * m * n * k)
    cfg = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_SIZE_M": 8, "swap_ab": True, "num_ctas": 1, "occupancy": 2}
    op("f.gemm.ragged_bmm", "ragged_bmm")(T(q * m, k), T(q, n, k), I(q + 1), m, kernel_configs=cfg)
    op("f.gemm.ragged_block_scaled_bmm", "ragged_block_scaled_bmm")(
        T(q * m, k, dtype=f8), T(q, n, k, dtype=f8), T(q * m, k // 128, dtype=f32), T(q, n // 128, k // 128, dtype=f32), I(q + 1), m,
        kernel_configs={**cfg, "BLOCK_K": 128})
    b, t, h, d = 64, 1, 32, 128
    module = __import__("tilegym.ops.cutile.recurrent_gated_delta_rule", fromlist=["x"])
    work("long")
    module._RecurrentGatedDeltaRuleCuTile.apply(T(2, 4096, h, d), T(2, 4096, h, d), T(2, 4096, h, d), T(2, 4096, h, dtype=f32),
                                                T(2, 4096, h), None, True, False, True)


@case
def tuned_fmha():
    module = __import__("tilegym.ops.cutile.attention", fromlist=["x"])
    for d, m, n in ((128, 128, 64), (128, 128, 128), (64, 128, 64), (64, 128, 128)):
        for causal in (True, False):
            work("tuned", attention_flops(2, 32, SEQ, d, causal), causal)
            with choosing(module, "_fmha_autotune_configs", types.SimpleNamespace(TILE_M=m, TILE_N=n, num_ctas=1, occupancy=2 if n == 64 else 1)):
                op("c.attention", "tile_fmha")(*qkv(2, 32, 8, SEQ, d), is_causal=causal)


@case
def liger_odd():
    """Rows that are no power of two, or too long for one tile."""
    work("liger_frozen")
    back(op("l.layer_norm", "layer_norm")(G(TOKENS, HIDDEN), T(HIDDEN), T(HIDDEN)))
    back(op("l.rms_norm", "rms_norm")(G(TOKENS, HIDDEN), None, 1e-6, in_place=False))
    work("liger_long")
    back(*op("l.fused_add_rms_norm", "fused_add_rms_norm")(G(TOKENS, 16384), G(TOKENS, 16384), G(16384)))
    back(op("l.rms_norm", "rms_norm")(G(TOKENS, 16384), G(16384), 1e-6, in_place=False))
    back(op("l.poly_norm", "poly_norm")(G(TOKENS, 8192), G(3), G(1)))
    back(op("l.poly_norm", "poly_norm")(G(TOKENS, 18944), G(3), G(1)))
    back(op("l.softmax", "softmax")(G(1024, VOCAB)))
    work("liger_odd")
    back(op("l.tvd", "tvd")(G(4096, 32001), T(4096, 32001)))
    back(op("l.layer_norm", "layer_norm")(G(TOKENS, 3584), G(3584), G(3584)))
    back(op("l.rms_norm", "rms_norm")(G(TOKENS, 3584), G(3584), 1e-6, in_place=False))
    b, s = 2, SEQ
    back(*op("l.rope", "rope")(G(b, 28, s, HD), G(b, 4, s, HD), T(1, s, HD), T(1, s, HD)))
    back(*op("l.qwen2vl_mrope", "qwen2vl_mrope")(G(b, 28, s, HD), G(b, 4, s, HD), T(3, b, s, HD), T(3, b, s, HD), [16, 24, 24]))


class NoProducts(TorchDispatchMode):
    """Products that a wrapper leaves to torch have a shape only: nobody looks at values, and some take hours on a processor."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func._schema.name in ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm") and func._overloadname == "default":
            a, b = args[-2:]
            return a.new_empty(*a.shape[:-1], b.shape[-1])
        return func(*args, **(kwargs or {}))


def run(only):
    with Device(), NoProducts():
        for name, f in CASES.items():
            if only and not any(o in name for o in only):
                continue
            WORK["case"] = name
            work(name)
            count = len(SEEN)
            try:
                f()
                if len(SEEN) == count and SM == 80:
                    print(f"NOTHING {name}", flush=True)
            except Exception as e:
                where = traceback.extract_tb(e.__traceback__)[-1]
                print(f"CASE FAILED {name}: {type(e).__name__}: {str(e)[:300]} ({os.path.basename(where.filename)}:{where.lineno})", flush=True)
                if os.environ.get("TRACE"):
                    traceback.print_exc()


if __name__ == "__main__":
    run(sys.argv[2:])
