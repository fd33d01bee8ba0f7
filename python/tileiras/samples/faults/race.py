"""A sum of a vector in which tile blocks add to one place without an atomic: they race."""
import cuda.tile as ct
import numpy as np

TILE = 64


@ct.kernel
def total(x, out):
    s = ct.sum(ct.load(x, (ct.bid(0),), (TILE,)), axis=0, keepdims=True)
    before = ct.load(out, (0,), (1,))
    ct.store(out, (0,), before + s)


x, out = np.ones(256, np.float32), np.zeros(1, np.float32)
ct.launch(0, (4,), total, (x, out))
print("the sum is", out[0])
