"""A scatter that promises to stay inside its array, and does not: the last index is one too many."""
import cuda.tile as ct
import numpy as np


@ct.kernel
def place(values, where, out):
    at = ct.load(where, (ct.bid(0),), (16,))
    ct.scatter(out, at, ct.load(values, (ct.bid(0),), (16,)), check_bounds=False)


where = np.arange(1, 33, dtype=np.int32)
out = np.zeros(32, np.float32)
ct.launch(0, (2,), place, (np.ones(32, np.float32), where, out))
print(out)
