"""Arrays for sweep_check.py, and what kernels leave in them. SEED in the environment chooses other data."""
import os
from dataclasses import dataclass

import numpy as np

from corpuslib import cast, f64, to_disk

random = np.random.default_rng(int(os.environ.get("SEED", "1")))


def rounded(x, dtype):
    return f64(cast(x, dtype))


def bf16(x):
    return rounded(x, "bf16")


@dataclass
class Array:
    """An argument; want, if any, is what the kernel leaves there, within a part of each element and
    a quarter of that part of the largest one."""
    value: np.ndarray
    dtype: str
    want: np.ndarray = None
    within: float = 0

    def save(self, path):
        np.save(path, to_disk(self.value, self.dtype))

    def fault(self, path):
        got = np.load(path).view(cast(0, self.dtype).dtype).reshape(self.value.shape)
        got, want = f64(got), f64(self.want)
        bad = ~(np.abs(got - want) <= self.within * (np.abs(want) + np.abs(want).max() / 4) + 1e-12)
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            return f"{bad.sum()} of {bad.size} elements differ; {at} is {got[at]}, not {want[at]}"
        return None


def result(shape, dtype, want, within):
    return Array(np.zeros(shape), dtype, want, within)


def small(shape, dtype="bf16", most=8):
    """Eighths, whose sums of products are exact."""
    return Array(rounded(random.integers(-most, most + 1, shape) / 8, dtype), dtype)


def normal(shape, dtype, scale=1.0):
    return Array(rounded(random.standard_normal(shape) * scale, dtype), dtype)


def uniform(shape, low, high):
    return Array(np.float32(random.uniform(low, high, shape)), "f32")


def integers(shape, low, high, dtype):
    return Array(random.integers(low, high, shape), dtype)


def softmax_of(p):
    e = np.exp(p - p.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
