"""Softmax of the rows of a matrix, a row a tile block; what is left of the tile is filled with minus infinity."""
import sys

import cuda.tile as ct
import numpy as np


@ct.kernel
def softmax(x, y, WIDTH: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, (row, 0), (1, WIDTH), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(y, (row, 0), e / ct.sum(e, axis=1, keepdims=True))


def main(rows: int = 64, columns: int = 1000) -> None:
    x = np.random.default_rng(2).standard_normal((rows, columns), np.float32)
    y = np.zeros_like(x)
    width = 1 << (columns - 1).bit_length()
    ct.launch(0, (rows,), softmax, (x, y, width))
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-8)
    print("softmax: right")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
