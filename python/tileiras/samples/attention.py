"""Attention of several heads with a running softmax; keys are visited tile by tile, and those beyond the sequence count nothing."""
import math

import cuda.tile as ct
import numpy as np

TILE = 32


@ct.kernel
def attention(q, k, v, o, scale: float, D: ct.Constant[int]):
    head, i = ct.bid(0), ct.bid(1)
    keys = k.shape[1]
    tq = ct.load(q, (head, i, 0), (1, TILE, D), padding_mode=ct.PaddingMode.ZERO).reshape((TILE, D))
    top = ct.full((TILE, 1), -math.inf, ct.float32)
    total = ct.zeros((TILE, 1), ct.float32)
    acc = ct.zeros((TILE, D), ct.float32)
    for j in range(ct.cdiv(keys, TILE)):
        tk = ct.load(k, (head, j, 0), (1, TILE, D), padding_mode=ct.PaddingMode.ZERO).reshape((TILE, D))
        tv = ct.load(v, (head, j, 0), (1, TILE, D), padding_mode=ct.PaddingMode.ZERO).reshape((TILE, D))
        z = ct.mma(tq, ct.transpose(tk), ct.zeros((TILE, TILE), ct.float32)) * scale
        z = ct.where((j * TILE + ct.arange(TILE, dtype=ct.int32))[None, :] < keys, z, -math.inf)
        new = ct.maximum(top, ct.max(z, axis=1, keepdims=True))
        p, f = ct.exp(z - new), ct.exp(top - new)
        total = total * f + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(tv.dtype), tv, acc * f)
        top = new
    ct.store(o, (head, i, 0), (acc / total).astype(o.dtype).reshape((1, TILE, D)))


def main(heads: int = 2, length: int = 80, width: int = 64) -> None:
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((heads, length, width)).astype(np.float16) for _ in range(3))
    o = np.zeros_like(q)
    scale = 1 / math.sqrt(width)
    ct.launch(0, (heads, ct.cdiv(length, TILE)), attention, (q, k, v, o, scale, width))
    z = np.einsum("hid,hjd->hij", q.astype(np.float64), k.astype(np.float64)) * scale
    p = np.exp(z - z.max(axis=2, keepdims=True))
    np.testing.assert_allclose(o, np.einsum("hij,hjd->hid", p / p.sum(axis=2, keepdims=True), v.astype(np.float64)), rtol=1e-2, atol=2e-3)
    print("attention: right")


if __name__ == "__main__":
    main()
