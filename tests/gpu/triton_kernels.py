"""Kernels in Triton for the work of the performance corpus, which baselines.py times. All extents are multiples of the tiles, so nothing is masked."""
import triton
import triton.language as tl

cx = tl.constexpr
LOG2E = tl.constexpr(1.4426950408889634)


# --- Triton: products ---

@triton.jit
def place(t, M, N, BM: cx, BN: cx):
    """Row and column of tile t, in groups of 8 tile rows so that neighbours share operands in the L2 cache."""
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    top = t // (8 * cols) * 8
    height = min(rows - top, 8)
    inside = t % (8 * cols)
    return (top + inside % height) * BM, inside // height * BN


@triton.jit
def product_pointers(a, b, c, M, N, K, BM: cx, BN: cx, BK: cx, NK: cx):
    """C = A B, one tile a program, by pointers; with NK, B is stored as N x K."""
    row, col = place(tl.program_id(0), M, N, BM, BN)
    i, j, k = row + tl.arange(0, BM), col + tl.arange(0, BN), tl.arange(0, BK)
    at_a = a + i[:, None] * K + k[None, :]
    at_b = b + k[:, None] + j[None, :] * K if NK else b + k[:, None] * N + j[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total)
        at_a += BK
        at_b += BK if NK else BK * N
    tl.store(c + i[:, None] * N + j[None, :], total.to(c.dtype.element_ty))


