"""Matrix product of f16 matrices, accumulated in f32, of any extents."""
import sys

import cuda.tile as ct
import numpy as np


@ct.kernel
def gemm(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    s = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        x = ct.load(a, (i, k), (M, K), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, j), (K, N), padding_mode=ct.PaddingMode.ZERO)
        s = ct.mma(x, y, s)
    ct.store(c, (i, j), s.astype(c.dtype))


def main(m: int = 100, n: int = 136, k: int = 200) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float32)
    ct.launch(0, (ct.cdiv(m, 64), ct.cdiv(n, 64)), gemm, (a, b, c, 64, 64, 32))
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)
    print("gemm: right")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
