"""Layer normalization of rows; the autotuner chooses how many rows a tile block takes.

Without a GPU the measure of the autotuner is work, not time: instructions on the emulator, operations on the interpreter.
"""
import cuda.tile as ct
import numpy as np


@ct.kernel
def layer_norm(x, weight, bias, y, eps: float, ROWS: ct.Constant[int], WIDTH: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (ROWS, WIDTH), padding_mode=ct.PaddingMode.ZERO)
    n = x.shape[1]
    mean = ct.sum(t, axis=1, keepdims=True) / n
    d = ct.where((ct.arange(WIDTH, dtype=ct.int32) < n)[None, :], t - mean, 0.0)
    r = ct.rsqrt(ct.sum(d * d, axis=1, keepdims=True) / n + eps)
    w = ct.load(weight, (0,), (WIDTH,), padding_mode=ct.PaddingMode.ZERO)[None, :]
    b = ct.load(bias, (0,), (WIDTH,), padding_mode=ct.PaddingMode.ZERO)[None, :]
    ct.store(y, (i, 0), d * r * w + b)


def main(rows: int = 50, columns: int = 200) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((rows, columns), np.float32)
    w, b = rng.random(columns, np.float32), rng.random(columns, np.float32)
    y, width = np.zeros_like(x), 1 << (columns - 1).bit_length()
    found = ct.tune.exhaustive_search([1, 2, 4], 0, lambda n: (ct.cdiv(rows, n),), layer_norm,
                                      lambda n: (x, w, b, np.zeros_like(y), 1e-5, n, width), quiet=True)
    best = found.best.config
    ct.launch(0, (ct.cdiv(rows, best),), layer_norm, (x, w, b, y, 1e-5, best, width))
    d = x - x.mean(axis=1, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(y, d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * w + b, rtol=1e-4, atol=1e-5)
    print(f"layer_norm: right, {best} rows a tile block")


if __name__ == "__main__":
    main()
