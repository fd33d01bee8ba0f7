"""Adds two vectors whose length is no multiple of the tile."""
import cuda.tile as ct
import numpy as np

TILE = 256


@ct.kernel
def add(a, b, c):
    i = ct.bid(0)
    ct.store(c, (i,), ct.load(a, (i,), (TILE,)) + ct.load(b, (i,), (TILE,)))


def main() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random(10_000, np.float32), rng.random(10_000, np.float32)
    c = np.zeros_like(a)
    ct.launch(0, (ct.cdiv(len(c), TILE),), add, (a, b, c))
    np.testing.assert_array_equal(c, a + b)
    print("vector_add: right")


if __name__ == "__main__":
    main()
