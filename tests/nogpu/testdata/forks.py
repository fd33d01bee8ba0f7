"""Processes that fork: a child made before the first launch runs kernels, one made after it says why it cannot, and ends."""
import multiprocessing
import os
import sys

import cuda.tile as ct
import numpy as np

from tileiras import LibraryError


@ct.kernel
def double(x, out):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)


def work(n):
    x, out = np.full(64, n, np.float32), np.zeros(64, np.float32)
    ct.launch(0, (4,), double, (x, out))
    return float(out[0])


def refused():
    try:
        return work(1)
    except LibraryError as e:
        return str(e)


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, [1, 2, 3]) == [2, 4, 6]
    assert work(4) == 8
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert "'spawn'" in (said := pool.apply(refused)), said
    child = os.fork()
    if child == 0:
        sys.exit(7 if "'spawn'" in refused() else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(work, [5]) == [10]
    print("ok")