@triton.jit
def product_maps(a, b, c, M, N, K, BM: cx, BN: cx, BK: cx, NK: cx):
    """The same through tensor maps."""
    ma = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    mb = tl.make_tensor_descriptor(b, [N, K] if NK else [K, N], [K if NK else N, 1], [BN if NK else BK, BK if NK else BN])
    mc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, col = place(tl.program_id(0), M, N, BM, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        y = mb.load([col, k]).T if NK else mb.load([k, col])
        total = tl.dot(ma.load([row, k]), y, total)
    mc.store([row, col], total.to(c.dtype.element_ty))


@triton.jit
def product_persistent(a, b, c, M, N, K, BM: cx, BN: cx, BK: cx, NK: cx, ROLES: cx):
    """The same by few programs that walk over the tiles; ROLES gives loads and products to different warps."""
    ma = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    mb = tl.make_tensor_descriptor(b, [N, K] if NK else [K, N], [K if NK else N, 1], [BN if NK else BK, BK if NK else BN])
    mc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for t in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=not ROLES, warp_specialize=ROLES):
        row, col = place(t, M, N, BM, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            y = mb.load([col, k]).T if NK else mb.load([k, col])
            total = tl.dot(ma.load([row, k]), y, total)
        mc.store([row, col], total.to(c.dtype.element_ty))


@triton.jit
def product_group(table, COUNT, BM: cx, BN: cx, BK: cx):
    """bf16 products of several sizes; a row of the table is the addresses of A, B, C, then M, N, K."""
    t, done = tl.program_id(0), 0
    for g in range(COUNT):
        at = table + g * 6
        a = tl.load(at).to(tl.pointer_type(tl.bfloat16))
        b = tl.load(at + 1).to(tl.pointer_type(tl.bfloat16))
        c = tl.load(at + 2).to(tl.pointer_type(tl.bfloat16))
        M, N, K = tl.load(at + 3).to(tl.int32), tl.load(at + 4).to(tl.int32), tl.load(at + 5).to(tl.int32)
        ma = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
        mb = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
        mc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
        tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
        while t < done + tiles:
            row, col = place(t - done, M, N, BM, BN)
            total = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                total = tl.dot(ma.load([row, k]), mb.load([k, col]), total)
            mc.store([row, col], total.to(tl.bfloat16))
            t += tl.num_programs(0)
        done += tiles


@triton.jit
def product_scaled(a, sa, b, sb, c, M, N, K, BM: cx, BN: cx, BK: cx):
    """C = A B^T in fp8 where 32 elements along K share a scale."""
    row, col = place(tl.program_id(0), M, N, BM, BN)
    i, j, k, s = row + tl.arange(0, BM), col + tl.arange(0, BN), tl.arange(0, BK), tl.arange(0, BK // 32)
    at_a, at_b = a + i[:, None] * K + k[None, :], b + k[:, None] + j[None, :] * K
    at_sa, at_sb = sa + i[:, None] * (K // 32) + s[None, :], sb + j[:, None] * (K // 32) + s[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot_scaled(tl.load(at_a), tl.load(at_sa), "e4m3", tl.load(at_b), tl.load(at_sb), "e4m3", total)
        at_a += BK
        at_b += BK
        at_sa += BK // 32
        at_sb += BK // 32
    tl.store(c + i[:, None] * N + j[None, :], total)


# --- Triton: attention ---

@triton.jit
def attend(out, top, weight, rows, mk, mv, first, head, begin, end, factor, BM: cx, BN: cx, MASKED: cx, ROLES: cx):
    """Takes the keys from begin to end into the running softmax of a tile of rows."""
    for j in tl.range(begin, end, BN, warp_specialize=ROLES):
        logits = tl.dot(rows, mk.load([head + j, 0]).T)
        if MASKED:
            seen = (j + tl.arange(0, BN))[None, :] <= (first + tl.arange(0, BM))[:, None]
            logits = tl.where(seen, logits, float("-inf"))
        now = tl.maximum(top, tl.max(logits, 1) * factor)
        e = tl.exp2(logits * factor - now[:, None])
        shrink = tl.exp2(top - now)
        weight = weight * shrink + tl.sum(e, 1)
        out = tl.dot(e.to(rows.dtype), mv.load([head + j, 0]), out * shrink[:, None])
        top = now
    return out, top, weight


@triton.jit
def attention(q, k, v, o, S, ROWS, scale, BM: cx, BN: cx, D: cx, CAUSAL: cx, ROLES: cx):
    """softmax(Q K^T scale) V, one tile of rows of one head a program; when causal, the longest rows start first."""
    mq = tl.make_tensor_descriptor(q, [ROWS, D], [D, 1], [BM, D])
    mk = tl.make_tensor_descriptor(k, [ROWS, D], [D, 1], [BN, D])
    mv = tl.make_tensor_descriptor(v, [ROWS, D], [D, 1], [BN, D])
    mo = tl.make_tensor_descriptor(o, [ROWS, D], [D, 1], [BM, D])
    tile, head, factor = tl.program_id(0), tl.program_id(1) * S, scale * LOG2E
    if CAUSAL:
        tile = tl.num_programs(0) - 1 - tile
    first = tile * BM
    rows = mq.load([head + first, 0])
    out = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), float("-inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    if CAUSAL and ROLES:  # one loop, since a second one next to it does not compile
        out, top, weight = attend(out, top, weight, rows, mk, mv, first, head, 0, first + BM, factor, BM, BN, True, True)
    elif CAUSAL:
        out, top, weight = attend(out, top, weight, rows, mk, mv, first, head, 0, first, factor, BM, BN, False, False)
        out, top, weight = attend(out, top, weight, rows, mk, mv, first, head, first, first + BM, factor, BM, BN, True, False)
    else:
        out, top, weight = attend(out, top, weight, rows, mk, mv, first, head, 0, S, factor, BM, BN, False, ROLES)
    mo.store([head + first, 0], (out / weight[:, None]).to(o.dtype.element_ty))


# --- Triton: memory-bound kernels ---

@triton.jit
def softmax_rows(x, y, N: cx):
    at = tl.program_id(0) * N + tl.arange(0, N)
    row = tl.load(x + at)
    e = tl.exp(row - tl.max(row, 0))
    tl.store(y + at, e / tl.sum(e, 0))


@triton.jit
def layernorm_rows(x, w, b, y, eps, N: cx):
    col = tl.arange(0, N)
    at = tl.program_id(0) * N + col
    row = tl.load(x + at).to(tl.float32)
    centred = row - tl.sum(row, 0) / N
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / N + eps)
    tl.store(y + at, (centred * scale * tl.load(w + col) + tl.load(b + col)).to(y.dtype.element_ty))


@triton.jit
def rmsnorm_rows(x, w, y, eps, N: cx):
    col = tl.arange(0, N)
    at = tl.program_id(0) * N + col
    row = tl.load(x + at).to(tl.float32)
    scale = tl.rsqrt(tl.sum(row * row, 0) / N + eps)
    tl.store(y + at, (row * scale * tl.load(w + col)).to(y.dtype.element_ty))


@triton.jit
def rotate(x, cos, sin, y, HEADS: cx, HALF: cx):
    """Rotary embedding of all heads of one position, on the two halves of each head."""
    j = tl.arange(0, HALF)
    at = tl.program_id(0) * (2 * HEADS * HALF) + tl.arange(0, HEADS)[:, None] * (2 * HALF) + j[None, :]
    u = tl.load(cos + tl.program_id(0) * HALF + j)[None, :]
    v = tl.load(sin + tl.program_id(0) * HALF + j)[None, :]
    a, b = tl.load(x + at).to(tl.float32), tl.load(x + at + HALF).to(tl.float32)
    tl.store(y + at, (a * u - b * v).to(y.dtype.element_ty))
    tl.store(y + at + HALF, (b * u + a * v).to(y.dtype.element_ty))


@triton.jit
def add(a, b, c, B: cx):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(c + at, tl.load(a + at) + tl.load(b + at))


@triton.jit
def turn(x, y, M, N, B: cx):
    i, j = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + j[:, None] * M + i[None, :], tl.trans(tl.load(x + i[:, None] * N + j[None, :])))


@triton.jit
def total_sum(x, y, N, B: cx):
    """Adds to y, which starts as zero."""
    parts = tl.zeros((B,), tl.float32)
    for first in range(tl.program_id(0) * B, N, tl.num_programs(0) * B):
        parts += tl.load(x + first + tl.arange(0, B))
    tl.atomic_add(y, tl.sum(parts, 0), sem="relaxed")


@triton.jit
def max_rows(x, y, N: cx):
    tl.store(y + tl.program_id(0), tl.max(tl.load(x + tl.program_id(0) * N + tl.arange(0, N)), 0))


@triton.jit
def lookup(table, ids, y, R: cx, N: cx):
    i, col = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, N)
    at = tl.load(ids + i).to(tl.int64)
    tl.store(y + i[:, None] * N + col[None, :], tl.load(table + at[:, None] * N + col[None, :]))
