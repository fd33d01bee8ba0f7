"""A project that the workflow of docs/ci is tried on: a kernel that is right, and one that races if PLANTED says so."""
import os

import cuda.tile as ct
import numpy as np
import pytest

TILE = 16


@ct.kernel
def scale(x, y, factor: float):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (TILE,)) * factor)


@ct.kernel
def total(x, out):
    s = ct.sum(ct.load(x, (ct.bid(0),), (TILE,)), axis=0, keepdims=True)
    ct.store(out, (0,), ct.load(out, (0,), (1,)) + s)


@ct.kernel
def total_cured(x, out):
    ct.atomic_add(out, 0, ct.sum(ct.load(x, (ct.bid(0),), (TILE,))))


@pytest.mark.parametrize("n", [16, 64])
def test_scale(n):
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    ct.launch(0, (n // TILE,), scale, (x, y, 3.0))
    np.testing.assert_array_equal(y, 3 * x)


def test_total():
    x, out = np.ones(64, np.float32), np.zeros(1, np.float32)
    ct.launch(0, (4,), total if os.environ.get("PLANTED") else total_cured, (x, out))
    assert out[0] == 64


@pytest.mark.skipif(os.environ.get("TILEIRAS_ENGINE") != "emu", reason="the emulator finds races")
def test_total_races():
    from tileiras.nogpu import Race

    x, out = np.ones(64, np.float32), np.zeros(1, np.float32)
    with pytest.raises(Race):
        ct.launch(0, (4,), total, (x, out))
